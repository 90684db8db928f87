// Package scan reads JSON in one pass: it hands out the fields that a caller asks
// for and skips the rest without decoding it. What is read is read by the rules of
// the API server's decoder (sigs.k8s.io/json: names are case-sensitive, null is
// absence, bytes that are no UTF-8 become U+FFFD), but for one thing: a field that
// is asked for and stands twice is an error, not the last one's value. What is
// skipped must be whole, its brackets must match, and that is all that is looked at. A
// text with absurdly many items in the lists that are asked for is not read.
//
// An object is read by a loop, and an array likewise:
//
//	for s.Object(); s.Next(); {
//		switch string(s.Key()) {
//		case "name":
//			s.Once(0)
//			name = s.String()
//		default:
//			s.Skip()
//		}
//	}
//
// The first error ends every loop; ask Err for it at the end.
package scan

// Package decoders measures well-kept JSON decoders against the scanner that Berth
// reads reviews with: each reads the same facts from the same review, a DaemonSet's
// pod as the API server sends it.
package decoders

package scan_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	kjson "sigs.k8s.io/json"

	"berth.dev/berth/webhook/admission/scan"
)

// facts are what the tests read: a name, a flag, a list and an object.
type facts struct {
	Name string   `json:"name"`
	Flag bool     `json:"flag"`
	List []string `json:"list"`
	In   *inner   `json:"in"`
}

type inner struct {
	Name string `json:"name"`
}

func read(text []byte) (f facts, err error) {
	s := scan.New(text)
	for s.Object(); s.Next(); {
		switch string(s.Key()) {
		case "name":
			s.Once(0)
			f.Name = s.String()
		case "flag":
			s.Once(1)
			f.Flag = s.Bool()
		case "list":
			s.Once(2)
			for s.Array(); s.Item(); {
				f.List = append(f.List, s.String())
			}
		case "in":
			s.Once(3)
			f.In = readInner(&s)
		default:
			s.Skip()
		}
	}
	s.End()
	return f, s.Err()
}

func readInner(s *scan.Scanner) *inner {
	if !s.Object() {
		for s.Next() {
			s.Skip()
		}
		return nil
	}
	in := &inner{}
	for s.Next() {
		if string(s.Key()) == "name" {
			s.Once(0)
			in.Name = s.String()
			continue
		}
		s.Skip()
	}
	return in
}

func TestWhatIsRead(t *testing.T) {
	for what, c := range map[string]struct {
		text string
		want facts
	}{
		"if nothing is there":                             {`{}`, facts{}},
		"if the whole is null":                            {` null `, facts{}},
		"if every field is there":                         {`{"name":"a","flag":true,"list":["b","c"],"in":{"name":"d"}}`, facts{"a", true, []string{"b", "c"}, &inner{"d"}}},
		"if every field is null":                          {`{"name":null,"flag":null,"list":null,"in":null}`, facts{}},
		"if an item is null, it is empty":                 {`{"list":[null,"x"]}`, facts{List: []string{"", "x"}}},
		"if there is space everywhere":                    {"\t{ \"name\" :\r\n \"a\" , \"list\" : [ \"b\" , \"c\" ] }\n", facts{Name: "a", List: []string{"b", "c"}}},
		"if a key is written with escapes":                {`{"\u006eame":"a"}`, facts{Name: "a"}},
		"if a key is in another case, it is another":      {`{"Name":"a","NAME":"b"}`, facts{}},
		"if a string is written with escapes":             {`{"name":"\u0061\"\\\/\n\ud83d\ude00"}`, facts{Name: "a\"\\/\n😀"}},
		"if a string is no UTF-8":                         {"{\"name\":\"a\xffb\"}", facts{Name: "a�b"}},
		"if a surrogate stands alone":                     {`{"name":"\ud800"}`, facts{Name: "�"}},
		"if what nobody reads holds quotes and brackets":  {`{"x":{"y":["}]\"",{"z":"\\"}]},"name":"a"}`, facts{Name: "a"}},
		"if what nobody reads holds a name that is read":  {`{"x":{"name":"b"},"name":"a"}`, facts{Name: "a"}},
		"if what nobody reads stands twice":               {`{"x":1,"x":2,"name":"a"}`, facts{Name: "a"}},
		"if what nobody reads is a huge number":           {`{"x":123456789012345678901234567890e999,"name":"a"}`, facts{Name: "a"}},
		"if a string that nobody reads is of any length":  {`{"x":"` + strings.Repeat("x", 31) + `","name":"a"}`, facts{Name: "a"}},
		"if a string that nobody reads ends in an escape": {`{"x":"1234567\\","y":"12345678\"","name":"a"}`, facts{Name: "a"}},
		"if a name stands in two objects":                 {`{"name":"a","in":{"name":"b"}}`, facts{Name: "a", In: &inner{"b"}}},
		"if a list that nobody reads is endless":          {`{"x":[` + strings.Repeat("{},", 200_000) + `{}],"name":"a"}`, facts{Name: "a"}},
		"if what nobody reads is as deep as may be":       {`{"x":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `,"name":"a"}`, facts{Name: "a"}},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := read([]byte(c.text))
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestWhatIsNotRead(t *testing.T) {
	for what, c := range map[string]struct{ text, err string }{
		"if there is nothing":                          {``, "unexpected end of JSON input"},
		"if there is only space":                       {"  \n", "unexpected end of JSON input"},
		"if the whole is a list":                       {`[]`, "it can't be a JSON array"},
		"if the whole is no JSON":                      {`oops`, "invalid character 'o'"},
		"if something follows":                         {`{} {}`, "invalid character '{' after top-level value"},
		"if a string is a number":                      {`{"name":7}`, "name can't be a JSON number"},
		"if a string is an object":                     {`{"in":{"name":{}}}`, "in.name can't be a JSON object"},
		"if a boolean is a string":                     {`{"flag":"true"}`, "flag can't be a JSON string"},
		"if a list is a boolean":                       {`{"list":true}`, "list can't be a JSON bool"},
		"if an item is a list":                         {`{"list":[[]]}`, "list can't be a JSON array"},
		"if an object is a string":                     {`{"in":"x"}`, "in can't be a JSON string"},
		"if a field that is read stands twice":         {`{"name":"a","x":1,"name":"a"}`, "name stands there twice"},
		"if it stands twice, once with escapes":        {`{"name":"a","n\u0061me":"b"}`, "name stands there twice"},
		"if it stands twice, once as null":             {`{"in":{"name":null,"name":"b"}}`, "in.name stands there twice"},
		"if a list stands twice":                       {`{"list":[],"list":["x"]}`, "list stands there twice"},
		"if a comma is missing":                        {`{"name":"a" "flag":true}`, `invalid character '"' after a value`},
		"if a comma is too many":                       {`{"name":"a",}`, "invalid character '}' after a comma"},
		"if a comma comes first":                       {`{,"name":"a"}`, "invalid character ','"},
		"if a colon is missing":                        {`{"name" "a"}`, "after object key"},
		"if a key is no string":                        {`{name:"a"}`, "invalid character 'n'"},
		"if a value is missing":                        {`{"x":,"name":"a"}`, "invalid character ','"},
		"if a literal is misspelt":                     {`{"flag":trve}`, "invalid character"},
		"if null is misspelt":                          {`{"name":nil}`, "invalid character"},
		"if a control character stands in a string":    {"{\"name\":\"a\nb\"}", "invalid character"},
		"if an escape is none":                         {`{"name":"\x"}`, "invalid character"},
		"if brackets don't match in what nobody reads": {`{"x":[}],"name":"a"}`, "brackets do not match"},
		"if a list has absurdly many items":            {`{"list":[` + strings.Repeat(`"",`, 100_000) + `""]}`, "its lists have more than 100000 items"},
		"if what nobody reads is too deep":             {`{"x":` + strings.Repeat("[", 10001) + strings.Repeat("]", 10001) + `}`, "exceeded max depth"},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := read([]byte(c.text))
			require.ErrorContains(t, err, c.err)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestATextThatIsCutAnywhereIsNotRead(t *testing.T) {
	whole := []byte(`{"x":{"y":["\"",-1.5e3,{"z":null}]},"name":"a\u0062","flag":true,"list":["b"],"in":{"name":"d"}}`)
	_, err := read(whole)
	require.NoError(t, err)
	for n := range whole {
		_, err := read(whole[:n])
		assert.Error(t, err, "%s", whole[:n])
	}
}

func TestRewindForgetsTheErrorAndGoesBack(t *testing.T) {
	s := scan.New([]byte(`{"in":{"name":7},"name":"a"}`))
	name := ""
	for s.Object(); s.Next(); {
		if string(s.Key()) == "name" {
			name = s.String()
			continue
		}
		here := s.Mark()
		readInner(&s)
		require.ErrorContains(t, s.Err(), "in.name")
		s.Rewind(here)
		assert.Equal(t, `{"name":7}`, string(s.Raw()))
	}
	require.NoError(t, s.Err())
	assert.Equal(t, "a", name)
}

// FuzzScan holds the scanner against the API server's decoder: what that one reads,
// this one reads alike, unless a field that is read stands twice.
func FuzzScan(f *testing.F) {
	for _, text := range []string{
		`{}`, `null`, `{"name":"a","flag":true,"list":["b",null],"in":{"name":"d"}}`, `{"\u006eame":"\ud83d\ude00","x":[{"y":"\\"}]}`,
		"{\"name\":\"\xff\", \"list\" : [ ] }", `{"name":"a","name":"b"}`, `{"Name":"a","in":null,"flag":false}`, `{"x":1e999,"in":{}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := read(text)
		if err == nil && bytes.Count(text, []byte(`"`))%2 == 1 && !bytes.Contains(text, []byte(`\`)) {
			t.Fatalf("a string that does not end was read: %q", text)
		}
		var want facts
		if kjson.UnmarshalCaseSensitivePreserveInts(text, &want) != nil {
			return
		}
		if err != nil {
			if !strings.Contains(err.Error(), "stands there twice") {
				t.Fatalf("%v of %q", err, text)
			}
			return
		}
		if len(want.List) == 0 {
			want.List = nil
		}
		assert.Equal(t, want, got, "%q", text)
	})
}

// BenchmarkSkip is the scanner's way past what nobody reads.
func BenchmarkSkip(b *testing.B) {
	fields := strings.Repeat(`"f:metadata":{"f:annotations":{".":{},"f:example.com/some-annotation":{}}},"value":"a text of some length","n":12,`, 60)
	text := []byte(`{"x":{` + fields + `"end":true}}`)
	require.True(b, json.Valid(text))
	b.Run("scan", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := read(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json.Valid", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			json.Valid(text)
		}
	})
}

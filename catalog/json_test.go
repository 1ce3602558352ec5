package catalog

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

var jsonSeeds = []string{
	``, ` `, `{}`, `[]`, `[1,]`, `{"a":1,}`, `{"a" : [1, 2.5e-3, -0, true, false, null, "\u00e9\n"]}`, `01`, `-`, `1.`, `1e`, `1e+`, `.5`, `"`, `"\`, `"\x"`, `"\u12"`,
	`tru`, `nul`, `truex`, `{"a"}`, `{"a":}`, `{a:1}`, `[1 2]`, `{} x`, "\"\t\"", `{"a":1 "b":2}`, `"\ud800"`, strings.Repeat("[", 100) + strings.Repeat("]", 100),
}

func checkSyntax(t *testing.T, data []byte) {
	t.Helper()
	if !utf8.Valid(data) {
		if validJSON(data) == nil {
			t.Fatalf("%q is accepted", data)
		}
		return
	}
	if got, want := validJSON(data) == nil, json.Valid(data); got != want {
		t.Fatalf("%q: valid is %t, encoding/json says %t", data, got, want)
	}
	list, err := members(data)
	if err == nil {
		var m map[string]json.RawMessage
		if e := json.Unmarshal(data, &m); e != nil || len(m) != len(list) {
			t.Fatalf("%q: %d members, encoding/json finds %d, %v", data, len(list), len(m), e)
		}
		for _, one := range list {
			if string(m[one.name]) != string(one.value) {
				t.Fatalf("%q: member %q is %q, encoding/json says %q", data, one.name, one.value, m[one.name])
			}
		}
	}
	parts, err := elements(data)
	if err == nil {
		var a []json.RawMessage
		if e := json.Unmarshal(data, &a); e != nil || len(a) != len(parts) {
			t.Fatalf("%q: %d elements, encoding/json finds %d, %v", data, len(parts), len(a), e)
		}
	}
}

func TestJSONSyntaxIsThatOfEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, seed := range jsonSeeds {
		checkSyntax(t, []byte(seed))
	}
	deep := []byte(strings.Repeat("[", 20000) + strings.Repeat("]", 20000))
	if validJSON(deep) == nil {
		t.Error("nesting without bound is accepted")
	}
}

func FuzzJSONSyntax(f *testing.F) {
	for _, seed := range jsonSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkSyntax(t, data) })
}

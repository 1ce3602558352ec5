package iceberg

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// strangeView holds members no specification knows, at every level, in
// spellings that a re-encoder would change.
const strangeView = `{ "future-top": {"b": 1.50, "a": [1e400, "\u00e9\/", null]},
 "view-uuid":"11111111-2222-4333-8444-555555555555","format-version" : 1,"location":"s3:\/\/bucket\/v","current-version-id":2,
 "properties":{"a":"\u0062","c":"d\/e"},
 "schemas":[{"type":"struct","fields":[ {"id":1,"name":"x","required":true,"type":"vector[3]","field-future":{"k":12345678901234567890}} ],"schema-id":1, "schema-future":[1.0]}],
 "versions":[ {"version-id":1,"timestamp-ms":5,"schema-id":9,"summary":{},"default-namespace":[],"representations":[{"type":"PLAN","plan":[ 1 ]}],"v-future":2.0},
  {"schema-id":1,"version-id":2,"timestamp-ms":6,"default-catalog":null,"summary":{"s":"\u0074"},"default-namespace":["a","b"],"representations":[ {"sql":"select '\u2028'","type":"sql","dialect":"Spark","r-future":[ ]} ]}],
 "version-log":[{"version-id":1,"timestamp-ms":5,"log-future":14}, {"timestamp-ms":6,"version-id":2}],
 "another-future": 3.14159265358979323846264338327950288
}`

func TestUnknownMembersOfViewsSurvive(t *testing.T) {
	t.Parallel()
	m, err := ParseView([]byte(strangeView))
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Bytes()) != strangeView {
		t.Error("parsing changes the bytes")
	}
	for name, updates := range map[string]string{
		"property": `[{"action":"set-properties","updates":{"new":"1"}}]`,
		"location": `[{"action":"set-location","location":"s3://elsewhere"}]`,
		"version":  replaceWith(version(3, 1, "spark", "x")),
		"schema":   `[{"action":"add-schema","schema":` + viewSchema + `}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := applyView(t, m, updates)
			next = applyView(t, next, `[{"action":"set-properties","updates":{"twice":"2"}}]`)
			for _, piece := range []string{
				`"future-top": {"b": 1.50, "a": [1e400, "\u00e9\/", null]}`, `"a":"\u0062"`, `"c":"d\/e"`,
				`{"type":"struct","fields":[ {"id":1,"name":"x","required":true,"type":"vector[3]","field-future":{"k":12345678901234567890}} ],"schema-id":1, "schema-future":[1.0]}`,
				`{"version-id":1,"timestamp-ms":5,"schema-id":9,"summary":{},"default-namespace":[],"representations":[{"type":"PLAN","plan":[ 1 ]}],"v-future":2.0}`,
				`"default-catalog":null,"summary":{"s":"\u0074"},"default-namespace":["a","b"],"representations":[ {"sql":"select '\u2028'","type":"sql","dialect":"Spark","r-future":[ ]} ]}`,
				`{"version-id":1,"timestamp-ms":5,"log-future":14}`, `"another-future": 3.14159265358979323846264338327950288`,
			} {
				if !strings.Contains(string(next.Bytes()), piece) {
					t.Errorf("lost %s in %s", piece, next.Bytes())
				}
			}
		})
	}
}

// TestUnknownMembersOfNewVersionsSurvive: what a newer client sends inside the
// parts it adds is kept.
func TestUnknownMembersOfNewVersionsSurvive(t *testing.T) {
	t.Parallel()
	strange := strings.Replace(version(4, 0, "trino", "x"), `"summary"`, `"v-new":1.0, "summary"`, 1)
	strange = strings.Replace(strange, `"dialect"`, `"r-new":{ },"dialect"`, 1)
	for _, m := range []*ViewMetadata{newView(t, strange, ""), applyView(t, newView(t, version(1, 0, "trino", "a"), ""), replaceWith(strange))} {
		for _, piece := range []string{`"v-new":1.0, "summary"`, `"r-new":{ },"dialect"`} {
			if !strings.Contains(string(m.Bytes()), piece) {
				t.Errorf("lost %s in %s", piece, m.Bytes())
			}
		}
	}
}

func TestParseViewRefuses(t *testing.T) {
	t.Parallel()
	good := string(newView(t, version(1, 0, "trino", "a"), "").Bytes())
	replace := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("no %s in %s", from, good)
		}
		return strings.Replace(good, from, to, 1)
	}
	for name, c := range map[string]struct {
		doc, text string
		kind      Kind
	}{
		"no JSON":              {`{`, "Invalid JSON", BadRequest},
		"no object":            {`[]`, "Cannot parse metadata from a non-object", BadRequest},
		"something behind":     {good + "x", "unexpected data", BadRequest},
		"twice":                {replace(`"format-version":1`, `"format-version":1,"format-version":1`), "duplicate member", BadRequest},
		"a table":              {string(newTable(t, 2).Bytes()), "Cannot parse missing string: view-uuid", BadRequest},
		"version 2":            {replace(`"format-version":1`, `"format-version":2`), "Unsupported format version: 2", Unsupported},
		"no version":           {replace(`"format-version":1,`, ``), "Cannot parse missing int: format-version", BadRequest},
		"no location":          {replace(`"location":"s3://bucket/ns/v",`, ``), "Cannot parse missing string: location", BadRequest},
		"empty location":       {replace(`"s3://bucket/ns/v"`, `""`), "Invalid location: empty", Validation},
		"no log":               {replace(`"version-log":`, `"log":`), "Cannot parse missing field: version-log", BadRequest},
		"log of numbers":       {replace(`"version-log":[`, `"version-log":[1,`), "Cannot parse to an object: version-log", BadRequest},
		"log without id":       {replace(`"version-log":[`, `"version-log":[{"timestamp-ms":1},`), "Cannot parse missing int: version-id", BadRequest},
		"log without time":     {replace(`"version-log":[`, `"version-log":[{"version-id":1},`), "Cannot parse missing long: timestamp-ms", BadRequest},
		"unknown version":      {replace(`"current-version-id":1`, `"current-version-id":3`), "Cannot find current version 3 in view versions: [1]", Validation},
		"unknown schema":       {replace(`"schemas":[`, `"schemas":[],"old":[`), "Cannot find current schema with id 0 in schemas: []", Validation},
		"version twice":        {replace(`"versions":[`, `"versions":[`+version(1, 0, "a", "b")+`,`), "duplicate version-id: 1", Validation},
		"schema twice":         {replace(`"schemas":[`, `"schemas":[{"schema-id":0,"type":"struct","fields":[]},`), "duplicate schema-id: 0", Validation},
		"summary of numbers":   {replace(`"engine-name":"x"`, `"engine-name":1`), "Cannot parse to a string value: engine-name", BadRequest},
		"properties of lists":  {replace(`"properties":{`, `"properties":{"a":[]`), "Cannot parse to a string value: a", BadRequest},
		"no sql":               {replace(`"sql":"a"`, `"sql":null`), "Cannot parse to a string value: sql", BadRequest},
		"versions of a number": {replace(`"versions":[`, `"versions":[1,`), "Cannot parse to an object: view-version", BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseView([]byte(c.doc))
			checkError(t, err, c.kind, c.text)
		})
	}
}

func FuzzParseView(f *testing.F) {
	f.Add(newView(f, version(1, 0, "trino", "a", "spark", "b"), `,"properties":{"a":"b"}`).Bytes())
	f.Add([]byte(strangeView))
	f.Fuzz(func(t *testing.T, doc []byte) {
		before := bytes.Clone(doc)
		m, err := ParseView(doc)
		if err != nil {
			if KindOf(err) == 0 {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		if !bytes.Equal(m.Bytes(), before) || !json.Valid(doc) {
			t.Fatalf("accepted and changed, or not JSON: %q", doc)
		}
		m.Versions()
		list, err := DecodeViewUpdates([]byte(`[{"action":"set-properties","updates":{"fuzz":"x"}}]`))
		if err != nil {
			t.Fatal(err)
		}
		next, changed, err := ApplyView(m, list, viewContext())
		if err == nil && changed {
			checkBuiltView(t, next)
		}
	})
}

func FuzzApplyView(f *testing.F) {
	base := newView(f, version(1, 0, "trino", "a"), "").Bytes()
	f.Add(base, []byte(replaceWith(version(2, 0, "trino", "b"))))
	f.Add([]byte(strangeView), []byte(`[{"action":"add-schema","schema":`+viewSchema+`},`+addVersion(version(2, -1, "spark", "b"))+`,`+setLastVersion+`]`))
	f.Add([]byte{}, []byte(`{"name":"v","schema":`+viewSchema+`,"view-version":`+version(7, 5, "a", "b")+`,"properties":{"x":"y"}}`))
	f.Fuzz(func(t *testing.T, doc, raw []byte) {
		if len(doc) == 0 {
			req, err := DecodeCreateViewRequest(raw)
			if err != nil {
				return
			}
			if m, err := NewView(req, viewContext()); err == nil {
				checkBuiltView(t, m)
			} else if KindOf(err) == 0 {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		m, err := ParseView(doc)
		if err != nil {
			return
		}
		updates, err := DecodeViewUpdates(raw)
		if err != nil {
			if KindOf(err) == 0 {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		next, changed, err := ApplyView(m, updates, viewContext())
		if err != nil {
			if KindOf(err) == 0 {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		if !changed {
			return
		}
		checkBuiltView(t, next)
		again, _, err := ApplyView(m, updates, next.Facts().Context())
		if err != nil || !bytes.Equal(again.Bytes(), next.Bytes()) {
			t.Fatalf("not deterministic: %v", err)
		}
	})
}

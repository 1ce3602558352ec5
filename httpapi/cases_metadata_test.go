package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A load with snapshots=refs leaves snapshots out of the answer and changes
// nothing else, whatever hangs on them.
func TestRefsLoadBearsStatisticsOfSnapshotsThatItLeavesOut(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix)
	statistics := func(id int) string {
		return fmt.Sprintf(`{"action":"set-statistics","snapshot-id":%d,"statistics":{"snapshot-id":%[1]d,"statistics-path":"@root@/%[1]d.stats","file-size-in-bytes":100,"file-footer-size-in-bytes":20,"blob-metadata":[]}}`, id)
	}
	partition := func(id int) string {
		return fmt.Sprintf(`{"action":"set-partition-statistics","partition-statistics":{"snapshot-id":%d,"statistics-path":"@root@/%[1]d.parts","file-size-in-bytes":100}}`, id)
	}
	c.play(t, []step{
		{send: "POST /namespaces", body: `{"namespace":["n"]}`, want: 200},
		{send: "POST /namespaces/n/tables", body: create("t"), want: 200},
		{why: "no ref at all", send: "GET /namespaces/n/tables/t?snapshots=refs", want: 200, is: map[string]string{"metadata/snapshots": "[]"}},
		{send: "POST /namespaces/n/tables/t", body: commit("", snapshot(1, "", 1)+","+branch("main", 1)), want: 200},
		{send: "POST /namespaces/n/tables/t", body: commit("", statistics(1)+","+partition(1)), want: 200},
		{send: "POST /namespaces/n/tables/t", body: commit("", snapshot(2, "1", 2)+","+branch("main", 2)+","+snapshot(3, "2", 3)), want: 200, keep: map[string]string{"file": "metadata-location", "stats": "metadata/statistics", "parts": "metadata/partition-statistics"}},
		{
			send: "GET /namespaces/n/tables/t?snapshots=refs", want: 200,
			is: map[string]string{"metadata/snapshots/#": "1", "metadata/snapshots/0/snapshot-id": "2", "metadata-location": `"@file@"`, "metadata/snapshot-log/#": "2", "metadata/statistics": "@stats@", "metadata/partition-statistics": "@parts@"},
		},
		{send: "GET /namespaces/n/tables/t?snapshots=all", want: 200, is: map[string]string{"metadata/snapshots/#": "3", "metadata/statistics": "@stats@", "metadata-location": `"@file@"`}},
		{why: "a tag is a ref", send: "POST /namespaces/n/tables/t", body: commit("", `{"action":"set-snapshot-ref","ref-name":"v1","type":"tag","snapshot-id":1}`), want: 200},
		{send: "GET /namespaces/n/tables/t?snapshots=refs", want: 200, is: map[string]string{"metadata/snapshots/#": "2", "metadata/snapshots/0/snapshot-id": "1"}},
	})
}

// write makes a file below the warehouse and returns its location.
func (s *stack) write(t testing.TB, path string, data []byte) string {
	t.Helper()
	file := filepath.Join(s.root, "demo", path)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return "file://" + file
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// metadataOf is the metadata of another table, which lies at a place and has
// been changed by change.
func metadataOf(t testing.TB, base, place, uuid string, change func(map[string]any)) []byte {
	t.Helper()
	var answer struct{ Metadata map[string]any }
	d := json.NewDecoder(strings.NewReader(base))
	d.UseNumber()
	if err := d.Decode(&answer); err != nil {
		t.Fatal(err)
	}
	doc := answer.Metadata
	doc["location"], doc["table-uuid"] = place, uuid
	if change != nil {
		change(doc)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What other writers leave behind can be registered and committed to, under
// every name that compressed metadata goes by.
func TestForeignMetadataFilesAreRegisteredAndCommittedTo(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix)
	c.play(t, []step{
		{send: "POST /namespaces", body: `{"namespace":["n"]}`, want: 200},
		{send: "POST /namespaces/n/tables", body: create("base"), want: 200},
		{send: "POST /namespaces/n/tables/base", body: commit("", snapshot(1, "", 1)+","+branch("main", 1)), want: 200},
	})
	base := s.do("GET", s.prefix+"/namespaces/n/tables/base", "").body
	ahead := time.Now().Add(10 * time.Minute).UnixMilli()
	for i, of := range []struct {
		file   string
		packed bool
		change func(map[string]any)
	}{
		{"v1.metadata.json", false, nil},
		{"v3.gz.metadata.json", true, nil},
		{"00007-6a0f3c1e-0000-4000-8000-000000000001.gz.metadata.json", true, nil},
		{"v2.metadata.json.gz", true, nil},
		{"v4.gzip.metadata.json", true, nil},
		{"v5.metadata.json", true, nil},
		{"v6.metadata.json", false, func(doc map[string]any) { // the clock of its writer was ten minutes ahead
			doc["last-updated-ms"] = ahead
			doc["snapshots"].([]any)[0].(map[string]any)["timestamp-ms"] = ahead
			doc["snapshot-log"] = []any{map[string]any{"timestamp-ms": ahead, "snapshot-id": 1}}
			doc["metadata-log"] = []any{map[string]any{"timestamp-ms": ahead - 5, "metadata-file": doc["location"].(string) + "/metadata/v0.metadata.json"}}
		}},
		{"v7.metadata.json", false, func(doc map[string]any) { // members that nobody here knows
			doc["x-owner"] = map[string]any{"a": []any{1, "2", nil}}
		}},
		{"v8.metadata.json", false, func(doc map[string]any) { // its place ends in a slash
			doc["location"] = doc["location"].(string) + "/"
		}},
	} {
		place := fmt.Sprintf("elsewhere/%d", i)
		uuid := fmt.Sprintf("0190a000-0000-4000-8000-%012d", i)
		doc := metadataOf(t, base, "file://"+s.root+"/demo/"+place, uuid, of.change)
		data := doc
		if of.packed {
			data = gzipped(t, doc)
		}
		c.vars["file"], c.vars["uuid"] = s.write(t, place+"/metadata/"+of.file, data), uuid
		table := fmt.Sprint("/namespaces/n/tables/r", i)
		c.play(t, []step{
			{send: "POST /namespaces/n/register", body: fmt.Sprintf(`{"name":"r%d","metadata-location":"@file@"}`, i), want: 200, is: map[string]string{"metadata/table-uuid": `"@uuid@"`, "metadata-location": `"@file@"`}},
			{send: "GET " + table, want: 200, is: map[string]string{"metadata/table-uuid": `"@uuid@"`}},
			{send: "POST " + table, body: commit(sameUUID, `{"action":"set-properties","updates":{"k":"v"}}`), want: 200, is: map[string]string{"metadata/properties/k": `"v"`}, keep: map[string]string{"next": "metadata-location", "log": "metadata/metadata-log", "updated": "metadata/last-updated-ms", "unknown": "metadata/table-uuid"}},
		})
		if name := filepath.Base(c.vars["next"]); !strings.HasSuffix(name, ".metadata.json") || strings.Contains(name, ".gz") {
			t.Errorf("%s: no property asks for %s", of.file, name)
		}
		var log []struct {
			At   int64  `json:"timestamp-ms"`
			File string `json:"metadata-file"`
		}
		if err := json.Unmarshal([]byte(c.vars["log"]), &log); err != nil || len(log) == 0 || log[len(log)-1].File != c.vars["file"] {
			t.Fatalf("%s: log %s, want %s last", of.file, c.vars["log"], c.vars["file"])
		}
		// Java reads no document whose times go back by more than a minute.
		var updated int64
		if err := json.Unmarshal([]byte(c.vars["updated"]), &updated); err != nil {
			t.Fatal(err)
		}
		last := int64(0)
		for _, entry := range log {
			if entry.At < last-60_000 {
				t.Errorf("%s: the log goes back: %s", of.file, c.vars["log"])
			}
			last = entry.At
		}
		if updated < last-60_000 {
			t.Errorf("%s: updated at %d, logged at %d", of.file, updated, last)
		}
		if got := s.do("GET", s.prefix+table, ""); of.file == "v7.metadata.json" && look(got, "metadata/x-owner") != `{"a":[1,"2",null]}` {
			t.Errorf("unknown members are lost: %s", got.body)
		}
	}
}

// What is no table's metadata is refused with a reason, and nothing is left.
func TestFilesThatAreNoMetadataAreRefused(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	base := expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("base")), 200)
	place := "file://" + s.root + "/demo/x"
	doc := metadataOf(t, base.body, place, "0190a000-0000-4000-8000-000000000001", nil)
	changed := func(change func(map[string]any)) []byte {
		return metadataOf(t, base.body, place, "0190a000-0000-4000-8000-000000000001", change)
	}
	outside := filepath.Join(s.root, "outside.metadata.json")
	if err := os.WriteFile(outside, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(s.root, "demo", "link.metadata.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.root, "demo", "folder.metadata.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{} // location → status and type
	for name, data := range map[string][]byte{
		"empty": {}, "html": []byte("<html>404</html>"), "array": []byte("[]"), "null": []byte("null"), "number": []byte("7"), "object": []byte("{}"), "half": doc[:len(doc)/2], "twice": append(bytes.Clone(doc), doc...),
		"bom": append([]byte("\xef\xbb\xbf"), doc...), "nul": append(bytes.Clone(doc), 0), "half-gzip": gzipped(t, doc)[:30], "gzip of nothing": gzipped(t, nil), "utf16": []byte("{\x00\"\x00a\x00"), "deep": []byte(`{"a":` + strings.Repeat("[", 100_000)),
		"version 4":       changed(func(d map[string]any) { d["format-version"] = 4 }),
		"version 0":       changed(func(d map[string]any) { d["format-version"] = 0 }),
		"version text":    changed(func(d map[string]any) { d["format-version"] = "2" }),
		"version huge":    changed(func(d map[string]any) { d["format-version"] = json.Number("1e999") }),
		"no uuid":         changed(func(d map[string]any) { delete(d, "table-uuid") }),
		"no schemas":      changed(func(d map[string]any) { d["schemas"] = []any{} }),
		"another schema":  changed(func(d map[string]any) { d["current-schema-id"] = 7 }),
		"location a list": changed(func(d map[string]any) { d["location"] = []any{} }),
		"no location":     changed(func(d map[string]any) { delete(d, "location") }),
		"lies outside":    changed(func(d map[string]any) { d["location"] = "file:///etc" }),
		"another's place": changed(func(d map[string]any) { d["location"] = "file://" + s.root + "/demo/n" }),
		"other store":     changed(func(d map[string]any) { d["location"] = "s3://bucket/x" }),
	} {
		kinds[s.write(t, "x/metadata/"+strings.ReplaceAll(name, " ", "-")+".metadata.json", data)] = "400"
	}
	kinds["file://"+s.root+"/demo/none.metadata.json"] = "404 NotFoundException"
	kinds["file://"+s.root+"/demo/%2e%2e/outside.metadata.json"] = "400 404" // percent signs are part of a file's name
	kinds["file://"+s.root+"/demo/folder.metadata.json"] = "400 404"
	kinds["file://"+s.root+"/demo/link.metadata.json"] = "400 403 404"
	for _, location := range []string{"file://" + outside, "file:///etc/passwd", "s3://bucket/x.metadata.json", "http://127.0.0.1/x.metadata.json", "", "x", "file://", "file://" + s.root + "/demo/../outside.metadata.json", place + "/metadata/a\x00.metadata.json"} {
		kinds[location] = "400"
	}
	before := s.state(t)
	for location, want := range kinds {
		for _, overwrite := range []string{"", `,"overwrite":true`} {
			got := s.do("POST", s.prefix+"/namespaces/n/register", fmt.Sprintf(`{"name":"r","metadata-location":%s%s}`, quoted(location), overwrite))
			kind, message := errorOf(t, got)
			if !strings.Contains(want, fmt.Sprint(got.status)) || strings.Contains(want, "Exception") && !strings.HasSuffix(want, kind) {
				t.Errorf("%q: %d %s %s, want %s", location, got.status, kind, message, want)
			}
			if strings.Contains(strings.ReplaceAll(message, location, ""), s.root+"/outside") || internals.MatchString(strings.ReplaceAll(message, location, "")) {
				t.Errorf("%q: %s", location, message)
			}
		}
	}
	if after := s.state(t); bystanders.ReplaceAllString(after, "") != bystanders.ReplaceAllString(before, "") {
		t.Errorf("changed\n%s\nwas\n%s", after, before)
	}
}

// A table whose metadata file is gone says so to every reader and writer, and
// can be dropped.
func TestATableWithoutItsFileIsAClearNotFound(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix)
	c.play(t, []step{
		{send: "POST /namespaces", body: `{"namespace":["n"]}`, want: 200},
		{send: "POST /namespaces/n/tables", body: create("t"), want: 200, keep: map[string]string{"file": "metadata-location", "tag": "ETag:"}},
		{send: "POST /namespaces/n/views", body: createView("v"), want: 200, keep: map[string]string{"view": "metadata-location"}},
	})
	for _, name := range []string{"file", "view"} {
		if err := os.Remove(strings.TrimPrefix(c.vars[name], "file://")); err != nil {
			t.Fatal(err)
		}
	}
	const text = "Failed to open input stream for file: "
	message(t, s.do("GET", s.prefix+"/namespaces/n/tables/t", ""), 404, "NotFoundException", text+c.vars["file"])
	message(t, s.do("GET", s.prefix+"/namespaces/n/tables/t?snapshots=refs", ""), 404, "NotFoundException", text+c.vars["file"])
	message(t, s.do("GET", s.prefix+"/namespaces/n/tables/t", "", "If-None-Match", c.vars["tag"]), 404, "NotFoundException", text+c.vars["file"])
	message(t, s.do("GET", s.prefix+"/namespaces/n/views/v", ""), 404, "NotFoundException", text+c.vars["view"])
	c.play(t, []step{
		{why: "lists and the rest of the namespace go on", send: "GET /namespaces/n/tables", want: 200, is: map[string]string{"identifiers/#": "1"}},
		{send: "POST /namespaces/n/tables", body: create("t"), want: 409, kind: "AlreadyExistsException"},
		{send: "POST /namespaces/n/tables", body: create("u"), want: 200},
		{send: "POST /tables/rename", body: `{"source":{"namespace":["n"],"name":"t"},"destination":{"namespace":["n"],"name":"w"}}`, want: 204},
		{send: "DELETE /namespaces/n/tables/w", want: 204},
		{send: "DELETE /namespaces/n/views/v", want: 204},
	})
}

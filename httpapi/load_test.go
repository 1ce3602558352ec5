package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestUnchangedTableIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	made := expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	path := s.prefix + "/namespaces/n/tables/t"
	first := expect(t, s.do("GET", path, ""), 200)
	tag := first.header[etagName][0]
	if made.header[etagName][0] != tag {
		t.Errorf("create says %s, load says %s", made.header[etagName], tag)
	}
	weak := "W/" + strings.TrimPrefix(tag, "W/")
	strong := strings.TrimPrefix(tag, "W/")
	for _, sent := range []string{tag, weak, strong, `"other", ` + tag, "*", tag + `, "x"`} {
		got := s.do("GET", path, "", "If-None-Match", sent)
		if got.status != 304 || got.body != "" || got.header[etagName][0] != tag {
			t.Errorf("%s: %d %v %q", sent, got.status, got.header, got.body)
		}
	}
	expect(t, s.do("GET", path, "", "If-None-Match", `"other"`), 200)
	if got := expect(t, s.do("GET", path+"?snapshots=refs", "", "If-None-Match", tag), 200); got.header[etagName][0] == tag {
		t.Error("snapshots=refs has the tag of all snapshots")
	}
	refs := s.do("GET", path+"?snapshots=refs", "").header[etagName][0]
	for query, want := range map[string]string{"?SNAPSHOTS=Refs": refs, "?Snapshots=REFS": refs, "?snapshots=ALL": tag, "?snapshots=": tag} {
		if got := expect(t, s.do("GET", path+query, ""), 200); got.header[etagName][0] != want {
			t.Errorf("%s: tag %s, want %s", query, got.header[etagName], want)
		}
	}
	refused(t, s.do("GET", path+"?snapshots=some", ""), 400, "BadRequestException")
	refused(t, s.do("GET", path+"?SNAPSHOTS=some", ""), 400, "BadRequestException")
	committed := expect(t, s.do("POST", path, `{"updates":[{"action":"set-properties","updates":{"a":"1"}}]}`), 200)
	changed := expect(t, s.do("GET", path, "", "If-None-Match", tag), 200)
	if now := changed.header[etagName][0]; now == tag || committed.header[etagName][0] != now {
		t.Errorf("after the commit: %v, load %v, before %s", committed.header[etagName], now, tag)
	}
	for _, name := range []string{"X-Iceberg-Access-Delegation", "Accept-Encoding"} {
		if !strings.Contains(strings.Join(changed.header["Vary"], ","), name) {
			t.Errorf("Vary is %q", changed.header["Vary"])
		}
	}
}

// What leaves the socket: Java looks the header up in exactly this spelling,
// and an empty answer is empty.
func TestHeadersAndBodiesOnTheSocket(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	path := s.prefix + "/namespaces/n/tables/t"
	tag := s.do("GET", path, "").header[etagName][0]

	raw := rawAnswer(t, s.handler, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	head, body, _ := strings.Cut(raw, "\r\n\r\n")
	if !strings.Contains(head, "\r\nETag: "+tag+"\r\n") || !strings.Contains(head, fmt.Sprintf("\r\nContent-Length: %d\r\n", len(body))) || strings.Contains(head, "Transfer-Encoding") {
		t.Errorf("load: %q", head)
	}
	for _, c := range [][2]string{
		{"HEAD " + path, "HTTP/1.1 204 No Content"},
		{"HEAD " + path + "x", "HTTP/1.1 404 Not Found"},
		{"HEAD " + s.prefix + "/namespaces/n", "HTTP/1.1 204 No Content"},
		{"DELETE " + path, "HTTP/1.1 204 No Content"},
	} {
		raw := rawAnswer(t, s.handler, c[0]+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		head, body, ok := strings.Cut(raw, "\r\n\r\n")
		if !ok || body != "" || !strings.HasPrefix(head, c[1]) {
			t.Errorf("%s: %q, body %q", c[0], head, body)
		}
	}
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	tag = s.do("GET", path, "").header[etagName][0]
	raw = rawAnswer(t, s.handler, "GET "+path+" HTTP/1.1\r\nHost: x\r\nIf-None-Match: "+tag+"\r\nConnection: close\r\n\r\n")
	if head, body, _ := strings.Cut(raw, "\r\n\r\n"); !strings.HasPrefix(head, "HTTP/1.1 304 ") || body != "" || !strings.Contains(head, "\r\nETag: ") {
		t.Errorf("304: %q, body %q", head, body)
	}
}

func TestGzipAnswerHoldsTheSameBytes(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	path := s.prefix + "/namespaces/n/tables/t"
	for range 3 { // cold, then cached
		plain := expect(t, s.do("GET", path, "", "Accept-Encoding", "identity"), 200)
		packed := expect(t, s.do("GET", path, "", "Accept-Encoding", "gzip, deflate"), 200)
		if packed.header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("not packed: %v", packed.header)
		}
		r, err := gzip.NewReader(bytes.NewReader([]byte(packed.body)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != plain.body {
			t.Fatalf("%v: %s, want %s", err, got, plain.body)
		}
		expect(t, s.do("POST", path, `{"updates":[{"action":"set-properties","updates":{"a":"1"}}]}`), 200)
	}
	if got := s.do("GET", path, "", "Accept-Encoding", "zstd, xz, br"); got.header.Get("Content-Encoding") != "" || !strings.HasPrefix(got.body, "{") {
		t.Errorf("unknown encodings: %v", got.header)
	}
}

package wire_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/icecore-catalog/icecore/httpapi/wire"
	stored "github.com/icecore-catalog/icecore/projections/document"
)

func packedForm(t testing.TB, document []byte) *stored.Packed {
	t.Helper()
	p, err := stored.Pack(document)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func write(a wire.Answer, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if accept != "" {
		r.Header.Set("Accept-Encoding", accept)
	}
	w := httptest.NewRecorder()
	a.Write(w, r)
	return w
}

func TestDocumentsAreSplicedNotRecompressed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		before := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "before")
		document := bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(rt, "document"), rapid.IntRange(0, 400).Draw(rt, "times"))
		after := bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "after"), rapid.SampledFrom([]int{1, 2000, 4000}).Draw(rt, "long"))
		packed := packedForm(t, document)
		a := wire.Answer{Before: before, Document: document, Packed: packed, After: after}
		want := slices.Concat(before, document, after)

		identity := write(a, "")
		if !bytes.Equal(identity.Body.Bytes(), want) {
			rt.Fatal("identity answer differs")
		}
		gz := write(a, "br, gzip")
		if gz.Header().Get("Content-Encoding") != "gzip" {
			rt.Fatal("not gzip")
		}
		if got := gz.Header().Get("Content-Length"); got != strconv.Itoa(gz.Body.Len()) {
			rt.Fatalf("Content-Length %s of %d bytes", got, gz.Body.Len())
		}
		if !bytes.Contains(gz.Body.Bytes(), packed.Deflate) {
			rt.Fatal("the stored form is not part of the answer")
		}
		zr, err := gzip.NewReader(gz.Body)
		if err != nil {
			rt.Fatal(err)
		}
		zr.Multistream(false)
		got, err := io.ReadAll(zr) // checks sum and length of the member
		if err != nil || !bytes.Equal(got, want) {
			rt.Fatalf("gzip answer: %v", err)
		}
		if gz.Body.Len() != 0 {
			rt.Fatal("something follows the gzip member")
		}
	})
}

func TestGzipIsSentOnlyIfTakenAndAtHand(t *testing.T) {
	t.Parallel()
	document := []byte(`{"x":1}`)
	both := wire.Answer{Document: document, Packed: packedForm(t, document)}
	plain := wire.Answer{Document: document}
	for _, c := range []struct {
		answer wire.Answer
		accept string
		gzip   bool
	}{
		{both, "gzip", true}, {both, "", false}, {both, "identity", false}, {plain, "gzip", false},
	} {
		w := write(c.answer, c.accept)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != c.gzip {
			t.Errorf("%q: gzip %v, want %v", c.accept, got, c.gzip)
		}
		if w.Header().Get("Vary") != "Accept-Encoding" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", w.Header())
		}
	}
}

func TestAcceptEncodingIsNegotiated(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"":                              false,
		"gzip":                          true,
		"GZIP":                          true,
		"x-gzip":                        true,
		"gzip, deflate":                 true,
		"deflate":                       false,
		"*":                             true,
		"*;q=0":                         false,
		"gzip;q=0":                      false,
		"gzip;q=0, *":                   false,
		"gzip;q=0.000":                  false,
		"gzip ; q=0.5":                  true,
		"identity":                      false,
		"gzip;q=0.5, identity;q=0.8":    false,
		"gzip;q=0.8, identity;q=0.5":    true,
		"gzip, identity":                true,
		"identity;q=0":                  false,
		"br;q=1.0, gzip;q=0.8, *;q=0.1": true,
		"gzip;q=nonsense":               false,
		"gzip;q=2":                      false,
		"gzip, deflate, zstd, xz, lzma, lz4-framed, lz4-block, bzip2, pack200, deflate64, x-gzip": true,
	} {
		if got := wire.AcceptsGzip(http.Header{"Accept-Encoding": {accept}}); got != want {
			t.Errorf("%q: %v, want %v", accept, got, want)
		}
	}
	if !wire.AcceptsGzip(http.Header{"Accept-Encoding": {"br", "gzip"}}) {
		t.Error("a second header line counts too")
	}
}

func TestIfNoneMatchIsAListComparedWeakly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		header []string
		etag   string
		want   bool
	}{
		{nil, `"a"`, false},
		{[]string{`"a"`}, `"a"`, true},
		{[]string{`W/"a"`}, `"a"`, true},
		{[]string{`"a"`}, `W/"a"`, true},
		{[]string{`"b", "a"`}, `"a"`, true},
		{[]string{`"b","c"`}, `"a"`, false},
		{[]string{`"b"`, ` W/"c" , "a"`}, `"a"`, true},
		{[]string{`*`}, `"a"`, true},
		{[]string{`*`}, ``, false},
		{[]string{`"x, \"a"`}, `"a"`, false},
		{[]string{`"a,b"`}, `"a,b"`, true},
		{[]string{`"a,b"`}, `"a"`, false},
		{[]string{`a`}, `"a"`, true},
		{[]string{`""`}, `""`, true},
		{[]string{`"open`}, `"a"`, false},
	} {
		h := http.Header{"If-None-Match": c.header}
		if got := wire.MatchesETag(wire.EntityTags(h), c.etag); got != c.want {
			t.Errorf("If-None-Match %q against %s: %v, want %v (%q)", c.header, c.etag, got, c.want, wire.EntityTags(h))
		}
	}
}

func FuzzEntityTags(f *testing.F) {
	f.Add(`W/"a", "b"`)
	f.Add(`,,"`)
	f.Fuzz(func(t *testing.T, header string) {
		total := 0
		for _, tag := range wire.EntityTags(http.Header{"If-None-Match": {header}}) {
			total += len(tag)
		}
		if total > len(header) {
			t.Fatalf("%q grew", header)
		}
	})
}

func TestStringsArePrintedAsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		printed := wire.AppendString(nil, s)
		var back string
		if err := json.Unmarshal(printed, &back); err != nil {
			t.Fatalf("%q: %v", printed, err)
		}
		if back != strings.ToValidUTF8(s, "\ufffd") && back != toValid(s) {
			t.Fatalf("%q became %q", s, back)
		}
	})
	if got := string(wire.AppendString(nil, "a<b>&\u2028")); got != "\"a<b>&\u2028\"" {
		t.Errorf("only what must be is escaped: %s", got)
	}
}

// toValid replaces each invalid byte, where ToValidUTF8 replaces runs.
func toValid(s string) string { return string([]rune(s)) }

func TestMapsArePrintedInOrder(t *testing.T) {
	t.Parallel()
	if got := string(wire.AppendMap(nil, map[string]string{"b": "2", "a": "1"})); got != `{"a":"1","b":"2"}` {
		t.Error(got)
	}
	if got := string(wire.AppendMap(nil, nil)) + string(wire.AppendStrings(nil, nil)) + string(wire.AppendRaw(nil, nil)); got != `{}[]{}` {
		t.Error(got)
	}
}

// BenchmarkAnswer compares the splice with a handler that writes the same
// ready bytes.
func BenchmarkAnswer(b *testing.B) {
	document := []byte(`{"snapshots":[` + strings.Repeat(`{"snapshot-id":1234567890,"manifest-list":"s3://bucket/path/metadata/snap.avro"},`, 60000) + `{}]}`)
	small := document[:2000]
	for _, c := range []struct {
		name   string
		answer wire.Answer
	}{
		{"large", wire.Answer{Document: document, Packed: packedForm(b, document)}},
		{"small", wire.Answer{Document: small, Packed: packedForm(b, small)}},
	} {
		c.answer.Before = []byte(`{"metadata-location":"file:///warehouse/ns/t/metadata/00001.metadata.json","metadata":`)
		c.answer.After = []byte(`,"config":{}}`)
		for _, accept := range []string{"identity", "gzip"} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Accept-Encoding", accept)
			ready := write(c.answer, accept).Body.Bytes()
			b.Run(c.name+"/"+accept+"/splice", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.answer.Write(sink{http.Header{}}, r)
				}
			})
			b.Run(c.name+"/"+accept+"/ready", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					wire.JSON(sink{http.Header{}}, http.StatusOK, ready)
				}
			})
		}
	}
}

// sink is a connection that costs one copy, as a socket does.
type sink struct{ header http.Header }

var scratch [64 << 10]byte

func (s sink) Header() http.Header { return s.header }
func (s sink) WriteHeader(int)     {}
func (s sink) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		rest = rest[copy(scratch[:], rest):]
	}
	return len(p), nil
}

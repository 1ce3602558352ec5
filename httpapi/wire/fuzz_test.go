package wire_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// clientFault fails the test unless err is nil or a request that the client got
// wrong, told in text that can be printed.
func clientFault(t *testing.T, err error, kinds ...catalog.Kind) {
	t.Helper()
	if err == nil {
		return
	}
	var known *catalog.Error
	if !errors.As(err, &known) || !utf8.ValidString(known.Message) {
		t.Fatalf("%v is no error for a client", err)
	}
	for _, kind := range append(kinds, catalog.BadRequest) {
		if known.Kind == kind {
			return
		}
	}
	t.Fatalf("%v of kind %d", err, known.Kind)
}

// Parameters are read as net/url reads them, but for what it drops, and what
// comes out is text.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"", "a=b", "pageToken=&pageSize=10", "PAGESIZE=0", "purgeRequested=True&purgerequested=true", "force=maybe", "parent=a%1Fb&parent=a%1fb", "%zz=1", "pageSize=%00", "a;b=c", "=&&=", "pageSize=+5", "pageToken=%ff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := wire.ParseQuery(&http.Request{URL: &url.URL{RawQuery: raw}})
		clientFault(t, err)
		reference, wrong := url.ParseQuery(raw)
		if err != nil {
			if wrong == nil {
				t.Fatalf("%q is refused: %v", raw, err)
			}
			return
		}
		for name, values := range reference { // empty if a semicolon made net/url give up
			if got := q.Values(name); len(got) < len(values) {
				t.Fatalf("%q: %q lost some of %q", raw, got, values)
			}
		}
		for name := range q {
			text, sent, err := q.Lookup(name)
			clientFault(t, err)
			if err == nil && (!sent || !utf8.ValidString(text) || strings.ContainsRune(text, 0)) {
				t.Fatalf("%q: %q is %q", raw, name, text)
			}
			_, err = q.Bool(name)
			clientFault(t, err)
		}
		token, size, err := q.Page()
		clientFault(t, err)
		if _, sent, _ := q.Lookup("pageToken"); err == nil && (token != nil) != sent || size != nil && *size < 1 {
			t.Fatalf("%q: token %v, size %v", raw, token, size)
		}
	})
}

// Every reader of a member gives a value of its type or blames the client.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{"m":null}`, `{"m":"x"}`, `{"m":true}`, `{"m":7}`, `{"m":1e2}`, `{"m":9223372036854775808}`, `{"m":-0}`, `{"m":["a",null]}`, `{"m":[1,2.5]}`, `{"m":{"a":"b"}}`, `{"m":{"a":null}}`, `{"m":[{"a":1},{}]}`,
		`{"m":"\ud800"}`, `{"m":"\u0000"}`, `{"m":["\u0000"]}`, `{"m":{"\u0000":""}}`, `{"m":[[]]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := wire.ParseObject(body)
		clientFault(t, err)
		if err != nil {
			return
		}
		text := func(s string) {
			if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
				t.Fatalf("%q holds %q", body, s)
			}
		}
		for _, name := range o.Names() {
			raw := o.Raw(name)
			s, sent, err := o.String(name)
			clientFault(t, err)
			if text(s); err == nil && sent != (raw != nil) {
				t.Fatalf("%q: %q sent %v", body, name, sent)
			}
			_, err = o.RequiredString(name)
			clientFault(t, err)
			b, err := o.Bool(name)
			clientFault(t, err)
			if b && string(raw) != "true" {
				t.Fatalf("%q: %q is true", body, name)
			}
			n, err := o.Int(name)
			clientFault(t, err)
			if err == nil && raw != nil {
				var want json.Number
				if json.Unmarshal(raw, &want) != nil {
					t.Fatalf("%q: %q is %d", body, name, n)
				}
			}
			_, err = o.Ints(name)
			clientFault(t, err)
			list, _, err := o.Strings(name)
			clientFault(t, err)
			for _, s := range list {
				text(s)
			}
			texts, err := o.StringMap(name)
			clientFault(t, err)
			for k, v := range texts {
				text(k)
				text(v)
			}
			_, err = o.Array(name)
			clientFault(t, err)
			inner, _, err := o.Object(name)
			clientFault(t, err)
			for _, name := range inner.Names() {
				_, _, err := inner.String(name)
				clientFault(t, err)
			}
			_, err = o.Objects(name)
			clientFault(t, err)
		}
	})
}

// A body is what was sent or what was packed, never more than its limit.
func FuzzReadBody(f *testing.F) {
	var ok bytes.Buffer
	z := gzip.NewWriter(&ok)
	if _, err := io.WriteString(z, `{"a":1}`); err != nil {
		f.Fatal(err)
	}
	if err := z.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"a":1}`), "", int64(7))
	f.Add(ok.Bytes(), "gzip", int64(ok.Len()))
	f.Add(ok.Bytes()[:20], " GZIP ", int64(-1))
	f.Add(append(bytes.Clone(ok.Bytes()), ok.Bytes()...), "x-gzip", int64(-1))
	f.Add([]byte("x"), "br", int64(1))
	f.Fuzz(func(t *testing.T, data []byte, encoding string, length int64) {
		const limit = 1000
		r := post(bytes.NewReader(data))
		r.ContentLength = length
		r.Header.Set("Content-Encoding", encoding)
		got, err := wire.ReadBody(r, limit)
		clientFault(t, err, catalog.BodyTooLarge)
		if len(got) > limit {
			t.Fatalf("%d bytes", len(got))
		}
		if name := strings.ToLower(strings.TrimSpace(encoding)); err == nil && (name == "" || name == "identity") && !bytes.Equal(got, data) {
			t.Fatalf("%q became %q", data, got)
		}
	})
}

// Headers that clients fill with anything: nothing but an answer comes of it.
func FuzzHeaders(f *testing.F) {
	for _, seed := range []string{"gzip;q=0.5, *", "gzip;q=nan", "gzip;q=+inf", `W/"a"`, "0190a000-0000-7000-8000-00000000000f", ";;;q=,", "a%1Fb", "a%251Fb", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if wire.AcceptsGzip(http.Header{"Accept-Encoding": {text}}) && !strings.Contains(text, "*") && !strings.Contains(strings.ToLower(text), "gzip") {
			t.Fatalf("%q asks for gzip", text)
		}
		r := post(nil)
		r.Header["Idempotency-Key"] = []string{text}
		call, err := wire.Call(r, nil)
		clientFault(t, err)
		if err == nil && !strings.EqualFold(call.Idempotency.Key.String(), text) {
			t.Fatalf("%q became %v", text, call.Idempotency.Key)
		}
		levels, again, err := wire.DecodeParent(text)
		clientFault(t, err)
		for _, level := range append(levels, again...) {
			if !utf8.ValidString(level) || strings.ContainsRune(level, 0) {
				t.Fatalf("%q holds %q", text, level)
			}
		}
	})
}

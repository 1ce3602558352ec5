package wire_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
)

func post(body io.Reader) *http.Request {
	return httptest.NewRequest(http.MethodPost, "/catalog/v1/p/namespaces?x=1", body)
}

func packed(t *testing.T, data string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestBodyIsReadWithinItsLimit(t *testing.T) {
	t.Parallel()
	unsized := func(s string) *http.Request {
		r := post(io.MultiReader(strings.NewReader(s)))
		r.ContentLength = -1
		return r
	}
	encoded := func(body io.Reader, encoding string) *http.Request {
		r := post(body)
		r.Header.Set("Content-Encoding", encoding)
		return r
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		request *http.Request
		want    string
		kind    catalog.Kind
	}{
		"at the limit":             {post(strings.NewReader("0123456789")), "0123456789", 0},
		"over, announced":          {post(strings.NewReader("0123456789x")), "", catalog.BodyTooLarge},
		"over, not announced":      {unsized("0123456789x"), "", catalog.BodyTooLarge},
		"not announced":            {unsized("0123"), "0123", 0},
		"none":                     {post(nil), "", 0},
		"identity":                 {encoded(strings.NewReader("x"), "identity"), "x", 0},
		"no gzip":                  {encoded(strings.NewReader("x"), "gzip"), "", catalog.BadRequest},
		"unknown encoding":         {encoded(strings.NewReader("x"), "br"), "", catalog.BadRequest},
		"fails on the way":         {post(failing{errors.New("reset")}), "", catalog.BadRequest},
		"cut off by who went away": {post(failing{io.ErrUnexpectedEOF}).WithContext(gone), "", catalog.BadRequest},
		"deadline while it comes":  {post(failing{context.DeadlineExceeded}), "", catalog.Unavailable},
		"limit of the middleware":  {post(failing{&http.MaxBytesError{Limit: 10}}), "", catalog.BodyTooLarge},
	} {
		got, err := wire.ReadBody(c.request, 10)
		if string(got) != c.want || (err == nil) != (c.kind == 0) || err != nil && catalog.KindOf(err) != c.kind {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := wire.ReadBody(encoded(packed(t, "0123456789"), "gzip"), 100); err != nil || string(got) != "0123456789" {
		t.Errorf("gzip: %q, %v", got, err)
	}
	// A bomb is stopped at the limit of the inflated form.
	if _, err := wire.ReadBody(encoded(packed(t, strings.Repeat("0", 1<<20)), "gzip"), 10_000); catalog.KindOf(err) != catalog.BodyTooLarge {
		t.Errorf("bomb: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestIdempotencyKeyIsBoundToOperationPathAndBody(t *testing.T) {
	t.Parallel()
	const key = "0190a000-0000-7000-8000-00000000000f"
	call := func(operation, target, body string) [32]byte {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, target, nil)
		r = r.WithContext(wire.WithInfo(r.Context(), &wire.Info{Operation: operation}))
		r.Header.Set("Idempotency-Key", key)
		c, err := wire.Call(r, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if c.Idempotency.Key != ids.MustParse(key) || c.Idempotency.Operation != operation {
			t.Errorf("got %+v", c.Idempotency)
		}
		return c.Idempotency.Digest
	}
	base := call("createTable", "/a", "{}")
	if call("createTable", "/a", "{}") != base {
		t.Error("the same request has another digest")
	}
	for _, other := range [][3]string{{"dropTable", "/a", "{}"}, {"createTable", "/b", "{}"}, {"createTable", "/a", "{ }"}, {"createTable", "/a?purgeRequested=true", "{}"}, {"createTable", "/a%2F", "{}"}} {
		if call(other[0], other[1], other[2]) == base {
			t.Errorf("%q has the digest of another request", other)
		}
	}
}

func TestMalformedIdempotencyKeyIsBadRequest(t *testing.T) {
	t.Parallel()
	const key = "0190a000-0000-7000-8000-00000000000f"
	for _, keys := range [][]string{{""}, {"x"}, {key + "0"}, {"00000000-0000-0000-0000-000000000000"}, {key, key}} {
		r := post(nil)
		r.Header["Idempotency-Key"] = keys
		if _, err := wire.Call(r, nil); err == nil || catalog.KindOf(err) != catalog.BadRequest {
			t.Errorf("%q: %v, want a BadRequest", keys, err)
		}
	}
	if c, err := wire.Call(post(nil), nil); err != nil || c.Idempotency != nil {
		t.Errorf("without a key: %+v, %v", c.Idempotency, err)
	}
}

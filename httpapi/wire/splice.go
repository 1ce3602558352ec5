package wire

import (
	"io"
	"net/http"
	"strconv"
)

// Packed is a stored document in compressed form that can become part of a
// gzip member between two texts, without being inflated or deflated.
type Packed interface {
	// GzipSize is the exact size of what WriteGzip writes.
	GzipSize(before, after []byte) int64
	// WriteGzip writes before, document and after as one gzip member.
	WriteGzip(w io.Writer, before, after []byte) (int64, error)
}

// Answer is a JSON answer around a stored document: Before and After are
// written by the handler, the document between them goes out byte for byte as
// it is stored (law 7).
type Answer struct {
	Before, After []byte
	Document      []byte
	// Packed is the same document; nil if only the plain form is at hand. Where it
	// is there, for a client that takes gzip, Document may be empty.
	Packed Packed
}

// Write sends the answer with status 200, as gzip if the client takes it and
// the packed form is there. Content-Type, Content-Length, Content-Encoding and
// Vary are set.
func (a Answer) Write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Add("Vary", "Accept-Encoding")
	// A failed write means that the client is gone: there is nobody to tell.
	if a.Packed != nil && AcceptsGzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.FormatInt(a.Packed.GzipSize(a.Before, a.After), 10))
		w.WriteHeader(http.StatusOK)
		_, _ = a.Packed.WriteGzip(w, a.Before, a.After)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(a.Before)+len(a.Document)+len(a.After)))
	w.WriteHeader(http.StatusOK)
	for _, part := range [][]byte{a.Before, a.Document, a.After} {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

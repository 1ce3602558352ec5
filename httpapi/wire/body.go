package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
)

// firstBuffer bounds what a mere announcement (Content-Length) makes the
// server allocate; beyond it memory follows what has arrived.
const firstBuffer = 1 << 20

// ReadBody reads the whole body once, at most limit bytes, gzip undone if the
// client compressed it (the limit holds for both forms). Nothing has happened
// yet when it fails, so a body that does not arrive in time is Unavailable.
func ReadBody(r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	body, err := readLimited(r.Body, r.ContentLength, limit)
	if err != nil {
		return nil, bodyError(r, err, limit)
	}
	switch encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		packed, err := gzip.NewReader(bytes.NewReader(body))
		if err == nil {
			body, err = readLimited(packed, 4*int64(len(body)), limit)
		}
		if errors.Is(err, errTooLarge) {
			return nil, tooLarge(limit)
		}
		if err != nil {
			return nil, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: the body is not gzip", Cause: err}
		}
		return body, nil
	default:
		return nil, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: Content-Encoding must be gzip or absent"}
	}
}

var errTooLarge = errors.New("body too large")

func readLimited(r io.Reader, announced, limit int64) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	var buf bytes.Buffer
	if announced > 0 {
		buf.Grow(int(min(announced, firstBuffer, limit)) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, errTooLarge
	}
	return buf.Bytes(), nil
}

func tooLarge(limit int64) error {
	return &catalog.Error{Kind: catalog.BodyTooLarge, Message: fmt.Sprintf("The request body is larger than %d bytes", limit)}
}

func bodyError(r *http.Request, err error, limit int64) error {
	var tooMany *http.MaxBytesError
	switch {
	case errors.As(err, &tooMany), errors.Is(err, errTooLarge):
		return tooLarge(limit)
	case errors.Is(err, io.ErrUnexpectedEOF): // also cancels the context, and is the client's doing all the same
		return &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: the body ended early", Cause: err}
	case errors.Is(err, os.ErrDeadlineExceeded), r.Context().Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return &catalog.Error{Kind: catalog.Unavailable, Message: "The request body did not arrive in time", RetryAfter: time.Second, Cause: err}
	default:
		return &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: the body cannot be read", Cause: err}
	}
}

package middleware

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
)

// Limit refuses bodies of more than maxBody bytes and ends requests after
// timeout: the context expires, and a body that is still arriving is no longer
// waited for. The answer itself may take longer to travel.
func Limit(maxBody int64, timeout time.Duration, render Renderer) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength > maxBody {
				render(w, r, &catalog.Error{Kind: catalog.BodyTooLarge, Message: fmt.Sprintf("The request body is larger than %d bytes", maxBody)})
				return
			}
			ctx, cancel := context.WithTimeout(r.Context(), timeout)
			defer cancel()
			if r.ContentLength != 0 {
				end := sync.OnceFunc(interruptReads(ctx, w))
				defer end()
				r.Body = &body{http.MaxBytesReader(w, r.Body, maxBody), end}
			}
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}

// body tells when all of it was read. From then on the connection must not be
// disturbed: net/http listens on it for a client that goes away, and would take
// an expired deadline for one, although the answer to a commit is still due.
type body struct {
	io.ReadCloser
	end func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

// interruptReads makes reads of the body fail once ctx has expired. The
// function that it returns ends that, and does so before the connection is
// used for the next request.
func interruptReads(ctx context.Context, w http.ResponseWriter) (end func()) {
	connection, done := http.NewResponseController(w), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			// An instant long past: reads fail at once. Not every writer has a
			// connection (tests); then there is nothing to interrupt.
			_ = connection.SetReadDeadline(time.Unix(1, 0))
		}
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

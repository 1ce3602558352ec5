package middleware

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
)

// Recover turns a panic into the error that render makes of it: 500 with the
// request id; panic value and stack go to the log. If the answer had begun
// there is no honest way to end it, so the connection is broken off.
func Recover(render Renderer) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := recording(w)
			defer func() {
				p := recover()
				if p == nil {
					return
				}
				if p == http.ErrAbortHandler { //nolint:errorlint // the very value, as net/http compares it
					panic(p)
				}
				err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
				if rec.status != 0 {
					render(discard{}, r, errors.Join(errors.New("after the answer had begun"), err))
					panic(http.ErrAbortHandler)
				}
				render(rec, r, err)
			}()
			next.ServeHTTP(rec, r)
		})
	}
}

// discard is where an error is rendered to when it can only be logged.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

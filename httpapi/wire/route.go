package wire

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"net/http"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// Handler serves one route. An error that it returns is rendered in one place
// (httpapi/errors.go); after a part of the answer was written it returns nil.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Route is one method of one path.
type Route struct {
	Method string
	// Template is the path below the root of its group, with placeholders in
	// braces, spelled as the specification does: Java compares the text.
	Template string
	// Operation is the operation id of the specification. It labels metrics and
	// logs, and scopes idempotency keys.
	Operation string
	Handle    Handler
}

// Info is what the server knows about a request besides the request itself.
type Info struct {
	RequestID   ids.ID
	TraceParent string // W3C trace context to hand on, may be empty
	Actor       authz.Actor
	Operation   string // set when the route is known; empty for unknown routes
	Template    string // with its root, e.g. "/catalog/v1/{prefix}/namespaces"
	Warehouse   ids.ID // that the request is about, as its path or parameters name it; Nil for none
	Project     string // that a handler took the request to be about, as the caller wrote it; empty if none did
	Failure     error  // what was rendered as an error, for the log
}

type infoKey struct{}

// WithInfo returns a context that carries info.
func WithInfo(ctx context.Context, info *Info) context.Context {
	return context.WithValue(ctx, infoKey{}, info)
}

// InfoOf returns what [WithInfo] stored. Every request has it: the first
// middleware puts it there.
func InfoOf(ctx context.Context) *Info {
	info, _ := ctx.Value(infoKey{}).(*Info)
	if info == nil {
		return &Info{Actor: authz.Anonymous}
	}
	return info
}

// Actor returns the caller.
func Actor(r *http.Request) authz.Actor { return InfoOf(r.Context()).Actor }

// ProjectHeader returns the project that the headers of a request name, as they
// have it: x-project-id before its old spelling. Empty if they name none.
func ProjectHeader(r *http.Request) string {
	if text := r.Header.Get("X-Project-Id"); text != "" {
		return text
	}
	return r.Header.Get("X-Project-Ident")
}

// Call returns what accompanies a command. A malformed Idempotency-Key is an
// error of kind BadRequest.
func Call(r *http.Request, body []byte) (commands.Call, error) {
	info := InfoOf(r.Context())
	call := commands.Call{Actor: info.Actor, RequestID: info.RequestID, TraceParent: info.TraceParent}
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return call, nil
	}
	key, err := ids.Parse(keys[0])
	if err != nil || key.IsNil() || len(keys) > 1 {
		return commands.Call{}, &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid Idempotency-Key: one UUID of 36 characters is expected"}
	}
	call.Idempotency = &commands.Idempotency{Key: key, Operation: info.Operation, Digest: digest(info.Operation, r, body)}
	return call, nil
}

// digest binds an idempotency key to one request: SHA-256 over operation,
// path, query and body, each preceded by its length.
func digest(operation string, r *http.Request, body []byte) (sum [32]byte) {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(operation), []byte(r.URL.EscapedPath()), []byte(r.URL.RawQuery), body} {
		writePart(h, part)
	}
	h.Sum(sum[:0])
	return sum
}

func writePart(h hash.Hash, part []byte) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(part)))
	h.Write(size[:])
	h.Write(part)
}

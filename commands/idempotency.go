package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// IdempotencyStore keeps the outcomes of keyed requests. Successes are stored
// by the log inside the commit; this is the rest.
type IdempotencyStore interface {
	// LookupIdempotency returns what is stored under a caller's key.
	LookupIdempotency(ctx context.Context, principal, key ids.ID) (eventstore.Idempotency, bool, error)
	// StoreIdempotentFailure keeps a final 4xx; a twin that was first makes it
	// an [eventstore.IdempotencyHitError].
	StoreIdempotentFailure(ctx context.Context, k eventstore.Idempotency) error
}

// finalKinds are the failures that a replay repeats: what the request itself
// or the state it met made final. Not among them: rights, which are asked
// again; a failed requirement, which the client answers with another commit;
// all that may be better the next second, and every 5xx (iceberg-rest 1.15).
var finalKinds = []struct {
	kind   catalog.Kind
	name   string // as stored
	status int
}{
	{catalog.BadRequest, "BadRequest", 400},
	{catalog.IllegalArgument, "IllegalArgument", 400},
	{catalog.Validation, "Validation", 400},
	{catalog.NoSuchWarehouse, "NoSuchWarehouse", 404},
	{catalog.NoSuchNamespace, "NoSuchNamespace", 404},
	{catalog.NoSuchTable, "NoSuchTable", 404},
	{catalog.NoSuchView, "NoSuchView", 404},
	{catalog.NoSuchProject, "NoSuchProject", 404},
	{catalog.NoSuchDestination, "NoSuchDestination", 404},
	{catalog.NotFound, "NotFound", 404},
	{catalog.Unsupported, "Unsupported", 406},
	{catalog.AlreadyExists, "AlreadyExists", 409},
	{catalog.NamespaceNotEmpty, "NamespaceNotEmpty", 409},
	{catalog.WarehouseExists, "WarehouseExists", 409},
	{catalog.WarehouseNotEmpty, "WarehouseNotEmpty", 409},
	{catalog.ProjectNotEmpty, "ProjectNotEmpty", 409},
	{catalog.ProjectExists, "ProjectExists", 409},
	{catalog.Unprocessable, "Unprocessable", 422},
}

// failure is the stored form of a final 4xx.
type failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// claim makes the row that a commit with a key inserts.
func (s *Service) claim(call Call, status int, object ids.ID, pointer string, response []byte) *eventstore.Idempotency {
	if call.Idempotency == nil {
		return nil
	}
	return &eventstore.Idempotency{
		Principal: call.Actor.ID,
		Key:       call.Idempotency.Key,
		Operation: call.Idempotency.Operation,
		Digest:    call.Idempotency.Digest,
		Status:    status,
		Object:    object,
		Pointer:   pointer,
		Response:  response,
		ExpiresAt: s.deps.Clock.Now().Add(s.deps.IdempotencyLifetime),
	}
}

// once runs a command under its idempotency key. The key costs nothing while
// all goes well: the commit itself meets the row of an earlier twin. Only when
// the command ends without a commit is the row looked for, since then a twin's
// success may be the very reason (a replayed create finds its own table).
//
// run reports whether it appended. replay answers for an earlier success: it
// asks for the rights again and derives the answer from the state.
func once[T any](
	ctx context.Context, s *Service, call Call,
	run func(context.Context) (answer T, appended bool, err error),
	replay func(context.Context, eventstore.Idempotency) (T, error),
) (T, error) {
	var none T
	answer, appended, err := run(ctx)
	if call.Idempotency == nil || err == nil && appended {
		return answer, err
	}
	var hit *eventstore.IdempotencyHitError
	if errors.As(err, &hit) {
		return replayed(ctx, call, hit.Stored, replay)
	}
	if err != nil && mayPass(err) {
		return none, err
	}
	stored, found, lookErr := s.deps.Idempotency.LookupIdempotency(ctx, call.Actor.ID, call.Idempotency.Key)
	if lookErr != nil {
		return none, unavailable(lookErr, "The catalog is not available")
	}
	if found {
		return replayed(ctx, call, stored, replay)
	}
	if err == nil {
		return answer, nil // nothing changed, so there is nothing to remember
	}
	if stored, twin := s.finalise(ctx, call, err); twin {
		return replayed(ctx, call, stored, replay)
	}
	return none, err
}

// mayPass reports whether a failure says nothing about the request: then it is
// neither looked up nor kept.
func mayPass(err error) bool {
	kind := catalog.KindOf(err)
	return kind == catalog.Internal || kind == catalog.CommitStateUnknown || kind == catalog.Unavailable || kind == catalog.Throttled
}

// replayed answers a repeated request from what its first run left.
func replayed[T any](ctx context.Context, call Call, stored eventstore.Idempotency, replay func(context.Context, eventstore.Idempotency) (T, error)) (T, error) {
	var none T
	if stored.Operation != call.Idempotency.Operation || stored.Digest != call.Idempotency.Digest {
		return none, &catalog.Error{Kind: catalog.Unprocessable, Message: "The Idempotency-Key was used for another request"}
	}
	if stored.Status < 400 {
		return replay(ctx, stored)
	}
	var f failure
	if err := json.Unmarshal(stored.Response, &f); err == nil {
		for _, k := range finalKinds {
			if k.name == f.Kind {
				return none, &catalog.Error{Kind: k.kind, Message: f.Message}
			}
		}
	}
	return none, &catalog.Error{Kind: catalog.BadRequest, Message: "The request was refused before"}
}

// finalise stores a failure that a replay has to repeat. It fails quietly:
// then a replay is simply decided anew. When a twin stored its outcome in the
// meantime, that one counts and comes back.
func (s *Service) finalise(ctx context.Context, call Call, err error) (stored eventstore.Idempotency, twin bool) {
	var refused *refusal
	var e *catalog.Error
	if errors.As(err, &refused) || !errors.As(err, &e) {
		return stored, false
	}
	for _, k := range finalKinds {
		if k.kind != e.Kind {
			continue
		}
		response, encodeErr := marshal(failure{Kind: k.name, Message: e.Message})
		if encodeErr != nil {
			return stored, false
		}
		var hit *eventstore.IdempotencyHitError
		storeErr := s.deps.Idempotency.StoreIdempotentFailure(ctx, *s.claim(call, k.status, ids.Nil, "", response))
		if errors.As(storeErr, &hit) {
			return hit.Stored, true
		}
		if storeErr != nil {
			s.deps.Logger.WarnContext(ctx, "the outcome of a keyed request was not stored", "error", storeErr)
		}
	}
	return stored, false
}

// refusal marks an error that is about rights, though it may look like one
// about a missing object.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// may asks for a right. What it returns is never stored as final: rights are
// asked again in a replay.
func (s *Service) may(ctx context.Context, call Call, facts authz.Facts, action authz.Action, notFound error) error {
	if err := authz.Check(ctx, s.deps.Authorizer, call.Actor, facts, action, notFound); err != nil {
		return &refusal{err}
	}
	return nil
}

// marshal is json.Marshal without the escaping for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

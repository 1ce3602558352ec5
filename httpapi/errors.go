package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// outcome is how a kind of failure looks on the wire.
type outcome struct {
	status int
	name   string // the error's type, on which clients branch
}

// outcomes gives each kind its status and its type (iceberg-rest 4.1). It is
// the only such table.
var outcomes = map[catalog.Kind]outcome{
	catalog.Internal:                {http.StatusInternalServerError, "InternalServerError"},
	catalog.BadRequest:              {http.StatusBadRequest, "BadRequestException"},
	catalog.IllegalArgument:         {http.StatusBadRequest, "IllegalArgumentException"},
	catalog.Validation:              {http.StatusBadRequest, "ValidationException"},
	catalog.Unauthenticated:         {http.StatusUnauthorized, "NotAuthorizedException"},
	catalog.Forbidden:               {http.StatusForbidden, "ForbiddenException"},
	catalog.NoSuchWarehouse:         {http.StatusNotFound, "NoSuchWarehouseException"},
	catalog.NoSuchNamespace:         {http.StatusNotFound, "NoSuchNamespaceException"},
	catalog.NoSuchTable:             {http.StatusNotFound, "NoSuchTableException"},
	catalog.NoSuchView:              {http.StatusNotFound, "NoSuchViewException"},
	catalog.NoSuchFunction:          {http.StatusNotFound, "NoSuchFunctionException"},
	catalog.NoSuchProject:           {http.StatusNotFound, "ProjectNotFound"},
	catalog.NoSuchTask:              {http.StatusNotFound, "TaskNotFound"},
	catalog.NoSuchDestination:       {http.StatusNotFound, "NoSuchDestinationException"},
	catalog.NotFound:                {http.StatusNotFound, "NotFoundException"},
	catalog.NoSuchRoute:             {http.StatusNotFound, "BadRequestException"},
	catalog.MethodNotAllowed:        {http.StatusMethodNotAllowed, "BadRequestException"},
	catalog.Unsupported:             {http.StatusNotAcceptable, "UnsupportedOperationException"},
	catalog.AlreadyExists:           {http.StatusConflict, "AlreadyExistsException"},
	catalog.NamespaceNotEmpty:       {http.StatusConflict, "NamespaceNotEmptyException"},
	catalog.CommitFailed:            {http.StatusConflict, "CommitFailedException"},
	catalog.TabularProtected:        {http.StatusConflict, "ProtectedTabularDeletionWithoutForce"},
	catalog.NamespaceProtected:      {http.StatusConflict, "NamespaceProtected"},
	catalog.ChildNamespaceProtected: {http.StatusConflict, "ChildNamespaceProtected"},
	catalog.ChildTabularProtected:   {http.StatusConflict, "ChildTabularProtected"},
	catalog.WarehouseProtected:      {http.StatusConflict, "WarehouseProtected"},
	catalog.WarehouseExists:         {http.StatusConflict, "WarehouseAlreadyExists"},
	catalog.WarehouseNotEmpty:       {http.StatusConflict, "WarehouseNotEmpty"},
	catalog.WarehouseBusy:           {http.StatusConflict, "WarehouseHasUnfinishedTasks"},
	catalog.ProjectNotEmpty:         {http.StatusConflict, "ProjectNotEmpty"},
	catalog.ProjectExists:           {http.StatusConflict, "ProjectIdAlreadyExists"},
	catalog.BodyTooLarge:            {http.StatusRequestEntityTooLarge, "BadRequestException"},
	catalog.Unprocessable:           {http.StatusUnprocessableEntity, "UnprocessableEntityException"},
	catalog.Throttled:               {http.StatusTooManyRequests, "TooManyRequestsException"},
	catalog.Unavailable:             {http.StatusServiceUnavailable, "ServiceUnavailableException"},
	catalog.CommitStateUnknown:      {http.StatusInternalServerError, "CommitStateUnknownException"},
}

// failures renders errors.
type failures struct{ log *slog.Logger }

// write answers with the error model and notes the failure for the log. The
// cause of an error is logged and never shown; what is no [catalog.Error] is
// shown as an internal error with the request id and nothing else.
func (f failures) write(w http.ResponseWriter, r *http.Request, err error) {
	info := wire.InfoOf(r.Context())
	info.Failure = err
	kind, message, retry := classify(r, err)
	out, known := outcomes[kind]
	if !known {
		out = outcomes[catalog.Internal]
	}
	if out.name == "InternalServerError" {
		message = "Internal error; the server's log has more under request id " + info.RequestID.String()
	}
	if kind == catalog.NoSuchWarehouse && !info.Warehouse.IsNil() {
		// Lakekeeper's text. The id is the caller's, so that missing, hidden and
		// deactivated look alike.
		message = "A warehouse with id '" + info.Warehouse.String() + "' does not exist"
	}
	f.note(r, info, out, err)

	h := w.Header()
	// What a handler prepared for its success does not describe the error.
	for _, name := range []string{"Content-Encoding", "Content-Length", "ETag", "Etag", "Cache-Control"} {
		delete(h, name)
	}
	h.Set("Content-Type", "application/json")
	switch kind {
	case catalog.Unauthenticated:
		h.Set("WWW-Authenticate", "Bearer")
	case catalog.Throttled, catalog.Unavailable:
		// Java repeats a POST after 503 only if it is told when.
		h.Set("Retry-After", strconv.Itoa(max(1, int((retry+time.Second-1)/time.Second))))
	case catalog.BodyTooLarge:
		h.Set("Connection", "close") // the rest of the body is not read
	default: // no header belongs to the others
	}
	body := append([]byte(`{"error":{"message":`), wire.AppendString(nil, message)...)
	body = append(body, `,"type":`...)
	body = wire.AppendString(body, out.name)
	body = append(body, `,"code":`...)
	body = strconv.AppendInt(body, int64(out.status), 10)
	body = append(body, "}}"...)
	if r.Method == http.MethodHead {
		w.WriteHeader(out.status)
		return
	}
	wire.JSON(w, out.status, body)
}

// errorModel is the model of an error that is part of an answer.
func errorModel(err error) (status int, name, message string) {
	out, known := outcomes[catalog.KindOf(err)]
	if !known || out.name == "InternalServerError" {
		out, message = outcomes[catalog.Internal], "Internal error"
		return out.status, out.name, message
	}
	var e *catalog.Error
	errors.As(err, &e)
	return out.status, out.name, e.Message
}

// classify finds the kind of an error. Errors that escaped translation are
// taken for the worst that they can mean: on a mutation an expired deadline
// may have struck after the commit, so only a read becomes Unavailable.
func classify(r *http.Request, err error) (kind catalog.Kind, message string, retry time.Duration) {
	var known *catalog.Error
	if errors.As(err, &known) {
		return known.Kind, known.Message, known.RetryAfter
	}
	var unknown *eventstore.UnknownError
	if errors.As(err, &unknown) {
		return catalog.CommitStateUnknown, "It is not known whether the change was committed; load the object to find out", 0
	}
	reading := r.Method == http.MethodGet || r.Method == http.MethodHead
	if reading && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return catalog.Unavailable, "The request took too long", time.Second
	}
	return catalog.Internal, "", 0
}

// note logs what an operator has to know: failures of ours with their cause.
// A refusal is the client's affair and shows in the access log alone.
func (f failures) note(r *http.Request, info *wire.Info, out outcome, err error) {
	if out.status < 500 {
		return
	}
	level := slog.LevelError
	if out.status == http.StatusServiceUnavailable || errors.Is(err, context.Canceled) {
		level = slog.LevelWarn
	}
	attrs := []any{"request_id", info.RequestID, "operation", info.Operation, "type", out.name, "error", err.Error()}
	if cause := errors.Unwrap(err); cause != nil {
		attrs = append(attrs, "cause", cause.Error())
	}
	f.log.Log(r.Context(), level, "request failed", attrs...)
}

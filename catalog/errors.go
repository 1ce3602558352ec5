package catalog

import (
	"errors"
	"time"
)

// Kind classifies an [Error]. Each kind has one HTTP status and one Iceberg
// error type, given in httpapi/errors.go and nowhere else.
type Kind int

// The kinds of failure that a caller can tell apart (iceberg-rest spec,
// IcebergErrorResponse).
const (
	Internal                Kind = iota // 500 InternalServerError; text is not shown
	BadRequest                          // 400 BadRequestException
	IllegalArgument                     // 400 IllegalArgumentException
	Validation                          // 400 ValidationException
	Unauthenticated                     // 401 NotAuthorizedException
	Forbidden                           // 403 ForbiddenException
	NoSuchWarehouse                     // 404 NoSuchWarehouseException
	NoSuchNamespace                     // 404 NoSuchNamespaceException
	NoSuchTable                         // 404 NoSuchTableException
	NoSuchView                          // 404 NoSuchViewException
	NoSuchFunction                      // 404 NoSuchFunctionException
	NoSuchProject                       // 404 ProjectNotFound, as in Lakekeeper
	NoSuchTask                          // 404 TaskNotFound
	NoSuchDestination                   // 404 NoSuchDestinationException
	NotFound                            // 404 NotFoundException: a metadata file is missing
	NoSuchRoute                         // 404 BadRequestException: nothing is served there
	MethodNotAllowed                    // 405 BadRequestException
	Unsupported                         // 406 UnsupportedOperationException
	AlreadyExists                       // 409 AlreadyExistsException
	NamespaceNotEmpty                   // 409 NamespaceNotEmptyException
	CommitFailed                        // 409 CommitFailedException
	TabularProtected                    // 409 ProtectedTabularDeletionWithoutForce, as in Lakekeeper
	NamespaceProtected                  // 409 NamespaceProtected, as in Lakekeeper
	ChildNamespaceProtected             // 409 ChildNamespaceProtected, as in Lakekeeper
	ChildTabularProtected               // 409 ChildTabularProtected, as in Lakekeeper
	WarehouseProtected                  // 409 WarehouseProtected, as in Lakekeeper
	WarehouseExists                     // 409 WarehouseAlreadyExists, as in Lakekeeper
	WarehouseNotEmpty                   // 409 WarehouseNotEmpty, as in Lakekeeper
	WarehouseBusy                       // 409 WarehouseHasUnfinishedTasks, as in Lakekeeper
	ProjectNotEmpty                     // 409 ProjectNotEmpty, as in Lakekeeper
	ProjectExists                       // 409 ProjectIdAlreadyExists, as in Lakekeeper
	BodyTooLarge                        // 413 BadRequestException
	Unprocessable                       // 422 UnprocessableEntityException
	Throttled                           // 429 TooManyRequestsException, with Retry-After
	Unavailable                         // 503 ServiceUnavailableException, with Retry-After; only before any side effect
	CommitStateUnknown                  // 500 CommitStateUnknownException
)

// Error is the one error type that crosses package borders towards the
// client. Message is shown to the caller, so it names nothing the caller may
// not see and holds no secret (laws 6 and 8).
type Error struct {
	Kind       Kind
	Message    string
	RetryAfter time.Duration // for Throttled and Unavailable
	Cause      error         // logged, never shown
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, which is logged but never shown.
func (e *Error) Unwrap() error { return e.Cause }

// KindOf returns the kind of the first [Error] in err's chain, or Internal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

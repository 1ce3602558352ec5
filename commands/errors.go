package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/storage"
)

// The texts below are compared by the REST compatibility kit, exactly or by
// their beginning (iceberg-rest 4.3). Names are repeated as the client wrote
// them, levels joined by dots.

func dotted(namespace []string, name string) string {
	return strings.Join(append(append([]string(nil), namespace...), name), ".")
}

func noSuchWarehouse() error {
	return &catalog.Error{Kind: catalog.NoSuchWarehouse, Message: "Warehouse does not exist"}
}

func noSuchNamespace(levels []string) error {
	return &catalog.Error{Kind: catalog.NoSuchNamespace, Message: "Namespace does not exist: " + strings.Join(levels, ".")}
}

func noSuchTable(t Identifier) error {
	return &catalog.Error{Kind: catalog.NoSuchTable, Message: "Table does not exist: " + dotted(t.Namespace, t.Name)}
}

func namespaceExists(levels []string) error {
	return &catalog.Error{Kind: catalog.AlreadyExists, Message: "Namespace already exists: " + strings.Join(levels, ".")}
}

func namespaceNotEmpty(levels []string) error {
	return &catalog.Error{Kind: catalog.NamespaceNotEmpty, Message: "Namespace " + strings.Join(levels, ".") + " is not empty"}
}

// nameTaken says that a table or view of that kind stands at the name.
func nameTaken(kind string, t Identifier) error {
	if kind == string(catalog.EntityView) {
		return &catalog.Error{Kind: catalog.AlreadyExists, Message: "View with same name already exists: " + dotted(t.Namespace, t.Name)}
	}
	return &catalog.Error{Kind: catalog.AlreadyExists, Message: "Table already exists: " + dotted(t.Namespace, t.Name)}
}

// locationTaken names no other object: the caller may not see it (law 8).
func locationTaken() error {
	return &catalog.Error{Kind: catalog.BadRequest, Message: "The location overlaps with the location of another object"}
}

func locationOutside() error {
	return &catalog.Error{Kind: catalog.BadRequest, Message: "The location is not below the warehouse's root"}
}

// The texts and types of protection are Lakekeeper's, whose clients look for
// them (lakekeeper 2.3).

// tabularProtected says that a table or view may be dropped by force alone.
func tabularProtected(t Identifier) error {
	return &catalog.Error{
		Kind:    catalog.TabularProtected,
		Message: "Cannot delete protected tabular " + dotted(t.Namespace, t.Name) + " without force flag",
	}
}

func namespaceProtected(levels []string) error {
	return &catalog.Error{
		Kind:    catalog.NamespaceProtected,
		Message: "Namespace with name '" + strings.Join(levels, ".") + "' is protected and force flag not set. Cannot delete protected namespace.",
	}
}

// childProtected says that something in a namespace's tree is protected, and
// does not say what: the caller may not see it (law 8).
func childProtected(kind catalog.Kind, levels []string) error {
	what := "child tables or views"
	if kind == catalog.ChildNamespaceProtected {
		what = "child namespaces"
	}
	return &catalog.Error{
		Kind:    kind,
		Message: "Namespace with name '" + strings.Join(levels, ".") + "' has protected " + what + " and force flag was not specified.",
	}
}

func badRequest(format string, args ...any) error {
	return &catalog.Error{Kind: catalog.BadRequest, Message: fmt.Sprintf(format, args...)}
}

func commitFailed(format string, args ...any) error {
	return &catalog.Error{Kind: catalog.CommitFailed, Message: fmt.Sprintf(format, args...)}
}

// retrySoon is what Retry-After says when nothing happened and nothing is
// known to stand in the way for long.
const retrySoon = time.Second

func unavailable(cause error, message string) error {
	return &catalog.Error{Kind: catalog.Unavailable, Message: message, RetryAfter: retrySoon, Cause: cause}
}

// fromIceberg gives a failure of the metadata core its status.
func fromIceberg(err error) error {
	var e *iceberg.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("metadata: %w", err)
	}
	kind := catalog.BadRequest
	switch e.Kind {
	case iceberg.IllegalArgument:
		kind = catalog.IllegalArgument
	case iceberg.Validation:
		kind = catalog.Validation
	case iceberg.CommitFailed, iceberg.StaleCommit:
		kind = catalog.CommitFailed
	case iceberg.BadRequest, iceberg.Unsupported:
	}
	return &catalog.Error{Kind: kind, Message: e.Message, Cause: err}
}

// fromStorage gives a failure of the store its status. Nothing has happened to
// the catalog when it is called.
func fromStorage(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return unavailable(err, "The request ended before the store answered")
	case errors.Is(err, storage.ErrOutside):
		return &catalog.Error{Kind: catalog.BadRequest, Message: "The location is not below the warehouse's root", Cause: err}
	case errors.Is(err, storage.ErrInvalid):
		return &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid location", Cause: err}
	case errors.Is(err, storage.ErrNoSpace):
		return &catalog.Error{Kind: catalog.Unavailable, Message: "No space left in the warehouse's store", RetryAfter: 10 * time.Second, Cause: err}
	default:
		return unavailable(err, "The warehouse's store is not available")
	}
}

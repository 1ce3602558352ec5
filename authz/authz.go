package authz

import (
	"context"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// Actor is the caller, known by pseudonym only (law 6).
type Actor struct {
	ID ids.ID // pseudonym; Anonymous when authentication is off
}

// Anonymous is the actor of every request while authentication is disabled.
var Anonymous = Actor{ID: ids.MustParse("00000000-0000-7000-8000-000000000001")}

// System is the actor of what the server does by itself.
var System = Actor{ID: ids.MustParse("00000000-0000-7000-8000-000000000002")}

// Facts are what Resolve found out about the object of a request: enough for
// an authorizer to decide without asking the catalog again. Missing objects
// leave their id Nil; a decision is asked all the same, so that missing and
// forbidden can be made to look alike.
type Facts struct {
	Entity    string   // kind of the object acted on: "server", "project", "warehouse", "namespace", "table", "view"
	Object    ids.ID   // the object, Nil if it does not exist (yet)
	Ancestors []ids.ID // from the parent upwards: namespaces, warehouse, project, server
	Project   ids.ID
	Warehouse ids.ID
	// AuthzMark is the id of the last event that changed a right in the
	// project; decisions may be cached under it, and under nothing mutable.
	AuthzMark ids.ID
}

// Authorizer decides. Implementations are safe for concurrent use, never
// answer Allow on an error, and name no object in an error text.
type Authorizer interface {
	// Decide says whether the actor may do the action.
	Decide(ctx context.Context, actor Actor, facts Facts, action Action) (Decision, error)
	// Filter returns, of children of one parent, those that the actor may see
	// in a list, in the given order.
	Filter(ctx context.Context, actor Actor, parent Facts, entity string, children []ids.ID) ([]ids.ID, error)
}

// Decision is the verdict of an authorizer. The zero value denies.
type Decision struct {
	Allow bool
	// Visible says whether the actor may know that the object exists: it
	// separates 403 from 404.
	Visible bool
}

// Check asks a and turns a refusal into the error that the caller sees:
// forbidden where the object is visible, otherwise notFound, which must be the
// very error that a missing object gives.
func Check(ctx context.Context, a Authorizer, actor Actor, facts Facts, action Action, notFound error) error {
	d, err := a.Decide(ctx, actor, facts, action)
	if err != nil {
		return &catalog.Error{Kind: catalog.Unavailable, Message: "The authorizer is not available", Cause: err}
	}
	switch {
	case d.Allow:
		return nil
	case d.Visible || notFound == nil:
		return &catalog.Error{Kind: catalog.Forbidden, Message: "Not allowed: " + string(action)}
	default:
		return notFound
	}
}

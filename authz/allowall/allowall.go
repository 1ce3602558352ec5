// Package allowall is the authorizer that permits everything to everyone. It
// stands behind the authz port until an operator configures a real one; serve
// refuses to start with it unless told so in plain words (law 8).
package allowall

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// Authorizer allows everything.
type Authorizer struct{}

var _ authz.Authorizer = Authorizer{}

// Decide always allows.
func (Authorizer) Decide(context.Context, authz.Actor, authz.Facts, authz.Action) (authz.Decision, error) {
	return authz.Decision{Allow: true, Visible: true}, nil
}

// Filter returns all children.
func (Authorizer) Filter(_ context.Context, _ authz.Actor, _ authz.Facts, _ string, children []ids.ID) ([]ids.ID, error) {
	return children, nil
}

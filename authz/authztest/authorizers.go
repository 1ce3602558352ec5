package authztest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// DenyAll refuses everything. The zero value also hides: a forbidden object
// looks like a missing one.
type DenyAll struct {
	// Visible makes refusals say 403 instead of the not-found error.
	Visible bool
}

var _ authz.Authorizer = DenyAll{}

// Decide refuses.
func (d DenyAll) Decide(context.Context, authz.Actor, authz.Facts, authz.Action) (authz.Decision, error) {
	return authz.Decision{Visible: d.Visible}, nil
}

// Filter returns nothing.
func (DenyAll) Filter(context.Context, authz.Actor, authz.Facts, string, []ids.ID) ([]ids.ID, error) {
	return nil, nil
}

// ErrAway is what [Failing] answers.
var ErrAway = errors.New("the authorizer is away")

// Failing is an authorizer whose back end is away.
type Failing struct{}

var _ authz.Authorizer = Failing{}

// Decide fails.
func (Failing) Decide(context.Context, authz.Actor, authz.Facts, authz.Action) (authz.Decision, error) {
	return authz.Decision{}, ErrAway
}

// Filter fails.
func (Failing) Filter(context.Context, authz.Actor, authz.Facts, string, []ids.ID) ([]ids.ID, error) {
	return nil, ErrAway
}

// Asked is one question that a [Recorder] heard.
type Asked struct {
	Actor  authz.Actor
	Facts  authz.Facts
	Action authz.Action // empty for a Filter
	Entity string       // of a Filter
}

// Recorder passes questions on and notes them, in order. Refuse, if set, turns
// single answers into refusals.
type Recorder struct {
	Authorizer authz.Authorizer
	// Refuse says which questions are refused before Authorizer is asked.
	Refuse func(Asked) bool
	// Visible is the visibility of what Refuse refused.
	Visible bool

	mu    sync.Mutex
	asked []Asked
}

var _ authz.Authorizer = (*Recorder)(nil)

// Decide notes and answers.
func (r *Recorder) Decide(ctx context.Context, actor authz.Actor, facts authz.Facts, action authz.Action) (authz.Decision, error) {
	q := Asked{Actor: actor, Facts: facts, Action: action}
	r.note(q)
	if r.Refuse != nil && r.Refuse(q) {
		return authz.Decision{Visible: r.Visible}, nil
	}
	return r.Authorizer.Decide(ctx, actor, facts, action)
}

// Filter notes and answers; a refused question empties the list.
func (r *Recorder) Filter(ctx context.Context, actor authz.Actor, parent authz.Facts, entity string, children []ids.ID) ([]ids.ID, error) {
	q := Asked{Actor: actor, Facts: parent, Entity: entity}
	r.note(q)
	if r.Refuse != nil && r.Refuse(q) {
		return nil, nil
	}
	return r.Authorizer.Filter(ctx, actor, parent, entity, children)
}

func (r *Recorder) note(q Asked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, q)
}

// Questions returns what was asked so far.
func (r *Recorder) Questions() []Asked {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// Actions returns the actions asked so far, in order, without filters.
func (r *Recorder) Actions() []authz.Action {
	var actions []authz.Action
	for _, q := range r.Questions() {
		if q.Action != "" {
			actions = append(actions, q.Action)
		}
	}
	return actions
}

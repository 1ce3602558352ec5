package authztest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// Question is one decision that a [Subject] knows the answer to.
type Question struct {
	Actor  authz.Actor
	Facts  authz.Facts
	Action authz.Action
}

// Listing is one filter that a [Subject] knows the answer to.
type Listing struct {
	Actor    authz.Actor
	Parent   authz.Facts
	Entity   string
	Children []ids.ID
	Want     []ids.ID
}

// Subject is an authorizer under test with a state whose answers are known.
type Subject struct {
	Authorizer authz.Authorizer
	Allowed    []Question
	Refused    []Question
	Listings   []Listing
	// Broken returns the authorizer with its back end away; nil if it has none.
	Broken func(t *testing.T) authz.Authorizer
}

// Run checks that a subject keeps the promises of the port: it answers what
// its state says, the same each time and from many goroutines, never allows on
// an error, and filters to a subset in the given order.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	t.Run("AllowsWhatItsStateAllows", func(t *testing.T) {
		s := open(t)
		for _, q := range s.Allowed {
			d, err := s.Authorizer.Decide(t.Context(), q.Actor, q.Facts, q.Action)
			if err != nil || !d.Allow {
				t.Errorf("%+v: %+v, %v; want allowed", q, d, err)
			}
			if !d.Visible {
				t.Errorf("%+v: allowed but not visible", q)
			}
		}
	})
	t.Run("RefusesWhatItsStateRefuses", func(t *testing.T) {
		s := open(t)
		for _, q := range s.Refused {
			if d, err := s.Authorizer.Decide(t.Context(), q.Actor, q.Facts, q.Action); err != nil || d.Allow {
				t.Errorf("%+v: %+v, %v; want refused", q, d, err)
			}
		}
	})
	t.Run("FiltersToASubsetInTheGivenOrder", func(t *testing.T) {
		s := open(t)
		for _, l := range s.Listings {
			given := slices.Clone(l.Children)
			got, err := s.Authorizer.Filter(t.Context(), l.Actor, l.Parent, l.Entity, l.Children)
			if err != nil || !slices.Equal(got, l.Want) {
				t.Errorf("%+v: %v, %v; want %v", l, got, err, l.Want)
			}
			if !slices.Equal(given, l.Children) {
				t.Errorf("the filter changed its input from %v to %v", given, l.Children)
			}
		}
	})
	t.Run("FiltersNothingToNothing", func(t *testing.T) {
		s := open(t)
		got, err := s.Authorizer.Filter(t.Context(), authz.Anonymous, authz.Facts{Entity: "warehouse"}, "namespace", nil)
		if err != nil || len(got) != 0 {
			t.Errorf("filter of no children: %v, %v", got, err)
		}
	})
	t.Run("DecidesTheSameFromManyGoroutines", func(t *testing.T) {
		s := open(t)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for _, q := range s.Allowed {
					if d, err := s.Authorizer.Decide(t.Context(), q.Actor, q.Facts, q.Action); err != nil || !d.Allow {
						t.Errorf("%+v: %+v, %v", q, d, err)
					}
				}
				for _, q := range s.Refused {
					if d, err := s.Authorizer.Decide(t.Context(), q.Actor, q.Facts, q.Action); err != nil || d.Allow {
						t.Errorf("%+v: %+v, %v", q, d, err)
					}
				}
			})
		}
		wg.Wait()
	})
	t.Run("NeverAllowsOnAnError", func(t *testing.T) {
		s := open(t)
		subjects := []authz.Authorizer{s.Authorizer}
		if s.Broken != nil {
			subjects = append(subjects, s.Broken(t))
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		for _, a := range subjects {
			for _, q := range slices.Concat(s.Allowed, s.Refused) {
				if d, err := a.Decide(cancelled, q.Actor, q.Facts, q.Action); err != nil && d.Allow {
					t.Errorf("%+v: allowed together with the error %v", q, err)
				}
			}
			for _, l := range s.Listings {
				if got, err := a.Filter(cancelled, l.Actor, l.Parent, l.Entity, l.Children); err != nil && len(got) != 0 {
					t.Errorf("%+v: listed %v together with the error %v", l, got, err)
				}
			}
		}
	})
	if open(t).Broken != nil {
		t.Run("FailsWhenItsBackEndIsAway", func(t *testing.T) {
			s := open(t)
			broken := s.Broken(t)
			for _, q := range slices.Concat(s.Allowed, s.Refused) {
				if d, err := broken.Decide(t.Context(), q.Actor, q.Facts, q.Action); err == nil || d.Allow {
					t.Errorf("%+v: %+v, %v; want an error", q, d, err)
				}
			}
		})
	}
}

package authztest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/authz/authztest"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

var (
	one = ids.MustParse("00000000-0000-7000-8000-00000000000a")
	two = ids.MustParse("00000000-0000-7000-8000-00000000000b")
)

func questions() []authztest.Question {
	return []authztest.Question{
		{Actor: authz.Anonymous, Facts: authz.Facts{Entity: "table", Object: one}, Action: authz.TableCommit},
		{Actor: authz.Anonymous, Facts: authz.Facts{Entity: "table"}, Action: authz.TableGetMetadata},
	}
}

func listings(want []ids.ID) []authztest.Listing {
	return []authztest.Listing{{
		Actor: authz.Anonymous, Parent: authz.Facts{Entity: "namespace", Object: one},
		Entity: "table", Children: []ids.ID{two, one}, Want: want,
	}}
}

func TestAllowAllConforms(t *testing.T) {
	t.Parallel()
	authztest.Run(t, func(*testing.T) authztest.Subject {
		return authztest.Subject{Authorizer: allowall.Authorizer{}, Allowed: questions(), Listings: listings([]ids.ID{two, one})}
	})
}

func TestDenyAllConforms(t *testing.T) {
	t.Parallel()
	authztest.Run(t, func(*testing.T) authztest.Subject {
		return authztest.Subject{
			Authorizer: authztest.DenyAll{}, Refused: questions(), Listings: listings(nil),
			Broken: func(*testing.T) authz.Authorizer { return authztest.Failing{} },
		}
	})
}

func TestCheckTurnsVerdictsIntoErrors(t *testing.T) {
	t.Parallel()
	missing := &catalog.Error{Kind: catalog.NoSuchTable, Message: "Table does not exist: a.b"}
	cases := map[string]struct {
		authorizer authz.Authorizer
		notFound   error
		want       catalog.Kind
	}{
		"a hidden object looks like a missing one":        {authztest.DenyAll{}, missing, catalog.NoSuchTable},
		"a visible object is forbidden":                   {authztest.DenyAll{Visible: true}, missing, catalog.Forbidden},
		"without a not-found error it is forbidden":       {authztest.DenyAll{}, nil, catalog.Forbidden},
		"an authorizer that fails makes us wait, not act": {authztest.Failing{}, missing, catalog.Unavailable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := authz.Check(t.Context(), c.authorizer, authz.Anonymous, authz.Facts{Entity: "table"}, authz.TableCommit, c.notFound)
			if got := catalog.KindOf(err); err == nil || got != c.want {
				t.Errorf("error %v of kind %v, want kind %v", err, got, c.want)
			}
		})
	}
	if err := authz.Check(t.Context(), allowall.Authorizer{}, authz.Anonymous, authz.Facts{}, authz.TableCommit, missing); err != nil {
		t.Errorf("allowed question gives %v", err)
	}
}

func TestRecorderNotesAndRefuses(t *testing.T) {
	t.Parallel()
	r := &authztest.Recorder{
		Authorizer: allowall.Authorizer{},
		Refuse:     func(q authztest.Asked) bool { return q.Action == authz.TableDrop },
		Visible:    true,
	}
	ctx := context.Background()
	if err := authz.Check(ctx, r, authz.Anonymous, authz.Facts{}, authz.TableCommit, nil); err != nil {
		t.Fatal(err)
	}
	var refused *catalog.Error
	if err := authz.Check(ctx, r, authz.Anonymous, authz.Facts{}, authz.TableDrop, nil); !errors.As(err, &refused) || refused.Kind != catalog.Forbidden {
		t.Fatalf("refused question gives %v", err)
	}
	if got := r.Actions(); len(got) != 2 || got[0] != authz.TableCommit || got[1] != authz.TableDrop {
		t.Errorf("noted %v", got)
	}
}

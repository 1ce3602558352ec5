package queries_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/queries"
)

func newView(k *kit.Kit, namespace, name string) commands.View {
	k.Helper()
	v, err := k.Commands.CreateView(k.Context(), k.Call(), commands.CreateView{Warehouse: k.Warehouse, Namespace: []string{namespace}, Request: fmt.Appendf(nil,
		`{"name":%q,"schema":%s,"properties":{"k":%q},"view-version":{"version-id":1,"timestamp-ms":1,"schema-id":0,"summary":{},"default-namespace":[],"representations":[{"type":"sql","sql":"select 1","dialect":"spark"}]}}`,
		name, kit.Schema, strings.Repeat("x", 2000))})
	if err != nil {
		k.Fatalf("create view %s.%s: %v", namespace, name, err)
	}
	return v
}

func TestLoadViewServesTheStoredBytes(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	view := newView(k, "db", "v")
	cold := kit.New(t, kit.Setup{Share: k})
	for name, k := range map[string]*kit.Kit{"warm": k, "cold": cold, "cold, now warm": cold} {
		for _, gzip := range []bool{false, true} {
			got, err := k.Queries.LoadView(t.Context(), authz.Anonymous, k.Warehouse, queries.Identifier(kit.At("DB", "V")), gzip)
			if err != nil {
				t.Fatal(err)
			}
			if !gzip && !bytes.Equal(got.Document.Plain(), view.Document) || got.ID != view.ID || got.Mark != view.Mark || got.Pointer != view.Pointer || got.Config == nil {
				t.Errorf("%s: %+v", name, got)
			}
			packed := got.Document.Packed()
			if gzip && packed.IsZero() || !gzip && packed != nil {
				t.Errorf("%s: packed form %v", name, packed)
			}
			if gzip {
				if plain, err := packed.Unpack(); err != nil || !bytes.Equal(plain, view.Document) {
					t.Errorf("%s: another document in packed form, %v", name, err)
				}
			}
		}
	}
}

func TestLoadViewRefuses(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{Damaged: true})
	k.Namespace("db")
	k.Table("db", "t")
	view := newView(k, "db", "v")
	for _, c := range []struct {
		namespace []string
		name      string
	}{
		{[]string{"db"}, "no"}, {[]string{"db"}, "t"}, {[]string{"no"}, "v"}, {nil, "v"}, {[]string{"db"}, ""}, {[]string{"db"}, "a\x00b"}, {[]string{"db\xff"}, "v"},
	} {
		at := queries.Identifier{Namespace: c.namespace, Name: c.name}
		_, loaded := k.Queries.LoadView(t.Context(), authz.Anonymous, k.Warehouse, at, false)
		for what, err := range map[string]error{"load": loaded, "exists": k.Queries.ViewExists(t.Context(), authz.Anonymous, k.Warehouse, at)} {
			want := "View does not exist: " + strings.Join(append(slices.Clone(c.namespace), c.name), ".")
			if catalog.KindOf(err) != catalog.NoSuchView || err.Error() != want {
				t.Errorf("%s %q: %v", what, at, err)
			}
		}
	}
	if _, err := k.Queries.LoadView(t.Context(), authz.Anonymous, k.IDs.New(), queries.Identifier(kit.At("db", "v")), false); catalog.KindOf(err) != catalog.NoSuchWarehouse {
		t.Error(err)
	}
	// What was taken away behind the server is not served from memory.
	if err := os.Remove(strings.TrimPrefix(view.Pointer, "file://")); err != nil {
		t.Fatal(err)
	}
	_, err := k.Queries.LoadView(t.Context(), authz.Anonymous, k.Warehouse, queries.Identifier(kit.At("db", "v")), false)
	if catalog.KindOf(err) != catalog.NotFound || err.Error() != "Failed to open input stream for file: "+view.Pointer {
		t.Error(err)
	}
	if err := k.Queries.ViewExists(t.Context(), authz.Anonymous, k.Warehouse, queries.Identifier(kit.At("db", "v"))); err != nil {
		t.Error(err)
	}
}

// evenViews lets its callers see every second view.
type evenViews struct{ authz.Authorizer }

func (evenViews) Filter(_ context.Context, _ authz.Actor, _ authz.Facts, entity string, children []ids.ID) (seen []ids.ID, _ error) {
	for _, c := range children {
		if c[15]%2 == 0 && entity == "view" {
			seen = append(seen, c)
		}
	}
	return seen, nil
}

func TestViewsAreListedByFoldedNameAndRights(t *testing.T) {
	t.Parallel()
	owner := kit.New(t, kit.Setup{})
	owner.Namespace("DB")
	var all, seen []string
	for i := range 20 {
		name := fmt.Sprintf("V%02d", i)
		owner.Table("db", fmt.Sprintf("t%02d", i))
		all = append(all, name)
		if v := newView(owner, "db", name); v.ID[15]%2 == 0 {
			seen = append(seen, name)
		}
	}
	for name, c := range map[string]struct {
		k    *kit.Kit
		want []string
	}{"all": {owner, all}, "some": {kit.New(t, kit.Setup{Share: owner, Authorizer: evenViews{allowAll}}), seen}} {
		list := func(page queries.Page) ([]string, string, error) {
			got, err := c.k.Queries.ListViews(t.Context(), authz.Anonymous, c.k.Warehouse, []string{"db"}, page)
			var out []string
			for _, id := range got.Identifiers {
				if !slices.Equal(id.Namespace, []string{"DB"}) {
					t.Errorf("in namespace %v", id.Namespace)
				}
				out = append(out, id.Name)
			}
			return out, got.Next, err
		}
		for _, page := range []queries.Page{{}, {Size: ptr(2)}} { // a size alone does not page
			if got, next, err := list(page); err != nil || next != "" || !slices.Equal(got, c.want) {
				t.Errorf("%s: listed %v, %q, %v", name, got, next, err)
			}
		}
		for _, size := range []int{1, 3, 100} {
			if got, _ := pages(t, size, list); !slices.Equal(got, c.want) {
				t.Errorf("%s: pages of %d: %v, want %v", name, size, got, c.want)
			}
		}
	}
	_, err := owner.Queries.ListViews(t.Context(), authz.Anonymous, owner.Warehouse, []string{"no"}, queries.Page{})
	if catalog.KindOf(err) != catalog.NoSuchNamespace || err.Error() != "Namespace does not exist: no" {
		t.Error(err)
	}
}

package queries_test

import (
	"context"
	"fmt"
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

func ptr[T any](v T) *T { return &v }

// pages follows the tokens of a list to its end.
func pages(t *testing.T, size int, list func(queries.Page) ([]string, string, error)) (all []string, count int) {
	t.Helper()
	token := ""
	for {
		names, next, err := list(queries.Page{Token: &token, Size: &size})
		if err != nil {
			t.Fatal(err)
		}
		if len(names) > size {
			t.Fatalf("a page of %d holds %d", size, len(names))
		}
		all, count = append(all, names...), count+1
		if next == "" {
			return all, count
		}
		token = next
	}
}

func TestTablesAreListedByFoldedName(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("DB")
	k.Namespace("db", "child")
	names := []string{"Apple", "banana", "Cherry", "date", "Éclair", "fig", "Grape"}
	for _, name := range []string{"fig", "Cherry", "Apple", "Grape", "date", "banana", "Éclair"} {
		k.Table("db", name)
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(catalog.FoldName(a), catalog.FoldName(b)) })
	list := func(page queries.Page) ([]string, string, error) {
		got, err := k.Queries.ListTables(t.Context(), authz.Anonymous, k.Warehouse, []string{"db"}, page)
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
		if got, next, err := list(page); err != nil || next != "" || !slices.Equal(got, names) {
			t.Errorf("listed %v, %q, %v", got, next, err)
		}
	}
	for size := 1; size <= len(names)+1; size++ {
		got, count := pages(t, size, list)
		if want := (len(names) + size - 1) / size; !slices.Equal(got, names) || count != want {
			t.Errorf("pages of %d: %v on %d pages", size, got, count)
		}
	}
	for _, size := range []int{0, -1} {
		for _, token := range []*string{nil, ptr("")} {
			if _, _, err := list(queries.Page{Token: token, Size: &size}); catalog.KindOf(err) != catalog.BadRequest {
				t.Errorf("page size %d: %v", size, err)
			}
		}
	}
	if _, _, err := list(queries.Page{Token: ptr("fig")}); catalog.KindOf(err) != catalog.BadRequest {
		t.Errorf("a made-up token: %v", err)
	}
	_, err := k.Queries.ListTables(t.Context(), authz.Anonymous, k.Warehouse, []string{"no"}, queries.Page{})
	if catalog.KindOf(err) != catalog.NoSuchNamespace || err.Error() != "Namespace does not exist: no" {
		t.Error(err)
	}
	_, err = k.Queries.ListTables(t.Context(), authz.Anonymous, k.Warehouse, nil, queries.Page{})
	if catalog.KindOf(err) != catalog.NoSuchNamespace {
		t.Error(err)
	}
}

func TestNamespacesAreListedAsDirectChildren(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	for _, levels := range [][]string{{"b"}, {"A"}, {"A", "x"}, {"A", "x", "deep"}, {"A", "Y"}, {"c"}} {
		k.Namespace(levels...)
	}
	list := func(parent ...string) func(queries.Page) ([]string, string, error) {
		return func(page queries.Page) ([]string, string, error) {
			got, err := k.Queries.ListNamespaces(t.Context(), authz.Anonymous, k.Warehouse, parent, page)
			var out []string
			for _, levels := range got.Namespaces {
				out = append(out, strings.Join(levels, "."))
			}
			return out, got.Next, err
		}
	}
	for parent, want := range map[string][]string{"": {"A", "b", "c"}, "a": {"A.x", "A.Y"}, "a.X": {"A.x.deep"}, "b": nil} {
		var levels []string
		if parent != "" {
			levels = strings.Split(parent, ".")
		}
		if got, next, err := list(levels...)(queries.Page{}); err != nil || next != "" || !slices.Equal(got, want) {
			t.Errorf("below %q: %v, %q, %v", parent, got, next, err)
		}
		if got, _ := pages(t, 1, list(levels...)); !slices.Equal(got, want) {
			t.Errorf("below %q, page by page: %v", parent, got)
		}
	}
	_, next, err := list("a")(queries.Page{Token: ptr(""), Size: ptr(1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, foreign := range []func(queries.Page) ([]string, string, error){list(), list("b"), func(p queries.Page) ([]string, string, error) {
		_, err := k.Queries.ListTables(t.Context(), authz.Anonymous, k.Warehouse, []string{"a"}, p)
		return nil, "", err
	}, func(p queries.Page) ([]string, string, error) {
		_, err := k.Queries.ListNamespaces(t.Context(), authz.System, k.Warehouse, []string{"a"}, p)
		return nil, "", err
	}} {
		if _, _, err := foreign(queries.Page{Token: &next}); catalog.KindOf(err) != catalog.BadRequest {
			t.Errorf("the token of another list: %v", err)
		}
	}
	_, _, err = list("no")(queries.Page{})
	if catalog.KindOf(err) != catalog.NoSuchNamespace || err.Error() != "Namespace does not exist: no" {
		t.Error(err)
	}
}

func TestPagesAreStableUnderInserts(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	for i := range 6 {
		k.Table("db", fmt.Sprintf("t%d0", i))
	}
	page := func(token string) queries.Tables {
		got, err := k.Queries.ListTables(t.Context(), authz.Anonymous, k.Warehouse, []string{"db"}, queries.Page{Token: &token, Size: ptr(2)})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := page("")
	k.Table("db", "t00a") // behind the token's place by name, before what was not seen
	k.Table("db", "a")    // before what was seen
	if err := k.Commands.DropTable(t.Context(), k.Call(), commands.DropTable{Warehouse: k.Warehouse, Table: kit.At("db", "t10")}); err != nil {
		t.Fatal(err)
	}
	second := page(first.Next)
	if second.Identifiers[0].Name != "t20" || second.Identifiers[1].Name != "t30" {
		t.Errorf("second page %v", second.Identifiers)
	}
}

// evenOnly lets its callers see every second child.
type evenOnly struct{ authz.Authorizer }

func (evenOnly) Filter(_ context.Context, _ authz.Actor, _ authz.Facts, entity string, children []ids.ID) ([]ids.ID, error) {
	var seen []ids.ID
	for _, c := range children {
		if c[15]%2 == 0 || entity != "table" {
			seen = append(seen, c)
		}
	}
	return seen, nil
}

func TestHiddenChildrenAreLeftOutAndPagesFilled(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{Authorizer: evenOnly{allowAll}})
	k.Namespace("db")
	var want []string
	for i := range 40 {
		name := fmt.Sprintf("t%02d", i)
		if table := k.Table("db", name); table.ID[15]%2 == 0 {
			want = append(want, name)
		}
	}
	list := func(page queries.Page) ([]string, string, error) {
		got, err := k.Queries.ListTables(t.Context(), authz.Anonymous, k.Warehouse, []string{"db"}, page)
		var out []string
		for _, id := range got.Identifiers {
			out = append(out, id.Name)
		}
		return out, got.Next, err
	}
	if got, _, err := list(queries.Page{}); err != nil || !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v, %v", got, want, err)
	}
	for _, size := range []int{1, 3, 7, 100} {
		if got, _ := pages(t, size, list); !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v, want %v", size, got, want)
		}
	}
}

package commands_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

func createNamespace(k *kit.Kit, properties map[string]string, levels ...string) error {
	_, err := k.Commands.CreateNamespace(k.Context(), k.Call(), commands.CreateNamespace{Warehouse: k.Warehouse, Namespace: levels, Properties: properties})
	return err
}

func dropNamespace(k *kit.Kit, levels ...string) error {
	return k.Commands.DropNamespace(k.Context(), k.Call(), commands.DropNamespace{Warehouse: k.Warehouse, Namespace: levels})
}

func TestNamespacesAreNestedAndKeepTheirCase(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("Sales")
	wantError(t, createNamespace(k, nil, "sales"), catalog.AlreadyExists, "Namespace already exists: sales")
	wantError(t, createNamespace(k, nil, "ops", "eu"), catalog.NoSuchNamespace, "Namespace does not exist: ops")
	child := k.Namespace("SALES", "Europe")
	if !slices.Equal(child.Levels, []string{"Sales", "Europe"}) {
		t.Errorf("the child stands at %v", child.Levels)
	}
	k.Namespace("sales", "europe", "odd .%/\"ü+ name")
	got, err := k.Queries.LoadNamespace(t.Context(), authz.Anonymous, k.Warehouse, []string{"sales", "EUROPE", "ODD .%/\"Ü+ NAME"})
	if err != nil || !slices.Equal(got.Levels, []string{"Sales", "Europe", "odd .%/\"ü+ name"}) {
		t.Errorf("found %v, %v", got.Levels, err)
	}
	_, err = k.Queries.LoadNamespace(t.Context(), authz.Anonymous, k.Warehouse, []string{"nope"})
	wantError(t, err, catalog.NoSuchNamespace, "Namespace does not exist: nope")
	wantError(t, k.Queries.NamespaceExists(t.Context(), authz.Anonymous, k.IDs.New(), []string{"sales"}), catalog.NoSuchWarehouse, "")
}

func TestNamespaceNamesHaveLimits(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	deep := make([]string, catalog.MaxLevels+1)
	for i := range deep {
		deep[i] = "l"
	}
	cases := map[string][]string{
		"no level":        {},
		"an empty level":  {"a", ""},
		"a dot segment":   {".."},
		"the separator":   {"a\x1fb"},
		"a NUL byte":      {"a\x00"},
		"no UTF-8":        {"a\xff"},
		"a long level":    {strings.Repeat("x", 256)},
		"too many levels": deep,
	}
	for name, levels := range cases {
		t.Run(name, func(t *testing.T) {
			wantError(t, createNamespace(k, nil, levels...), catalog.BadRequest, "")
			// As the name of something that exists it is just not there.
			if len(levels) > 0 {
				wantError(t, dropNamespace(k, levels...), catalog.NoSuchNamespace, "Namespace does not exist: "+strings.Join(levels, "."))
				_, err := k.Load(commands.Identifier{Namespace: levels, Name: "t"}, loadAll)
				wantError(t, err, catalog.NoSuchTable, "")
			}
		})
	}
	k.Namespace(strings.Repeat("x", 255))
}

func TestNamespacePropertiesChange(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	location := "file:" + k.Root + "/somewhere/"
	if err := createNamespace(k, map[string]string{"a": "1", "b": "<&>", "location": location}, "db"); err != nil {
		t.Fatal(err)
	}
	update := func(removals []string, updates map[string]string) (commands.PropertiesChanged, error) {
		return k.Commands.UpdateNamespaceProperties(t.Context(), k.Call(), commands.UpdateNamespaceProperties{
			Warehouse: k.Warehouse, Namespace: []string{"DB"}, Removals: removals, Updates: updates,
		})
	}
	properties := func() map[string]string {
		n, err := k.Queries.LoadNamespace(t.Context(), authz.Anonymous, k.Warehouse, []string{"db"})
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]string
		if err := json.Unmarshal(n.Properties, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	want := map[string]string{"a": "1", "b": "<&>", "location": "file://" + k.Root + "/somewhere"}
	if got := properties(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("created with %v", got)
	}
	_, err := update([]string{"a"}, map[string]string{"a": "2"})
	wantError(t, err, catalog.Unprocessable, "")

	got, err := update([]string{"b", "zz"}, map[string]string{"a": "2", "c": "3"})
	if err != nil || !slices.Equal(got.Updated, []string{"a", "c"}) || !slices.Equal(got.Removed, []string{"b"}) || !slices.Equal(got.Missing, []string{"zz"}) {
		t.Errorf("changed %+v, %v", got, err)
	}
	want = map[string]string{"a": "2", "c": "3", "location": "file://" + k.Root + "/somewhere"}
	if got := properties(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("changed to %v", got)
	}
	before := len(k.Events())
	if got, err := update([]string{"zz"}, map[string]string{"a": "2"}); err != nil || got.Removed == nil || got.Missing[0] != "zz" {
		t.Errorf("without a change: %+v, %v", got, err)
	}
	if after := len(k.Events()); after != before {
		t.Errorf("a change of nothing made %d events", after-before)
	}
	_, err = update(nil, map[string]string{"location": "file:///etc"})
	wantError(t, err, catalog.BadRequest, "")
	wantError(t, createNamespace(k, map[string]string{"location": "s3://b/x"}, "other"), catalog.BadRequest, "")
}

func TestTablesStandBelowTheLocationOfTheirNamespace(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	if err := createNamespace(k, map[string]string{"location": "file://" + k.Root + "/elsewhere"}, "db"); err != nil {
		t.Fatal(err)
	}
	if table := k.Table("db", "t"); !strings.HasPrefix(table.Pointer, "file://"+filepath.Join(k.Root, "elsewhere")+"/t-") {
		t.Errorf("the table is at %s", table.Pointer)
	}
}

func TestOnlyAnEmptyNamespaceIsDropped(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("a")
	k.Namespace("a", "b")
	k.Table("a", "t")
	wantError(t, dropNamespace(k, "A"), catalog.NamespaceNotEmpty, "Namespace A is not empty")
	if err := k.Commands.DropTable(t.Context(), k.Call(), commands.DropTable{Warehouse: k.Warehouse, Table: kit.At("a", "t")}); err != nil {
		t.Fatal(err)
	}
	wantError(t, dropNamespace(k, "a"), catalog.NamespaceNotEmpty, "Namespace a is not empty")
	if err := dropNamespace(k, "a", "b"); err != nil {
		t.Fatal(err)
	}
	if err := dropNamespace(k, "a"); err != nil {
		t.Fatal(err)
	}
	wantError(t, dropNamespace(k, "a"), catalog.NoSuchNamespace, "Namespace does not exist: a")
	_, err := k.Create("a", "t", "")
	wantError(t, err, catalog.NoSuchNamespace, "Namespace does not exist: a")
	k.Namespace("a")
}

// A drop and a create below race: either the namespace is gone and the create
// is refused, or it is not empty.
func TestDropAndCreateBelowNeverBothWin(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	other := kit.New(t, kit.Setup{Share: k})
	for i := range 20 {
		name := fmt.Sprintf("n%d", i)
		k.Namespace(name)
		var dropped, created error
		var wg sync.WaitGroup
		wg.Go(func() { dropped = dropNamespace(k, name) })
		wg.Go(func() { _, created = other.Create(name, "t", "") })
		wg.Wait()
		switch {
		case dropped == nil && created == nil:
			t.Fatal("the namespace was dropped, and a table created in it")
		case dropped == nil:
			wantError(t, created, catalog.NoSuchNamespace, "")
		case created == nil:
			wantError(t, dropped, catalog.NamespaceNotEmpty, "")
		default:
			t.Fatalf("both lost: %v, %v", dropped, created)
		}
	}
}

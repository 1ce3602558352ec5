package commands_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// wantError checks the kind and the text of an error; an empty text accepts
// any, one that ends in … its beginning.
func wantError(t *testing.T, err error, kind catalog.Kind, text string) {
	t.Helper()
	var e *catalog.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Errorf("error %v of kind %d, want kind %d", err, catalog.KindOf(err), kind)
		return
	}
	if begin, ok := strings.CutSuffix(text, "…"); ok && !strings.HasPrefix(e.Message, begin) || !ok && text != "" && e.Message != text {
		t.Errorf("text %q, want %q", e.Message, text)
	}
}

func TestBootstrapWorksOnce(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{Bare: true})
	info, err := k.Queries.ServerInfo(t.Context(), authz.Anonymous)
	if err != nil || info.Bootstrapped || !info.ID.IsNil() {
		t.Fatalf("before: %+v, %v", info, err)
	}
	wantError(t, k.Commands.Bootstrap(t.Context(), k.Call(), commands.Bootstrap{}), catalog.BadRequest, "")

	var wg sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		wg.Go(func() {
			results[i] = k.Commands.Bootstrap(t.Context(), k.Call(), commands.Bootstrap{AcceptTermsOfUse: true})
		})
	}
	wg.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
			continue
		}
		wantError(t, err, catalog.AlreadyExists, "Catalog is already bootstrapped")
	}
	if won != 1 {
		t.Errorf("%d of %d bootstraps won", won, len(results))
	}
	info, err = k.Queries.ServerInfo(t.Context(), authz.Anonymous)
	if err != nil || !info.Bootstrapped || info.ID.IsNil() {
		t.Errorf("after: %+v, %v", info, err)
	}
}

func TestBootstrapsRaceBetweenInstances(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{Bare: true})
	b := kit.New(t, kit.Setup{Share: a, Bare: true})
	errs := make(chan error, 2)
	for _, k := range []*kit.Kit{a, b} {
		go func() {
			errs <- k.Commands.Bootstrap(t.Context(), k.Call(), commands.Bootstrap{AcceptTermsOfUse: true})
		}()
	}
	first, second := <-errs, <-errs
	if (first == nil) == (second == nil) {
		t.Fatalf("%v and %v", first, second)
	}
	if first == nil {
		first = second
	}
	wantError(t, first, catalog.AlreadyExists, "")
}

func TestCreateWarehouse(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	outside := t.TempDir()
	sub := filepath.Join(filepath.Dir(k.Root), "second")
	good := kit.Profile(sub)
	cases := map[string]struct {
		in   commands.CreateWarehouse
		kind catalog.Kind
	}{
		"a name that is taken":                        {commands.CreateWarehouse{Name: "demo", StorageProfile: good}, catalog.WarehouseExists},
		"a name that is taken in another letter case": {commands.CreateWarehouse{Name: "DEMO", StorageProfile: good}, catalog.WarehouseExists},
		"an empty name":                               {commands.CreateWarehouse{StorageProfile: good}, catalog.BadRequest},
		"a name with a slash":                         {commands.CreateWarehouse{Name: "a/b", StorageProfile: good}, catalog.BadRequest},
		"a long name":                                 {commands.CreateWarehouse{Name: strings.Repeat("x", 129), StorageProfile: good}, catalog.BadRequest},
		"no profile":                                  {commands.CreateWarehouse{Name: "x"}, catalog.BadRequest},
		"an unknown kind of profile":                  {commands.CreateWarehouse{Name: "x", StorageProfile: json.RawMessage(`{"type":"tape"}`)}, catalog.BadRequest},
		"a root outside the configured ones":          {commands.CreateWarehouse{Name: "x", StorageProfile: kit.Profile(outside)}, catalog.BadRequest},
		"a format that does not exist":                {commands.CreateWarehouse{Name: "x", StorageProfile: good, AllowedFormats: []int{4}}, catalog.BadRequest},
		"a default format that is not allowed":        {commands.CreateWarehouse{Name: "x", StorageProfile: good, AllowedFormats: []int{1}, DefaultFormat: 2}, catalog.BadRequest},
		"an unknown project":                          {commands.CreateWarehouse{Project: k.IDs.New(), Name: "x", StorageProfile: good}, catalog.NoSuchProject},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := k.Commands.CreateWarehouse(t.Context(), k.Call(), c.in)
			wantError(t, err, c.kind, "")
		})
	}
	made, err := k.Commands.CreateWarehouse(t.Context(), k.Call(), commands.CreateWarehouse{Name: "Second", StorageProfile: good, AllowedFormats: []int{3, 1, 3}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.Queries.GetWarehouse(t.Context(), authz.Anonymous, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "Second" || !got.Active || got.DefaultFormat != 3 || fmt.Sprint(got.AllowedFormats) != "[1 3]" || got.Project != ids.Nil.String() ||
		string(got.StorageProfile) != string(good) || !got.UpdatedAt.Equal(kit.Now) {
		t.Errorf("got %+v with profile %s", got, got.StorageProfile)
	}
	if files := kit.Files(t, sub); len(files) != 0 {
		t.Errorf("the probe left %v", files)
	}
	list, err := k.Queries.ListWarehouses(t.Context(), authz.Anonymous, ids.Nil)
	if err != nil || len(list) != 2 || list[0].Name != "demo" || list[1].Name != "Second" {
		t.Errorf("listed %+v, %v", list, err)
	}
	config, err := k.Queries.Config(t.Context(), authz.Anonymous, ids.Nil, "sEcOnD")
	if err != nil || config.Warehouse.ID != made.ID {
		t.Errorf("found by name: %+v, %v", config, err)
	}
	for _, name := range []string{"third", "", "a\x00b", strings.Repeat("x", 5000)} {
		_, err = k.Queries.Config(t.Context(), authz.Anonymous, ids.Nil, name)
		wantError(t, err, catalog.NoSuchWarehouse, "A warehouse '"+name+"' does not exist")
	}
	_, err = k.Queries.GetWarehouse(t.Context(), authz.Anonymous, k.IDs.New())
	wantError(t, err, catalog.NoSuchWarehouse, "")
}

func TestWarehouseProfileIsTriedOut(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{Bare: true})
	k.Bootstrap()
	file := filepath.Join(filepath.Dir(k.Root), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := k.Commands.CreateWarehouse(t.Context(), k.Call(), commands.CreateWarehouse{Name: "x", StorageProfile: kit.Profile(file)})
	wantError(t, err, catalog.BadRequest, "The storage profile does not work: …")
	if got := len(k.Events()); got != 2 {
		t.Errorf("%d events", got)
	}
}

func TestOneOfManyWarehousesOfOneNameIsMade(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	var wg sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		wg.Go(func() {
			name := []string{"same", "SAME"}[i%2]
			_, results[i] = k.Commands.CreateWarehouse(t.Context(), k.Call(), commands.CreateWarehouse{Name: name, StorageProfile: kit.Profile(k.Root)})
		})
	}
	wg.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
		} else {
			wantError(t, err, catalog.WarehouseExists, "")
		}
	}
	if won != 1 {
		t.Errorf("%d were made", won)
	}
}

package commands_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/authztest"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// both runs two things at once, on two instances, and returns their errors.
func both(a, b func() error) (errA, errB error) {
	var wg sync.WaitGroup
	wg.Go(func() { errA = a() })
	wg.Go(func() { errB = b() })
	wg.Wait()
	return errA, errB
}

func TestOneOfManyProjectsOfOneIDIsMade(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	for i := range 5 {
		made := func(k *kit.Kit) func() error {
			return func() error {
				_, err := k.Commands.CreateProject(t.Context(), k.Call(), commands.CreateProject{Name: "p", Ident: fmt.Sprintf("p%d", i)})
				return err
			}
		}
		errA, errB := both(made(a), made(b))
		if (errA == nil) == (errB == nil) {
			t.Fatalf("%v and %v", errA, errB)
		}
		if errA == nil {
			errA = errB
		}
		wantError(t, errA, catalog.ProjectExists, "Project with this id already exists")
	}
	list, err := a.Queries.ListProjects(t.Context(), authz.Anonymous)
	if err != nil || len(list) != 6 {
		t.Errorf("%v, %v", list, err)
	}
}

// A project ends, or a warehouse comes into it, but never both.
func TestProjectIsNotDeletedUnderAWarehouse(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	for i := range 8 {
		p, err := a.Commands.CreateProject(t.Context(), a.Call(), commands.CreateProject{Name: "p"})
		if err != nil {
			t.Fatal(err)
		}
		profile := kit.Profile(filepath.Join(filepath.Dir(a.Root), fmt.Sprintf("w%d", i)))
		deleted, created := both(
			func() error {
				return a.Commands.DeleteProject(t.Context(), a.Call(), commands.DeleteProject{Project: p.ID})
			},
			func() error {
				_, err := b.Commands.CreateWarehouse(t.Context(), b.Call(), commands.CreateWarehouse{Project: p.ID, Name: "w", StorageProfile: profile})
				return err
			})
		switch {
		case deleted == nil:
			wantError(t, created, catalog.NoSuchProject, "")
		case created == nil:
			wantError(t, deleted, catalog.ProjectNotEmpty, "Project is not empty")
		default:
			t.Errorf("%v and %v", deleted, created)
		}
	}
}

// A warehouse ends, or a namespace comes into it, but never both.
func TestWarehouseIsNotDeletedUnderANamespace(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	for i := range 8 {
		w := a.NewWarehouse(fmt.Sprintf("w%d", i), filepath.Join(filepath.Dir(a.Root), fmt.Sprintf("w%d", i)))
		deleted, created := both(
			func() error {
				return a.Commands.DeleteWarehouse(t.Context(), a.Call(), commands.DeleteWarehouse{Warehouse: w})
			},
			func() error {
				_, err := b.Commands.CreateNamespace(t.Context(), b.Call(), commands.CreateNamespace{Warehouse: w, Namespace: []string{"n"}})
				return err
			})
		switch {
		case deleted == nil:
			wantError(t, created, catalog.NoSuchWarehouse, "")
		case created == nil:
			wantError(t, deleted, catalog.WarehouseNotEmpty, "")
		default:
			t.Errorf("%v and %v", deleted, created)
		}
	}
}

// Of two warehouses that take the same name one gets it; changes of one
// warehouse that do not touch each other all happen.
func TestWarehouseChangesRace(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	other := a.NewWarehouse("other", filepath.Join(filepath.Dir(a.Root), "other"))
	rename := func(k *kit.Kit, w ids.ID) func() error {
		return func() error {
			_, err := k.Commands.RenameWarehouse(t.Context(), k.Call(), commands.RenameWarehouse{Warehouse: w, Name: "Taken"})
			return err
		}
	}
	errA, errB := both(rename(a, a.Warehouse), rename(b, other))
	if (errA == nil) == (errB == nil) {
		t.Fatalf("%v and %v", errA, errB)
	}
	if errA == nil {
		errA = errB
	}
	wantError(t, errA, catalog.WarehouseExists, "")
	for range 5 {
		errA, errB := both(
			func() error {
				_, err := a.Commands.SetWarehouseProtection(t.Context(), a.Call(), commands.SetWarehouseProtection{Warehouse: other, Protected: true})
				return err
			},
			func() error {
				_, err := b.Commands.UpdateWarehouseFormatVersions(t.Context(), b.Call(), commands.UpdateWarehouseFormatVersions{Warehouse: other, AllowedFormats: []int{2}})
				return err
			})
		got, err := a.Queries.GetWarehouse(t.Context(), authz.Anonymous, other)
		if errA != nil || errB != nil || err != nil || !got.Protected || len(got.AllowedFormats) != 1 {
			t.Fatalf("%v, %v, %v: %+v", errA, errB, err, got)
		}
		if _, err := a.Commands.SetWarehouseProtection(t.Context(), a.Call(), commands.SetWarehouseProtection{Warehouse: other}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Commands.UpdateWarehouseFormatVersions(t.Context(), b.Call(), commands.UpdateWarehouseFormatVersions{Warehouse: other, AllowedFormats: []int{1, 2, 3}}); err != nil {
			t.Fatal(err)
		}
	}
}

// The rights that each command asks for, on the object that it is about.
func TestManagementAsksForItsRights(t *testing.T) {
	t.Parallel()
	k, recorder := recorded(t)
	ctx := t.Context()
	k.Namespace("db")
	table := k.Table("db", "t")
	p, err := k.Commands.CreateProject(ctx, k.Call(), commands.CreateProject{Name: "p"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		run    func() error
		action authz.Action
		object ids.ID
	}{
		"rename project": {func() error {
			return k.Commands.RenameProject(ctx, k.Call(), commands.RenameProject{Project: p.ID, Name: "q"})
		}, authz.ProjectRename, p.ID},
		"deactivate": {func() error {
			_, err := k.Commands.SetWarehouseActive(ctx, k.Call(), commands.SetWarehouseActive{Warehouse: k.Warehouse, Active: true})
			return err
		}, authz.WarehouseActivate, k.Warehouse},
		"protect table": {func() error {
			_, err := k.Commands.SetProtection(ctx, k.Call(), commands.SetProtection{Warehouse: k.Warehouse, Kind: catalog.EntityTable, Object: table.ID, Protected: true})
			return err
		}, authz.TableSetProtection, table.ID},
		"storage": {func() error {
			_, err := k.Commands.UpdateWarehouseStorage(ctx, k.Call(), commands.UpdateWarehouseStorage{Warehouse: k.Warehouse, StorageProfile: kit.Profile(k.Root)})
			return err
		}, authz.WarehouseUpdateStorage, k.Warehouse},
		"search": {func() error { _, err := k.Queries.SearchTabulars(ctx, authz.Anonymous, k.Warehouse, "x"); return err }, authz.WarehouseUse, k.Warehouse},
	} {
		before := len(recorder.Questions())
		if err := c.run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		asked := recorder.Questions()[before:]
		if len(asked) != 1 || asked[0].Action != c.action || asked[0].Facts.Object != c.object {
			t.Errorf("%s asks %+v", name, asked)
		}
	}
}

func recorded(t *testing.T) (*kit.Kit, *authztest.Recorder) {
	t.Helper()
	recorder := &authztest.Recorder{Authorizer: allowAll}
	return kit.New(t, kit.Setup{Authorizer: recorder}), recorder
}

package commands_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/authztest"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/queries"
	"github.com/icecore-catalog/icecore/storage"
)

// watchedOpener counts the stores that were opened.
type watchedOpener struct {
	stores *storage.Stores
	opened *atomic.Int64
}

func (o watchedOpener) Open(ctx context.Context, p storage.Profile) (storage.Store, error) {
	o.opened.Add(1)
	return o.stores.Open(ctx, p)
}

// everything is every command and query, on objects that exist and on others.
func everything(k *kit.Kit, table ids.ID, pointer string, call func() commands.Call) map[string]func() error {
	ctx, actor := k.Context(), authz.Anonymous
	all := map[string]func() error{
		"bootstrap": func() error { return k.Commands.Bootstrap(ctx, call(), commands.Bootstrap{AcceptTermsOfUse: true}) },
		"create warehouse": func() error {
			_, err := k.Commands.CreateWarehouse(ctx, call(), commands.CreateWarehouse{Name: "w", StorageProfile: kit.Profile(k.Root + "/w")})
			return err
		},
		"config":          func() error { _, err := k.Queries.Config(ctx, actor, ids.Nil, "demo"); return err },
		"config, missing": func() error { _, err := k.Queries.Config(ctx, actor, ids.Nil, "no"); return err },
		"server info":     func() error { _, err := k.Queries.ServerInfo(ctx, actor); return err },
		"protect": func() error {
			_, err := k.Commands.SetProtection(ctx, call(), commands.SetProtection{Warehouse: k.Warehouse, Kind: catalog.EntityTable, Object: table, Protected: true})
			return err
		},
		"search": func() error {
			_, err := k.Queries.SearchTabulars(ctx, actor, k.Warehouse, "t")
			return err
		},
		"warehouse statistics": func() error {
			_, _, err := k.Queries.WarehouseStatistics(ctx, actor, k.Warehouse, queries.Page{})
			return err
		},
		"endpoint statistics": func() error {
			_, _, _, err := k.Queries.EndpointStatistics(ctx, actor, queries.EndpointWindow{})
			return err
		},
		"endpoint statistics of a warehouse": func() error {
			_, _, _, err := k.Queries.EndpointStatistics(ctx, actor, queries.EndpointWindow{Warehouse: k.Warehouse})
			return err
		},
		"validate warehouse": func() error {
			_, err := k.Commands.ValidateWarehouse(ctx, call(), commands.ValidateWarehouse{CreateWarehouse: commands.CreateWarehouse{Name: "w", StorageProfile: kit.Profile(k.Root + "/w")}})
			return err
		},
		"validate storage": func() error {
			_, err := k.Commands.ValidateStorage(ctx, call(), commands.ValidateStorage{Warehouse: k.Warehouse})
			return err
		},
		"get protection": func() error {
			_, err := k.Queries.GetProtection(ctx, actor, k.Warehouse, catalog.EntityTable, table)
			return err
		},
		"list destinations": func() error { _, err := k.Queries.ListDestinations(ctx, actor); return err },
		"get destination":   func() error { _, err := k.Queries.GetDestination(ctx, actor, k.IDs.New()); return err },
		"parked events": func() error {
			_, _, err := k.Queries.ParkedEvents(ctx, actor, k.IDs.New(), queries.Page{})
			return err
		},
		"event data":    func() error { _, err := k.Queries.Event(ctx, actor, k.IDs.New()); return err },
		"list projects": func() error { _, err := k.Queries.ListProjects(ctx, actor); return err },
		"get project":   func() error { _, err := k.Queries.GetProject(ctx, actor, ids.Nil); return err },
		"create project": func() error {
			_, err := k.Commands.CreateProject(ctx, call(), commands.CreateProject{Name: "p"})
			return err
		},
		"rename project": func() error { return k.Commands.RenameProject(ctx, call(), commands.RenameProject{Name: "p"}) },
		"delete project": func() error { return k.Commands.DeleteProject(ctx, call(), commands.DeleteProject{}) },
		"rename warehouse": func() error {
			_, err := k.Commands.RenameWarehouse(ctx, call(), commands.RenameWarehouse{Warehouse: k.Warehouse, Name: "w"})
			return err
		},
		"deactivate warehouse": func() error {
			_, err := k.Commands.SetWarehouseActive(ctx, call(), commands.SetWarehouseActive{Warehouse: k.Warehouse})
			return err
		},
		"update warehouse storage": func() error {
			_, err := k.Commands.UpdateWarehouseStorage(ctx, call(), commands.UpdateWarehouseStorage{Warehouse: k.Warehouse, StorageProfile: kit.Profile(k.Root)})
			return err
		},
		"check warehouse storage": func() error {
			_, err := k.Commands.CheckWarehouseStorage(ctx, call(), commands.CheckWarehouseStorage{Warehouse: k.Warehouse})
			return err
		},
		"update warehouse delete profile": func() error {
			_, err := k.Commands.UpdateWarehouseDeleteProfile(ctx, call(), commands.UpdateWarehouseDeleteProfile{Warehouse: k.Warehouse, ExpirationSeconds: new(int64)})
			return err
		},
		"set undo window": func() error {
			_, err := k.Commands.SetUndoWindow(ctx, call(), commands.SetUndoWindow{Warehouse: k.Warehouse, Seconds: new(int64)})
			return err
		},
		"update warehouse formats": func() error {
			_, err := k.Commands.UpdateWarehouseFormatVersions(ctx, call(), commands.UpdateWarehouseFormatVersions{Warehouse: k.Warehouse, AllowedFormats: []int{2}})
			return err
		},
		"protect warehouse": func() error {
			_, err := k.Commands.SetWarehouseProtection(ctx, call(), commands.SetWarehouseProtection{Warehouse: k.Warehouse, Protected: true})
			return err
		},
		"delete warehouse": func() error {
			return k.Commands.DeleteWarehouse(ctx, call(), commands.DeleteWarehouse{Warehouse: k.Warehouse, Force: true})
		},
		"create destination": func() error {
			_, err := k.Commands.CreateDestination(ctx, call(), commands.CreateDestination{Name: "d", Kind: "log"})
			return err
		},
		"list warehouses": func() error { _, err := k.Queries.ListWarehouses(ctx, actor, ids.Nil); return err },
		"get warehouse":   func() error { _, err := k.Queries.GetWarehouse(ctx, actor, k.Warehouse); return err },
		"metrics reports": func() error {
			_, err := k.Queries.MetricsReports(ctx, actor, k.Warehouse, k.IDs.New(), queries.ReportFilter{}, queries.Page{})
			return err
		},
		"list namespaces": func() error {
			_, err := k.Queries.ListNamespaces(ctx, actor, k.Warehouse, nil, queries.Page{})
			return err
		},
		"create namespace": func() error {
			_, err := k.Commands.CreateNamespace(ctx, call(), commands.CreateNamespace{Warehouse: k.Warehouse, Namespace: []string{"n"}})
			return err
		},
		"transaction": func() error {
			return k.Commands.CommitTransaction(ctx, call(), commands.CommitTransaction{
				Warehouse: k.Warehouse, Changes: []commands.CommitTable{k.Change(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1))},
			})
		},
		"rename": func() error {
			return k.Commands.RenameTable(ctx, call(), commands.RenameTable{Warehouse: k.Warehouse, Source: kit.At("db", "t"), Destination: kit.At("db", "u")})
		},
	}
	for name, id := range map[string]ids.ID{"a destination": k.Destination("stays"), "no destination": k.IDs.New()} {
		destinations(k, all, name, id, call)
	}
	for _, db := range []string{"db", "no"} {
		levels := []string{db}
		all["load namespace "+db] = func() error { _, err := k.Queries.LoadNamespace(ctx, actor, k.Warehouse, levels); return err }
		all["namespace exists "+db] = func() error { return k.Queries.NamespaceExists(ctx, actor, k.Warehouse, levels) }
		all["list namespaces below "+db] = func() error {
			_, err := k.Queries.ListNamespaces(ctx, actor, k.Warehouse, levels, queries.Page{})
			return err
		}
		all["list tables "+db] = func() error {
			_, err := k.Queries.ListTables(ctx, actor, k.Warehouse, levels, queries.Page{})
			return err
		}
		all["create namespace below "+db] = func() error {
			_, err := k.Commands.CreateNamespace(ctx, call(), commands.CreateNamespace{Warehouse: k.Warehouse, Namespace: []string{db, "n"}})
			return err
		}
		all["update namespace "+db] = func() error {
			_, err := k.Commands.UpdateNamespaceProperties(ctx, call(), commands.UpdateNamespaceProperties{Warehouse: k.Warehouse, Namespace: levels, Updates: map[string]string{"a": "b"}})
			return err
		}
		all["drop namespace "+db] = func() error {
			return k.Commands.DropNamespace(ctx, call(), commands.DropNamespace{Warehouse: k.Warehouse, Namespace: levels})
		}
		all["drop the tree of "+db] = func() error {
			return k.Commands.DropNamespace(ctx, call(), commands.DropNamespace{Warehouse: k.Warehouse, Namespace: levels, Recursive: true, Force: true, PurgeRequested: true})
		}
		all["list functions in "+db] = func() error { return k.Queries.ListFunctions(ctx, actor, k.Warehouse, levels, queries.Page{}) }
		all["create table in "+db] = func() error {
			_, err := k.Commands.CreateTable(ctx, call(), commands.CreateTable{Warehouse: k.Warehouse, Namespace: levels, Request: kit.Request("u", "")})
			return err
		}
		all["stage table in "+db] = func() error {
			_, err := k.Commands.CreateTable(ctx, call(), commands.CreateTable{Warehouse: k.Warehouse, Namespace: levels, Request: kit.Request("u", `,"stage-create":true`)})
			return err
		}
		all["register in "+db] = func() error {
			_, err := k.Commands.RegisterTable(ctx, call(), commands.RegisterTable{Warehouse: k.Warehouse, Namespace: levels, Name: "u", MetadataLocation: pointer})
			return err
		}
		views(k, all, db, pointer, call)
		for _, name := range []string{"t", "no"} {
			at := kit.At(db, name)
			all["load "+db+"."+name] = func() error { _, err := k.Load(at, loadAll); return err }
			all["table exists "+db+"."+name] = func() error {
				return k.Queries.TableExists(ctx, actor, k.Warehouse, queries.Identifier(at))
			}
			all["commit "+db+"."+name] = func() error {
				_, err := k.Commands.CommitTable(ctx, call(), k.Change(at, kit.Head(0), kit.Append(1, 0, 1)))
				return err
			}
			all["create by commit "+db+"."+name] = func() error {
				_, err := k.Commands.CommitTable(ctx, call(), k.Change(at, assertCreate, creation("file://"+k.Root+"/x", k.IDs.New().String())))
				return err
			}
			all["report metrics "+db+"."+name] = func() error {
				return k.Commands.ReportMetrics(ctx, call(), commands.ReportMetrics{Warehouse: k.Warehouse, Table: at, Type: "scan-report", Report: []byte("{}")})
			}
			all["credentials "+db+"."+name] = func() error {
				_, err := k.Queries.Credentials(ctx, actor, k.Warehouse, queries.Identifier(at))
				return err
			}
			all["unregister "+db+"."+name] = func() error {
				_, err := k.Commands.UnregisterTable(ctx, call(), commands.UnregisterTable{Warehouse: k.Warehouse, Table: at, Force: true})
				return err
			}
			all["drop "+db+"."+name] = func() error {
				return k.Commands.DropTable(ctx, call(), commands.DropTable{Warehouse: k.Warehouse, Table: at})
			}
		}
	}
	return all
}

// views adds every command and query on views.
func views(k *kit.Kit, all map[string]func() error, db, pointer string, call func() commands.Call) {
	ctx, actor, levels := k.Context(), authz.Anonymous, []string{db}
	all["list views "+db] = func() error {
		return second(k.Queries.ListViews(ctx, actor, k.Warehouse, levels, queries.Page{}))
	}
	all["create view in "+db] = func() error {
		return second(k.Commands.CreateView(ctx, call(), commands.CreateView{Warehouse: k.Warehouse, Namespace: levels, Request: createViewRequest("w", "")}))
	}
	all["register view in "+db] = func() error {
		return second(k.Commands.RegisterView(ctx, call(), commands.RegisterView{Warehouse: k.Warehouse, Namespace: levels, Name: "w", MetadataLocation: pointer}))
	}
	for _, name := range []string{"v", "no"} {
		at := kit.At(db, name)
		all["load view "+db+"."+name] = func() error { return second(loadView(k, at)) }
		all["view exists "+db+"."+name] = func() error { return k.Queries.ViewExists(ctx, actor, k.Warehouse, queries.Identifier(at)) }
		all["replace view "+db+"."+name] = func() error {
			return second(k.Commands.CommitView(ctx, call(), commands.CommitView{Warehouse: k.Warehouse, View: at, Updates: []byte(setProperty)}))
		}
		all["drop view "+db+"."+name] = func() error {
			return k.Commands.DropView(ctx, call(), commands.DropView{Warehouse: k.Warehouse, View: at, Force: true})
		}
		all["rename view "+db+"."+name] = func() error {
			return k.Commands.RenameView(ctx, call(), commands.RenameView{Warehouse: k.Warehouse, Source: at, Destination: kit.At("db", "w")})
		}
	}
}

// With an authorizer that refuses everything, everything is refused, nothing
// is written, and no store is even opened; what is hidden looks like what is
// missing.
func TestWithoutRightsNothingIsTouched(t *testing.T) {
	t.Parallel()
	owner := kit.New(t, kit.Setup{})
	owner.Namespace("db")
	table := owner.Table("db", "t")
	newView(owner, "db", "v")
	owner.Destination("stays")
	for name, authorizer := range map[string]authz.Authorizer{
		"hidden": authztest.DenyAll{}, "visible": authztest.DenyAll{Visible: true}, "away": authztest.Failing{},
	} {
		t.Run(name, func(t *testing.T) {
			var opened atomic.Int64
			k := kit.New(t, kit.Setup{Share: owner, Authorizer: authorizer, Opener: func(s *storage.Stores) kit.Opener { return watchedOpener{s, &opened} }})
			events, files := owner.Events(), kit.Files(t, k.Root)
			texts := map[string]string{}
			for _, keyed := range []bool{false, true} {
				call := k.Call
				if keyed {
					call = func() commands.Call { return k.Keyed(k.IDs.New(), 1) }
				}
				for what, run := range everything(k, table.ID, table.Pointer, call) {
					err := run()
					if err == nil {
						t.Errorf("%s: allowed", what)
						continue
					}
					kind := catalog.KindOf(err)
					switch name {
					case "visible":
						if kind != catalog.Forbidden {
							t.Errorf("%s: %v", what, err)
						}
					case "away":
						if kind != catalog.Unavailable {
							t.Errorf("%s: %v", what, err)
						}
					default:
						texts[what] = err.Error()
						if kind == catalog.CommitFailed || kind == catalog.AlreadyExists || kind == catalog.Internal {
							t.Errorf("%s: %v", what, err)
						}
					}
				}
			}
			if !slices.Equal(events, owner.Events()) || !slices.Equal(files, kit.Files(t, k.Root)) {
				t.Error("something was written")
			}
			if n := opened.Load(); n != 0 {
				t.Errorf("%d stores were opened", n)
			}
			if _, err := os.Stat(k.Root + "/w"); err == nil {
				t.Error("a refused warehouse has a folder")
			}
			var keys int
			if err := owner.Pool.QueryRow(t.Context(), "SELECT count(*) FROM es.idempotency").Scan(&keys); err != nil || keys != 0 {
				t.Errorf("%d keys were kept, %v", keys, err)
			}
			for what, text := range texts {
				// The same with the hidden name in place of the missing one.
				missing := strings.NewReplacer("db", "no", ".t", ".no", ".v", ".no")
				if other := missing.Replace(what); other != what && missing.Replace(text) != texts[other] {
					twin := texts[other]
					t.Errorf("%s: %q tells hidden from missing: %q", what, text, twin)
				}
			}
		})
	}
}

// The rights that each command asks for, in order.
func TestCommandsAskForTheirRights(t *testing.T) {
	t.Parallel()
	recorder := &authztest.Recorder{Authorizer: allowAll}
	k := kit.New(t, kit.Setup{Authorizer: recorder})
	k.Namespace("db")
	table := k.Table("db", "t")
	ctx := t.Context()
	for name, c := range map[string]struct {
		run  func() error
		want []authz.Action
	}{
		"create table": {func() error { _, err := k.Create("db", "x", ""); return err }, []authz.Action{authz.NamespaceCreateTable}},
		"commit":       {func() error { _, err := k.Commit(kit.At("db", "t"), "", setProperty); return err }, []authz.Action{authz.TableCommit}},
		"load":         {func() error { _, err := k.Load(kit.At("db", "t"), loadAll); return err }, []authz.Action{authz.TableGetMetadata}},
		"credentials": {func() error {
			_, err := k.Queries.Credentials(ctx, authz.Anonymous, k.Warehouse, queries.Identifier(kit.At("db", "t")))
			return err
		}, []authz.Action{authz.TableReadData}},
		"report metrics": {func() error {
			return k.Commands.ReportMetrics(ctx, k.Call(), commands.ReportMetrics{Warehouse: k.Warehouse, Table: kit.At("db", "t"), Type: "scan-report", Report: []byte("{}")})
		}, []authz.Action{authz.TableGetMetadata}},
		"metrics reports": {func() error {
			_, err := k.Queries.MetricsReports(ctx, authz.Anonymous, k.Warehouse, table.ID, queries.ReportFilter{}, queries.Page{})
			return err
		}, []authz.Action{authz.TableGetMetadata}},
		"child namespace": {func() error { return createNamespace(k, nil, "db", "x") }, []authz.Action{authz.NamespaceCreateNamespace}},
		"namespace":       {func() error { return createNamespace(k, nil, "db2") }, []authz.Action{authz.WarehouseCreateNamespace}},
		"overwrite": {func() error {
			_, err := register(k, "t", table.Pointer, true)
			return err
		}, []authz.Action{authz.NamespaceCreateTable, authz.TableDrop}},
		"rename": {func() error {
			return k.Commands.RenameTable(ctx, k.Call(), commands.RenameTable{Warehouse: k.Warehouse, Source: kit.At("db", "t"), Destination: kit.At("db", "t")})
		}, []authz.Action{authz.TableRename, authz.NamespaceCreateTable}},
	} {
		before := len(recorder.Actions())
		if err := c.run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := recorder.Actions()[before:]; !slices.Equal(got, c.want) {
			t.Errorf("%s asks for %v, want %v", name, got, c.want)
		}
	}
	for _, q := range recorder.Questions() {
		if q.Facts.Entity == "table" && (q.Facts.Object.IsNil() || len(q.Facts.Ancestors) < 4) {
			t.Errorf("asked without an object or its ancestors: %+v", q.Facts)
		}
	}
}

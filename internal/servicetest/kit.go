// Package servicetest stands commands and queries on real parts: a PostgreSQL
// of the test's own, the log with its inline projectors, the shared resolver,
// and a folder as store. Tests of the rooms above drive the catalog through it.
package servicetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/internal/reports"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/projections/document"
	"github.com/icecore-catalog/icecore/projections/projectionstest"
	"github.com/icecore-catalog/icecore/queries"
	"github.com/icecore-catalog/icecore/storage"
)

// Setup changes what [New] makes.
type Setup struct {
	// Authorizer stands behind both services; nil allows everything.
	Authorizer authz.Authorizer
	// Conns is the size of the pool, 8 by default.
	Conns int
	// Wrap may put something around the parts before the services are built.
	Wrap func(*Parts)
	// Bare leaves the server without bootstrap and warehouse.
	Bare bool
	// Share stands another instance on the database and the folder of a kit.
	Share *Kit
	// Opener may stand before the stores of warehouses.
	Opener func(*storage.Stores) Opener
	// Flights, if set, counts the round trips to PostgreSQL.
	Flights *Flights
	// Damaged skips the check of documents at the end: the test spoils files.
	Damaged bool
	// Projectors run in each commit beside the read models.
	Projectors []eventstore.Projector
	// DestinationKinds are what can be published to; nil means all there are, with
	// any settings.
	DestinationKinds commands.DestinationKinds
	// NoSaver keeps documents out of the database's cache.
	NoSaver bool
}

// Opener opens the stores of warehouses.
type Opener = documents.Opener

// Parts are what the services are built from.
type Parts struct {
	Commands commands.Deps
	Queries  queries.Deps
}

// Kit is a running catalog.
type Kit struct {
	testing.TB
	DB        *pgtest.DB
	Pool      *pgxpool.Pool
	Store     *eventstore.Store
	Resolver  *projections.SharedResolver
	Library   *documents.Library
	Commands  *commands.Service
	Queries   *queries.Service
	Clock     *clock.Fake
	IDs       *ids.V7
	Root      string // folder of the warehouse
	Warehouse ids.ID
}

// Now is the time at which a kit's clock stands.
var Now = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// New stands a catalog up for one test, with the warehouse "demo".
func New(t testing.TB, setup Setup) *Kit {
	t.Helper()
	if setup.Conns == 0 {
		setup.Conns = 8
	}
	k := &Kit{TB: t, Clock: clock.NewFake(Now)}
	k.IDs = ids.NewV7(clock.System{})
	if other := setup.Share; other != nil {
		k.DB, k.Root, k.Warehouse = other.DB, other.Root, other.Warehouse
		k.Pool = k.DB.Pool(t, pgtest.RoleApp, int32(setup.Conns))
	} else {
		k.DB = pgtest.New(t, pgtest.Conns(setup.Conns))
		k.Pool = k.DB.App
		k.Root = filepath.Join(t.TempDir(), "wh")
		if err := os.MkdirAll(k.Root, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if setup.Flights != nil {
		k.Pool = setup.Flights.pool(t, k.Pool)
	}
	var err error
	k.Store, err = eventstore.New(t.Context(), eventstore.Config{
		Pool: k.Pool, Clock: k.Clock, IDs: k.IDs, Projectors: append(projections.Inline(), setup.Projectors...),
		AppendTimeout: time.Minute, // a thousand objects at once, on a machine that tests something else
	})
	if err != nil {
		t.Fatal(err)
	}
	stores, err := storage.NewStores(storage.Config{FileRoots: []string{filepath.Dir(k.Root)}})
	if err != nil {
		t.Fatal(err)
	}
	k.Resolver = projections.NewResolver(k.Pool, projections.Options{})
	options := documents.Options{Opener: stores, Save: func(ctx context.Context, object, mark ids.ID, p *document.Packed) error {
		return document.Save(ctx, k.Pool, object, mark, p)
	}}
	if setup.Opener != nil {
		options.Opener = setup.Opener(stores)
	}
	if setup.NoSaver {
		options.Save = nil
	}
	k.Library = documents.NewLibrary(options)
	if _, isTest := t.(*testing.T); isTest && setup.Share == nil {
		// Law 1: what the log says is what the read models hold, and what each
		// document was made from. It runs after the clean-up of the kits that share
		// this one, which came later.
		t.Cleanup(func() {
			if !t.Failed() {
				projectionstest.RequireRebuildEqual(t, k.DB.App)
			}
			if !t.Failed() && !setup.Damaged {
				requireFolds(t, k.DB.App, stores)
			}
		})
	}
	t.Cleanup(func() { k.Library.Close(context.Background()) })
	authorizer := setup.Authorizer
	if authorizer == nil {
		authorizer = allowall.Authorizer{}
	}
	if setup.DestinationKinds == nil {
		anything := func(map[string]string) error { return nil }
		setup.DestinationKinds = commands.DestinationKinds{"kafka": anything, "log": anything, "nats": anything, "webhook": anything}
	}
	parts := Parts{
		Commands: commands.Deps{
			Log: noDeadlocks{k.Store, t}, Idempotency: k.Store, Resolver: k.Resolver, Claims: projections.NewClaims(k.Pool), Details: projections.NewDetails(k.Pool),
			Profiles: stores, Places: k.Store, Documents: k.Library, Authorizer: authorizer, Clock: k.Clock, IDs: k.IDs,
			DestinationKinds: setup.DestinationKinds, LogID: k.Store.LogID(), CleanUps: projections.NewCleanUps(k.Pool), History: k.Store,
		},
		Queries: queries.Deps{
			Resolver: k.Resolver, Lists: queries.NewLists(k.Pool), Documents: k.Library, Authorizer: authorizer, Events: k.Store, Reports: reports.NewStore(k.Pool),
			TokenSecret: []byte("the secret of a test's server"),
		},
	}
	if setup.Wrap != nil {
		setup.Wrap(&parts)
	}
	k.Commands, k.Queries = commands.New(parts.Commands), queries.New(parts.Queries)
	if !setup.Bare && setup.Share == nil {
		k.Bootstrap()
		k.Warehouse = k.NewWarehouse("demo", k.Root)
	}
	return k
}

// Call is a call of the anonymous actor.
func (k *Kit) Call() commands.Call {
	return commands.Call{Actor: authz.Anonymous, RequestID: k.IDs.New()}
}

// Keyed is a call with an idempotency key; digest tells payloads apart.
func (k *Kit) Keyed(key ids.ID, digest byte) commands.Call {
	call := k.Call()
	call.Idempotency = &commands.Idempotency{Key: key, Operation: "test", Digest: [32]byte{digest}}
	return call
}

// Bootstrap makes the server and the default project.
func (k *Kit) Bootstrap() {
	k.Helper()
	if err := k.Commands.Bootstrap(k.Context(), k.Call(), commands.Bootstrap{AcceptTermsOfUse: true}); err != nil {
		k.Fatalf("bootstrap: %v", err)
	}
}

// NewWarehouse makes a warehouse on a folder.
func (k *Kit) NewWarehouse(name, folder string) ids.ID {
	k.Helper()
	w, err := k.Commands.CreateWarehouse(k.Context(), k.Call(), commands.CreateWarehouse{Name: name, StorageProfile: Profile(folder)})
	if err != nil {
		k.Fatalf("create warehouse %s: %v", name, err)
	}
	return w.ID
}

// Destination returns the destination of that name, of kind log, which is made if
// need be.
func (k *Kit) Destination(name string) ids.ID {
	k.Helper()
	d, found, err := projections.NewDetails(k.Pool).DestinationNamed(k.Context(), name)
	if err == nil && !found {
		d, err = k.Commands.CreateDestination(k.Context(), k.Call(), commands.CreateDestination{Name: name, Kind: "log"})
	}
	if err != nil {
		k.Fatalf("destination %s: %v", name, err)
	}
	return d.ID
}

// Exec runs a statement beside the catalog and returns how many rows it touched.
func (k *Kit) Exec(sql string, args ...any) int64 {
	k.Helper()
	tag, err := k.Pool.Exec(k.Context(), sql, args...)
	if err != nil {
		k.Fatal(err)
	}
	return tag.RowsAffected()
}

// Sequence gives positions to what was appended.
func (k *Kit) Sequence() {
	k.Helper()
	q := k.Store.Sequencer()
	defer q.Close()
	for worked := true; worked; {
		var err error
		if worked, err = q.RunOnce(k.Context()); err != nil {
			k.Fatalf("sequence: %v", err)
		}
	}
}

// Profile is the storage profile of a folder.
func Profile(folder string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type":"file","root":%q}`, "file://"+folder))
}

// Namespace makes a namespace.
func (k *Kit) Namespace(levels ...string) commands.Namespace {
	k.Helper()
	n, err := k.Commands.CreateNamespace(k.Context(), k.Call(), commands.CreateNamespace{Warehouse: k.Warehouse, Namespace: levels})
	if err != nil {
		k.Fatalf("create namespace %v: %v", levels, err)
	}
	return n
}

// Schema is a small schema.
const Schema = `{"type":"struct","fields":[{"id":1,"name":"id","required":true,"type":"long"},{"id":2,"name":"data","required":false,"type":"string"}]}`

// Request is a CreateTableRequest; more are further members, each with a comma
// before it.
func Request(name, more string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"name":%q,"schema":%s%s}`, name, Schema, more))
}

// Create asks for a table in a namespace of one level.
func (k *Kit) Create(namespace, name, more string) (commands.Table, error) {
	return k.Commands.CreateTable(k.Context(), k.Call(), commands.CreateTable{
		Warehouse: k.Warehouse, Namespace: []string{namespace}, Request: Request(name, more),
	})
}

// Table makes a table in a namespace of one level.
func (k *Kit) Table(namespace, name string) commands.Table {
	k.Helper()
	table, err := k.Create(namespace, name, "")
	if err != nil {
		k.Fatalf("create table %s.%s: %v", namespace, name, err)
	}
	return table
}

// At names a table in a namespace of one level.
func At(namespace, name string) commands.Identifier {
	return commands.Identifier{Namespace: []string{namespace}, Name: name}
}

// Commit sends requirements and updates to a table.
func (k *Kit) Commit(table commands.Identifier, requirements, updates string) (commands.Table, error) {
	return k.Commands.CommitTable(k.Context(), k.Call(), k.Change(table, requirements, updates))
}

// Change is a commit's input.
func (k *Kit) Change(table commands.Identifier, requirements, updates string) commands.CommitTable {
	return commands.CommitTable{
		Warehouse: k.Warehouse, Table: table,
		Requirements: json.RawMessage(requirements), Updates: json.RawMessage(updates),
	}
}

// Load loads a table.
func (k *Kit) Load(table commands.Identifier, options queries.LoadOptions) (*queries.Table, error) {
	return k.Queries.LoadTable(k.Context(), authz.Anonymous, k.Warehouse, queries.Identifier(table), options)
}

// Append is the updates of an append: a snapshot on top of parent (0 for
// none), and main moved to it.
func Append(id, parent, sequence int64) string {
	parentMember := ""
	if parent != 0 {
		parentMember = fmt.Sprintf(`"parent-snapshot-id":%d,`, parent)
	}
	return fmt.Sprintf(`[{"action":"add-snapshot","snapshot":{"snapshot-id":%d,%s"sequence-number":%d,"timestamp-ms":%d,`+
		`"manifest-list":"file:///nowhere/%d.avro","summary":{"operation":"append","added-records":"1"},"schema-id":0}},`+
		`{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":%d}]`,
		id, parentMember, sequence, Now.UnixMilli()+sequence, id, id)
}

// Head is the requirement that main stands at a snapshot; 0 for none.
func Head(id int64) string {
	if id == 0 {
		return `[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}]`
	}
	return fmt.Sprintf(`[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":%d}]`, id)
}

// Document decodes a metadata document.
func Document(t testing.TB, doc []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(doc, &m); err != nil {
		t.Fatalf("document: %v", err)
	}
	return m
}

// Events returns the types of all events, in order of append.
func (k *Kit) Events() []string {
	k.Helper()
	rows, err := k.Pool.Query(k.Context(), "SELECT type FROM es.event ORDER BY append_seq, ordinal")
	if err != nil {
		k.Fatal(err)
	}
	defer rows.Close()
	var types []string
	for rows.Next() {
		var typ string
		if err := rows.Scan(&typ); err != nil {
			k.Fatal(err)
		}
		types = append(types, typ)
	}
	if err := rows.Err(); err != nil {
		k.Fatal(err)
	}
	return types
}

// Files returns all files below a folder, relative to it.
func Files(t testing.TB, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(folder, path)
			files = append(files, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TableQuery asks for a table in a namespace of one level.
func TableQuery(k *Kit, namespace, name string) projections.Query {
	return projections.Query{Warehouse: k.Warehouse, Namespace: []string{namespace}, Name: name}
}

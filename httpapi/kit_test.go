package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/httpapi"
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
	"github.com/icecore-catalog/icecore/workers"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// etagName is spelled so on the wire, which is not the canonical form.
var etagName = "ETag"

// stack is a whole server on a database and a folder of its own.
type stack struct {
	db      *pgtest.DB
	root    string // folder that warehouses may lie in
	handler http.Handler
	prefix  string            // "/catalog/v1/<id of the warehouse demo>"
	dropped string            // metadata location of a table that [stack.dropTable] dropped
	table   string            // id of a table, for management routes
	keepers []*reports.Keeper // of all instances
	flights int               // eventstore.Config.SharedFlights of instances made from now on
	spoilt  bool              // the test changes the database behind the log's back
}

// newBareStack returns a server that was not bootstrapped. When the test ends
// well, the read models must be what the log makes of them.
func newBareStack(t testing.TB) *stack {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stack{db: pgtest.New(t, pgtest.Conns(12)), root: root}
	t.Cleanup(func() { // runs after the instances have ended, and before the database does
		if !t.Failed() && !s.spoilt {
			projectionstest.RequireRebuildEqual(t, s.db.App)
		}
	})
	s.handler = s.with(t, allowall.Authorizer{})
	return s
}

// newStack returns a server with the warehouse demo.
func newStack(t testing.TB) *stack {
	t.Helper()
	s := newBareStack(t)
	if got := s.do("POST", "/management/v1/bootstrap", `{"accept-terms-of-use":true}`); got.status != 204 {
		t.Fatalf("bootstrap: %d %s", got.status, got.body)
	}
	got := s.do("POST", "/management/v1/warehouse", fmt.Sprintf(`{"warehouse-name":"demo","storage-profile":{"type":"file","root":%q}}`, "file://"+s.root+"/demo"))
	var made struct {
		ID string `json:"warehouse-id"`
	}
	if err := json.Unmarshal([]byte(got.body), &made); err != nil || got.status != 201 {
		t.Fatalf("create warehouse: %d %s", got.status, got.body)
	}
	s.prefix = "/catalog/v1/" + made.ID
	return s
}

// with returns another instance of the server on the same database and folder,
// behind another authorizer and with other dependencies, if need be.
func (s *stack) with(t testing.TB, authorizer authz.Authorizer, change ...func(*httpapi.Deps)) http.Handler {
	t.Helper()
	now, log := clock.System{}, slog.New(slog.NewTextHandler(io.Discard, nil))
	if os.Getenv("ICECORE_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	source := ids.NewV7(now)
	store, err := eventstore.New(t.Context(), eventstore.Config{Pool: s.db.App, Clock: now, IDs: source, Projectors: append(projections.Inline(), workers.Enqueuer{}), Logger: log, SharedFlights: s.flights})
	if err != nil {
		t.Fatal(err)
	}
	stores, err := storage.NewStores(storage.Config{FileRoots: []string{s.root}})
	if err != nil {
		t.Fatal(err)
	}
	library := documents.NewLibrary(documents.Options{
		Opener: stores, Limit: 64 << 20, Logger: log,
		Save: func(ctx context.Context, object, mark ids.ID, p *document.Packed) error {
			return document.Save(ctx, s.db.App, object, mark, p)
		},
	})
	resolver := projections.NewResolver(s.db.App, projections.Options{})
	keeper := reports.NewKeeper(reports.NewStore(s.db.App).Insert, log)
	s.keepers = append(s.keepers, keeper)
	t.Cleanup(func() {
		keeper.Close(context.Background())
		library.Close(context.Background())
		if err := resolver.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	deps := httpapi.Deps{
		Commands: commands.New(commands.Deps{
			Log: store, Idempotency: store, Resolver: resolver, Claims: projections.NewClaims(s.db.App), Details: projections.NewDetails(s.db.App),
			Profiles: stores, Places: store, Documents: library, Authorizer: authorizer, Clock: now, IDs: source, Logger: log,
			Reports: keeper, Tasks: workers.NewTasks(s.db.App), DestinationKinds: commands.DestinationKinds{"log": func(map[string]string) error { return nil }},
		}),
		Queries: queries.New(queries.Deps{
			Resolver: resolver, Lists: queries.NewLists(s.db.App), Documents: library, Authorizer: authorizer, Reports: reports.NewStore(s.db.App), Events: store,
			TokenSecret: []byte("the secret of one test, 32 bytes"), Tasks: workers.NewTasks(s.db.App),
		}),
		Authorizer:   authorizer,
		IDs:          source,
		Clock:        now,
		Log:          log,
		Metrics:      http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") }),
		Ready:        func(context.Context) error { return nil },
		Version:      "0.0.0",
		AuthzBackend: "allow-all",
	}
	for _, f := range change {
		f(&deps)
	}
	return httpapi.New(deps)
}

func (s *stack) do(method, target, body string, header ...string) answer {
	return do(s.handler, method, target, body, header...)
}

// dropTable makes and drops a table of namespace n, so that its metadata file
// can be registered.
func (s *stack) dropTable(t testing.TB, name string, how ...string) {
	t.Helper()
	got := expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create(name)), 200)
	var doc loaded
	if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
		t.Fatal(err)
	}
	s.dropped = doc.MetadataLocation
	expect(t, s.do("DELETE", s.prefix+"/namespaces/n/tables/"+name+strings.Join(how, ""), ""), 204)
}

// state describes all that a request could touch: every row of every table of
// ours, and every file. Caches are left out: what the setup made is saved there
// in its own time.
func (s *stack) state(t testing.TB) string {
	t.Helper()
	rows, err := s.db.Owner.Query(t.Context(), `SELECT format('%I.%I', n.nspname, c.relname)
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p') AND n.nspname NOT LIKE 'pg\_%' AND n.nspname NOT IN ('information_schema', 'cache') ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	out := files(t, s.root)
	for _, table := range tables {
		var n int64
		var sum *string
		if err := s.db.Owner.QueryRow(t.Context(), "SELECT count(*), md5(string_agg(md5(r::text), '' ORDER BY md5(r::text))) FROM "+table+" r").Scan(&n, &sum); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			out += fmt.Sprintf("\n%s %d %s", table, n, *sum)
		}
	}
	return out
}

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/internal/postgres"
	"github.com/icecore-catalog/icecore/schema"
)

// setupTimeout bounds everything that the kit does by itself.
const setupTimeout = 3 * time.Minute

// fastSettings are for clusters that nobody will miss.
var fastSettings = map[string]string{
	"fsync":            "off",
	"full_page_writes": "off",
	"max_connections":  "400",
	"shared_buffers":   "64MB",
	"min_wal_size":     "32MB",
	"max_wal_size":     "256MB",
	"deadlock_timeout": "200ms",
	"jit":              "off",
	// Segments in the data folder go with it, even after a kill -9.
	"dynamic_shared_memory_type": "mmap",
}

// durableSettings leave PostgreSQL's own defaults where data could be lost.
var durableSettings = map[string]string{
	"max_connections":            "200",
	"jit":                        "off",
	"dynamic_shared_memory_type": "mmap",
}

// A cluster is a server with the two roles and a migrated template.
type cluster struct {
	server *postgres.Server // nil for a given server
	given  *url.URL         // nil for a server of our own
	admin  *pgx.ConnConfig
	prefix string

	mu       sync.Mutex // guards conn
	conn     *pgx.Conn  // as superuser, for CREATE and DROP DATABASE
	database atomic.Int64
	drops    sync.WaitGroup
}

// shared is the cluster of this test process.
var shared struct {
	sync.Mutex
	running bool // Main is in charge
	cluster *cluster
	err     error
}

// Main runs a package's tests and stops what they started. It does not return.
func Main(m *testing.M) {
	shared.Lock()
	shared.running = true
	shared.Unlock()
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	defer func() {
		shared.Lock()
		defer shared.Unlock()
		if shared.cluster == nil {
			return
		}
		if err := shared.cluster.close(); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest:", err)
			code = max(code, 1)
		}
	}()
	return m.Run()
}

// theCluster returns the cluster of this process and starts it if need be.
func theCluster(t testing.TB) *cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.running {
		t.Fatal("pgtest: the package needs: func TestMain(m *testing.M) { pgtest.Main(m) }")
	}
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = startCluster()
	}
	if shared.err != nil {
		missing(t, shared.err)
	}
	return shared.cluster
}

// missing ends a test that has no PostgreSQL.
func missing(t testing.TB, err error) {
	t.Helper()
	var notFound *postgres.NotFoundError
	if errors.As(err, &notFound) && os.Getenv("CI") != "true" && os.Getenv("ICECORE_TEST_PG") == "" {
		t.Skipf("pgtest: %v", err)
	}
	t.Fatalf("pgtest: %v", err)
}

// wish is what ICECORE_TEST_PG asks for.
func wish() (find postgres.FindOptions, given *url.URL, err error) {
	find = postgres.FindOptions{
		Mirror:   os.Getenv("ICECORE_PG_MIRROR"),
		Announce: func(line string) { fmt.Fprintln(os.Stderr, line) },
	}
	value := os.Getenv("ICECORE_TEST_PG")
	if value == "" {
		return find, nil, nil
	}
	if _, err := strconv.Atoi(value); err == nil {
		find.Major = value
		return find, nil, nil
	}
	if strings.HasPrefix(value, "postgres://") || strings.HasPrefix(value, "postgresql://") {
		given, err := url.Parse(value)
		if err != nil {
			return find, nil, errors.New("ICECORE_TEST_PG is not a URL") // the value may hold a password
		}
		return find, given, nil
	}
	find.Dir = value
	return find, nil, nil
}

// binaries finds the wished PostgreSQL once.
var binaries = sync.OnceValues(func() (postgres.Binaries, error) {
	find, _, err := wish()
	if err != nil {
		return postgres.Binaries{}, err
	}
	return postgres.Find(context.Background(), find)
})

func startCluster() (*cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	_, given, err := wish()
	if err != nil {
		return nil, err
	}
	if given != nil {
		return openGiven(ctx, given)
	}
	found, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := tempDir("cluster")
	if err != nil {
		return nil, err
	}
	if err := seed(found, dir); err != nil {
		return nil, err
	}
	server, err := postgres.Start(ctx, postgres.Options{Binaries: found, Dir: dir, Settings: fastSettings, NoSync: true})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return openOwn(ctx, server)
}

func openOwn(ctx context.Context, server *postgres.Server) (*cluster, error) {
	admin, err := pgx.ParseConfig(server.SocketURL(postgres.SuperRole, "postgres"))
	if err != nil {
		return nil, fmt.Errorf("open the cluster: %w", err)
	}
	c := &cluster{server: server, admin: admin, prefix: "t"}
	roles := server.Roles()
	roles.Database = ""
	if err := c.open(ctx, roles); err != nil {
		return nil, errors.Join(err, c.close()) //nolint:contextcheck // clean-up must happen after the context ended too
	}
	return c, nil
}

// openGiven uses somebody's server: names carry this process's own mark.
func openGiven(ctx context.Context, given *url.URL) (*cluster, error) {
	admin, err := pgx.ParseConfig(given.String())
	if err != nil {
		return nil, errors.New("ICECORE_TEST_PG is not a connection string")
	}
	c := &cluster{given: given, admin: admin, prefix: fmt.Sprintf("icecore_test_%d_%d", os.Getpid(), time.Now().UnixNano()%1e6)}
	if err := c.open(ctx, postgres.Roles{Owner: postgres.OwnerRole, App: postgres.AppRole,
		OwnerPassword: givenPassword, AppPassword: givenPassword}); err != nil {
		return nil, errors.Join(err, c.close()) //nolint:contextcheck // clean-up must happen after the context ended too
	}
	return c, nil
}

// givenPassword is the password of both roles on a given test server, where
// parallel processes must agree on one.
const givenPassword = "icecore-test"

// open makes the roles and the template.
func (c *cluster) open(ctx context.Context, roles postgres.Roles) error {
	conn, err := pgx.ConnectConfig(ctx, c.admin)
	if err != nil {
		return fmt.Errorf("connect as superuser: %w", err)
	}
	c.conn = conn
	if err := postgres.EnsureRoles(ctx, conn, roles); err != nil {
		return err
	}
	template := roles
	template.Database = c.template()
	if err := postgres.EnsureRoles(ctx, conn, template); err != nil {
		return err
	}
	owner, err := pgx.Connect(ctx, c.socketURL(RoleOwner, template.Database))
	if err != nil {
		return fmt.Errorf("connect as the owner: %w", err)
	}
	_, err = schema.Migrate(ctx, owner, schema.Options{AppRole: roles.App})
	if err := errors.Join(err, owner.Close(ctx)); err != nil {
		return err
	}
	return nil
}

func (c *cluster) template() string { return c.prefix + "_template" }

// exec runs a statement that takes no part in any transaction.
func (c *cluster) exec(ctx context.Context, sql string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil || c.conn.IsClosed() {
		conn, err := pgx.ConnectConfig(ctx, c.admin)
		if err != nil {
			return fmt.Errorf("connect as superuser: %w", err)
		}
		c.conn = conn
	}
	_, err := c.conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}

// close stops and removes an own cluster, or clears a given one.
func (c *cluster) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	c.drops.Wait()
	var err error
	if c.given != nil {
		err = c.exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{c.template()}.Sanitize())
	}
	c.mu.Lock()
	if c.conn != nil {
		err = errors.Join(err, c.conn.Close(ctx))
	}
	c.mu.Unlock()
	if c.server != nil {
		err = errors.Join(err, c.server.Discard(ctx))
	}
	return err
}

// tempDir makes a folder for a cluster: in memory if there is room, and where
// the server's unprivileged user can reach it.
func tempDir(kind string) (string, error) {
	base := os.TempDir()
	if runtime.GOOS == "linux" && freeBytes("/dev/shm") > 1<<30 {
		base = "/dev/shm"
	}
	return newDir(base, kind)
}

// diskDir is tempDir on a disk.
func diskDir(kind string) (string, error) { return newDir(os.TempDir(), kind) }

func newDir(base, kind string) (string, error) {
	sweep(base)
	dir, err := os.MkdirTemp(base, dirPrefix+strconv.Itoa(os.Getpid())+"-"+kind+"-*")
	if err != nil {
		return "", fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	return dir, nil
}

// dirPrefix is followed by the process id of the test.
const dirPrefix = "icecore-pgtest-"

// sweep removes what killed test processes left behind.
func sweep(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, dirPrefix+"*"))
	for _, dir := range dirs {
		rest := strings.TrimPrefix(filepath.Base(dir), dirPrefix)
		pid, err := strconv.Atoi(rest[:max(strings.IndexByte(rest, '-'), 0)])
		if err == nil && !processLives(pid) && abandonBelow(dir) {
			_ = os.RemoveAll(dir)
		}
	}
}

package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/internal/postgres"
)

// A Role is one of the three that a test may connect as.
type Role string

// The roles of every test database.
const (
	// RoleApp is what the server works as: what tests use.
	RoleApp Role = postgres.AppRole
	// RoleOwner owns the database and migrated it.
	RoleOwner Role = postgres.OwnerRole
	// RoleSuper is the superuser, for looking behind the curtain.
	RoleSuper Role = postgres.SuperRole
)

// DB is a migrated database of one test.
type DB struct {
	// App is a pool of the application role, Owner one of the owner role.
	App, Owner *pgxpool.Pool
	// Name is the database's name.
	Name string

	cluster *cluster
}

// An Option changes what [New] makes.
type Option func(*options)

type options struct {
	conns   int32
	durable bool
	empty   bool
	onDisk  bool
}

// Conns sets the size of the App pool; it is 8 by default.
func Conns(n int) Option { return func(o *options) { o.conns = int32(n) } }

// Durable puts the database into a cluster of its own with PostgreSQL's default
// settings: fsync and all else that keeps data, as [postgres.CheckSettings]
// wants it, and a server that the test may kill ([DB.Server]). It takes about
// half a second more.
func Durable() Option { return func(o *options) { o.durable = true } }

// OnDisk is [Durable] on a disk, where fsync takes its real time: for
// measurements.
func OnDisk() Option { return func(o *options) { o.durable, o.onDisk = true, true } }

// Empty leaves the database without any migration, for tests of those.
func Empty() Option { return func(o *options) { o.empty = true } }

// New returns a fresh, migrated database that is dropped after the test. It
// may be called from parallel tests, and more than once in a test.
func New(t testing.TB, opts ...Option) *DB {
	t.Helper()
	o := options{conns: 8}
	for _, opt := range opts {
		opt(&o)
	}
	var c *cluster
	if o.durable {
		place := tempDir
		if o.onDisk {
			place = diskDir
		}
		c = ownCluster(t, place)
	} else {
		c = theCluster(t)
	}
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	db := &DB{Name: fmt.Sprintf("%s_%d", c.prefix, c.database.Add(1)), cluster: c}
	template := c.template()
	if o.empty {
		template = "template0"
	}
	if err := c.clone(ctx, db.Name, template); err != nil {
		t.Fatalf("pgtest: make a database: %v", err)
	}
	t.Cleanup(func() { c.drop(db.Name) })
	db.App = db.Pool(t, RoleApp, o.conns)
	db.Owner = db.Pool(t, RoleOwner, 4)
	return db
}

// ownCluster starts a durable cluster for one test.
func ownCluster(t testing.TB, place func(kind string) (string, error)) *cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	c, err := openOwn(ctx, serverIn(t, place))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return c
}

// clone copies a template. Grants on a database are not copied, so they are
// made again.
func (c *cluster) clone(ctx context.Context, name, template string) error {
	quoted := pgx.Identifier{name}.Sanitize()
	sql := "CREATE DATABASE " + quoted + " OWNER " + postgres.OwnerRole + " TEMPLATE " + pgx.Identifier{template}.Sanitize()
	if c.server != nil {
		// Half the time of the default, which writes the copy to the WAL; the
		// checkpoint that it takes costs little here, and on a given server much.
		sql += " STRATEGY FILE_COPY"
	}
	if err := c.exec(ctx, sql); err != nil {
		return err
	}
	return c.exec(ctx, "REVOKE ALL ON DATABASE "+quoted+" FROM PUBLIC; GRANT CONNECT ON DATABASE "+quoted+" TO "+postgres.AppRole)
}

// drop removes a database in the background; the test need not wait for it.
func (c *cluster) drop(name string) {
	if c.server != nil && c.server.PID() == 0 {
		return
	}
	c.drops.Add(1)
	go func() {
		defer c.drops.Done()
		ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
		defer cancel()
		// A database that stays costs only room, and the cluster goes as a whole.
		_ = c.exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)")
	}()
}

// URL is the connection string of a role over TCP, so that a proxy can stand
// between.
func (db *DB) URL(role Role) string { return db.cluster.url(role, db.Name) }

// Addr is the host and port of the server.
func (db *DB) Addr() string {
	c := db.cluster
	if c.server != nil {
		return c.server.Addr()
	}
	return c.admin.Host + ":" + strconv.Itoa(int(c.admin.Port))
}

// Server is the server of a [Durable] database, or nil: the shared one is not
// a test's to kill.
func (db *DB) Server() *postgres.Server {
	if shared.cluster == db.cluster {
		return nil
	}
	return db.cluster.server
}

// Pool opens a further pool that is closed after the test.
func (db *DB) Pool(t testing.TB, role Role, conns int32) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(db.cluster.socketURL(role, db.Name))
	if err != nil {
		t.Fatal("pgtest: the connection string is not valid")
	}
	config.MaxConns = conns
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() { closePool(t, pool, role) })
	return pool
}

// Connect opens a connection that is closed after the test.
func (db *DB) Connect(t testing.TB, role Role) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, db.cluster.socketURL(role, db.Name))
	if err != nil {
		t.Fatalf("pgtest: connect as %s: %v", role, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	})
	return conn
}

// closePool closes a pool; a connection that was never released would make it
// wait for ever.
func closePool(t testing.TB, pool *pgxpool.Pool, role Role) {
	closed := make(chan struct{})
	go func() {
		pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Errorf("pgtest: %d connections of %s were not released", pool.Stat().AcquiredConns(), role)
	}
}

func (c *cluster) url(role Role, database string) string {
	if c.server != nil {
		return c.server.URL(string(role), database)
	}
	return c.givenURL(role, database)
}

func (c *cluster) socketURL(role Role, database string) string {
	if c.server != nil {
		return c.server.SocketURL(string(role), database)
	}
	return c.givenURL(role, database)
}

func (c *cluster) givenURL(role Role, database string) string {
	u := *c.given
	u.Path = "/" + database
	if role != RoleSuper {
		u.User = url.UserPassword(string(role), givenPassword)
	}
	return u.String()
}

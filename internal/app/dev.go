package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/icecore-catalog/icecore/internal/config"
	"github.com/icecore-catalog/icecore/internal/postgres"
	"github.com/icecore-catalog/icecore/internal/telemetry"
)

// DemoWarehouse is the warehouse that dev makes and that a client gets which
// names none.
const DemoWarehouse = "demo"

// DevOptions are the arguments of icecore dev.
type DevOptions struct {
	Data       string // folder of database, warehouse and streams
	Listen     string // host:port
	Reset      bool   // delete all of it first
	NoDownload bool   // do not fetch PostgreSQL
	Mirror     string // repository of Maven's layout to fetch it from; empty: Maven Central
	// DatabaseURL is a PostgreSQL to use instead of a private one, as a role
	// that may create roles and databases.
	DatabaseURL    string
	Stdout, Stderr io.Writer
}

// Dev runs database, NATS, server and a demo warehouse on this machine until ctx
// ends, and stops all that it started.
func Dev(ctx context.Context, c config.Config, o DevOptions) error {
	folder, err := openDataFolder(o.Data)
	if err != nil {
		return err
	}
	// The port first: if it is taken, nothing has to be stopped again.
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("%w (another port: --listen 127.0.0.1:PORT)", err)
	}
	defer func() { _ = listener.Close() }()

	if o.Reset {
		if err := folder.reset(ctx); err != nil {
			return inUse(err)
		}
		say(o.Stdout, "deleted database, warehouse and streams in %s", folder.root)
	}
	if err := os.MkdirAll(folder.warehouse(), 0o755); err != nil { //nolint:gosec // engines run as other users
		return fmt.Errorf("make the warehouse's folder: %w", err)
	}
	database, err := folder.database(ctx, o)
	if err != nil {
		return inUse(err)
	}
	defer database.stop()

	c.Database.URL, c.Database.OwnerURL = config.Secret(database.appURL), config.Secret(database.ownerURL)
	c.HTTP.Listen = o.Listen
	c.Auth.Mode = "disabled"
	c.Catalog.DefaultWarehouse = DemoWarehouse
	c.Catalog.FileRoots = []string{folder.warehouse()}
	log := telemetry.NewLogger(o.Stderr, devLogLevel(c), "text")

	if err := Migrate(ctx, &Target{appURL: database.appURL, ownerURL: database.ownerURL, config: c}, io.Discard); err != nil {
		return err
	}
	last, err := folder.lastNATS()
	if err != nil {
		return err
	}
	broker, err := folder.startNATS(ctx, last, log)
	if err != nil {
		return err
	}
	defer broker.Stop()
	s, err := newServer(ctx, c, log)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.seed(ctx, folder.warehouse()); err != nil {
		return fmt.Errorf("make the warehouse %s: %w", DemoWarehouse, err)
	}
	if err := s.seedDestination(ctx, last, broker.URL()); err != nil {
		return fmt.Errorf("make the destination %s: %w", DevDestination, err)
	}
	if err := folder.keepNATS(broker.URL()); err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	say(o.Stdout, "icecore %s serves %s; %s; data in %s", Version(), url, database.about, folder.root)
	say(o.Stdout, "Authentication is off: whoever reaches %s may do everything.", listener.Addr())
	_, _ = io.WriteString(o.Stdout, pasteText(url, folder.root))
	natsText(o.Stdout, broker.URL())
	say(o.Stdout, "\nCtrl-C stops everything.")
	return s.run(ctx, listener, database.gone)
}

func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }

// devLogLevel is that of the settings, but warn where they leave it open: dev
// talks to a person.
func devLogLevel(c config.Config) string {
	if c.Telemetry.LogLevel == "info" {
		return "warn"
	}
	return c.Telemetry.LogLevel
}

// inUse says which program it is that holds a folder.
func inUse(err error) error {
	if used := (*postgres.InUseError)(nil); errors.As(err, &used) {
		return fmt.Errorf("%w: another icecore dev runs on it; stop that one, or choose another folder with --data", err)
	}
	return err
}

// reset deletes what dev made in the folder, and nothing else that lies there.
func (d dataFolder) reset(ctx context.Context) error {
	cluster, err := d.cluster()
	if err != nil {
		return err
	}
	if err := postgres.Reset(ctx, cluster); err != nil {
		return err
	}
	for what, path := range map[string]string{"warehouse": d.warehouse(), "streams of NATS": d.streams(), "address of NATS": d.natsFile()} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("delete the %s: %w", what, err)
		}
	}
	return nil
}

// devDatabase is a database that is ready to be migrated.
type devDatabase struct {
	appURL, ownerURL string
	about            string          // one phrase, without a secret
	gone             <-chan struct{} // closed when a private PostgreSQL ends; nil for a given one
	stop             func()
}

// database starts the folder's PostgreSQL, or prepares the given one.
func (d dataFolder) database(ctx context.Context, o DevOptions) (devDatabase, error) {
	if o.DatabaseURL != "" {
		return d.given(ctx, o.DatabaseURL)
	}
	if err := os.Remove(d.urlsFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return devDatabase{}, fmt.Errorf("forget the database that was given before: %w", err)
	}
	options, err := d.options(ctx, o.NoDownload, o.Mirror, func(line string) { say(o.Stdout, "%s", line) })
	if err != nil {
		return devDatabase{}, err
	}
	server, err := postgres.Start(ctx, options)
	if err != nil {
		return devDatabase{}, err
	}
	stop := func() {
		if err := server.Stop(context.WithoutCancel(ctx)); err != nil {
			say(o.Stderr, "icecore: %v", err)
		}
	}
	if err := server.EnsureRoles(ctx); err != nil {
		stop()
		return devDatabase{}, err
	}
	return devDatabase{
		appURL:   server.SocketURL(postgres.AppRole, postgres.DefaultDatabase),
		ownerURL: server.SocketURL(postgres.OwnerRole, postgres.DefaultDatabase),
		about:    "PostgreSQL " + strings.TrimSpace(server.Version()),
		gone:     server.Done(),
		stop:     stop,
	}, nil
}

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options says how to start a private cluster.
type Options struct {
	// Binaries is what [Find] returned.
	Binaries Binaries
	// Dir is the data folder, made when it is missing; see the package's comment
	// for what it holds.
	Dir string
	// Settings are PostgreSQL's own, such as "fsync": "off". They hold for this
	// run and are not written down.
	Settings map[string]string
	// NoSync skips the synchronisation of a new cluster to the disk: for clusters
	// that nobody will miss.
	NoSync bool
}

// startTimeout bounds a start: a crash recovery on a busy disk takes seconds.
const startTimeout = 2 * time.Minute

// maxLog is the size from which the log is started anew.
const maxLog = 16 << 20

// A Server is a running private cluster, owned by this process. Its methods
// may be called from any goroutine.
type Server struct {
	o        Options
	dir      string
	password passwords
	lock     *os.File
	account  *account
	attached bool // another process owns it; foreign is the server's process id
	foreign  int

	mu   sync.Mutex
	port int
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// InUseError says that another living process owns the data folder.
type InUseError struct {
	// Dir is the data folder.
	Dir string
	// PID is the owner, or 0 if it isn't known.
	PID int
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return e.Dir + " is in use by another process"
	}
	return fmt.Sprintf("%s is in use by process %d", e.Dir, e.PID)
}

// VersionError says that a cluster was made by another major version.
type VersionError struct {
	// Dir is the data folder; Data and Binaries are major versions.
	Dir            string
	Data, Binaries int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s was made by PostgreSQL %d, and only PostgreSQL %d was found: install version %d, or name its folder in PG_BINDIR, or start afresh with another data folder",
		e.Dir, e.Data, e.Binaries, e.Data)
}

// DataMajor is the major version that made the cluster in a data folder, or 0
// if there is none: what to wish for from [Find].
func DataMajor(dir string) (int, error) {
	data, err := os.ReadFile(filepath.Join(dir, "pgdata", "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the version of %s: %w", dir, err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0, fmt.Errorf("read the version of %s: %w", dir, err)
	}
	return major, nil
}

// Start starts the cluster in the data folder, after making it if there is
// none and stopping it if an earlier owner left it running. It returns when the
// server answers. Errors are [InUseError], [VersionError], [UnreachableError],
// or tell the last lines of the server's log.
func Start(ctx context.Context, o Options) (*Server, error) {
	s, err := claim(o)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		s.release()
		return nil, err
	}
	if err := s.launch(ctx); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

// claim makes this process the owner of the data folder.
func claim(o Options) (*Server, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the data folder: %w", err)
	}
	s := &Server{o: o, dir: dir, account: serverUser()}
	if err := reachable(filepath.Join(dir, "pgdata"), s.account); err != nil {
		return nil, err
	}
	mode := os.FileMode(0o700)
	if s.account != nil {
		mode = 0o755
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	if s.lock, err = lockFile(filepath.Join(dir, "lock"), false); errors.Is(err, errLocked) {
		return nil, &InUseError{Dir: dir, PID: lockHolder(dir)}
	} else if err != nil {
		return nil, fmt.Errorf("claim the data folder: %w", err)
	}
	return s, nil
}

func lockHolder(dir string) int {
	data, _ := os.ReadFile(filepath.Join(dir, "lock"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return pid
}

func (s *Server) release() {
	if s.lock != nil {
		_ = s.lock.Truncate(0) // nobody's any more
		_ = s.lock.Close()
	}
}

func (s *Server) pgdata() string    { return filepath.Join(s.dir, "pgdata") }
func (s *Server) socketDir() string { return filepath.Join(s.dir, "run") }
func (s *Server) logPath() string   { return filepath.Join(s.dir, "postgres.log") }

// prepare leaves a stopped cluster of the right version, with its passwords
// and port.
func (s *Server) prepare(ctx context.Context) error {
	if err := reachable(s.o.Binaries.Dir, s.account); err != nil {
		return err
	}
	major, err := DataMajor(s.dir)
	if err != nil {
		return err
	}
	if major != 0 && major != s.o.Binaries.Major() {
		return &VersionError{Dir: s.dir, Data: major, Binaries: s.o.Binaries.Major()}
	}
	if s.password, err = loadPasswords(s.dir); err != nil {
		return err
	}
	if err := s.ownedDir(s.socketDir()); err != nil {
		return err
	}
	if major == 0 {
		if err := s.initdb(ctx); err != nil {
			return err
		}
	} else if err := takeOver(ctx, s.pgdata()); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(s.dir, "port"))
	if err == nil {
		port, _ := strconv.Atoi(strings.TrimSpace(string(data)))
		s.setPort(port)
	} else if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the port: %w", err)
	}
	return nil
}

// ownedDir makes a folder that only the server's user may enter.
func (s *Server) ownedDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	return s.account.own(dir)
}

// initdb makes the cluster beside its place and moves it there by one rename,
// so that a broken attempt leaves nothing that looks like a cluster.
func (s *Server) initdb(ctx context.Context) error {
	fresh := s.pgdata() + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("clear %s: %w", fresh, err)
	}
	if err := s.ownedDir(fresh); err != nil {
		return err
	}
	pwfile := filepath.Join(s.socketDir(), "password")
	if err := writeWhole(pwfile, []byte(s.password[SuperRole]+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the password file: %w", err)
	}
	defer func() { _ = os.Remove(pwfile) }()
	if err := s.account.own(pwfile); err != nil {
		return err
	}
	tool, err := s.BinTool("initdb")
	if err != nil {
		return err
	}
	// The Unix socket stands in a folder that only this user may enter, so it
	// needs no password; TCP does.
	args := []string{"-D", fresh, "-U", SuperRole, "--pwfile=" + pwfile, "--auth-local=trust", "--auth-host=scram-sha-256",
		"--locale=C", "--encoding=UTF8", "--no-instructions"}
	if s.o.NoSync {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir = "/"
	cmd.Env = serverEnv()
	runAs(cmd, s.account)
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(fresh)
		return fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	if err := os.Rename(fresh, s.pgdata()); err != nil {
		return fmt.Errorf("move the new cluster to its place: %w", err)
	}
	return nil
}

// serverEnv is this process's environment without what would change the
// server's behaviour.
func serverEnv() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "PG") || strings.HasPrefix(kv, "LC_") || strings.HasPrefix(kv, "LANG") ||
			strings.HasPrefix(kv, "ICECORE_") || strings.HasPrefix(kv, "DATABASE_URL=")
	})
	return append(env, "LC_ALL=C")
}

// Connect opens a connection of a role, which must be one of this package's
// three or need no password.
func (s *Server) Connect(ctx context.Context, role, database string) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, s.SocketURL(role, database))
	if err != nil {
		return nil, fmt.Errorf("connect as %s: %w", role, err)
	}
	return conn, nil
}

// URL is the connection string over TCP, with the password of the role if it
// is one of this package's three. It holds a secret: do not log it.
func (s *Server) URL(role, database string) string {
	u := url.URL{Scheme: "postgres", User: s.userinfo(role), Host: s.Addr(), Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// SocketURL is the connection string over the Unix socket, which is quicker,
// or that over TCP if there is no socket. It too holds the password.
func (s *Server) SocketURL(role, database string) string {
	dir := s.usableSocketDir()
	if dir == "" {
		return s.URL(role, database)
	}
	query := url.Values{"host": {dir}, "port": {strconv.Itoa(s.Port())}}
	u := url.URL{Scheme: "postgres", User: s.userinfo(role), Path: "/" + database, RawQuery: query.Encode()}
	return u.String()
}

func (s *Server) userinfo(role string) *url.Userinfo {
	if password := s.password[role]; password != "" {
		return url.UserPassword(role, password)
	}
	return url.User(role)
}

// Addr is the host and port of the server on TCP.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port())) }

// Port is the server's TCP port.
func (s *Server) Port() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.port
}

func (s *Server) setPort(port int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.port = port
}

// Dir is the data folder.
func (s *Server) Dir() string { return s.dir }

// Version is the version of the server's binaries, such as "18.6".
func (s *Server) Version() string { return s.o.Binaries.Version }

// BinTool returns the path of one of PostgreSQL's programs; see [Binaries.Tool].
func (s *Server) BinTool(name string) (string, error) { return s.o.Binaries.Tool(name) }

// PID is the process id of the server, or 0 when it does not run.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attached {
		return s.foreign
	}
	if s.cmd == nil || s.cmd.Process == nil {
		return 0
	}
	select {
	case <-s.done:
		return 0
	default:
		return s.cmd.Process.Pid
	}
}

// Done is closed when the server's process ends, for whatever reason. After a
// [Server.Restart] it is another channel; for an attached server it is nil.
func (s *Server) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}

func (s *Server) ended() bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// Roles are the roles and the database of this cluster, for [EnsureRoles].
func (s *Server) Roles() Roles {
	return Roles{Owner: OwnerRole, App: AppRole, Database: DefaultDatabase,
		OwnerPassword: s.password[OwnerRole], AppPassword: s.password[AppRole]}
}

// EnsureRoles makes the roles and the database of this cluster, see the
// function of that name.
func (s *Server) EnsureRoles(ctx context.Context) error {
	conn, err := s.Connect(ctx, SuperRole, "postgres")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return EnsureRoles(ctx, conn, s.Roles())
}

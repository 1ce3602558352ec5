package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/icecore-catalog/icecore/internal/postgres"
)

const warehouse = "rck"

// theCatalog is a fresh PostgreSQL with icecore processes on it.
type theCatalog struct {
	binary, data string
	database     *postgres.Server
	env          []string
	instances    []*exec.Cmd
	output       *os.File
	proxy        *proxy // nil before one instance
	url          string // what clients are given
}

// startCatalog starts the database, the processes, and the proxy if they are
// more than one, and makes the warehouse. Their output goes to a file in out.
func startCatalog(ctx context.Context, binary, out string, instances int) (c *theCatalog, err error) {
	if binary, err = filepath.Abs(binary); err != nil {
		return nil, err
	}
	c = &theCatalog{binary: binary}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop(context.WithoutCancel(ctx)))
		}
	}()
	if c.data, err = os.MkdirTemp("", "icecore-rck-data-"); err != nil {
		return nil, err
	}
	if err := os.Chmod(c.data, 0o755); err != nil { // the database's own user goes through it
		return nil, err
	}
	if c.output, err = os.Create(filepath.Join(out, "icecore.log")); err != nil {
		return nil, err
	}
	binaries, err := postgres.Find(ctx, postgres.FindOptions{Major: os.Getenv("ICECORE_TEST_PG")})
	if err != nil {
		return nil, err
	}
	if c.database, err = postgres.Start(ctx, postgres.Options{Binaries: binaries, Dir: filepath.Join(c.data, "postgres"), NoSync: true}); err != nil {
		return nil, err
	}
	if err := c.database.EnsureRoles(ctx); err != nil {
		return nil, err
	}
	roles := c.database.Roles()
	c.env = append(os.Environ(),
		"ICECORE_DATABASE_URL="+c.database.URL(roles.App, roles.Database), "ICECORE_DATABASE_OWNER_URL="+c.database.URL(roles.Owner, roles.Database),
		"ICECORE_AUTH=disabled", "ICECORE_LOG_LEVEL=warn", "ICECORE_FILE_ROOTS="+warehouseRoot)
	if _, err := c.command(ctx, "migrate"); err != nil {
		return nil, err
	}
	var addrs []string
	for range instances {
		addr, err := c.serve(ctx)
		if err != nil {
			return nil, err
		}
		addrs = append(addrs, addr)
	}
	front := addrs[0]
	if instances > 1 {
		if c.proxy, err = startProxy(ctx, addrs); err != nil {
			return nil, err
		}
		front = c.proxy.addr
	}
	c.url = "http://" + front + "/catalog"
	return c, seed(ctx, "http://"+front)
}

// serve starts one process and returns its address once it is ready.
func (c *theCatalog) serve(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	addr := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(c.binary, "serve")
	cmd.Env = append(c.env, "ICECORE_LISTEN="+addr)
	cmd.Stdout, cmd.Stderr = c.output, c.output
	if err := cmd.Start(); err != nil {
		return "", err
	}
	c.instances = append(c.instances, cmd)
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err = call(ctx, http.MethodGet, "http://"+addr+"/ready", nil); err == nil {
			return addr, nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return "", fmt.Errorf("icecore serve is not ready (see %s): %w", c.output.Name(), err)
		}
	}
}

func seed(ctx context.Context, base string) error {
	if _, err := call(ctx, http.MethodPost, base+"/management/v1/bootstrap", map[string]any{"accept-terms-of-use": true}); err != nil {
		return err
	}
	_, err := call(ctx, http.MethodPost, base+"/management/v1/warehouse", map[string]any{
		"warehouse-name": warehouse, "storage-profile": map[string]any{"type": "file", "root": "file://" + warehouseRoot},
	})
	return err
}

func call(ctx context.Context, method, url string, body any) ([]byte, error) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, sent)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %s", method, url, response.StatusCode, answer)
	}
	return answer, err
}

// command runs an operating command on the database and returns its output.
func (c *theCatalog) command(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.binary, args...)
	cmd.Env = c.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("icecore %s: %w\n%s%s", strings.Join(args, " "), err, out.Bytes(), errs.Bytes())
	}
	return out.Bytes(), nil
}

// verify proves log, read models and documents against each other.
func (c *theCatalog) verify(ctx context.Context) error {
	_, err := c.command(ctx, "verify", "--replay")
	return err
}

// evenly fails if one of several instances had no share of the requests worth
// speaking of: then the run would prove nothing about the others.
func (c *theCatalog) evenly() error {
	if c.proxy == nil {
		return nil
	}
	shares, total := c.proxy.shares()
	for i, n := range shares {
		if n*len(shares)*2 < total {
			return fmt.Errorf("instance %d had %d of %d requests", i+1, n, total)
		}
	}
	return nil
}

// locations fails if a table or view of the log lies outside the run's folders:
// then kitFolders lacks one, and the run has left files behind. It leaves the
// log in out.
func (c *theCatalog) locations(ctx context.Context, out string, f *folders) error {
	events, err := c.command(ctx, "log", "list", "--json", "--after", "0", "--limit", "1000000")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(out, "events.jsonl"), events, 0o644), checkLocations(events, f))
}

func checkLocations(events []byte, f *folders) error {
	var errs []error
	for line := range bytes.Lines(events) {
		var event struct {
			Subject string
			Data    struct{ Location string }
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("the log: %w", err)
		}
		if l := event.Data.Location; l != "" && !f.hold(l) {
			errs = append(errs, fmt.Errorf("%s lies at %s, in no folder that the run makes and removes: name its folder in kitFolders", event.Subject, l))
		}
	}
	return errors.Join(errs...)
}

func (c *theCatalog) stop(ctx context.Context) error {
	var errs []error
	if c.proxy != nil {
		errs = append(errs, c.proxy.close())
	}
	for _, cmd := range c.instances {
		errs = append(errs, cmd.Process.Signal(syscall.SIGTERM), cmd.Wait())
	}
	if c.database != nil {
		errs = append(errs, c.database.Stop(ctx))
	}
	if c.output != nil {
		errs = append(errs, c.output.Close())
	}
	if c.data != "" {
		errs = append(errs, os.RemoveAll(c.data))
	}
	return errors.Join(errs...)
}

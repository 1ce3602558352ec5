package nats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/icecore-catalog/icecore/internal/nats"
)

// asked is the first argument of a program that is to be a server.
const asked = "nats-server"

// Helper makes this process a server, and then never returns, if [Start] started
// it as one. A program that uses Start calls it first.
func Helper() {
	if len(os.Args) != 4 || os.Args[1] != asked {
		return
	}
	server, err := nats.Start(context.Background(), nats.Options{
		Dir: os.Args[2], Listen: os.Args[3], Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "nats-server:", err)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the other process ends, however it does
	server.Stop()
	os.Exit(0)
}

// Broker is a server that runs, or one that may be started again.
type Broker struct {
	dir, addr string

	mu    sync.Mutex
	cmd   *exec.Cmd
	stdin io.Closer
	end   chan struct{}
}

// Start starts a server on a folder, at an address of its own, which it keeps, and
// returns when it answers. It ends with this process.
func Start(ctx context.Context, dir string) (*Broker, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &Broker{dir: dir, addr: l.Addr().String()}
	if err := errors.Join(l.Close(), os.MkdirAll(dir, 0o700)); err != nil {
		return nil, err
	}
	return b, b.Restart(ctx)
}

// Addr is its host and port.
func (b *Broker) Addr() string { return b.addr }

// Restart starts a server that was killed, over its own data and at its own
// address, and returns when it answers.
func (b *Broker) Restart(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cmd != nil {
		return errors.New("NATS runs already")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, asked, b.dir, b.addr) // ended by Kill
	output, err := os.OpenFile(filepath.Join(b.dir, "nats.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer output.Close() // the process has its own
	cmd.Stdout, cmd.Stderr = output, output
	apart(cmd)
	if b.stdin, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	end := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed on purpose
		close(end)
	}()
	b.cmd, b.end = cmd, end
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && ctx.Err() == nil; {
		select {
		case <-end:
			b.cmd = nil
			return errors.New("NATS ended at its start")
		default:
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond): // a foreign process has no signal to give us
		}
		if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", b.addr); err == nil {
			return conn.Close()
		}
	}
	return fmt.Errorf("NATS at %s does not answer", b.addr)
}

// Kill ends the server with SIGKILL and returns when it is gone. Its data stay.
func (b *Broker) Kill() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cmd == nil {
		return nil
	}
	_ = b.cmd.Process.Kill()
	<-b.end
	_ = b.stdin.Close()
	b.cmd = nil
	return nil
}

// Stop is Kill: what was acknowledged is in the file system.
func (b *Broker) Stop() error { return b.Kill() }

// Freeze stops the server's process with SIGSTOP: connections stay open and nobody
// answers. Thaw lets it go on.
func (b *Broker) Freeze() error { return b.signal(syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (b *Broker) Thaw() error { return b.signal(syscall.SIGCONT) }

func (b *Broker) signal(s syscall.Signal) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cmd == nil {
		return nil
	}
	return b.cmd.Process.Signal(s)
}

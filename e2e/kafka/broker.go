package kafka

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options say what broker to run.
type Options struct {
	// Dir holds the broker's data, and survives it. It is formatted if it is new.
	Dir string
	// Properties are further lines of server.properties, such as
	// "message.max.bytes=100000". Of a key that is there twice, the last counts.
	Properties []string
	// Proxy is the host:port that the second listener tells its clients to come
	// to; empty: they are led to that listener itself.
	Proxy string
	// Heap is the JVM's, 256m if empty.
	Heap string
}

// startTimeout is for a machine that does much else: alone, a broker takes ten
// seconds.
const startTimeout = 5 * time.Minute

// Broker is a running broker, or one that may be started again.
type Broker struct {
	kit        *kit
	options    Options
	direct     int // port of the listener that leads to itself
	behind     int // port of the listener behind the proxy
	controller int

	mu      sync.Mutex
	process *exec.Cmd
	done    chan struct{} // closed when process has ended
}

// Start fetches what is needed, formats the folder if it is new and returns when
// the broker answers. Stop it when done; it also ends with the process that
// started it.
func Start(ctx context.Context, o Options) (*Broker, error) {
	k, err := prepare(ctx)
	if err != nil {
		return nil, err
	}
	b := &Broker{kit: k, options: o}
	for _, port := range []*int{&b.direct, &b.behind, &b.controller} {
		if *port, err = freePort(ctx); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	return b, b.Restart(ctx)
}

// Addr is the host:port that leads straight to the broker.
func (b *Broker) Addr() string { return address(b.direct) }

// Upstream is the host:port of the second listener: what a proxy forwards to.
func (b *Broker) Upstream() string { return address(b.behind) }

// SetProxy names the address of the second listener from the next start on.
func (b *Broker) SetProxy(addr string) { b.options.Proxy = addr }

// Restart starts a broker that was killed or stopped, over its own data and on
// its own ports, and returns when it answers.
func (b *Broker) Restart(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.process != nil {
		return errors.New("the broker runs already")
	}
	settings := filepath.Join(b.options.Dir, "server.properties")
	if err := os.WriteFile(settings, []byte(b.properties()), 0o600); err != nil {
		return err
	}
	if err := b.format(ctx, settings); err != nil {
		return err
	}
	output, err := os.Create(filepath.Join(b.options.Dir, "kafka.out"))
	if err != nil {
		return err
	}
	defer output.Close()            // the process has its own
	cmd := exec.Command(b.kit.java, // it outlives the start: Stop and Kill end it
		append(b.jvm(), "kafka.Kafka", settings)...)
	cmd.Stdout, cmd.Stderr = output, output
	apart(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the broker: %w", err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed on purpose
		close(done)
	}()
	b.process, b.done = cmd, done
	if err := b.await(ctx, done); err != nil {
		_ = b.end(syscall.SIGKILL)
		return fmt.Errorf("%w; its output ends:\n%s", err, b.Output())
	}
	return nil
}

// Kill ends the broker with SIGKILL and returns when it is gone. Its data stay.
func (b *Broker) Kill() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.end(syscall.SIGKILL)
}

// Stop lets the broker shut down in order. Its data stay.
func (b *Broker) Stop() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.end(syscall.SIGTERM)
}

// Freeze stops the broker's process with SIGSTOP: connections stay open and
// nobody answers. Thaw lets it go on.
func (b *Broker) Freeze() error { return b.signal(syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (b *Broker) Thaw() error { return b.signal(syscall.SIGCONT) }

// Output is the end of what the broker wrote since its last start.
func (b *Broker) Output() string {
	text, err := os.ReadFile(filepath.Join(b.options.Dir, "kafka.out"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

func (b *Broker) signal(s syscall.Signal) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.process == nil {
		return errors.New("the broker does not run")
	}
	return b.process.Process.Signal(s)
}

// end signals and waits. A broker that ignores SIGTERM for long is killed.
func (b *Broker) end(s syscall.Signal) error {
	if b.process == nil {
		return nil
	}
	if err := b.process.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if s != syscall.SIGKILL {
		_ = b.process.Process.Signal(syscall.SIGCONT) // a frozen one hears nothing
		select {
		case <-b.done:
		case <-time.After(startTimeout):
			_ = b.process.Process.Kill()
		}
	}
	<-b.done
	b.process, b.done = nil, nil
	return nil
}

// await returns when the broker says that it has started and takes connections.
func (b *Broker) await(ctx context.Context, done <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return errors.New("the broker ended at its start")
		case <-ctx.Done():
			return fmt.Errorf("the broker does not start: %w", context.Cause(ctx))
		case <-tick.C:
		}
		text, err := os.ReadFile(filepath.Join(b.options.Dir, "kafka.out"))
		if err != nil {
			return err
		}
		if !bytes.Contains(text, []byte("Kafka Server started")) {
			continue
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", b.Addr())
		if err == nil {
			return conn.Close()
		}
	}
}

// format gives a new folder its cluster id.
func (b *Broker) format(ctx context.Context, settings string) error {
	if _, err := os.Stat(filepath.Join(b.options.Dir, "log", "meta.properties")); err == nil {
		return nil
	}
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return err
	}
	id[0] &= 0x0f // or its text could begin with "-" and look like an option
	cmd := exec.CommandContext(ctx, b.kit.java, append(b.jvm(), "kafka.tools.StorageTool", "format",
		"-t", base64.RawURLEncoding.EncodeToString(id[:]), "-c", settings)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("format the broker's folder: %w\n%s", err, out)
	}
	return nil
}

func (b *Broker) jvm() []string {
	heap := b.options.Heap
	if heap == "" {
		heap = "256m"
	}
	return []string{
		"-Xms" + heap, "-Xmx" + heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
		"-Dlog4j2.configurationFile=" + filepath.Join(b.kit.lib, "log4j2.properties"), "-Dkafka.logs.dir=" + b.options.Dir,
		"-cp", b.kit.lib + "/*",
	}
}

func (b *Broker) properties() string {
	proxy := b.options.Proxy
	if proxy == "" {
		proxy = b.Upstream()
	}
	lines := []string{
		"process.roles=broker,controller",
		"node.id=1",
		"controller.quorum.voters=1@" + address(b.controller),
		"listeners=PLAINTEXT://" + b.Addr() + ",BEHIND://" + b.Upstream() + ",CONTROLLER://" + address(b.controller),
		"advertised.listeners=PLAINTEXT://" + b.Addr() + ",BEHIND://" + proxy,
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,BEHIND:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"inter.broker.listener.name=PLAINTEXT",
		"controller.listener.names=CONTROLLER",
		"log.dirs=" + filepath.Join(b.options.Dir, "log"),
		"auto.create.topics.enable=false",
		"num.partitions=1",
		"offsets.topic.num.partitions=1",
		"offsets.topic.replication.factor=1",
		"transaction.state.log.num.partitions=1",
		"transaction.state.log.replication.factor=1",
		"transaction.state.log.min.isr=1",
		"share.coordinator.state.topic.num.partitions=1",
		"share.coordinator.state.topic.replication.factor=1",
		"share.coordinator.state.topic.min.isr=1",
		"group.initial.rebalance.delay.ms=0",
	}
	return strings.Join(append(lines, b.options.Properties...), "\n") + "\n"
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// freePort returns a port that was free a moment ago. The broker has to know its
// own before it starts, so that somebody else may be faster; then it ends and
// says so.
func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

package faultproxy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Fate is what happens to one flight.
type Fate int

const (
	// Pass delivers the flight and its answer.
	Pass Fate = iota
	// CutBefore closes both connections; the server never sees the flight.
	CutBefore
	// CutAfter delivers the flight, waits until the server answered that it is
	// done, and closes the client's connection without a byte of that answer.
	CutAfter
	// HoldFlight keeps the whole flight until [Proxy.Release], then delivers it
	// although the client may have gone: a request that sat in a buffer.
	HoldFlight
	// HoldSync delivers all but the last message, so that the server works and
	// holds its locks but does not commit until [Proxy.Release].
	HoldSync
	// HoldAnswer delivers the flight and keeps the answer until
	// [Proxy.Release].
	HoldAnswer
)

// String names the fate, for test names.
func (f Fate) String() string {
	return [...]string{"pass", "cut-before", "cut-after", "hold-flight", "hold-sync", "hold-answer"}[f]
}

// Flight is what the plan may look at.
type Flight struct {
	// SQL holds the texts of the statements that the flight executes, in
	// order, also of those that were prepared by an earlier flight.
	SQL []string
	// Arguments holds what each of these statements is given, as it is on the
	// wire, in binary or as text; nil for a NULL and for simple queries.
	Arguments [][][]byte
}

// Plan decides the fate of a flight. It is called from several goroutines.
type Plan func(Flight) Fate

// Proxy listens on a loopback port and forwards to one PostgreSQL server.
type Proxy struct {
	listener net.Listener
	upstream atomic.Pointer[string]
	plan     atomic.Pointer[Plan]
	down     atomic.Bool

	mu      sync.Mutex
	release chan struct{}
	conns   map[net.Conn]struct{}
	group   sync.WaitGroup
	hits    chan Fate
	flights atomic.Int64
}

// Start listens on a free port of 127.0.0.1 and forwards to upstream, a
// host:port or the path of a Unix socket. Close it when done.
func Start(ctx context.Context, upstream string) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	p := &Proxy{
		listener: listener,
		release:  make(chan struct{}), conns: map[net.Conn]struct{}{}, hits: make(chan Fate, 1024),
	}
	p.SetUpstream(upstream)
	p.SetPlan(func(Flight) Fate { return Pass })
	p.group.Go(p.accept)
	return p, nil
}

// Addr is the host:port that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// SetUpstream names another server for connections from now on: a standby that
// took over. Those that are open stay where they are.
func (p *Proxy) SetUpstream(upstream string) { p.upstream.Store(&upstream) }

// SetPlan replaces the plan for flights that complete from now on.
func (p *Proxy) SetPlan(plan Plan) { p.plan.Store(&plan) }

// Hits delivers the fate of each flight that did not just pass, at the moment
// when it was decided: a test waits on it instead of sleeping.
func (p *Proxy) Hits() <-chan Fate { return p.hits }

// Flights returns how many flights were decided so far: what a client sends in
// one go and waits for. Tests count network round trips with it.
func (p *Proxy) Flights() int64 { return p.flights.Load() }

// Release lets everything go that is held at this moment.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.release)
	p.release = make(chan struct{})
}

// SetDown refuses new connections and cuts the open ones while down is true:
// the server seems to be gone.
func (p *Proxy) SetDown(down bool) {
	p.down.Store(down)
	if !down {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close() // the peer's loop ends on it
	}
}

// Close ends all connections and waits for their goroutines.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.SetDown(true)
	p.Release()
	p.group.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.down.Load() {
			_ = client.Close()
			continue
		}
		p.group.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) dial() (net.Conn, error) {
	upstream := *p.upstream.Load()
	network := "tcp"
	if upstream != "" && upstream[0] == '/' {
		network = "unix"
	}
	return net.Dial(network, upstream)
}

func (p *Proxy) serve(client net.Conn) {
	server, err := p.dial()
	if err != nil {
		_ = client.Close()
		return
	}
	p.track(client, server)
	defer p.untrack(client, server)
	if err := p.startup(client, server); err != nil {
		return
	}
	s := &session{proxy: p, client: client, server: server, prepared: map[string]string{}}
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		s.copyAnswers()
	}()
	s.copyFlights()
	<-answers
}

func (p *Proxy) track(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = struct{}{}
	}
}

func (p *Proxy) untrack(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
		_ = c.Close()
	}
}

func (p *Proxy) released() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.release
}

// Codes that stand in the place of a protocol version in a start-up packet.
const (
	codeCancel = 80877102
	codeSSL    = 80877103
	codeGSS    = 80877104
)

// startup forwards the untyped first packets; encryption is refused, since
// the proxy must read what follows. A cancel request is never delivered: pgx
// sends one from a goroutine when it gives a connection up, and whether that
// overtakes a held flight would be luck. A lost one is the worse fault.
func (p *Proxy) startup(client, server net.Conn) error {
	for {
		var head [8]byte
		if _, err := io.ReadFull(client, head[:]); err != nil {
			return err
		}
		size, code := binary.BigEndian.Uint32(head[:4]), binary.BigEndian.Uint32(head[4:])
		if code == codeSSL || code == codeGSS {
			if _, err := client.Write([]byte{'N'}); err != nil {
				return err
			}
			continue
		}
		if size < 8 || size > 1<<16 {
			return errors.New("implausible start-up packet")
		}
		if code == codeCancel {
			return io.EOF
		}
		rest := make([]byte, size-8)
		if _, err := io.ReadFull(client, rest); err != nil {
			return err
		}
		_, err := server.Write(append(head[:], rest...))
		return err
	}
}

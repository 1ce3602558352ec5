package kafkaproxy

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

// Keys of the requests that tests break.
const (
	Produce            int16 = 0
	Fetch              int16 = 1
	Metadata           int16 = 3
	InitProducerID     int16 = 22
	AddPartitionsToTxn int16 = 24
	EndTxn             int16 = 26
)

// Fate is what happens to one request.
type Fate int

const (
	// Pass delivers the request and its answer.
	Pass Fate = iota
	// CutBefore closes both connections; the broker never sees the request.
	CutBefore
	// CutAfter delivers the request, waits for the broker's answer and closes the
	// client's connection without a byte of it.
	CutAfter
	// HoldRequest keeps the request until [Proxy.Release] and delivers it then,
	// although the client may have gone.
	HoldRequest
	// HoldAnswer delivers the request and keeps the answer until [Proxy.Release].
	HoldAnswer
)

// Request is what the plan may look at.
type Request struct {
	Key, Version int16
	Body         []byte // all after the key and the version
}

// Plan decides the fate of a request. It is called from several goroutines.
type Plan func(Request) Fate

// Proxy listens on a loopback port and forwards to one broker.
type Proxy struct {
	listener net.Listener
	upstream atomic.Pointer[string]
	plan     atomic.Pointer[Plan]
	down     atomic.Bool
	group    sync.WaitGroup
	hits     chan Request

	mu      sync.Mutex
	release chan struct{}
	conns   map[net.Conn]struct{}
}

// Start listens on a free port of 127.0.0.1. Until [Proxy.SetUpstream] names the
// broker, connections are closed at once. Close it when done.
func Start(ctx context.Context) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("kafka proxy: %w", err)
	}
	p := &Proxy{listener: listener, release: make(chan struct{}), conns: map[net.Conn]struct{}{}, hits: make(chan Request, 1024)}
	p.SetUpstream("")
	p.SetPlan(nil)
	p.group.Go(p.accept)
	return p, nil
}

// Addr is the host:port that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// SetUpstream names the broker that new connections are led to.
func (p *Proxy) SetUpstream(addr string) { p.upstream.Store(&addr) }

// SetPlan replaces the plan for requests that arrive from now on; nil passes all.
func (p *Proxy) SetPlan(plan Plan) {
	if plan == nil {
		plan = func(Request) Fate { return Pass }
	}
	p.plan.Store(&plan)
}

// Hits delivers each request that did not just pass, when its fate was decided:
// a test waits on it instead of sleeping. It keeps the first 1,024.
func (p *Proxy) Hits() <-chan Request { return p.hits }

// Release lets everything go that is held at this moment.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.release)
	p.release = make(chan struct{})
}

// SetDown refuses new connections and cuts the open ones while down is true.
func (p *Proxy) SetDown(down bool) {
	p.down.Store(down)
	if down {
		p.Cut()
	}
}

// Cut closes all connections of this moment.
func (p *Proxy) Cut() {
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
		if p.down.Load() || *p.upstream.Load() == "" {
			_ = client.Close()
			continue
		}
		p.group.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", *p.upstream.Load())
	if err != nil {
		_ = client.Close()
		return
	}
	p.mu.Lock()
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	p.mu.Unlock()
	if p.down.Load() {
		p.Cut() // it went down while we dialled
	}
	fates := make(chan Fate, 1024) // of the requests under way, in the order of their answers
	var both sync.WaitGroup
	both.Go(func() {
		defer closeBoth(client, server)
		p.answers(client, server, fates)
	})
	p.requests(client, server, fates)
	close(fates)
	closeBoth(client, server)
	both.Wait()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.mu.Unlock()
}

func closeBoth(a, b net.Conn) {
	_ = a.Close() // to end the other direction, or again
	_ = b.Close()
}

func (p *Proxy) requests(client, server net.Conn, fates chan<- Fate) {
	for {
		frame, err := readFrame(client)
		if err != nil || len(frame) < 8 {
			return
		}
		request := Request{
			Key: int16(binary.BigEndian.Uint16(frame[4:])), Version: int16(binary.BigEndian.Uint16(frame[6:])), Body: frame[8:],
		}
		released := p.released()
		fate := (*p.plan.Load())(request)
		if fate != Pass {
			select {
			case p.hits <- request:
			default:
			}
		}
		switch fate {
		case CutBefore:
			return
		case HoldRequest:
			<-released
		case Pass, CutAfter, HoldAnswer:
		}
		fates <- fate
		if _, err := server.Write(frame); err != nil {
			return
		}
	}
}

func (p *Proxy) answers(client, server net.Conn, fates <-chan Fate) {
	for {
		frame, err := readFrame(server)
		if err != nil {
			return
		}
		released := p.released()
		switch <-fates {
		case CutAfter:
			return
		case HoldAnswer:
			<-released
		case Pass, CutBefore, HoldRequest:
		}
		if _, err := client.Write(frame); err != nil {
			return
		}
	}
}

func (p *Proxy) released() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.release
}

// maxFrame is Kafka's own default bound of a request.
const maxFrame = 100 << 20

var errFrame = errors.New("a frame of this size is none of Kafka's")

// readFrame returns a frame with its length before it.
func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return nil, errFrame
	}
	frame := make([]byte, 4+size)
	copy(frame, head[:])
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

package natstest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy stands before a server: its address stays while the server's changes,
// and it loses what it is told to lose.
type Proxy struct {
	listener net.Listener

	mu     sync.Mutex
	target string // empty: nobody is there
	mute   bool
	budget int64 // bytes from clients until all is cut; negative: no end
	conns  map[net.Conn]struct{}
	group  sync.WaitGroup
}

// NewProxy listens, and leads to target.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener, target: target, budget: -1, conns: map[net.Conn]struct{}{}}
	p.group.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.Lead("")
		p.group.Wait()
	})
	return p
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Lead ends all connections, and has new ones go to target; with an empty one
// they end at once.
func (p *Proxy) Lead(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target, p.mute, p.budget = target, false, -1
	for c := range p.conns {
		_ = c.Close()
	}
}

// CutAfter lets so many bytes of clients through, then ends all connections, once.
func (p *Proxy) CutAfter(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget = bytes
}

// spend returns how many of n bytes may go through, and whether that is the end.
func (p *Proxy) spend(n int) (through int, end bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.budget < 0:
		return n, false
	case int64(n) < p.budget:
		p.budget -= int64(n)
		return n, false
	}
	n, p.budget = int(p.budget), -1
	return n, true
}

// Mute loses, from now on and until [Proxy.Lead], every byte that the server
// sends.
func (p *Proxy) Mute() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = true
}

func (p *Proxy) muted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mute
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.group.Go(func() { p.serve(client) })
	}
}

// connect returns the connection behind client's and counts both in.
func (p *Proxy) connect(client net.Conn) (net.Conn, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.target == "" {
		return nil, false
	}
	server, err := new(net.Dialer).Dial("tcp", p.target)
	if err != nil {
		return nil, false
	}
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	return server, true
}

func (p *Proxy) serve(client net.Conn) {
	server, ok := p.connect(client)
	if !ok {
		_ = client.Close()
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(questions{p, server}, client)
		_ = server.Close()
	})
	both.Go(func() {
		_, _ = io.Copy(answers{p, client}, server)
		_ = client.Close()
	})
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, client)
	delete(p.conns, server)
}

// answers writes to a client what is not lost.
type answers struct {
	proxy  *Proxy
	client net.Conn
}

func (a answers) Write(b []byte) (int, error) {
	if a.proxy.muted() {
		return len(b), nil
	}
	return a.client.Write(b)
}

// questions writes to a server what is let through.
type questions struct {
	proxy  *Proxy
	server net.Conn
}

func (q questions) Write(b []byte) (int, error) {
	through, end := q.proxy.spend(len(b))
	n, err := q.server.Write(b[:through])
	if err == nil && end {
		err = net.ErrClosed
	}
	return n, err
}

package kafka

import (
	"net"
	"sync"
)

// dialer makes a session's connections, which can all be closed at once, and
// tells when there is none left and none to be had.
type dialer struct {
	gone   chan struct{} // closed when it was cut
	lost   chan struct{} // closed when no broker is there any more
	reason error         // why; read after lost is closed

	mu       sync.Mutex
	conns    map[net.Conn]struct{}
	expected bool
	over     bool
}

func newDialer() *dialer {
	return &dialer{gone: make(chan struct{}), lost: make(chan struct{}), conns: map[net.Conn]struct{}{}}
}

// Dial implements proxy.Dialer for sarama.
func (d *dialer) Dial(network, addr string) (net.Conn, error) {
	if d.isCut() {
		return nil, net.ErrClosed
	}
	conn, err := (&net.Dialer{Timeout: dialTimeout}).Dial(network, addr) // sarama has no context; its time-out bounds it
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err != nil:
		if d.expected && len(d.conns) == 0 && d.reason == nil {
			d.reason = err
			close(d.lost)
		}
		return nil, err
	case d.over:
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	d.conns[conn] = struct{}{}
	return &tracked{Conn: conn, dialer: d}, nil
}

// expect says that brokers were there. Before, some of the addresses that an
// operator named may lead nowhere.
func (d *dialer) expect() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expected = true
}

func (d *dialer) isCut() bool {
	select {
	case <-d.gone:
		return true
	default:
		return false
	}
}

// cut closes all connections and makes no more.
func (d *dialer) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.over {
		d.over = true
		close(d.gone)
	}
	for conn := range d.conns {
		_ = conn.Close() // whoever reads or writes ends on it
	}
	clear(d.conns)
}

// tracked is a connection that its dialer forgets when it is closed.
type tracked struct {
	net.Conn

	dialer *dialer
}

// Close implements net.Conn.
func (c *tracked) Close() error {
	c.dialer.mu.Lock()
	delete(c.dialer.conns, c.Conn)
	c.dialer.mu.Unlock()
	return c.Conn.Close()
}

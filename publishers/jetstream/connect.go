package jetstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/icecore-catalog/icecore/publishers"
)

// connection is one connection to NATS, for as long as nothing fails: it doesn't
// reconnect by itself, so that nothing of a batch that failed is sent again
// behind the relay's back.
type connection struct {
	nats   *natsgo.Conn
	js     natsjs.JetStream
	api    string // prefix of JetStream's own subjects
	closed chan struct{}

	mu     sync.Mutex
	cancel context.CancelCauseFunc // of who waits, told of what the server forbids
}

var errClosed = errors.New("the connection to NATS has ended")

// How soon a connection is found dead that nothing closed.
const (
	pingInterval = 10 * time.Second
	pingsOut     = 2
)

// connect opens a connection. It returns soon after ctx has ended.
func (t *Transport) connect(ctx context.Context) (*connection, error) {
	c := &connection{closed: make(chan struct{}), api: "$JS.API."}
	if t.settings.Domain != "" {
		c.api = "$JS." + t.settings.Domain + ".API."
	}
	options := []natsgo.Option{
		natsgo.Name("icecore: destination " + t.destination), natsgo.NoReconnect(), natsgo.Timeout(t.settings.ConnectTimeout),
		natsgo.PingInterval(pingInterval), natsgo.MaxPingsOutstanding(pingsOut),
		natsgo.ClosedHandler(func(*natsgo.Conn) { close(c.closed) }),
		natsgo.ErrorHandler(func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) { c.forbidden(err) }),
	}
	if t.settings.InboxPrefix != "" {
		options = append(options, natsgo.CustomInboxPrefix(t.settings.InboxPrefix))
	}
	identity, err := t.settings.identity(t.secrets)
	if err != nil {
		return nil, err
	}
	options = append(options, identity...)
	encryption, err := t.settings.encryption(t.secrets)
	if err != nil {
		return nil, err
	}
	options = append(options, encryption...)

	done := make(chan error, 1)
	go func() {
		var err error
		c.nats, err = natsgo.Connect(t.settings.URL, options...)
		done <- err
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		go func() { // nobody waits for it any more
			if <-done == nil {
				c.nats.Close()
			}
		}()
		return nil, fmt.Errorf("connect to NATS: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	// The window is kept by Publish, so the library's own is never reached.
	window := natsjs.WithPublishAsyncMaxPending(2 * t.settings.MaxPending)
	if t.settings.Domain != "" {
		c.js, err = natsjs.NewWithDomain(c.nats, t.settings.Domain, window)
	} else {
		c.js, err = natsjs.New(c.nats, window)
	}
	if err != nil {
		c.nats.Close()
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	return c, nil
}

// identity tells the server who we are.
func (s *Settings) identity(secrets publishers.Secrets) ([]natsgo.Option, error) {
	text := func(name string) (string, error) {
		secret, err := secrets(name)
		return strings.TrimRight(string(secret), "\r\n"), err
	}
	switch {
	case s.Credentials != "":
		file, err := secrets(s.Credentials)
		if err != nil {
			return nil, err
		}
		return []natsgo.Option{natsgo.UserCredentialBytes(file)}, nil
	case s.User != "":
		password, err := text(s.Password)
		if err != nil {
			return nil, err
		}
		return []natsgo.Option{natsgo.UserInfo(s.User, password)}, nil
	case s.Token != "":
		token, err := text(s.Token)
		if err != nil {
			return nil, err
		}
		return []natsgo.Option{natsgo.Token(token)}, nil
	}
	return nil, nil
}

// encryption is TLS, always with the server's name and certificate checked.
func (s *Settings) encryption(secrets publishers.Secrets) ([]natsgo.Option, error) {
	if !s.tls() {
		return nil, nil // a server that wants TLS still gets it
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		pem, err := secrets(s.CA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: %q holds no certificate in PEM form", publishers.ErrSecret, s.CA)
		}
	}
	if s.ClientCertificate != "" {
		certificate, err := secrets(s.ClientCertificate)
		if err != nil {
			return nil, err
		}
		key, err := secrets(s.ClientKey)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("%w: %q and %q: not a certificate and its key in PEM form", publishers.ErrSecret, s.ClientCertificate, s.ClientKey)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	options := []natsgo.Option{natsgo.Secure(config)}
	if s.TLSFirst {
		options = append(options, natsgo.TLSHandshakeFirst())
	}
	return options, nil
}

// usable is whether the connection stands, as far as is known.
func (c *connection) usable() bool { return c != nil && c.nats.IsConnected() }

// close ends the connection and returns when it has ended.
func (c *connection) close() {
	if c == nil {
		return
	}
	c.nats.Close()
	<-c.closed
}

// guard returns a context that ends also when the connection does, and when the
// server forbids something: otherwise the answer would just never come.
func (c *connection) guard(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	c.cancel = cancel
	c.mu.Unlock()
	stop := make(chan struct{})
	go func() {
		select {
		case <-c.closed:
			cancel(errClosed)
		case <-stop:
		}
	}()
	return ctx, func() {
		close(stop)
		cancel(nil)
		c.mu.Lock()
		c.cancel = nil
		c.mu.Unlock()
	}
}

// forbidden hears of errors that belong to no request.
func (c *connection) forbidden(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil && errors.Is(err, natsgo.ErrPermissionViolation) {
		c.cancel(err)
	}
}

// cause is the reason for err: that of the context, where that has ended.
func cause(ctx context.Context, err error) error {
	if reason := context.Cause(ctx); reason != nil {
		return reason
	}
	return err
}

package publishers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// connection is a transport to a destination as it was decreed.
type connection struct {
	destination Destination
	transport   Transport
	publisher   message.Publisher // the transport with its decorators
	limit       int               // of a message, 0 for none
	ready       bool              // prepared, and compared with our place, since the last failure
	hangs       bool              // a call did not return: nothing more is asked of it
}

// errHangs is a call that goes on although it should have ended.
var errHangs = errors.New("the destination does not answer, and its connection did not end in time")

// patiently calls a transport and bounds the call in time, whether it obeys its
// context or not. What does not return is left alone, and its connection given up.
func (d *runner) patiently(ctx context.Context, conn *connection, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d.relay.config.Patience)
	done := make(chan error, 1)
	go func() {
		defer cancel()
		done <- call(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		conn.hangs = true
		go func() {
			<-done //nolint:errcheck // it comes too late
			_ = conn.transport.Close()
		}()
		return errHangs
	}
}

// connect has a connection that is ready and stands where the destination does.
// With again, the lease has to be looked at before anything is published.
func (d *runner) connect(ctx context.Context, c *claim) turn {
	if d.conn != nil && d.conn.destination.Version != c.destination.Version {
		d.disconnect()
	}
	if d.conn == nil {
		source, err := d.relay.config.Source(ctx)
		if err != nil {
			d.relay.warn(ctx, "a destination waits for the database", err)
			return rest
		}
		conn := &connection{destination: c.destination}
		conn.destination.Source = source
		if err := d.open(ctx, conn); err != nil {
			return d.failed(ctx, c, c.place, 0, ReasonConnect, fmt.Errorf("connect: %w", err))
		}
		d.conn = conn
	}
	if d.conn.ready {
		return goOn
	}
	if err := d.patiently(ctx, d.conn, d.conn.transport.Prepare); err != nil {
		return d.failed(ctx, c, c.place, 0, reasonFor(err, ReasonConnect), fmt.Errorf("prepare: %w", err))
	}
	d.conn.limit = d.conn.destination.limit(d.conn.transport)
	if d.corrections == 0 { // after a mismatch it was just done
		if done := d.compare(ctx, c); done != goOn {
			return done
		}
	}
	d.conn.ready = true
	return again
}

func (d *runner) open(ctx context.Context, conn *connection) (err error) {
	if conn.transport, err = d.relay.config.Connect(ctx, &conn.destination); err != nil {
		return err
	}
	conn.publisher = conn.transport
	for _, decorate := range d.relay.config.Decorate(&conn.destination) {
		if conn.publisher, err = decorate(conn.publisher); err != nil {
			_ = conn.transport.Close()
			return err
		}
	}
	return nil
}

// disconnect closes the connection; the next claim makes another.
func (d *runner) disconnect() {
	if d.conn == nil {
		return
	}
	if !d.conn.hangs { // else it is closed when its call returns
		conn := d.conn
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			_ = conn.publisher.Close()
		}()
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case <-closed:
		case <-late.C:
		}
	}
	d.conn = nil
}

func reasonFor(err error, otherwise Reason) Reason {
	switch {
	case errors.Is(err, errHangs):
		return ReasonHangs
	case errors.Is(err, ErrFenced):
		return ReasonFenced
	}
	return otherwise
}

// publish hands over a batch.
func (d *runner) publish(ctx context.Context, b *batch) error {
	conn := d.conn
	return d.patiently(ctx, conn, func(ctx context.Context) error {
		b.ctx.Context = ctx
		return conn.publisher.Publish(conn.destination.Name, b.messages...)
	})
}

// refusal tells which message of the batch an error is about.
func (b *batch) refusal(err error) (index int, permanent, ok bool) {
	var refused *BatchError
	if !errors.As(err, &refused) || refused.Index < 0 || refused.Index >= len(b.places) {
		return 0, false, false
	}
	return refused.Index, refused.Permanent, true
}

package publishers

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Place is how far a destination has come in the log. The zero Place is before
// the first event.
type Place struct {
	Epoch    int64  // of the event at Position
	Position int64  // of the last event that is settled: published, filtered out or parked
	Event    ids.ID // the last event that was really published there; Nil when none was
}

// Transport is the connection to one destination. Publish hands over a batch in
// log order, all of one destination, and returns nil when every message is
// acknowledged, a [*BatchError] when the destination took those before one of
// them, any other error when it cannot say what was taken. It is pipelined within
// the batch and never reorders, whatever fails. Its context is that of the first
// message; topic is the destination's name. Calls of one Transport don't overlap.
// All of them return soon after their context has ended, which is how the relay
// bounds them; what was taken until then is a failure like any other.
type Transport interface {
	message.Publisher

	// Prepare connects, and makes or checks what messages go into (a stream, a
	// topic). It is called before the first Publish and again after a failure.
	Prepare(ctx context.Context) error
	// Last returns the place of the newest event that the destination holds, as
	// its attributes tell, for reconciliation after [ErrMismatch]. ok is false
	// when it holds none, or is of a kind that cannot be asked (a webhook).
	Last(ctx context.Context) (last Place, ok bool, err error)
}

// Limiter is a [Transport] that knows, once it is prepared, how large a message
// the destination takes, in bytes with all that surrounds the data; 0 is any. An
// event that is larger goes out without its data, by reference (CloudEvents'
// dataref). The setting max-message-bytes of the destination may say less.
type Limiter interface{ MaxMessageBytes() int }

// ErrMismatch says that the destination does not stand where the batch begins:
// somebody else published there, or an acknowledgement or the cursor was lost.
// The relay asks [Transport.Last] and decides.
var ErrMismatch = errors.New("the destination does not stand where the cursor does")

// ErrFenced says that another publisher has taken the destination over; this one
// must let go of its lease and its connection.
var ErrFenced = errors.New("another publisher has taken this destination over")

// BatchError says which message of a batch was not taken: all before Index are
// acknowledged, Index and all after it are not.
type BatchError struct {
	Index int
	// Permanent is whether the destination refuses this message whatever is
	// tried (too large, forbidden): such an event halts the destination or is
	// parked, by its policy.
	Permanent bool
	Err       error
}

// Error implements error.
func (e *BatchError) Error() string {
	return fmt.Sprintf("message %d of the batch: %v", e.Index, e.Err)
}

// Unwrap returns the reason.
func (e *BatchError) Unwrap() error { return e.Err }

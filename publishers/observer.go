package publishers

// Observer receives what the relay measures. Each callback may be nil, is called
// from several goroutines, and must return at once. What it gets of a destination
// is its name and its kind, which operators chose. What is published is counted by
// a decorator ([Measured]).
type Observer struct {
	// Failed: a destination failed and will be tried again. The reason is one of
	// the words below.
	Failed func(name, kind string, reason Reason)
	// Parked: an event was refused for good and put aside.
	Parked func(name, kind string)
	// Halted: a destination refused an event for good and stays there.
	Halted func(name, kind string)
	// Corrected: the place was set to what the destination holds.
	Corrected func(name, kind string)
	// Phantoms: the destination's last event is none of this log's any more: it
	// was lost with the history that it belongs to.
	Phantoms func(name, kind string)
}

// Reason is why a destination failed.
type Reason string

// The reasons.
const (
	ReasonConnect  Reason = "connect"  // it could not be reached, or be made ready
	ReasonPublish  Reason = "publish"  // it did not take a batch, or did not answer
	ReasonMismatch Reason = "mismatch" // it does not stand where we do, and that could not be settled
	ReasonFenced   Reason = "fenced"   // another publisher took it over
	ReasonHangs    Reason = "hangs"    // a call did not return
)

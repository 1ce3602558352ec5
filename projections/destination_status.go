package projections

import (
	"strings"
	"time"
	"unicode/utf8"
)

// The states of a destination.
const (
	DestinationRunning    = "running"
	DestinationPaused     = "paused"
	DestinationHalted     = "halted"      // it refuses an event for good
	DestinationBackingOff = "backing-off" // it failed, and waits to be tried again
)

// Status says in a word how the destination is doing.
func (d *Destination) Status() string {
	switch {
	case d.Paused:
		return DestinationPaused
	case d.HaltedAt != 0:
		return DestinationHalted
	case d.RetryAfter.After(d.Now):
		return DestinationBackingOff
	}
	return DestinationRunning
}

// Lag is how many events of the log are not settled yet, and for how long the
// first of them has been in the log.
func (d *Destination) Lag() (events int64, age time.Duration) {
	events = max(0, d.Head-d.Position)
	if events > 0 && !d.NextSince.IsZero() {
		age = max(0, d.Now.Sub(d.NextSince))
	}
	return events, age
}

// maxShownError bounds what is shown of a text that a broker may have written.
const maxShownError = 500

// ShownError is the last error as one printable line.
func (d *Destination) ShownError() string { return shown(d.LastError) }

// ShownReason is the reason as one printable line.
func (p *ParkedEvent) ShownReason() string { return shown(p.Reason) }

func shown(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\ufffd"), func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
	if len(text) <= maxShownError {
		return text
	}
	end := maxShownError
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

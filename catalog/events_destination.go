package catalog

import (
	"encoding/json"
	"errors"
	"math"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Types of the events of destinations.
const (
	TypeDestinationCreated  = TypePrefix + "destination.created"
	TypeDestinationUpdated  = TypePrefix + "destination.updated"
	TypeDestinationPaused   = TypePrefix + "destination.paused"
	TypeDestinationResumed  = TypePrefix + "destination.resumed"
	TypeDestinationReplayed = TypePrefix + "destination.replayed"
	TypeDestinationSkipped  = TypePrefix + "destination.skipped"
	TypeDestinationRetried  = TypePrefix + "destination.retried"
	TypeDestinationRemoved  = TypePrefix + "destination.removed"
)

// What a destination does with an event that it refuses for good.
const (
	OnRefusalHalt = "halt" // it stops there until an operator decides
	OnRefusalPark = "park" // the event is put aside, and what follows is published
)

// Where a destination starts, in the words of whoever decreed it.
const (
	StartBeginning = "beginning"
	StartNow       = "now"
	StartPosition  = "position"
	StartTime      = "time"
)

// MaxFiltered bounds each list of a [DestinationFilter].
const MaxFiltered = 1000

// DestinationFilter says which events go to a destination. An empty list admits
// everything; an event has to be admitted by all four. Events that stand above
// projects or warehouses are of none.
type DestinationFilter struct {
	Projects, Warehouses []ids.ID
	Entities             []string // "table"
	Types                []string // "dev.icecore.table.committed"
}

func (f *DestinationFilter) fields(c *coder) {
	for _, list := range []struct {
		name string
		ids  *[]ids.ID
	}{{"projects", &f.Projects}, {"warehouses", &f.Warehouses}} {
		c.idList(list.name, list.ids)
		if len(*list.ids) > MaxFiltered {
			c.fail(list.name, "%d elements, at most %d are allowed", len(*list.ids), MaxFiltered)
		}
	}
	for _, list := range []struct {
		name  string
		texts *[]string
	}{{"entities", &f.Entities}, {"types", &f.Types}} {
		c.texts(list.name, list.texts, 0, func(s string) error { return checkText(s, MaxNameBytes) })
		if repeats(*list.texts) {
			c.fail(list.name, "an element occurs twice")
		}
		if len(*list.texts) > MaxFiltered {
			c.fail(list.name, "%d elements, at most %d are allowed", len(*list.texts), MaxFiltered)
		}
	}
}

// Encode returns the filter as one JSON object of four lists.
func (f *DestinationFilter) Encode() ([]byte, error) { return encodeObject(nil, "", f.fields) }

// DecodeDestinationFilter reads what [DestinationFilter.Encode] wrote.
func DecodeDestinationFilter(data []byte) (f DestinationFilter, err error) {
	err = decodeObject(data, "", f.fields)
	return f, err
}

// DestinationStart is a place in the log, resolved: what follows After is
// published.
type DestinationStart struct {
	From   string // how it was told: [StartBeginning], [StartNow]…
	TimeMS *int64 // of StartTime
	After  int64  // the last position that is not published; 0 for the beginning
	Epoch  int64  // of the event at After; 0 for the beginning
}

func (s *DestinationStart) fields(c *coder) {
	c.word("from", &s.From, StartBeginning, StartNow, StartPosition, StartTime)
	c.optInteger("time-ms", &s.TimeMS, 0, math.MaxInt64)
	c.integer("after", &s.After, 0, math.MaxInt64)
	c.integer("epoch", &s.Epoch, 0, math.MaxInt64)
}

// DestinationConfig is what an operator says about a destination. It holds no
// secret: settings name files of them.
type DestinationConfig struct {
	Name      string
	Settings  json.RawMessage // JSON object of strings
	Filter    DestinationFilter
	OnRefusal string
}

func (d *DestinationConfig) fields(c *coder) {
	c.text("name", &d.Name, MaxNameBytes)
	c.raw("settings", &d.Settings, isStringMap)
	c.object("filter", d.Filter.fields)
	c.word("on-refusal", &d.OnRefusal, OnRefusalHalt, OnRefusalPark)
}

// DestinationCreated opens a destination. What follows its start in the log goes
// there.
type DestinationCreated struct {
	DestinationConfig
	Kind   string // "nats", "kafka", "webhook", "log"
	Paused bool
	Start  DestinationStart
}

// EventType implements [Event].
func (*DestinationCreated) EventType() string { return TypeDestinationCreated }

func (e *DestinationCreated) fields(c *coder) {
	e.DestinationConfig.fields(c)
	c.text("kind", &e.Kind, 32)
	if e.Kind != "" && !ValidDestinationKind(e.Kind) {
		c.fail("kind", "not lower-case letters, digits and hyphens behind a letter")
	}
	c.flag("paused", &e.Paused)
	c.object("start", e.Start.fields)
}

// ValidDestinationKind reports whether text can name a kind of destinations.
func ValidDestinationKind(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', i > 0 && ('0' <= c && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return text != "" && len(text) <= 32
}

// DestinationUpdated says what a destination is from now on. Its place stays;
// one that halted or waits tries at once.
type DestinationUpdated struct {
	From string // its name before
	DestinationConfig
}

// EventType implements [Event].
func (*DestinationUpdated) EventType() string { return TypeDestinationUpdated }

func (e *DestinationUpdated) fields(c *coder) {
	c.text("from", &e.From, MaxNameBytes)
	e.DestinationConfig.fields(c)
}

// DestinationPaused has a destination publish nothing until it is resumed.
type DestinationPaused struct{ Name string }

// EventType implements [Event].
func (*DestinationPaused) EventType() string { return TypeDestinationPaused }

func (e *DestinationPaused) fields(c *coder) { c.text("name", &e.Name, MaxNameBytes) }

// DestinationResumed has a destination go on: one that was paused, or halted, or
// waits after failures, tries at once.
type DestinationResumed struct{ Name string }

// EventType implements [Event].
func (*DestinationResumed) EventType() string { return TypeDestinationResumed }

func (e *DestinationResumed) fields(c *coder) { c.text("name", &e.Name, MaxNameBytes) }

// DestinationReplayed puts a destination to another place in the log. No other
// one is touched.
type DestinationReplayed struct {
	Name  string
	Start DestinationStart
}

// EventType implements [Event].
func (*DestinationReplayed) EventType() string { return TypeDestinationReplayed }

func (e *DestinationReplayed) fields(c *coder) {
	c.text("name", &e.Name, MaxNameBytes)
	c.object("start", e.Start.fields)
}

// RefusedEvent is an event that a destination refused for good.
type RefusedEvent struct {
	Name     string // of the destination
	Position int64
	Event    ids.ID
}

func (e *RefusedEvent) fields(c *coder) {
	c.text("name", &e.Name, MaxNameBytes)
	c.integer("position", &e.Position, 1, math.MaxInt64)
	c.id("event-id", &e.Event)
}

// DestinationSkipped lets the event pass at which a destination halted: it is
// parked, and what follows is published.
type DestinationSkipped struct {
	RefusedEvent
	Epoch int64 // of that event
}

// EventType implements [Event].
func (*DestinationSkipped) EventType() string { return TypeDestinationSkipped }

func (e *DestinationSkipped) fields(c *coder) {
	e.RefusedEvent.fields(c)
	c.integer("epoch", &e.Epoch, 1, math.MaxInt64)
}

// DestinationRetried has a parked event published again, after all that was
// published in the meantime.
type DestinationRetried struct{ RefusedEvent }

// EventType implements [Event].
func (*DestinationRetried) EventType() string { return TypeDestinationRetried }

// DestinationRemoved ends a destination. What it published stays where it is.
type DestinationRemoved struct{ Name string }

// EventType implements [Event].
func (*DestinationRemoved) EventType() string { return TypeDestinationRemoved }

func (e *DestinationRemoved) fields(c *coder) { c.text("name", &e.Name, MaxNameBytes) }

// destinationKind is what the codec knows of the events of destinations.
func destinationKind(typ string) (kind, bool) {
	switch typ {
	case TypeDestinationCreated:
		return first(func() Event { return new(DestinationCreated) })
	case TypeDestinationUpdated:
		return first(func() Event { return new(DestinationUpdated) })
	case TypeDestinationPaused:
		return first(func() Event { return new(DestinationPaused) })
	case TypeDestinationResumed:
		return first(func() Event { return new(DestinationResumed) })
	case TypeDestinationReplayed:
		return first(func() Event { return new(DestinationReplayed) })
	case TypeDestinationSkipped:
		return first(func() Event { return new(DestinationSkipped) })
	case TypeDestinationRetried:
		return first(func() Event { return new(DestinationRetried) })
	case TypeDestinationRemoved:
		return first(func() Event { return new(DestinationRemoved) })
	}
	return kind{}, false
}

// word is a required string, one of a few.
func (c *coder) word(name string, s *string, words ...string) {
	c.text(name, s, 32)
	for _, w := range words {
		if *s == w {
			return
		}
	}
	c.fail(name, "%w", errNoSuchWord)
}

var errNoSuchWord = errors.New("not one of the words that are known")

package projections

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

var (
	//go:embed sql/destinations.sql
	destinationsSQL string
	//go:embed sql/parked.sql
	parkedSQL string
)

// Destination is a destination as its operator decreed it, and how it is doing.
type Destination struct {
	ID        ids.ID // of its stream
	Name      string
	Kind      string
	Settings  []byte // JSON object of strings
	Filter    catalog.DestinationFilter
	OnRefusal string
	Paused    bool
	// StartAfter is the place decreed last, by the creation or a replay: the last
	// position that was not to be published; StartEpoch is its epoch.
	StartEpoch, StartAfter int64
	Version                int64 // guard

	Epoch, Position int64     // of the last settled event
	Event           ids.ID    // the last that was really published; Nil when none was
	Failures        int       // in a row
	RetryAfter      time.Time // zero when it does not wait
	LastError       string
	LastErrorAt     time.Time
	HaltedAt        int64 // position of the event that it refuses for good; 0 when it does not
	Published       int64 // in all
	Parked          int64
	Head            int64     // size of the log
	NextSince       time.Time // when the next event came to its place in the log; zero when there is none
	Now             time.Time // the database's clock
}

// Destination returns a destination by the id of its stream; found is false if
// there is none.
func (d Details) Destination(ctx context.Context, id ids.ID) (_ Destination, found bool, err error) {
	return firstOf(d.destinations(ctx, uuid(id), nil))
}

// DestinationNamed returns a destination by its name, in any case.
func (d Details) DestinationNamed(ctx context.Context, name string) (_ Destination, found bool, err error) {
	return firstOf(d.destinations(ctx, nil, catalog.FoldName(name)))
}

// Destinations returns all destinations, by name.
func (d Details) Destinations(ctx context.Context) ([]Destination, error) {
	return d.destinations(ctx, nil, nil)
}

func firstOf(list []Destination, err error) (Destination, bool, error) {
	if err != nil || len(list) == 0 {
		return Destination{}, false, err
	}
	return list[0], true, nil
}

func (d Details) destinations(ctx context.Context, id, name any) ([]Destination, error) {
	rows, err := d.db.Query(ctx, destinationsSQL, id, name)
	if err != nil {
		return nil, fmt.Errorf("read destinations: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Destination, error) {
		var o Destination
		var filter []byte
		var event *[16]byte
		var retry, failed, next *time.Time
		err := row.Scan((*[16]byte)(&o.ID), &o.Name, &o.Kind, &o.Settings, &filter, &o.OnRefusal, &o.Paused, &o.StartEpoch, &o.StartAfter, &o.Version,
			&o.Epoch, &o.Position, &event, &o.Failures, &retry, &o.LastError, &failed, &o.HaltedAt, &o.Published,
			&o.Parked, &o.Head, &next, &o.Now)
		if err != nil {
			return o, err
		}
		if event != nil {
			o.Event = *event
		}
		for _, t := range []struct {
			from *time.Time
			to   *time.Time
		}{{retry, &o.RetryAfter}, {failed, &o.LastErrorAt}, {next, &o.NextSince}, {&o.Now, &o.Now}} {
			if t.from != nil {
				*t.to = t.from.UTC()
			}
		}
		o.Filter, err = catalog.DecodeDestinationFilter(filter)
		return o, err
	})
	if err != nil {
		return nil, fmt.Errorf("read destinations: %w", err)
	}
	return list, nil
}

// ParkedEvent is an event that a destination refused for good, or that an
// operator let pass.
type ParkedEvent struct {
	Position int64
	Event    ids.ID
	Reason   string
	ParkedAt time.Time
	Retry    bool // it is to be published again
}

// Parked returns up to limit parked events of a destination after a position.
func (d Details) Parked(ctx context.Context, destination ids.ID, after int64, limit int) ([]ParkedEvent, error) {
	rows, err := d.db.Query(ctx, parkedSQL, uuid(destination), after, limit)
	if err != nil {
		return nil, fmt.Errorf("read parked events: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p ParkedEvent, err error) {
		err = row.Scan(&p.Position, (*[16]byte)(&p.Event), &p.Reason, &p.ParkedAt, &p.Retry)
		p.ParkedAt = p.ParkedAt.UTC()
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("read parked events: %w", err)
	}
	return list, nil
}

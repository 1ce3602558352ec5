package publishers

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/internal/ids"
)

var (
	//go:embed sql/look.sql
	lookSQL string
	//go:embed sql/heal.sql
	healSQL string
	//go:embed sql/take.sql
	takeSQL string
	//go:embed sql/check.sql
	checkSQL string
	//go:embed sql/settle.sql
	settleSQL string
	//go:embed sql/release.sql
	releaseSQL string
	//go:embed sql/retries.sql
	retriesSQL string
	//go:embed sql/retried.sql
	retriedSQL string
)

// standing is what a look finds of a destination.
type standing struct {
	id      ids.ID
	version int64
	still   bool // paused, halted, or not to be had
	behind  bool
	owner   ids.ID // of a lease that holds; Nil for none
	lease   time.Duration
	retry   time.Duration
}

// standings reads all destinations.
func (r *Relay) standings(ctx context.Context) ([]standing, error) {
	rows, err := r.config.Pool.Query(ctx, lookSQL)
	if err != nil {
		return nil, fmt.Errorf("look at the destinations: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s standing, err error) {
		var id, owner pgtype.UUID
		var lease, retry float64
		err = row.Scan(&id, &s.version, &s.still, &s.behind, &owner, &lease, &retry)
		s.id, s.owner = id.Bytes, owner.Bytes
		s.lease, s.retry = seconds(lease), seconds(retry)
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("look at the destinations: %w", err)
	}
	return list, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// claim is a destination as its row stands while its lease is ours.
type claim struct {
	destination Destination
	place       Place
	failures    int
	size        int64 // of the log
	retries     bool  // parked events are to be published again
}

func (c *claim) behind() bool { return c.retries || c.place.Position < c.size }

// claims runs take or check. It returns nil without a row.
func (d *runner) claims(ctx context.Context, sql string, args ...any) (*claim, error) {
	c := &claim{destination: Destination{ID: d.id}}
	var settings, filter, onRefusal string
	var event pgtype.UUID
	err := d.relay.config.Pool.QueryRow(ctx, sql, args...).Scan(&c.destination.Version, &c.destination.Start, &c.destination.Name, &c.destination.Kind,
		&settings, &filter, &onRefusal, &c.place.Epoch, &c.place.Position, &event, &c.failures, &c.size, &c.retries)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("take the lease of a destination: %w", err)
	}
	c.place.Event = event.Bytes
	if err := c.destination.decree(settings, filter, onRefusal); err != nil {
		return nil, fmt.Errorf("destination %s: %w", d.id, err)
	}
	return c, nil
}

// end is how a batch ended.
type end struct {
	place     Place
	published int
	failures  int
	wait      *time.Duration // before anybody tries again
	err       error          // nil when all went well
	halted    int64          // position that is refused for good; 0 for none
	parked    Place          // position and event that are put aside; 0 for none
}

// settle is transaction 2. It returns what stands now: the version of the
// destination, 0 when it is paused or gone, and the size of the log; ours is
// false when the lease is not ours any more, and then nothing has changed.
func (d *runner) settle(ctx context.Context, from Place, e end) (version, size int64, ours bool, err error) {
	var wait, halted, parked *int64
	var reason, parkedReason *string
	var parkedEvent pgtype.UUID
	if e.wait != nil {
		w := e.wait.Microseconds()
		wait = &w
	}
	if e.err != nil {
		text := reasonOf(e.err)
		reason = &text
	}
	if e.halted > 0 {
		halted = &e.halted
	}
	if e.parked.Position > 0 {
		parked, parkedReason, parkedEvent = &e.parked.Position, reason, uuid(e.parked.Event)
	}
	// What a broker has taken is written down, also when we are to stop.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	began := d.relay.config.Clock.Now()
	err = d.relay.config.Pool.QueryRow(ctx, settleSQL, uuid(d.id), uuid(d.owner), from.Position, e.place.Epoch, e.place.Position, uuid(e.place.Event),
		e.published, e.failures, wait, reason, halted, parked, parkedEvent, parkedReason, d.relay.config.Lease.Microseconds()).Scan(&version, &size)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		d.held.Store(false)
		return 0, 0, false, nil
	case err != nil:
		return 0, 0, false, fmt.Errorf("move the place of a destination: %w", err)
	}
	if e.err != nil && e.parked.Position == 0 {
		d.held.Store(false)
	} else {
		d.until = began.Add(d.relay.config.Lease)
	}
	return version, size, true, nil
}

// settleTime bounds transaction 2.
const settleTime = 3 * time.Second

// maxReason bounds what is kept of an error.
const maxReason = 500

// reasonOf is an error as a row takes it.
func reasonOf(err error) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", ""), "?")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

// uuid is an id as an argument; Nil is NULL.
func uuid(id ids.ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: !id.IsNil()} }

package workers

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/storage"
)

var (
	//go:embed sql/lease_take.sql
	leaseTakeSQL string
	//go:embed sql/lease_report.sql
	leaseReportSQL string
	//go:embed sql/lease_renew.sql
	leaseRenewSQL string
	//go:embed sql/lease_settle.sql
	leaseSettleSQL string
	//go:embed sql/lease_release.sql
	leaseReleaseSQL string
	//go:embed sql/lease_end.sql
	leaseEndSQL string
)

const (
	// leaseTime is the term of a lease by the database's clock: how long a purge
	// rests after the process that ran it was killed.
	leaseTime = 30 * time.Second
	// leaseParts is what part of a term a run deletes in before it asks again. The
	// rest of the term is the margin for clocks that drift, for a pause between the
	// look at the clock and the deletion, and for a deletion that takes long.
	leaseParts = 15
)

// errLost means that another run may delete, or that none may any more.
var errLost = errors.New("another run has the purge")

// lease is the right of one run to delete the files of one drop. Without it a
// run that was held up, by a machine that was suspended or a job that was taken
// for dead, would delete what the next owner of the place has put there: the claim
// is free as soon as another run has said that the purge is over (ADR 0014).
type lease struct {
	config *Config
	in     commands.Purge
	run    ids.ID
	asked  time.Time // when the last term was asked for, which began later
}

// deletedReport is what a run leaves for whoever says that the purge is over.
type deletedReport struct {
	Deleted    int64    `json:"deleted"`
	Unreadable []string `json:"unreadable"`
	// Cancelled is who called the purge off: nothing more is deleted, and the files
	// stay.
	Cancelled *cancelled `json:"cancelled,omitempty"`
}

// takeLease returns the lease of a drop; or the report of the run that deleted
// the last of the files; or errLost, while another run may hold it.
func takeLease(ctx context.Context, config *Config, in commands.Purge) (*lease, *deletedReport, error) {
	l := &lease{config: config, in: in, asked: config.Clock.Now()}
	err := config.Pool.QueryRow(ctx, leaseTakeSQL, [16]byte(in.Drop), [16]byte(in.Warehouse), [16]byte(in.Object), config.lease.Microseconds()).
		Scan((*[16]byte)(&l.run))
	if err == nil {
		return l, nil, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, fmt.Errorf("take the lease: %w", err)
	}
	var text string
	err = config.Pool.QueryRow(ctx, leaseReportSQL, [16]byte(in.Drop), [16]byte(in.Object)).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, errLost
	}
	var report deletedReport
	if err == nil {
		err = json.Unmarshal([]byte(text), &report)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read what was deleted: %w", err)
	}
	return nil, &report, nil
}

// holds reports whether the lease is sure to hold at this moment. The wall clock
// counts while the machine is suspended, the monotonic one does not step: both
// have to say so, and a clock that stepped back says no.
func (l *lease) holds() bool {
	now, part := l.config.Clock.Now(), l.config.lease/leaseParts
	running, wall := now.Sub(l.asked), now.Round(0).Sub(l.asked.Round(0))
	return running >= 0 && running < part && wall >= 0 && wall < part
}

// renew begins a new term, or returns errLost.
func (l *lease) renew(ctx context.Context) error {
	asked := l.config.Clock.Now()
	tag, err := l.config.Pool.Exec(ctx, leaseRenewSQL, [16]byte(l.in.Drop), [16]byte(l.run), l.config.lease.Microseconds(), [16]byte(l.in.Object))
	if err != nil {
		return fmt.Errorf("renew the lease: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return errLost
	}
	l.asked = asked
	return nil
}

// unlink deletes a file while the lease holds, and else nothing.
func (l *lease) unlink(ctx context.Context, objects storage.Objects, location string) error {
	for !l.holds() {
		if err := l.renew(ctx); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	bounded, cancel := context.WithTimeout(ctx, deleteTime)
	defer cancel()
	return objects.Delete(bounded, location)
}

// deleteTime bounds one deletion, so that none that was begun under a lease is
// still on its way when that lease has expired.
const deleteTime = 10 * time.Second

// settle says that the last file is deleted, and by whom.
func (l *lease) settle(ctx context.Context, report deletedReport) error {
	text, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("write what was deleted: %w", err)
	}
	tag, err := l.config.Pool.Exec(ctx, leaseSettleSQL, [16]byte(l.in.Drop), [16]byte(l.run), string(text), [16]byte(l.in.Object))
	if err != nil {
		return fmt.Errorf("end the lease: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return errLost
	}
	return nil
}

// release lets the next run begin at once. It is called when nothing is being
// deleted; where it fails, the lease expires.
func (l *lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if _, err := l.config.Pool.Exec(ctx, leaseReleaseSQL, [16]byte(l.in.Drop), [16]byte(l.run), [16]byte(l.in.Object)); err != nil {
		l.config.Logger.WarnContext(ctx, "a purge rests until its lease expires", "object", l.in.Object.String(), "error", err)
	}
}

// endLease forgets the lease of a purge that the log says is over.
func endLease(ctx context.Context, config *Config, in commands.Purge) error {
	if _, err := config.Pool.Exec(ctx, leaseEndSQL, [16]byte(in.Drop), [16]byte(in.Object)); err != nil {
		return fmt.Errorf("forget the lease: %w", err)
	}
	return nil
}

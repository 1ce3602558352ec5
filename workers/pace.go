package workers

import (
	"context"
	"sync"
	"time"

	"github.com/icecore-catalog/icecore/internal/clock"
)

// pace lets so many steps a second through, over all who share it. What was not
// used is saved up for a tenth of a second, so that short sleeps, which last
// longer than they should, don't add up.
type pace struct {
	clock clock.Clock
	step  time.Duration

	mu   sync.Mutex
	next time.Time
}

const paceSaved = 100 * time.Millisecond

func newPace(c clock.Clock, perSecond int) *pace {
	return &pace{clock: c, step: time.Second / time.Duration(max(perSecond, 1))}
}

// wait takes a step, or returns the context's error.
func (p *pace) wait(ctx context.Context) error {
	now := p.clock.Now()
	p.mu.Lock()
	if earliest := now.Add(-paceSaved); p.next.Before(earliest) {
		p.next = earliest
	}
	p.next = p.next.Add(p.step)
	pause := p.next.Sub(now)
	p.mu.Unlock()
	if pause <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

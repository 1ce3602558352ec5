package workers

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/icecore-catalog/icecore/internal/clock"
)

var (
	//go:embed sql/beat.sql
	beatSQL string
	//go:embed sql/rescue.sql
	rescueSQL string
	//go:embed sql/progress.sql
	progressSQL string
	//go:embed sql/forget_workers.sql
	forgetWorkersSQL string
)

const (
	// beatTime lies between two signs of life of a process.
	beatTime = 10 * time.Second
	// deadTime is when a process that gave none is taken for dead. With the beat
	// of another that finds out, and its poll, what it ran goes on within a minute.
	deadTime = 30 * time.Second
	// stopPause is how long a job rests that somebody stopped.
	stopPause = time.Minute
)

// Why a run ends before its time: somebody stopped the job, which rests, or called
// it off.
var (
	errStopped   = errors.New("stopped")
	errCalledOff = errors.New("called off")
)

// runs are the jobs that this process runs now.
type runs struct {
	clock clock.Clock

	mu   sync.Mutex
	list map[int64]*run
	// ended are those that have ended here, and when: the database may be told
	// somewhat later.
	ended map[int64]time.Time
}

// run is one attempt at a job.
type run struct {
	stop     context.CancelCauseFunc
	mu       sync.Mutex
	progress Progress
	told     Progress // what the database knows
}

// Progress says how far a job has come. A total of 0 is not known.
type Progress struct {
	Done  int64 `json:"done"`
	Total int64 `json:"total,omitempty"`
}

// Fraction is the part that is done, 0 to 1; 0 while the total is not known.
func (p Progress) Fraction() float64 {
	if p.Total <= 0 {
		return 0
	}
	return min(float64(p.Done)/float64(p.Total), 1)
}

// runKey finds the run in the context of a job.
type runKey struct{}

// Keys of a job's metadata, as the SQL spells them.
const (
	metadataProgress = "progress"
	metadataStop     = "stop"
)

// track keeps count of the jobs that run: it is around every attempt.
func (r *runs) track(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	current := &run{stop: stop}
	var known struct {
		Progress Progress `json:"progress"`
	}
	if json.Unmarshal(job.Metadata, &known) == nil { // an earlier slice came so far
		current.progress, current.told = known.Progress, known.Progress
	}
	r.mu.Lock()
	r.list[job.ID] = current
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.list, job.ID)
		r.ended[job.ID] = r.clock.Now()
	}()
	err := work(context.WithValue(ctx, runKey{}, current))
	current.mu.Lock()
	last := current.progress
	current.mu.Unlock()
	if last != (Progress{}) {
		err = errors.Join(err, river.MetadataSet(ctx, metadataProgress, last))
	}
	if why := context.Cause(ctx); err != nil && (errors.Is(why, errStopped) || errors.Is(why, errCalledOff)) {
		if err := river.MetadataSet(ctx, metadataStop, false); err != nil {
			return err
		}
		if errors.Is(why, errCalledOff) {
			return river.JobSnooze(0) // the next run sees to it
		}
		return river.JobSnooze(stopPause)
	}
	return err
}

// advance notes that a job has done n more steps; expect, how many there are in
// all. Both cost nothing: the next beat tells the database. What earlier runs of
// the same job did counts. Outside of a job they do nothing.
func advance(ctx context.Context, n int64) {
	if r, ok := ctx.Value(runKey{}).(*run); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.progress.Done += n
	}
}

func expect(ctx context.Context, total int64) {
	if r, ok := ctx.Value(runKey{}).(*run); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.progress.Total = total
	}
}

// beat tells that this process lives and how far its jobs have come, stops those
// that somebody wants stopped, and takes up what dead processes ran.
func (w *Workers) beat(ctx context.Context) error {
	rows, err := w.config.Pool.Query(ctx, beatSQL, w.client.ID())
	if err != nil {
		return fmt.Errorf("say that the workers live: %w", err)
	}
	stopped := map[int64]error{}
	var id int64
	var off bool
	if _, err = pgx.ForEachRow(rows, []any{&id, &off}, func() error {
		stopped[id] = errStopped
		if off {
			stopped[id] = errCalledOff
		}
		return nil
	}); err != nil {
		return fmt.Errorf("say that the workers live: %w", err)
	}
	w.runs.mu.Lock()
	tell := map[int64]Progress{}
	for id, r := range w.runs.list {
		r.mu.Lock()
		if r.progress != r.told {
			r.told, tell[id] = r.progress, r.progress
		}
		r.mu.Unlock()
	}
	for id, why := range stopped {
		if r := w.runs.list[id]; r != nil {
			r.stop(why)
		}
	}
	w.runs.mu.Unlock()
	for id, p := range tell {
		text, err := json.Marshal(p)
		if err == nil {
			_, err = w.config.Pool.Exec(ctx, progressSQL, id, string(text))
		}
		if err != nil {
			return fmt.Errorf("tell how far a job has come: %w", err)
		}
	}
	return w.rescue(ctx)
}

// mine are the jobs that run here, or ended so recently that the database need not
// know.
func (r *runs) mine() []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.ended, func(_ int64, at time.Time) bool { return r.clock.Now().Sub(at) > deadTime })
	all := make([]int64, 0, len(r.list)+len(r.ended)) // nil would be NULL
	return slices.AppendSeq(slices.AppendSeq(all, maps.Keys(r.list)), maps.Keys(r.ended))
}

// rescue takes up the jobs of processes that have fallen silent, and those that
// this one is said to run and does not: after a fail-over the database may not know
// that they have ended.
func (w *Workers) rescue(ctx context.Context) error {
	mine := w.runs.mine()
	rows, err := w.config.Pool.Query(ctx, rescueSQL, w.config.dead.Microseconds(), w.client.ID(), mine)
	if err != nil {
		return fmt.Errorf("look for jobs of dead processes: %w", err)
	}
	var id int64
	var kind string
	var over bool
	_, err = pgx.ForEachRow(rows, []any{&id, &kind, &over}, func() error {
		if over {
			w.alarm(ctx, id, kind, "the process that ran it has ended")
			return nil
		}
		w.config.Logger.WarnContext(ctx, "a job is taken up whose process has ended", "job", id, "kind", kind)
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for jobs of dead processes: %w", err)
	}
	return nil
}

// live beats until ctx ends.
func (w *Workers) live(ctx context.Context) {
	tick := time.NewTicker(w.config.beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := w.beat(ctx); err != nil && ctx.Err() == nil {
				w.config.Logger.WarnContext(ctx, "the workers could not say that they live", "error", err)
			}
		}
	}
}

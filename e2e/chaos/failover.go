package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/postgres"
)

// runFailover is the one thing by which acknowledged commits are lost: an
// asynchronous standby takes over from a primary that was cut off from it before
// it died. The catalog has to say so: a new epoch, by which consumers tell what
// they hold and the log does not.
func runFailover(ctx context.Context, o options) (err error) {
	start := time.Now()
	r, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		r.close()
		if err == nil && !o.failed {
			r.discard()
		} else {
			fmt.Fprintln(os.Stderr, "the run's files are in", r.folder)
		}
	}()
	c, homes, shared, err := r.stand(ctx)
	if err != nil {
		return err
	}
	primary := r.database
	standby, err := postgres.StartStandby(ctx, primary, filepath.Join(r.folder, "standby"), nil)
	if err != nil {
		return err
	}
	r.defer_(func() { _ = standby.Stop(context.WithoutCancel(ctx)) })
	if err := standby.CatchUp(ctx, primary); err != nil {
		return err
	}

	// The load goes on while the standby is cut off, and while the primary dies.
	working, die := context.WithCancel(ctx)
	defer die()
	ended := make(chan error, 1)
	w := &works{client: c, homes: homes, shared: shared, target: 1 << 40, seed: o.seed}
	go func() { ended <- w.run(working) }()
	r.until(ctx, c.books, int64(o.commits/2))
	cut := time.Now()
	if err := cutStandby(ctx, standby); err != nil {
		return err
	}
	r.until(ctx, c.books, c.books.acked.Load()+int64(max(o.commits/10, 50)))
	// What the destinations got of what will be lost is what consumers have to be
	// told of.
	if err := r.published(ctx); err != nil {
		return err
	}
	if err := primary.Kill9(); err != nil {
		return err
	}
	die()
	<-ended
	before := c.books.snapshot()

	if err := standby.Promote(ctx); err != nil {
		return err
	}
	r.database, r.env = standby, r.environment(standby)
	for _, s := range r.servers {
		s.proxy.SetUpstream(standby.Addr())
	}
	took := time.Now()
	for _, s := range r.servers {
		if err := s.waitReady(ctx); err != nil {
			return err
		}
	}
	away := time.Since(took)
	c.books.wrong = nil // a client that reads after the fail-over sees an older state, by the nature of the thing
	w = &works{client: c, homes: homes, shared: shared, target: c.books.acked.Load() + int64(o.commits/2), seed: o.seed + 1, named: 1_000_000}
	if err := w.run(ctx); err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	res := &result{options: o, took: time.Since(start)}
	if err := r.lost(ctx, res, c, before, cut, away); err != nil {
		return err
	}
	res.print(os.Stdout)
	if res.wrong > 0 {
		return fmt.Errorf("%d findings", res.wrong)
	}
	if o.report != "" {
		return res.write(o.report)
	}
	return nil
}

// until waits for so many acknowledged commits.
func (r *rig) until(ctx context.Context, b *books, acked int64) {
	for b.acked.Load() < acked && ctx.Err() == nil {
		pause(ctx, 5*time.Millisecond)
	}
}

// cutStandby ends replication, as a network does: the primary knows nothing of it.
func cutStandby(ctx context.Context, standby *postgres.Server) error {
	conn, err := standby.Connect(ctx, postgres.SuperRole, "postgres")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, sql := range []string{"ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("cut the standby off: %w", err)
		}
	}
	for {
		var receivers int
		if err := conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_wal_receiver").Scan(&receivers); err != nil || receivers == 0 {
			return err
		}
		pause(ctx, 5*time.Millisecond)
	}
}

// published waits until every destination has got some of what the standby will
// not know.
func (r *rig) published(ctx context.Context) error {
	log, err := readLog(ctx, r.database)
	if err != nil {
		return err
	}
	for _, one := range r.records {
		if err := one.await(ctx, log); err != nil {
			return err
		}
	}
	return nil
}

// snapshot is what the books hold now.
func (b *books) snapshot() []entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]entry(nil), b.list...)
}

// lost compares what the clients were told with what there is, and says what was
// lost and to whom.
func (r *rig) lost(ctx context.Context, res *result, c *client, before []entry, cut time.Time, away time.Duration) error {
	log, err := r.arrive(ctx, res)
	if err != nil {
		return err
	}
	if err := c.books.close(); err != nil {
		return err
	}
	opened, position, err := r.epoch(ctx, log)
	if err != nil {
		return err
	}
	epochs := &problems{}
	if opened == nil {
		epochs.add("no new epoch was opened")
		opened = &eventstore.EpochOpened{}
	} else if opened.Epoch != 2 || opened.PreviousSize != position-1 {
		epochs.add("epoch %d was opened at position %d, and says that %d events came before", opened.Epoch, position, opened.PreviousSize)
	}
	res.add("a new epoch was opened by itself, before anything else was numbered",
		fmt.Sprintf("epoch %d at position %d; the servers were ready %s after the promotion", opened.Epoch, position, away.Round(10*time.Millisecond)), epochs)

	there := map[ids.ID]bool{}
	for _, e := range log {
		there[e.Request] = true
	}
	known := map[ids.ID]bool{}
	old := &problems{}
	acked, gone := 0, 0
	var first, last time.Time
	kinds := map[string]int{}
	for _, e := range before {
		known[e.Request] = true
		switch {
		case e.Outcome == refused && there[e.Request]:
			old.add("%s %s was refused and is in the log", e.Kind, e.Request)
		case e.Outcome == acknowledged && e.Kind != setUpKind:
			acked++
			if there[e.Request] || e.Once != e.Request {
				continue
			}
			gone++
			kinds[e.Kind]++
			if first.IsZero() {
				first = e.At
			}
			last = e.At
			if e.At.Before(cut.Add(-time.Second)) {
				old.add("%s %s was acknowledged %s before the standby was cut off, and is lost", e.Kind, e.Request, cut.Sub(e.At))
			}
		}
	}
	if gone == 0 {
		old.add("nothing was lost: the run proves nothing")
	}
	span := last.Sub(first).Round(time.Millisecond)
	res.add("only what the standby had not received was lost",
		fmt.Sprintf("%d of %d acknowledged commits (%s), acknowledged within %s", gone, acked, listOfCounts(kinds), span), old)
	var after []entry
	for _, e := range c.books.list {
		if !known[e.Request] || there[e.Request] {
			after = append(after, e)
		}
	}
	fresh := checkBooks(after, log)
	res.add("every commit that was acknowledged by the new primary is in the log once", fmt.Sprintf("%d requests", len(c.books.list)-len(before)), fresh)
	res.add("the log: no gap, streams in order, no event twice", fmt.Sprintf("%d events", len(log)), checkLog(log))
	// What the history that is lost had purged, as clients and consumers know it.
	purged, trees := map[ids.ID]bool{}, false
	for _, e := range before {
		if e.Outcome != refused && !there[e.Request] {
			purged[e.Object] = purged[e.Object] || e.Kind == "drop to purge"
			trees = trees || e.Kind == "drop tree"
		}
	}
	for _, one := range r.records {
		kept, phantoms := reconcile(one.first, opened)
		p := checkSeen(log, kept, one.byStream, nil)
		p.list, p.count = append(p.list, one.wrong.list...), p.count+one.wrong.count
		if len(phantoms) == 0 {
			p.add("%s was never told of anything that was lost: the run proves nothing about it", one.name)
		}
		var newest int64
		for _, s := range phantoms {
			newest = max(newest, s.Position)
			if strings.HasSuffix(s.Type, ".purge-started") {
				purged[s.Stream] = true
			}
		}
		res.add(one.name+": what a consumer holds beyond the log it can tell by the epoch, and the rest is the log, in order",
			fmt.Sprintf("%d events met, %d of them of positions %d to %d of the old epoch, which the log lost", len(one.first), len(phantoms), opened.PreviousSize+1, newest), p)
	}
	out, err := r.command(ctx, "verify", "--replay")
	unexplained, without := explain(string(out), purged, trees)
	if err != nil && len(without) == 0 {
		unexplained.add("%v", err)
	}
	res.add("`icecore verify --replay` finds nothing but tables without files, which the lost history had purged and whose drop is lost too",
		fmt.Sprintf("%s; %d came back without their files", lastLine(out), len(without)), unexplained)
	out, err = r.command(ctx, "rebuild")
	if err == nil && !strings.Contains(string(out), ": sound") {
		err = errors.New(string(out))
	}
	figure, _, _ := strings.Cut(string(out), "\n")
	res.fail("read models equal a rebuild from the log", strings.TrimPrefix(figure, "read models before: "), err)
	return nil
}

// reconcile does what the guide tells consumers: on the event that opens an epoch
// they forget what they hold of the one before beyond its end.
func reconcile(first []seen, opened *eventstore.EpochOpened) (kept, phantoms []seen) {
	for _, s := range first {
		if s.Epoch == opened.PreviousEpoch && s.Position > opened.PreviousSize {
			phantoms = append(phantoms, s)
			continue
		}
		kept = append(kept, s)
	}
	return kept, phantoms
}

// explain takes the findings of verify apart: a table that the lost history had
// purged has no file any more, nor has one of a tree that it had dropped so.
func explain(findings string, purged map[ids.ID]bool, trees bool) (unexplained *problems, without map[ids.ID]bool) {
	unexplained, without = &problems{}, map[ids.ID]bool{}
	for line := range strings.Lines(findings) {
		kind, rest, _ := strings.Cut(line, ": ")
		if fields := strings.Fields(rest); kind == "document-unreadable" && len(fields) > 1 {
			if id, err := ids.Parse(strings.TrimSuffix(fields[1], ",")); err == nil && (purged[id] || trees && strings.Contains(rest, "/tree_")) {
				without[id] = true
				continue
			}
		}
		if !strings.HasPrefix(line, "log: ") && !strings.HasPrefix(line, "read models and documents: ") && strings.TrimSpace(line) != "" {
			unexplained.add("%s", strings.TrimSpace(line))
		}
	}
	return unexplained, without
}

// epoch returns the event that opened the last epoch, and its position.
func (r *rig) epoch(ctx context.Context, log []logged) (*eventstore.EpochOpened, int64, error) {
	for _, e := range log {
		if e.Type != eventstore.EpochOpenedType {
			continue
		}
		conn, err := r.database.Connect(ctx, postgres.AppRole, postgres.DefaultDatabase)
		if err != nil {
			return nil, 0, err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		var data []byte
		if err := conn.QueryRow(ctx, "SELECT e.data FROM es.log_entry l JOIN es.event e USING (append_seq, ordinal) WHERE l.position = $1", e.Position).Scan(&data); err != nil {
			return nil, 0, err
		}
		opened := &eventstore.EpochOpened{}
		return opened, e.Position, json.Unmarshal(data, opened)
	}
	return nil, 0, nil
}

func listOfCounts(counts map[string]int) string {
	var parts []string
	for kind, n := range counts {
		parts = append(parts, fmt.Sprintf("%d × %s", n, kind))
	}
	return strings.Join(slices.Sorted(slices.Values(parts)), ", ")
}

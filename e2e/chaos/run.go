package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// row is a line of the table at the end.
type row struct{ what, figure, verdict string }

// result is what a run gave.
type result struct {
	options
	rows   []row
	struck map[string]int
	took   time.Duration // of the load
	// settled is how long what was under way took to come to its end.
	settled time.Duration
	wrong   int
}

func (r *result) add(what, figure string, p *problems) {
	verdict := "ok"
	if p != nil && p.count > 0 {
		verdict = fmt.Sprintf("FAILED: %d", p.count)
		r.wrong += p.count
		fmt.Fprintf(os.Stderr, "%s:\n%s\n", what, p)
	}
	r.rows = append(r.rows, row{what, figure, verdict})
}

// fail is add for what is an error as a whole.
func (r *result) fail(what, figure string, err error) {
	p := &problems{}
	if err != nil {
		p.add("%v", err)
	}
	r.add(what, figure, p)
}

// runFaults is one run: load under faults, then all checks.
func runFaults(ctx context.Context, o options) (err error) {
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
	b := c.books

	faultLog, err := os.Create(filepath.Join(r.folder, "faults.log"))
	if err != nil {
		return err
	}
	defer faultLog.Close()
	f := newFaults(r, c, o, faultLog)
	working, done := context.WithCancel(ctx)
	var group sync.WaitGroup
	var faultErr error
	group.Go(func() { faultErr = f.run(working) })
	w := &works{client: c, homes: homes, shared: shared, target: int64(o.commits), seed: o.seed}
	stopTelling := tell(working, b, int64(o.commits))
	err = w.run(ctx)
	done()
	stopTelling()
	group.Wait()
	if err := errors.Join(err, faultErr); err != nil {
		return err
	}
	took := time.Since(start)
	res := &result{options: o, struck: f.struck, took: took}
	if err := r.finish(ctx, res, c, homes); err != nil {
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

// tell says every ten seconds how far it is.
func tell(ctx context.Context, b *books, target int64) func() {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		for {
			if pause(ctx, 10*time.Second); ctx.Err() != nil {
				return
			}
			fmt.Fprintf(os.Stderr, "%d of %d commits\n", b.acked.Load(), target)
		}
	}()
	return stop
}

// finish heals everything, lets what is under way come to its end, and compares.
func (r *rig) finish(ctx context.Context, res *result, c *client, homes []*warehouse) error {
	b := c.books
	for _, s := range r.servers {
		if err := s.waitReady(ctx); err != nil {
			return err
		}
	}
	settling := time.Now()
	if err := r.settle(ctx); err != nil {
		return err
	}
	late, err := r.unpark(ctx, c)
	if err != nil {
		return err
	}
	log, err := r.arrive(ctx, res)
	if err != nil {
		return err
	}
	res.settled = time.Since(settling)
	if err := b.close(); err != nil {
		return err
	}
	counts := map[outcome]int{}
	for _, e := range b.list {
		if e.Kind != setUpKind {
			counts[e.Outcome]++
		}
	}
	answers := &problems{}
	for _, text := range b.wrong {
		answers.add("%s", text)
	}
	res.add("answers that can be right", fmt.Sprintf("%d requests: %d acknowledged, %d refused, %d of unknown fate",
		counts[acknowledged]+counts[refused]+counts[unknown], counts[acknowledged], counts[refused], counts[unknown]), answers)
	res.add("the log: no gap, streams in order, no event twice", fmt.Sprintf("%d events", len(log)), checkLog(log))
	res.add("each acknowledged commit is in the log once, in its client's order; no refused one is, and none that nobody sent",
		fmt.Sprintf("%d acknowledged", counts[acknowledged]), checkBooks(b.list, log))
	winners, undropped, expired := checkWinners(log)
	res.add("each soft drop ended once", fmt.Sprintf("%d undropped, %d expired", undropped, expired), winners)

	for _, one := range r.records {
		parked := map[ids.ID]bool{}
		if strings.Contains(one.name, "park") {
			parked = late
		}
		p := checkSeen(log, one.first, one.byStream, parked)
		p.list, p.count = append(p.list, one.wrong.list...), p.count+one.wrong.count
		order := "the log's"
		if one.byStream {
			order = "the stream's"
		}
		res.add(one.name+": every event came, first in "+order+" order, again only under its own id", fmt.Sprintf("%d events, %d came again, %d were parked", len(one.first), one.repeated, len(parked)), p)
	}

	out, err := r.command(ctx, "verify", "--replay")
	res.fail("`icecore verify --replay`", lastLine(out), err)
	_, live, _, err := r.checkFiles(ctx, c, homes)
	if err != nil {
		return err
	}
	before, _, had, err := r.orphans(ctx, live)
	if err != nil {
		return err
	}
	kills, err := r.cleanUp(ctx, rand.New(rand.NewPCG(res.seed, 8)))
	if err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	if err := r.reopen(ctx); err != nil {
		return err
	}
	files, live, figure, err := r.checkFiles(ctx, c, homes)
	if err != nil {
		return err
	}
	after, elsewhere, has, err := r.orphans(ctx, live)
	if err != nil {
		return err
	}
	orphans := &problems{}
	for _, path := range after {
		orphans.add("%s", path)
	}
	res.add("no orphan is left in a live table after the clean-up", fmt.Sprintf("%d before it, which was killed %d times; %d lie where nothing lives and are nobody's to delete; %d former states of tables that want them gone went too",
		len(before), kills, elsewhere, had-has), orphans)
	res.add("every file that a live table reaches is there, after the clean-up", figure, files)
	out, err = r.command(ctx, "verify")
	res.fail("`icecore verify` after the clean-up, its manifest included", lastLine(out), err)
	out, err = r.command(ctx, "rebuild")
	if err == nil && !bytes.Contains(out, []byte(": sound")) {
		err = errors.New(string(out))
	}
	figure, _, _ = strings.Cut(string(out), "\n")
	res.fail("read models equal a rebuild from the log", strings.TrimPrefix(figure, "read models before: "), err)
	again := 0
	for _, s := range r.servers {
		again += s.again
	}
	output, err := os.ReadFile(r.output.Name())
	if err != nil {
		return err
	}
	crashes := &problems{}
	for _, word := range []string{"panic:", "fatal error:", "DATA RACE"} {
		if n := strings.Count(string(output), word); n > 0 {
			crashes.add("%q stands in the servers' output %d times", word, n)
		}
	}
	res.add("no server crashed by itself", fmt.Sprintf("%d started while PostgreSQL was away and had to be started again", again), crashes)
	return nil
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

package eventstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/internal/postgres"
)

// forgeHistory makes the head believe that another database numbered it.
func (b *bundle) forgeHistory(t *testing.T) {
	t.Helper()
	if _, err := b.db.Owner.Exec(t.Context(), "UPDATE es.log_head SET system_identifier = 42"); err != nil {
		t.Fatal(err)
	}
}

func TestEpochsOpenByThemselves(t *testing.T) {
	t.Parallel()
	var opened []int64
	b := setup(t, func(c *Config) {
		c.Observer.EpochOpened = func(epoch, _ int64) { opened = append(opened, epoch) }
	})
	b.append(t, creation(testIDs.New()))
	b.drain(t)
	if h := b.head(t); h.Epoch != 1 || h.Size != 1 {
		t.Fatalf("a fresh log: %+v", h)
	}
	root := b.head(t).Root
	b.forgeHistory(t)
	before := b.append(t, creation(testIDs.New())) // committed, not yet numbered
	b.append(t, creation(testIDs.New()))
	b.drain(t)

	log := b.all(t)
	if len(log) != 4 {
		t.Fatalf("%d entries", len(log))
	}
	// The event is the first of its epoch, ahead of commits with lower numbers.
	first := log[1]
	if first.Type != EpochOpenedType || first.Position != 2 || first.Epoch != 2 || first.Stream != b.LogID() || first.Version != 1 {
		t.Fatalf("entry %+v", first)
	}
	var data EpochOpened
	if err := json.Unmarshal(first.Data, &data); err != nil {
		t.Fatal(err)
	}
	if data.Epoch != 2 || data.PreviousEpoch != 1 || data.PreviousSize != 1 ||
		data.PreviousRoot != base64.StdEncoding.EncodeToString(root[:]) || data.Timeline == "" || data.SystemIdentifier == "42" {
		t.Errorf("data %+v", data)
	}
	if log[0].Epoch != 1 || log[2].Epoch != 2 || log[2].AppendSeq != before.AppendSeq {
		t.Errorf("epochs %d, %d, numbers %d", log[0].Epoch, log[2].Epoch, log[2].AppendSeq)
	}
	if len(opened) != 1 || opened[0] != 2 {
		t.Errorf("observed %v", opened)
	}

	// Without anything to number the next look does not open another; after
	// another change it does, on the stream's second version.
	b.drain(t)
	b.forgeHistory(t)
	b.append(t, creation(testIDs.New()))
	b.drain(t)
	if log = b.all(t); len(log) != 6 || log[4].Version != 2 || log[5].Epoch != 3 {
		t.Errorf("%d entries, %+v", len(log), log[4])
	}
	report, err := b.VerifyLog(t.Context(), nil)
	if err != nil || !report.OK() {
		t.Errorf("verify: %v, %v", report.Problems, err)
	}
}

// A candidate of the old history proves nothing in the new one: its
// transaction ids may be from another cluster.
func TestEpochForgetsTheCandidate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.append(t, creation(testIDs.New()))
	b.drain(t)
	slow := b.inOpenTx(t, creation(testIDs.New()))
	b.append(t, creation(testIDs.New()))
	q := b.Sequencer()
	defer q.Close()
	roundOf(t, q)
	// As after a restore of a dump: the candidate's id is far below ours, so
	// any snapshot would seem to prove it, and it covers the slow commit.
	if _, err := b.db.Owner.Exec(t.Context(), "UPDATE es.log_head SET cand_n = 1000, cand_xid = '4'"); err != nil {
		t.Fatal(err)
	}
	b.forgeHistory(t)
	roundOf(t, q)
	commitTx(t, slow)
	b.settle(t)
	if log := b.all(t); len(log) != 4 {
		t.Errorf("%d entries, want 4: the slow commit was dropped", len(log))
	}
}

// A promoted standby opens an epoch by itself, at once: its timeline is another.
func TestPromotedStandbyOpensAnEpoch(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Durable())
	b := open(t, db)
	stream := testIDs.New()
	b.append(t, creation(stream))
	b.append(t, change(stream, 1))
	b.drain(t)
	root := b.head(t).Root
	running := b.inOpenTx(t, creation(testIDs.New())) // dies with the old primary
	waiting := b.append(t, change(stream, 2))         // committed, not numbered

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	primary := db.Server()
	dir := primary.Dir() + "-standby"
	standby, err := postgres.StartStandby(ctx, primary, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Discard(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	if err := standby.CatchUp(ctx, primary); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(ctx); err != nil {
		t.Fatal(err)
	}
	_ = running.Rollback(ctx)
	b.append(t, change(stream, 3)) // lost: the old primary went on without its standby

	pool, err := pgxpool.New(ctx, standby.URL(string(pgtest.RoleApp), db.Name))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	store, err := New(ctx, Config{Pool: pool, IDs: testIDs})
	if err != nil {
		t.Fatal(err)
	}
	after := &bundle{db: db, Store: store}
	after.append(t, change(stream, 3))
	after.settle(t)
	log := after.all(t)
	if len(log) != 5 {
		t.Fatalf("%d entries", len(log))
	}
	var data EpochOpened
	if err := json.Unmarshal(log[2].Data, &data); err != nil || log[2].Type != EpochOpenedType {
		t.Fatalf("position 3 holds %s, %v", log[2].Type, err)
	}
	if data.PreviousSize != 2 || data.PreviousRoot != base64.StdEncoding.EncodeToString(root[:]) || data.Timeline != "00000002" {
		t.Errorf("data %+v", data)
	}
	if log[3].AppendSeq != waiting.AppendSeq || log[3].Epoch != 2 || log[1].Epoch != 1 {
		t.Errorf("entry 4 %+v", log[3])
	}
	report, err := after.VerifyLog(ctx, nil)
	if err != nil || !report.OK() {
		t.Errorf("verify: %v, %v", report.Problems, err)
	}
	if h := after.head(t); len(h.Holes) != 0 {
		t.Errorf("holes %v of transactions that died with the primary", h.Holes)
	}
}

package eventstore

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// world is a model of PostgreSQL for the rule in decide: numbers are drawn by
// transactions, which commit or roll back in any order.
type world struct {
	nextXID uint64
	last    int64
	open    map[uint64]int64 // running transactions, 0 before they drew a number
	commits map[int64]int    // visible numbers and how many events they hold
}

// TestHolesAreDroppedOnlyByProof runs the rule against any interleaving of
// transactions and rounds, with small batches, and demands that each commit is
// numbered once and that an idle log comes to rest without a hole.
func TestHolesAreDroppedOnlyByProof(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{nextXID: 100, open: map[uint64]int64{}, commits: map[int64]int{}}
		var p place
		numbered := map[int64]bool{}
		limit := rapid.IntRange(3, 12).Draw(t, "limit")

		round := func(slip bool) bool {
			last := w.last // the number first …
			if slip {
				w.begin()
				w.draw(t)
			}
			own := w.nextXID // … then the own id
			w.nextXID++
			w.open[own] = 0
			defer delete(w.open, own)
			s := w.scan(p, limit, own)
			v := decide(p, s)
			if v.halt != nil {
				t.Fatalf("halted: %v", v.halt)
			}
			for _, u := range v.take {
				if numbered[u.seq] {
					t.Fatalf("number %d was taken twice", u.seq)
				}
				numbered[u.seq] = true
			}
			next := v.next.renew(s.proved, last, own)
			if !slices.IsSorted(next.holes) {
				t.Fatalf("holes %v", next.holes)
			}
			changed := len(v.take) > 0 || next.seen != p.seen || next.cand != p.cand || next.hasCand != p.hasCand || !slices.Equal(next.holes, p.holes)
			p = next
			return changed
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(*rapid.T) { w.begin() },
			"draw":  func(t *rapid.T) { w.draw(t) },
			"commit": func(t *rapid.T) {
				if xid, seq := w.pick(t, true); xid != 0 {
					w.commits[seq] = rapid.IntRange(1, 3).Draw(t, "events")
					delete(w.open, xid)
				}
			},
			"rollback": func(t *rapid.T) {
				if xid, _ := w.pick(t, false); xid != 0 {
					delete(w.open, xid)
				}
			},
			"round": func(t *rapid.T) { round(rapid.Bool().Draw(t, "a commit slips in")) },
		})
		for xid := range w.open {
			delete(w.open, xid)
		}
		for n := 0; round(false); n++ {
			if n > 200 {
				t.Fatal("the log does not come to rest")
			}
		}
		for seq := range w.commits {
			if !numbered[seq] {
				t.Fatalf("number %d was lost", seq)
			}
		}
		for seq := range numbered {
			if w.commits[seq] == 0 {
				t.Fatalf("number %d was invented", seq)
			}
		}
		if len(p.holes) != 0 || p.seen < w.last {
			t.Fatalf("at rest with %d of %d and holes %v", p.seen, w.last, p.holes)
		}
	})
}

func (w *world) begin() {
	w.open[w.nextXID] = 0
	w.nextXID++
}

// pick chooses a running transaction.
func (w *world) pick(t *rapid.T, drawn bool) (uint64, int64) {
	var candidates []uint64
	for xid, seq := range w.open {
		if !drawn || seq != 0 {
			candidates = append(candidates, xid)
		}
	}
	if len(candidates) == 0 {
		return 0, 0
	}
	slices.Sort(candidates)
	xid := rapid.SampledFrom(candidates).Draw(t, "transaction")
	return xid, w.open[xid]
}

func (w *world) draw(t *rapid.T) {
	var candidates []uint64
	for xid, seq := range w.open {
		if seq == 0 {
			candidates = append(candidates, xid)
		}
	}
	if len(candidates) == 0 {
		return
	}
	slices.Sort(candidates)
	w.last++
	w.open[rapid.SampledFrom(candidates).Draw(t, "drawer")] = w.last
}

// scan is what sql/scan.sql does.
func (w *world) scan(p place, limit int, own uint64) scan {
	xmin := own
	for xid := range w.open {
		xmin = min(xmin, xid)
	}
	s := scan{proved: p.hasCand && xmin > p.cand}
	fresh := 0
	var all []int64
	for seq := range w.commits {
		all = append(all, seq)
	}
	slices.Sort(all)
	for _, seq := range all {
		inHole := slices.Contains(p.holes, seq)
		if seq <= p.seen && !inHole {
			continue
		}
		size := w.commits[seq]
		u := unit{seq: seq}
		for i := range size {
			if !inHole {
				if fresh >= limit {
					break
				}
				fresh++
			}
			u.rows = append(u.rows, scanned{Record: Record{CommitSize: size, CommitIndex: i, Version: 1, Stream: streamOf(seq, i)}})
		}
		if len(u.rows) > 0 {
			s.units = append(s.units, u)
		}
	}
	s.cut = fresh >= limit
	return s
}

func streamOf(seq int64, i int) ids.ID {
	var id ids.ID
	copy(id[:], fmt.Sprintf("%d/%d", seq, i))
	return id
}

// A gap of two billion numbers, made by an operator who moved the sequence, is
// neither listed nor skipped: what lies above it waits for the proof.
func TestWideGapWaitsForProof(t *testing.T) {
	t.Parallel()
	far := int64(1) << 31
	one := unit{seq: far, rows: []scanned{{Record: Record{CommitSize: 1, Version: 1, Stream: testIDs.New()}}}}
	p := place{seen: 7}
	v := decide(p, scan{units: []unit{one}})
	if len(v.take) != 0 || v.next.seen != 7 || len(v.next.holes) != 0 {
		t.Fatalf("without proof: %+v", v)
	}
	p = v.next.renew(false, far, 500)
	if !p.hasCand || p.candN != far || p.cand != 500 {
		t.Fatalf("candidate %+v", p)
	}
	v = decide(p, scan{units: []unit{one}, proved: true})
	if len(v.take) != 1 || v.next.seen != far || len(v.next.holes) != 0 {
		t.Fatalf("with proof: take %d, %+v", len(v.take), v.next)
	}
}

func TestDecideHalts(t *testing.T) {
	t.Parallel()
	stream := testIDs.New()
	rec := func(version int64, index, size int) scanned {
		return scanned{lastKnown: 1, Record: Record{Stream: stream, Version: version, CommitIndex: index, CommitSize: size}}
	}
	good := unit{seq: 5, rows: []scanned{rec(2, 0, 1)}}
	for name, bad := range map[string]unit{
		"a version is missing":   {seq: 6, rows: []scanned{rec(4, 0, 1)}},
		"a version comes twice":  {seq: 6, rows: []scanned{rec(2, 0, 1)}},
		"a commit is incomplete": {seq: 6, rows: []scanned{rec(3, 0, 2)}},
		"an event is missing":    {seq: 6, rows: []scanned{rec(3, 1, 1)}},
	} {
		later := unit{seq: 7, rows: []scanned{{Record: Record{Stream: testIDs.New(), Version: 1, CommitSize: 1}}}}
		p := place{seen: 3, holes: []int64{2}, hasCand: true, candN: 10, cand: 1}
		v := decide(p, scan{units: []unit{good, bad, later}, proved: true})
		if v.halt == nil || v.halt.AppendSeq != 6 || len(v.take) != 1 || v.next.seen != 5 {
			t.Errorf("%s: %+v", name, v)
		}
		bad.decision = decisionSkip
		v = decide(v.next, scan{units: []unit{bad, later}})
		if v.halt != nil || len(v.take) != 1 || v.take[0].seq != 7 || v.next.seen != 7 {
			t.Errorf("%s, skipped: %+v", name, v)
		}
	}
	gap := unit{seq: 6, decision: decisionAccept, rows: []scanned{rec(4, 0, 1)}}
	if v := decide(place{seen: 5}, scan{units: []unit{gap}}); v.halt != nil || len(v.take) != 1 {
		t.Errorf("an accepted gap: %+v", v)
	}
	twice := unit{seq: 6, decision: decisionAccept, rows: []scanned{rec(1, 0, 1)}}
	if v := decide(place{seen: 5}, scan{units: []unit{twice}}); v.halt == nil {
		t.Error("a version that the log has was accepted")
	}
}

// Behind a halt nothing is forgotten, whatever is proved.
func TestHaltKeepsVisibleHoles(t *testing.T) {
	t.Parallel()
	bad := unit{seq: 4, rows: []scanned{{lastKnown: 9, Record: Record{Version: 3, CommitSize: 1, Stream: testIDs.New()}}}}
	fine := unit{seq: 6, rows: []scanned{{Record: Record{Version: 1, CommitSize: 1, Stream: testIDs.New()}}}}
	p := place{seen: 9, holes: []int64{4, 5, 6}, hasCand: true, candN: 20, cand: 1}
	v := decide(p, scan{units: []unit{bad, fine}, proved: true})
	if v.halt == nil || !slices.Equal(v.next.holes, []int64{4, 6}) || v.next.seen != 9 {
		t.Errorf("%+v", v)
	}
}

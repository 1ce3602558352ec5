package eventstore

import "fmt"

// maxHoles bounds the open holes. A wider gap (somebody moved the sequence) is
// not listed number by number: what lies above it waits for the proof that the
// gap is dead.
const maxHoles = 100_000

// unit is one commit as the scan found it: all its events.
type unit struct {
	seq      int64
	rows     []scanned
	decision string // of es.repair, or ""
}

// scanned is one event as the sequencer reads it, without its data.
type scanned struct {
	Record
	appendSeq  int64
	dataSHA256 [32]byte
	lastKnown  int64 // highest version of its stream in the log, in the scan's snapshot
}

// place is the sequencer's knowledge of which numbers it has met.
type place struct {
	seen  int64
	holes []int64 // ascending, all <= seen
	candN int64   // valid if hasCand
	cand  uint64
	// hasCand tells whether there is a candidate: every number up to candN
	// belongs to a transaction with an id below cand.
	hasCand bool
}

// scan is what one snapshot showed.
type scan struct {
	units  []unit // ascending by number; the last may be cut by the limit
	cut    bool   // there may be visible numbers above the last unit's
	proved bool   // the snapshot's xmin is above the candidate
}

// verdict is what follows from a scan.
type verdict struct {
	take    []unit // to be numbered, in this order
	skipped int    // commits passed over by decision
	next    place  // its candidate is still the old one
	dropped int    // holes proved to be rolled back
	halt    *HaltedError
}

// decide is the rule of design 3.4, free of any database. The units taken are
// a prefix of those visible, in order of number. A number that is missing
// becomes a hole, unless the scan's own snapshot proves that it is dead: then,
// and only then, it is forgotten.
func decide(p place, s scan) verdict {
	v := verdict{next: p}
	proved := p.hasCand && s.proved
	versions := map[[16]byte]int64{}

	visible := make(map[int64]bool, len(s.units))
	for _, u := range s.units {
		visible[u.seq] = true
	}

	// How far the visible units may be taken.
	taken := map[int64]bool{}
	free := int64(1<<63 - 1) // no visible number below this one is left behind
	seen, gaps := p.seen, len(p.holes)
	for i, u := range s.units {
		last := s.cut && i == len(s.units)-1
		if last && len(u.rows) < u.rows[0].CommitSize {
			free = u.seq // the limit cut through this commit
			break
		}
		if u.seq > seen {
			if gap := u.seq - max(seen, p.dead(proved)) - 1; gap > 0 {
				if int64(gaps)+gap > maxHoles {
					free = u.seq
					break
				}
				gaps += int(gap)
			}
		}
		if u.decision != decisionSkip {
			if reason := check(u, versions); reason != "" {
				v.halt = &HaltedError{AppendSeq: u.seq, Reason: reason}
				free = u.seq
				break
			}
			v.take = append(v.take, u)
		} else {
			v.skipped++
		}
		taken[u.seq] = true
		seen = max(seen, u.seq)
		if last {
			free = u.seq + 1
		}
	}

	// Missing numbers above the last that was taken are dead as well, up to the
	// candidate, so an idle log comes to rest.
	if proved {
		seen = max(seen, min(p.candN, free-1))
	}

	dead := func(n int64) bool { return proved && n <= p.candN && !visible[n] }
	holes := make([]int64, 0, gaps)
	for _, n := range p.holes {
		switch {
		case taken[n]:
		case dead(n):
			v.dropped++
		default:
			holes = append(holes, n)
		}
	}
	for n := max(p.seen, p.dead(proved)) + 1; n <= seen; n++ {
		if !taken[n] {
			holes = append(holes, n)
		}
	}
	if proved {
		v.dropped += deadAbove(p, seen, visible)
	}
	v.next.seen, v.next.holes = seen, holes
	return v
}

// dead is the number up to which everything invisible is proved dead.
func (p place) dead(proved bool) int64 {
	if proved {
		return p.candN
	}
	return 0
}

// deadAbove counts the dead numbers between the old mark and the candidate.
func deadAbove(p place, seen int64, visible map[int64]bool) int {
	upTo := min(seen, p.candN)
	if upTo <= p.seen {
		return 0
	}
	n := upTo - p.seen
	for seq := range visible {
		if seq > p.seen && seq <= upTo {
			n--
		}
	}
	return int(n)
}

// check says what is wrong with a commit, or nothing. versions holds the last
// version of each stream met in this batch.
func check(u unit, versions map[[16]byte]int64) string {
	if size := u.rows[0].CommitSize; len(u.rows) != size {
		return fmt.Sprintf("it has %d of its %d events", len(u.rows), size)
	}
	next := make(map[[16]byte]int64, len(u.rows))
	for i := range u.rows {
		r := &u.rows[i]
		if r.CommitIndex != i || r.CommitSize != len(u.rows) || r.CommitID != u.rows[0].CommitID {
			return fmt.Sprintf("its event %d is not part of one commit", i)
		}
		last, met := next[r.Stream]
		if !met {
			if last, met = versions[r.Stream]; !met {
				last = r.lastKnown
			}
		}
		if r.Version <= last || (r.Version != last+1 && u.decision != decisionAccept) {
			return fmt.Sprintf("stream %s continues with version %d after %d", r.Stream, r.Version, last)
		}
		next[r.Stream] = r.Version
	}
	for id, n := range next {
		versions[id] = n
	}
	return ""
}

// renew returns the candidate of the next round. last is the number read
// before own, the round's transaction id, was taken.
func (p place) renew(proved bool, last int64, own uint64) place {
	switch {
	case len(p.holes) == 0 && last <= p.seen:
		p.hasCand, p.candN, p.cand = false, 0, 0
	case !p.hasCand || proved:
		p.hasCand, p.candN, p.cand = true, last, own
	}
	return p
}

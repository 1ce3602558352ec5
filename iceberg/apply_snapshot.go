package iceberg

import "slices"

// snapshotList is the base's snapshots with what the request adds and
// removes. Few look-ups scan the ids, many build a map, so that neither an
// append nor an expiry of thousands is slow.
type snapshotList struct {
	base      *snapshotIndex
	removed   []bool // by index into base, nil when none is
	added     []addedSnapshot
	lookups   int
	byID      map[int64]int // index into base, or base length + index into added
	addedByID map[int64]int // index into added, made when there are many
	// hasRemoved tells that some snapshot was removed.
	hasRemoved bool
}

type addedSnapshot struct {
	facts   snapshotFacts
	raw     []byte
	removed bool
}

const scanLookups = 4

func (l *snapshotList) baseLen() int {
	if l.base == nil {
		return 0
	}
	return len(l.base.ids)
}

func (l *snapshotList) find(id int64) (int, bool) {
	if l.lookups++; l.lookups <= scanLookups {
		for i := len(l.added) - 1; i >= 0; i-- {
			if l.added[i].facts.id == id && !l.added[i].removed {
				return l.baseLen() + i, true
			}
		}
		if l.base == nil {
			return 0, false
		}
		i := slices.Index(l.base.ids, id)
		if i < 0 || l.removed != nil && l.removed[i] {
			return 0, false
		}
		return i, true
	}
	if l.byID == nil {
		l.byID = make(map[int64]int, l.baseLen()+len(l.added))
		for i := range l.baseLen() {
			if l.removed == nil || !l.removed[i] {
				l.byID[l.base.ids[i]] = i
			}
		}
		for i := range l.added {
			if !l.added[i].removed {
				l.byID[l.added[i].facts.id] = l.baseLen() + i
			}
		}
	}
	i, ok := l.byID[id]
	return i, ok
}

func (l *snapshotList) add(s addedSnapshot) {
	if l.byID != nil {
		l.byID[s.facts.id] = l.baseLen() + len(l.added)
	}
	l.added = append(l.added, s)
}

func (l *snapshotList) remove(id int64) bool {
	i, ok := l.find(id)
	if !ok {
		return false
	}
	l.hasRemoved = true
	if l.byID != nil {
		delete(l.byID, id)
	}
	if n := l.baseLen(); i >= n {
		l.added[i-n].removed = true
		return true
	}
	if l.removed == nil {
		l.removed = make([]bool, l.baseLen())
	}
	l.removed[i] = true
	return true
}

// addedHere says whether the request added the snapshot, removed or not.
func (l *snapshotList) addedHere(id int64) (*addedSnapshot, bool) {
	if len(l.added) <= scanLookups {
		for i := len(l.added) - 1; i >= 0; i-- {
			if l.added[i].facts.id == id {
				return &l.added[i], true
			}
		}
		return nil, false
	}
	for i := len(l.addedByID); i < len(l.added); i++ {
		if l.addedByID == nil {
			l.addedByID = make(map[int64]int, len(l.added))
		}
		l.addedByID[l.added[i].facts.id] = i
	}
	i, ok := l.addedByID[id]
	if !ok {
		return nil, false
	}
	return &l.added[i], true
}

type addSnapshot struct {
	raw   []byte
	facts snapshotFacts
}

func (ch addSnapshot) apply(b *builder) error {
	s := ch.facts
	switch {
	case b.schemas.loaded && len(b.schemas.items) == 0:
		return invalid("Attempting to add a snapshot before a schema is added")
	case b.specs.loaded && len(b.specs.items) == 0:
		return invalid("Attempting to add a snapshot before a partition spec is added")
	case b.orders.loaded && len(b.orders.items) == 0:
		return invalid("Attempting to add a snapshot before a sort order is added")
	case s.id == noSnapshot:
		return invalid("Invalid snapshot id: %d", s.id)
	}
	if _, ok := b.snapshots.find(s.id); ok {
		return invalid("Snapshot already exists for id: %d", s.id)
	}
	if err := b.checkManifests(s); err != nil {
		return err
	}
	raw := ch.raw
	var err error
	if b.formatVersion == 1 {
		if raw, err = v1Snapshot(raw, &s); err != nil {
			return err
		}
	} else if err := b.checkSequence(s); err != nil {
		return err
	}
	if b.formatVersion >= 3 {
		if err := b.checkRowLineage(s); err != nil {
			return err
		}
		// Java adds to the old value, which would hand out used row ids again
		// after a gap.
		b.nextRowID = max(b.nextRowID, s.firstRow) + s.addedRows
	}
	b.requestSequence = s.head.sequence
	b.lastSequence = max(b.lastSequence, s.head.sequence)
	b.snapshots.add(addedSnapshot{facts: s, raw: raw})
	b.changed = true
	return nil
}

func (b *builder) checkManifests(s snapshotFacts) error {
	if !s.hasList && (b.formatVersion > 1 || !s.hasManifests) {
		return missing("string", "manifest-list")
	}
	return nil
}

// v1Snapshot takes out the sequence number, which v1 doesn't have.
func v1Snapshot(raw []byte, s *snapshotFacts) ([]byte, error) {
	if s.head.sequence != 0 {
		return nil, illegal("Sequence number must be 0 in v1: %d", s.head.sequence)
	}
	if !s.hasSequence {
		return raw, nil
	}
	return rebuild(raw, func(m rawMember) ([]byte, bool) {
		return raw[m.value:m.end], m.key != "sequence-number"
	}, ""), nil
}

// checkSequence exempts snapshots without parent: a concurrent replace
// commits a first snapshot that was prepared earlier.
func (b *builder) checkSequence(s snapshotFacts) error {
	if s.head.parent == noSnapshot || s.head.sequence > b.requestSequence {
		if s.head.sequence < 0 {
			return invalid("Invalid sequence number: %d", s.head.sequence)
		}
		return nil
	}
	if !s.hasSequence {
		return missing("long", "sequence-number")
	}
	return stale("Cannot add snapshot with sequence number %d older than last sequence number %d",
		s.head.sequence, b.requestSequence)
}

func (b *builder) checkRowLineage(s snapshotFacts) error {
	switch {
	case s.firstRow < 0:
		return invalid("Cannot add a snapshot: first-row-id is null")
	case s.firstRow < b.nextRowID:
		return stale("Cannot add a snapshot, first-row-id is behind table next-row-id: %d < %d", s.firstRow, b.nextRowID)
	case s.addedRows < 0:
		return invalid("Invalid added-rows (required when first-row-id is set): null")
	case s.firstRow+s.addedRows < 0:
		return invalid("Invalid added-rows: %d overflows the row ids", s.addedRows)
	}
	return nil
}

type setRef struct {
	name  string
	facts refFacts
	raw   []byte
}

func (ch setRef) apply(b *builder) error {
	r := ref{name: ch.name, snapshot: ch.facts.snapshot, tag: ch.facts.tag, raw: ch.raw}
	b.loadRefs()
	i := b.refs.find(r.name)
	if i >= 0 && b.refs.items[i].equal(r) {
		return nil
	}
	if _, ok := b.snapshots.find(r.snapshot); !ok {
		return invalid("Cannot set %s to unknown snapshot: %d", r.name, r.snapshot)
	}
	switch {
	case r.name == MainBranch && r.tag:
		return illegal("Cannot set %s to a tag: it must be a branch", MainBranch)
	case i >= 0 && b.refs.items[i].tag != r.tag:
		return illegal("Cannot change the type of ref %s to %s", r.name, ch.facts.kind())
	case r.name == "":
		return illegal("Invalid ref name: empty")
	}
	b.refs.put(i, r)
	b.changed = true
	if r.name == MainBranch {
		b.current = r.snapshot
		b.logCurrent(r.snapshot)
	}
	return nil
}

// equal compares by meaning; a ref that was made up for a document from
// before branches has no bytes.
func (r ref) equal(o ref) bool {
	if r.snapshot != o.snapshot || r.tag != o.tag {
		return false
	}
	return sameJSON(r.value(), o.value())
}

func (r ref) value() []byte {
	if len(r.raw) > 0 {
		return r.raw
	}
	f := refFacts{snapshot: r.snapshot, tag: r.tag}
	return f.value([]byte("{}"))
}

// logCurrent appends to the snapshot log: at the snapshot's time if it is
// new, else now. An entry more than a minute before its predecessor would
// make the document unreadable for Java; then the log wins over the clock.
func (b *builder) logCurrent(id int64) {
	e := historyEntry{timestamp: b.ctx.NowMS, snapshot: id}
	if s, ok := b.snapshots.addedHere(id); ok {
		e.timestamp = s.facts.head.timestamp
	}
	if last, ok := b.lastLogged(); ok && before(e.timestamp, last) {
		e.timestamp = last
	}
	b.history = append(b.history, e)
}

func (b *builder) lastLogged() (int64, bool) {
	if n := len(b.history); n > 0 {
		return b.history[n-1].timestamp, true
	}
	if b.base != nil {
		if n := len(b.base.history.entries); n > 0 {
			return b.base.history.entries[n-1].timestamp, true
		}
	}
	return 0, false
}

type removeRef struct{ name string }

// apply takes a missing ref as removed already: concurrent replaces both
// remove main.
func (ch removeRef) apply(b *builder) error {
	b.loadRefs()
	if i := b.refs.find(ch.name); i >= 0 {
		b.dropRef(i)
	}
	return nil
}

func (b *builder) dropRef(i int) {
	if b.refs.items[i].name == MainBranch {
		b.current = noSnapshot
	}
	b.refs.drop(i)
	b.changed = true
}

type removeSnapshots struct{ ids []int64 }

// apply ignores unknown ids. Statistics of removed snapshots go with them,
// and every ref that points at one, main included.
func (ch removeSnapshots) apply(b *builder) error {
	dangling := make(map[int64]bool)
	b.loadRefs()
	for _, id := range ch.ids {
		if !b.snapshots.remove(id) {
			continue
		}
		b.changed = true
		b.loadStats(false).remove(id)
		b.loadStats(true).remove(id)
		if b.refs.used(id) {
			dangling[id] = true
		}
	}
	if len(dangling) == 0 {
		return nil
	}
	for i := range b.refs.items {
		if r := &b.refs.items[i]; !r.removed && dangling[r.snapshot] {
			b.dropRef(i)
		}
	}
	return nil
}

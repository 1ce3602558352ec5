package iceberg

import (
	"slices"
	"strconv"
)

type setLocation struct{ location string }

func (ch setLocation) apply(b *builder) error {
	location := stripTrailingSlash(ch.location)
	switch location {
	case "":
		return illegal("Invalid location: empty")
	case b.location:
		return nil
	}
	b.location, b.changed = location, true
	return nil
}

type setProperties struct{ updates []property }

// apply drops reserved names, which describe metadata and aren't properties;
// format-version is the old way to ask for an upgrade.
func (ch setProperties) apply(b *builder) error {
	version, ok, err := ch.formatVersion()
	if err != nil {
		return err
	}
	if ok {
		if err := (upgradeFormatVersion{version}).apply(b); err != nil {
			return err
		}
	}
	for _, p := range ch.updates {
		if reserved(p.name) {
			continue
		}
		b.setProperty(p)
	}
	return nil
}

func (ch setProperties) formatVersion() (version int, ok bool, err error) {
	for _, p := range ch.updates {
		if p.name == propFormatVersion {
			version, err = parseFormatVersion(p.value)
			return version, true, err
		}
	}
	return 0, false, nil
}

func parseFormatVersion(value string) (int, error) {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return 0, illegal("Invalid format-version: %s", clip([]byte(value)))
	}
	return int(n), nil
}

type removeProperties struct{ names []string }

func (ch removeProperties) apply(b *builder) error {
	if len(ch.names) == 0 {
		return nil
	}
	b.loadProperties()
	b.properties.items = slices.DeleteFunc(b.properties.items, func(p property) bool {
		return slices.Contains(ch.names, p.name)
	})
	return nil
}

// statList is statistics or partition-statistics: at most one for a snapshot
// comes by updates, but a document may hold more.
type statList struct {
	items  []stat
	loaded bool
	byID   map[int64][]int // made at the first removal
}

type stat struct {
	snapshot int64
	raw      []byte
	removed  bool
}

func (b *builder) loadStats(partition bool) *statList {
	l := &b.stats
	if partition {
		l = &b.partStats
	}
	if !l.loaded {
		from := b.base.stats
		if partition {
			from = b.base.partStats
		}
		for _, s := range from {
			l.items = append(l.items, stat{snapshot: s.snapshot, raw: s.at.of(b.base.doc)})
		}
		l.loaded = true
	}
	return l
}

func (l *statList) remove(snapshot int64) bool {
	if len(l.items) == 0 {
		return false
	}
	if l.byID == nil {
		l.byID = make(map[int64][]int, len(l.items))
		for i := range l.items {
			if !l.items[i].removed {
				l.byID[l.items[i].snapshot] = append(l.byID[l.items[i].snapshot], i)
			}
		}
	}
	at := l.byID[snapshot]
	for _, i := range at {
		l.items[i].removed = true
	}
	delete(l.byID, snapshot)
	return len(at) > 0
}

type setStatistics struct {
	partition bool
	snapshot  int64
	raw       []byte
}

// apply replaces the file of the snapshot; whether that snapshot exists is
// not checked, for statistics may come before or after it.
func (ch setStatistics) apply(b *builder) error {
	l := b.loadStats(ch.partition)
	at := -1
	for i := range l.items {
		s := &l.items[i]
		if s.removed || s.snapshot != ch.snapshot {
			continue
		}
		if at < 0 {
			at = i
			continue
		}
		s.removed, b.changed = true, true
	}
	l.byID = nil
	if at < 0 {
		l.items = append(l.items, stat{snapshot: ch.snapshot, raw: ch.raw})
		b.changed = true
		return nil
	}
	if !sameJSON(l.items[at].raw, ch.raw) {
		l.items[at].raw, b.changed = ch.raw, true
	}
	return nil
}

type removeStatistics struct {
	partition bool
	snapshot  int64
}

func (ch removeStatistics) apply(b *builder) error {
	if b.loadStats(ch.partition).remove(ch.snapshot) {
		b.changed = true
	}
	return nil
}

type addKey struct {
	id  string
	raw []byte
}

// apply takes any format version, as Java does; a key that is there stays.
func (ch addKey) apply(b *builder) error {
	b.loadKeys()
	if slices.ContainsFunc(b.keys.items, func(k encryptionKey) bool { return k.id == ch.id }) {
		return nil
	}
	b.keys.items = append(b.keys.items, encryptionKey{ch.id, ch.raw})
	b.changed = true
	return nil
}

type removeKey struct{ id string }

func (ch removeKey) apply(b *builder) error {
	b.loadKeys()
	i := slices.IndexFunc(b.keys.items, func(k encryptionKey) bool { return k.id == ch.id })
	if i >= 0 {
		b.keys.items = slices.Delete(b.keys.items, i, i+1)
		b.changed = true
	}
	return nil
}

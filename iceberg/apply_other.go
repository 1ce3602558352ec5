package iceberg

import "strconv"

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
	if len(ch.updates) == 0 {
		return nil
	}
	b.loadProperties()
	for _, p := range ch.updates {
		if !reserved(p.name) {
			b.properties.set(p)
		}
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
	for _, name := range ch.names {
		b.properties.remove(name)
	}
	return nil
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

type setStatistics struct {
	partition bool
	snapshot  int64
	raw       []byte
}

// apply replaces the file of the snapshot; whether that snapshot exists is
// not checked, for statistics may come before or after it.
func (ch setStatistics) apply(b *builder) error {
	if b.loadStats(ch.partition).set(ch.snapshot, ch.raw) {
		b.changed = true
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
	if _, ok := b.keys.find(ch.id); ok {
		return nil
	}
	b.keys.byID[ch.id] = len(b.keys.items)
	b.keys.items = append(b.keys.items, encryptionKey{id: ch.id, raw: ch.raw})
	b.changed = true
	return nil
}

type removeKey struct{ id string }

func (ch removeKey) apply(b *builder) error {
	b.loadKeys()
	if i, ok := b.keys.find(ch.id); ok {
		b.keys.items[i].removed = true
		delete(b.keys.byID, ch.id)
		b.changed = true
	}
	return nil
}

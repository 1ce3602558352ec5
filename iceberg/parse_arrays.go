package iceberg

import "slices"

// readSnapshots indexes the snapshots in one pass, without an allocation a
// snapshot.
func (p *parser) readSnapshots() {
	x := &p.m.snapshots
	if p.peek() != '[' {
		p.mistyped("a list", "snapshots")
		return
	}
	for a := p.array(); p.element(&a); {
		if p.peek() != '{' {
			p.mistyped("an object", "snapshots")
			return
		}
		start := p.pos
		s := p.snapshot()
		if x.ids == nil {
			x.body.a = start
			n := p.likely(p.pos - start)
			x.ids, x.heads = make([]int64, 0, n), make([]snapshotHead, 0, n)
		}
		s.head.a, s.head.b = offset(start-x.body.a), offset(p.pos-x.body.a)
		x.body.b = p.pos
		x.ids, x.heads = append(x.ids, s.id), append(x.heads, s.head)
	}
	if p.err == nil {
		x.ids, x.heads = fit(x.ids), fit(x.heads)
	}
}

// likely guesses how many elements of this size the rest of the document may
// hold, so that an index seldom grows.
func (p *parser) likely(size int) int {
	return (len(p.data)-p.pos)/max(size, 1) + 2
}

// fit gives back what likely guessed too high, for parsed documents are kept.
func fit[T any](list []T) []T {
	if cap(list)-len(list) > len(list)/8+8 {
		return slices.Clone(list)
	}
	return list
}

// snapshotFacts is what the rules need of a snapshot object.
type snapshotFacts struct {
	id   int64
	head snapshotHead

	hasSequence, hasSummary, hasManifests, hasList bool
	firstRow, addedRows                            int64 // -1 when absent
	// untidy tells that members stand for absence, by null or by -1.
	untidy bool
}

// snapshot reads the snapshot object at the cursor.
func (c *cursor) snapshot() snapshotFacts {
	s := snapshotFacts{head: snapshotHead{parent: noSnapshot}, firstRow: -1, addedRows: -1}
	var id, timestamp bool
	for o := c.object(); c.member(&o); {
		switch string(o.key) {
		case "snapshot-id":
			id = true
			s.id = c.int64("snapshot-id")
		case "parent-snapshot-id":
			if c.null() {
				s.untidy = true
			} else if s.head.parent = c.int64("parent-snapshot-id"); s.head.parent == noSnapshot {
				s.untidy = true // ClickHouse
			}
		case "sequence-number":
			if c.null() {
				s.untidy = true
			} else {
				s.hasSequence = true
				s.head.sequence = c.int64("sequence-number")
			}
		case "timestamp-ms":
			timestamp = true
			s.head.timestamp = c.int64("timestamp-ms")
		case "first-row-id":
			if c.null() {
				s.untidy = true
			} else if s.firstRow = c.int64("first-row-id"); s.firstRow < 0 {
				c.reject(illegal("Invalid first-row-id (cannot be negative): %d", s.firstRow))
			}
		case "added-rows":
			if c.null() {
				s.untidy = true
			} else if s.addedRows = c.int64("added-rows"); s.addedRows < 0 {
				c.reject(illegal("Invalid added-rows (cannot be negative): %d", s.addedRows))
			}
		case "manifest-list":
			if c.null() {
				s.untidy = true
			} else {
				s.hasList = true
				c.skipString("manifest-list")
			}
		case "manifests":
			if c.null() {
				s.untidy = true
			} else {
				s.hasManifests = true
				c.skip()
			}
		case "summary":
			if c.null() {
				s.untidy = true
			} else {
				s.hasSummary = true
				c.skipStringMap("summary")
			}
		case "schema-id", "key-id":
			if c.null() {
				s.untidy = true
			} else {
				c.skip()
			}
		default:
			c.skip()
		}
	}
	if c.err == nil && !id {
		c.reject(missing("long", "snapshot-id"))
	}
	if c.err == nil && !timestamp {
		c.reject(missing("long", "timestamp-ms"))
	}
	return s
}

func (c *cursor) skipString(member string) {
	if c.peek() != '"' {
		c.mistyped("a string value", member)
		return
	}
	c.stringToken()
}

// skipStringMap demands strings: Java readers refuse a table whose summary
// holds anything else.
func (c *cursor) skipStringMap(member string) {
	if c.peek() != '{' {
		c.mistyped("a string map", member)
		return
	}
	for o := c.object(); c.member(&o); {
		if c.peek() != '"' {
			c.atString(string(o.key))
			return
		}
		c.stringToken()
	}
}

func (p *parser) readHistory() {
	x := &p.m.history
	if p.peek() != '[' {
		p.mistyped("a list", "snapshot-log")
		return
	}
	for a := p.array(); p.element(&a); {
		if p.peek() != '{' {
			p.mistyped("an object", "snapshot-log")
			return
		}
		start := p.pos
		var e historyEntry
		var id, timestamp bool
		for o := p.object(); p.member(&o); {
			switch string(o.key) {
			case "snapshot-id":
				id = true
				e.snapshot = p.int64("snapshot-id")
			case "timestamp-ms":
				timestamp = true
				e.timestamp = p.int64("timestamp-ms")
			default:
				p.skip()
			}
		}
		p.logMembers(id, "snapshot-id", timestamp)
		if x.entries == nil {
			x.body.a = start
			x.entries = make([]historyEntry, 0, p.likely(p.pos-start))
		}
		e.a, e.b = offset(start-x.body.a), offset(p.pos-x.body.a)
		x.body.b = p.pos
		x.entries = append(x.entries, e)
	}
	x.entries = fit(x.entries)
}

func (p *parser) logMembers(id bool, member string, timestamp bool) {
	switch {
	case p.err != nil:
	case !id && member == "snapshot-id":
		p.reject(missing("long", member))
	case !id:
		p.reject(missing("string", member))
	case !timestamp:
		p.reject(missing("long", "timestamp-ms"))
	}
}

func (p *parser) readFiles() {
	x := &p.m.files
	if p.peek() != '[' {
		p.mistyped("a list", "metadata-log")
		return
	}
	for a := p.array(); p.element(&a); {
		if p.peek() != '{' {
			p.mistyped("an object", "metadata-log")
			return
		}
		start := p.pos
		var e fileEntry
		var file span
		var timestamp bool
		for o := p.object(); p.member(&o); {
			switch string(o.key) {
			case "metadata-file":
				p.space()
				file.a = p.pos
				p.skipString("metadata-file")
				file.b = p.pos
			case "timestamp-ms":
				timestamp = true
				e.timestamp = p.int64("timestamp-ms")
			default:
				p.skip()
			}
		}
		p.logMembers(!file.empty(), "metadata-file", timestamp)
		if x.entries == nil {
			x.body.a = start
		}
		e.a, e.b = offset(start-x.body.a), offset(p.pos-x.body.a)
		e.fa, e.fb = offset(file.a-x.body.a), offset(file.b-x.body.a)
		x.body.b = p.pos
		x.entries = append(x.entries, e)
	}
	x.entries = fit(x.entries)
}

// encryptionKey reads the key object at the cursor.
func (c *cursor) encryptionKey() (id string, at span) {
	if c.peek() != '{' {
		c.mistyped("an object", "encryption-key")
		return "", span{}
	}
	at.a = c.pos
	var hasID, metadata bool
	for o := c.object(); c.member(&o); {
		switch string(o.key) {
		case "key-id":
			hasID = true
			id = c.str("key-id")
		case "encrypted-key-metadata":
			metadata = true
			c.skipString("encrypted-key-metadata")
		case "properties":
			if !c.null() {
				c.skipStringMap("properties")
			}
		default:
			c.skip()
		}
	}
	at.b = c.pos
	switch {
	case c.err != nil:
	case !hasID:
		c.reject(missing("string", "key-id"))
	case !metadata:
		c.reject(missing("string", "encrypted-key-metadata"))
	}
	return id, at
}

// statistics reads a statistics or partition-statistics object.
func (c *cursor) statistics(member string) (snapshot int64, at span) {
	if c.peek() != '{' {
		c.mistyped("an object", member)
		return 0, span{}
	}
	at.a = c.pos
	var id, path, size, footer, blobs bool
	for o := c.object(); c.member(&o); {
		switch string(o.key) {
		case "snapshot-id":
			id = true
			snapshot = c.int64("snapshot-id")
		case "statistics-path":
			path = true
			c.skipString("statistics-path")
		case "file-size-in-bytes":
			size = true
			c.int64("file-size-in-bytes")
		case "file-footer-size-in-bytes":
			footer = true
			c.int64("file-footer-size-in-bytes")
		case "blob-metadata":
			blobs = true
			if c.peek() != '[' {
				c.mistyped("a list", "blob-metadata")
			}
			c.skip()
		default:
			c.skip()
		}
	}
	at.b = c.pos
	whole := member == "statistics"
	switch {
	case c.err != nil:
	case !id:
		c.reject(missing("long", "snapshot-id"))
	case !path:
		c.reject(missing("string", "statistics-path"))
	case !size:
		c.reject(missing("long", "file-size-in-bytes"))
	case whole && !footer:
		c.reject(missing("long", "file-footer-size-in-bytes"))
	case whole && !blobs:
		c.reject(missing("field", "blob-metadata"))
	}
	return snapshot, at
}

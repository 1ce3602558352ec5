package iceberg

import (
	"bytes"
	"strings"
)

// refFacts is what the rules need of a snapshot reference.
type refFacts struct {
	snapshot int64
	tag      bool
	at       span

	hasSnapshot, hasType           bool
	minKeep, maxSnapAge, maxAge    int64
	hasKeep, hasSnapAge, hasRefAge bool
}

// refValue reads the reference object at the cursor. Set-snapshot-ref carries
// the same members beside its own.
func (c *cursor) refValue() refFacts {
	var r refFacts
	if c.peek() != '{' {
		c.mistyped("an object", "refs")
		return r
	}
	r.at.a = c.pos
	optional := func(member string, value *int64, has *bool) {
		if !c.null() {
			*value, *has = c.int64(member), true
		}
	}
	for o := c.object(); c.member(&o); {
		switch string(o.key) {
		case "snapshot-id":
			r.hasSnapshot = true
			r.snapshot = c.int64("snapshot-id")
		case "type":
			r.hasType = true
			kind := c.str("type")
			switch strings.ToLower(kind) {
			case "branch":
			case "tag":
				r.tag = true
			default:
				c.reject(illegal("Invalid snapshot ref type: %s", clip([]byte(kind))))
			}
		case "min-snapshots-to-keep":
			optional("min-snapshots-to-keep", &r.minKeep, &r.hasKeep)
		case "max-snapshot-age-ms":
			optional("max-snapshot-age-ms", &r.maxSnapAge, &r.hasSnapAge)
		case "max-ref-age-ms":
			optional("max-ref-age-ms", &r.maxAge, &r.hasRefAge)
		default:
			c.skip()
		}
	}
	r.at.b = c.pos
	switch {
	case c.err != nil:
	case !r.hasType:
		c.reject(missing("string", "type"))
	case !r.hasSnapshot:
		c.reject(missing("long", "snapshot-id"))
	}
	return r
}

// checkRetention holds Java's rules of SnapshotRef.Builder.
func (r *refFacts) checkRetention() error {
	switch {
	case r.tag && r.hasKeep:
		return illegal("Tags do not support setting minSnapshotsToKeep")
	case r.tag && r.hasSnapAge:
		return illegal("Tags do not support setting maxSnapshotAgeMs")
	case r.hasKeep && (r.minKeep <= 0 || r.minKeep > 1<<31-1):
		return illegal("Min snapshots to keep must be greater than 0")
	case r.hasSnapAge && r.maxSnapAge <= 0:
		return illegal("Max snapshot age must be greater than 0 ms")
	case r.hasRefAge && r.maxAge <= 0:
		return illegal("Max reference age must be greater than 0")
	}
	return nil
}

func (r *refFacts) kind() string {
	if r.tag {
		return "tag"
	}
	return "branch"
}

// value makes the reference's object from the bytes of a set-snapshot-ref
// update: its known members in Java's order, then what else the client sent.
func (r *refFacts) value(update []byte) []byte {
	out := append([]byte(`{"snapshot-id":`), appendInt(nil, r.snapshot)...)
	out = append(out, `,"type":"`+r.kind()+`"`...)
	retention := func(member string, value int64, has bool) {
		if has {
			out = append(out, `,"`+member+`":`...)
			out = appendInt(out, value)
		}
	}
	retention("min-snapshots-to-keep", r.minKeep, r.hasKeep)
	retention("max-snapshot-age-ms", r.maxSnapAge, r.hasSnapAge)
	retention("max-ref-age-ms", r.maxAge, r.hasRefAge)
	for _, m := range rawMembers(update) {
		switch m.key {
		case "action", "ref-name", "snapshot-id", "type", "min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms":
			continue
		}
		out = append(out, ',')
		out = append(out, bytes.TrimSpace(update[m.at:m.end])...)
	}
	return append(out, '}')
}

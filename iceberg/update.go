package iceberg

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// Update is one change to a table (REST spec, TableUpdate). It holds no state
// of an application, so the same value may be applied to several bases.
type Update struct {
	raw    json.RawMessage
	action string
	change change
}

// change is what an update does to a builder. Implementations are immutable.
type change interface {
	apply(b *builder) error
}

// Raw returns the update as the client sent it. It must not be changed.
func (u Update) Raw() json.RawMessage { return u.raw }

// Action returns the lower-case discriminator, e.g. "add-snapshot".
func (u Update) Action() string { return u.action }

// DecodeUpdates reads a JSON array of updates. Nothing and null mean none.
// Actions match in any case; an unknown one is a BadRequest, never ignored.
// The result refers to raw, which must not be changed.
func DecodeUpdates(raw []byte) ([]Update, error) {
	var list []Update
	err := eachObject(raw, "updates", func(b *body) error {
		u, err := decodeUpdate(b)
		list = append(list, u)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func decodeUpdate(b *body) (Update, error) {
	u := Update{raw: b.raw, action: strings.ToLower(b.str("action"))}
	if b.err != nil {
		return u, b.err
	}
	switch u.action {
	case "assign-uuid":
		u.change = assignUUID{b.str("uuid")}
	case "upgrade-format-version":
		u.change = upgradeFormatVersion{b.int("format-version")}
	case "add-schema":
		u.change = b.addSchema()
	case "set-current-schema":
		u.change = setCurrentSchema{b.int("schema-id")}
	case "add-spec":
		u.change = b.addSpec()
	case "set-default-spec":
		u.change = setDefaultSpec{b.int("spec-id")}
	case "remove-partition-specs":
		u.change = removeSpecs{b.ints("spec-ids")}
	case "remove-schemas":
		u.change = removeSchemas{b.ints("schema-ids")}
	case "add-sort-order":
		u.change = b.addOrder()
	case "set-default-sort-order":
		u.change = setDefaultOrder{b.int("sort-order-id")}
	case "add-snapshot":
		u.change = b.addSnapshot()
	case "set-snapshot-ref":
		u.change = b.setRef()
	case "remove-snapshots":
		u.change = removeSnapshots{b.int64s("snapshot-ids")}
	case "remove-snapshot-ref":
		u.change = removeRef{b.str("ref-name")}
	case "set-location":
		u.change = setLocation{b.str("location")}
	case "set-properties":
		u.change = b.setProperties()
	case "remove-properties":
		u.change = removeProperties{b.removals()}
	case "set-statistics":
		u.change = b.setStatistics("statistics")
	case "set-partition-statistics":
		u.change = b.setStatistics("partition-statistics")
	case "remove-statistics":
		u.change = removeStatistics{false, b.int64("snapshot-id")}
	case "remove-partition-statistics":
		u.change = removeStatistics{true, b.int64("snapshot-id")}
	case "add-encryption-key":
		u.change = b.addKey()
	case "remove-encryption-key":
		u.change = removeKey{b.str("key-id")}
	case "add-view-version", "set-current-view-version":
		u.change = viewOnly{u.action}
	default:
		b.reject(unknownAction(u.action))
	}
	return u, b.err
}

func unknownAction(action string) error {
	return badRequest("Cannot convert metadata update action from json: %s", clip([]byte(action)))
}

func (b *body) ints(member string) (list []int) {
	if c := b.need("list", member); c != nil {
		list = c.ints(member)
		b.done(c)
	}
	return list
}

func (b *body) int64s(member string) (list []int64) {
	if c := b.need("list", member); c != nil {
		list = c.int64s(member)
		b.done(c)
	}
	return list
}

func (b *body) addSchema() change {
	var ch addSchema
	if c := b.need("field", "schema"); c != nil {
		s, err := parseSchema(c.data)
		if err != nil {
			b.reject(err)
			return ch
		}
		ch.schema = s
	}
	if b.has("last-column-id") {
		ch.lastColumnID = b.int("last-column-id")
	}
	return ch
}

func (b *body) addSpec() change {
	var ch addSpec
	if c := b.need("field", "spec"); c != nil {
		s, err := parseSpec(c.data)
		if err != nil {
			b.reject(err)
		}
		ch.spec = s
	}
	return ch
}

func (b *body) addOrder() change {
	var ch addOrder
	if c := b.need("field", "sort-order"); c != nil {
		s, err := parseOrder(c.data)
		if err != nil {
			b.reject(err)
		}
		ch.order = s
	}
	return ch
}

func (b *body) addSnapshot() change {
	var ch addSnapshot
	if c := b.need("field", "snapshot"); c != nil {
		if c.peek() != '{' {
			c.mistyped("an object", "snapshot")
			b.done(c)
			return ch
		}
		ch.facts = c.snapshot()
		b.done(c)
		if b.err == nil {
			ch.raw = tidySnapshot(c.data, &ch.facts)
		}
	}
	return ch
}

// tidySnapshot keeps the client's bytes but for members that stand for
// absence (null, parent -1), and adds an empty summary where there is none:
// DuckDB demands that member. It never invents an operation.
func tidySnapshot(raw []byte, s *snapshotFacts) []byte {
	if !s.untidy && s.hasSummary {
		return raw
	}
	keep := func(m rawMember) ([]byte, bool) {
		value := raw[m.value:m.end]
		switch m.key {
		case "parent-snapshot-id":
			return value, s.head.parent != noSnapshot
		case "sequence-number", "first-row-id", "added-rows", "manifest-list", "manifests", "summary", "schema-id", "key-id":
			return value, string(value) != "null"
		}
		return value, true
	}
	if s.hasSummary {
		return rebuild(raw, keep, "")
	}
	return rebuild(raw, keep, "timestamp-ms", property{name: "summary", raw: []byte("{}")})
}

func (b *body) setRef() change {
	ch := setRef{name: b.str("ref-name")}
	c := &cursor{data: b.raw}
	ch.facts = c.refValue()
	b.done(c)
	if b.err == nil {
		b.reject(ch.facts.checkRetention())
	}
	if b.err == nil {
		ch.raw = ch.facts.value(b.raw)
	}
	return ch
}

// setProperties reads "updates", or "updated" as old clients call it.
func (b *body) setProperties() change {
	member := "updates"
	if !b.has(member) && b.has("updated") {
		member = "updated"
	}
	var ch setProperties
	if c := b.need("map", member); c != nil {
		ch.updates = c.stringMap(member, true)
		b.done(c)
	}
	return ch
}

// removals reads "removals", or "removed" as old clients call it.
func (b *body) removals() (list []string) {
	member := "removals"
	if !b.has(member) && b.has("removed") {
		member = "removed"
	}
	if c := b.need("set", member); c != nil {
		list = c.strs(member)
		b.done(c)
	}
	return list
}

// setStatistics ignores the deprecated snapshot-id beside the file's own.
func (b *body) setStatistics(member string) change {
	ch := setStatistics{partition: member == "partition-statistics"}
	if c := b.need("field", member); c != nil {
		ch.snapshot, _ = c.statistics(member)
		ch.raw = c.data
		b.done(c)
	}
	return ch
}

func (b *body) addKey() change {
	var ch addKey
	if c := b.need("field", "encryption-key"); c != nil {
		ch.id, _ = c.encryptionKey()
		ch.raw = c.data
		b.done(c)
		if b.err == nil {
			b.reject(checkKey(ch.raw))
		}
	}
	return ch
}

// checkKey holds what Java needs to read a key that was added: metadata in
// base64, padded or not, and the id of the key that encrypts it as a string.
func checkKey(raw []byte) error {
	for _, m := range rawMembers(raw) {
		c := &cursor{data: raw[m.value:m.end]}
		switch m.key {
		case "encrypted-key-metadata":
			text := c.str(m.key)
			_, padded := base64.StdEncoding.DecodeString(text)
			_, bare := base64.RawStdEncoding.DecodeString(text)
			if strings.ContainsAny(text, "\r\n") || padded != nil && bare != nil {
				return illegal("Invalid encrypted-key-metadata: not base64") // the text itself is nobody's to see
			}
		case "encrypted-by-id":
			if !c.null() {
				c.str(m.key)
			}
		}
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

type viewOnly struct{ action string }

func (ch viewOnly) apply(*builder) error {
	return badRequest("Cannot apply update %s to a table", ch.action)
}

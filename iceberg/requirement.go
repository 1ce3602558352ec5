package iceberg

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Requirement is a condition on the state a commit is based on (REST spec,
// TableRequirement).
type Requirement struct {
	raw  json.RawMessage
	kind string

	uuid string
	ref  string
	// id is the expected id; for a ref, none means that it must not exist.
	id   int64
	none bool
}

// Raw returns the requirement as the client sent it. It must not be changed.
func (r Requirement) Raw() json.RawMessage { return r.raw }

// Type returns the lower-case discriminator, e.g. "assert-table-uuid".
func (r Requirement) Type() string { return r.kind }

// DecodeRequirements reads a JSON array of requirements. Nothing and null mean
// none (ClickHouse sends no list). Types match in any case; an unknown one is
// a BadRequest. The result refers to raw, which must not be changed.
func DecodeRequirements(raw []byte) ([]Requirement, error) {
	var list []Requirement
	err := eachObject(raw, "requirements", func(b *body) error {
		r, err := decodeRequirement(b)
		list = append(list, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func decodeRequirement(b *body) (Requirement, error) {
	r := Requirement{raw: b.raw, kind: strings.ToLower(b.str("type"))}
	switch r.kind {
	case "assert-create":
	case "assert-table-uuid", "assert-view-uuid":
		r.uuid = b.str("uuid")
	case "assert-ref-snapshot-id":
		r.ref = b.str("ref")
		// An omitted snapshot-id and -1 mean null: the ref must not exist.
		if r.none = !b.has("snapshot-id"); !r.none {
			r.id = b.int64("snapshot-id")
			r.none = r.id == noSnapshot
		}
	case "assert-last-assigned-field-id", "assert-last-assigned-partition-id", "assert-current-schema-id",
		"assert-default-spec-id", "assert-default-sort-order-id":
		r.id = int64(b.int(strings.TrimPrefix(r.kind, "assert-")))
	default:
		b.reject(badRequest("Cannot convert update requirement from json: unknown type %s", clip([]byte(r.kind))))
	}
	return r, b.err
}

// IsCreate says whether the requirements demand that the table be created.
// assert-create beside other requirements is an IllegalArgument error.
func IsCreate(reqs []Requirement) (bool, error) {
	create := slices.ContainsFunc(reqs, func(r Requirement) bool { return r.kind == "assert-create" })
	if !create {
		return false, nil
	}
	var others []string
	for _, r := range reqs {
		if r.kind != "assert-create" {
			others = append(others, r.kind)
		}
	}
	if len(others) > 0 {
		return false, illegal("Invalid create requirements: [%s]", strings.Join(others, ", "))
	}
	return true, nil
}

// CheckRequirements checks every requirement against the current state; base
// is nil when the table does not exist. A failed one is a CommitFailed error
// with the text of the Java reference, which clients and the compatibility
// kit compare. Callers tell a missing table (404) apart before this.
func CheckRequirements(base *Metadata, reqs []Requirement) error {
	if _, err := IsCreate(reqs); err != nil {
		return err
	}
	for _, r := range reqs {
		if err := r.check(base); err != nil {
			return err
		}
	}
	return nil
}

func (r Requirement) check(base *Metadata) error {
	if r.kind == "assert-create" {
		if base != nil {
			return requirementFailed("table already exists")
		}
		return nil
	}
	if r.kind == "assert-view-uuid" {
		return badRequest("Cannot validate assert-view-uuid against a table")
	}
	if base == nil {
		return requirementFailed("table does not exist")
	}
	changed := func(what string, actual int) error {
		if r.id != int64(actual) {
			return requirementFailed("%s changed: expected id %d != %d", what, r.id, actual)
		}
		return nil
	}
	switch r.kind {
	case "assert-table-uuid":
		if !strings.EqualFold(r.uuid, base.uuid) {
			return requirementFailed("UUID does not match: expected %s != %s", base.uuid, r.uuid)
		}
	case "assert-ref-snapshot-id":
		return r.checkRef(base)
	case "assert-last-assigned-field-id":
		return changed("last assigned field id", base.lastColumnID)
	case "assert-current-schema-id":
		return changed("current schema", base.currentSchemaID)
	case "assert-last-assigned-partition-id":
		return changed("last assigned partition id", base.lastPartitionID)
	case "assert-default-spec-id":
		return changed("default partition spec", base.defaultSpecID)
	case "assert-default-sort-order-id":
		return changed("default sort order", base.defaultOrderID)
	}
	return nil
}

func (r Requirement) checkRef(base *Metadata) error {
	ref, ok := base.Ref(r.ref)
	kind := "branch"
	if ref.Tag {
		kind = "tag"
	}
	switch {
	case ok && r.none:
		return requirementFailed("%s %s was created concurrently", kind, r.ref)
	case ok && ref.SnapshotID != r.id:
		return requirementFailed("%s %s has changed: expected id %d != %d", kind, r.ref, r.id, ref.SnapshotID)
	case !ok && !r.none:
		return requirementFailed("branch or tag %s is missing, expected %d", r.ref, r.id)
	}
	return nil
}

// body reads the members of one update or requirement in any order.
type body struct {
	raw     []byte
	members []rawMember
	err     error
}

// eachObject visits the objects of an array; nothing and null are empty.
func eachObject(raw []byte, member string, visit func(*body) error) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	c := &cursor{data: raw}
	if c.null() {
		c.end()
		return c.err
	}
	if c.peek() != '[' {
		c.mistyped("a list", member)
		return c.err
	}
	var found []*body
	for a := c.array(); c.element(&a); {
		if c.peek() != '{' {
			c.mistyped("an object", member)
			break
		}
		b := &body{}
		start := c.pos
		for o := c.object(); c.member(&o); {
			s := c.skip()
			b.members = append(b.members, rawMember{string(o.key), o.keyAt - start, s.a - start, s.b - start})
		}
		b.raw = raw[start:c.pos]
		found = append(found, b)
	}
	c.end()
	if c.err != nil {
		return c.err
	}
	for _, b := range found {
		if err := visit(b); err != nil {
			return err
		}
	}
	return nil
}

func (b *body) reject(err error) {
	if b.err == nil {
		b.err = err
	}
}

// value returns a member's raw value; nil when absent or null.
func (b *body) value(member string) []byte {
	for _, m := range b.members {
		if m.key == member {
			if v := b.raw[m.value:m.end]; string(v) != "null" {
				return v
			}
			return nil
		}
	}
	return nil
}

func (b *body) has(member string) bool { return b.value(member) != nil }

// need is value for a required member.
func (b *body) need(kind, member string) *cursor {
	v := b.value(member)
	if v == nil {
		b.reject(missing(kind, member))
		return nil
	}
	return &cursor{data: v}
}

func (b *body) done(c *cursor) {
	if c.err != nil {
		b.reject(c.err)
	}
}

func (b *body) str(member string) (s string) {
	if c := b.need("string", member); c != nil {
		s = c.str(member)
		b.done(c)
	}
	return s
}

func (b *body) int(member string) (n int) {
	if c := b.need("int", member); c != nil {
		n = c.int(member)
		b.done(c)
	}
	return n
}

func (b *body) int64(member string) (n int64) {
	if c := b.need("long", member); c != nil {
		n = c.int64(member)
		b.done(c)
	}
	return n
}

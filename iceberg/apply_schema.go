package iceberg

import (
	"slices"
	"strings"
)

// lastAdded is the wire's -1: the schema, spec or order added last in this
// request.
const lastAdded = -1

type assignUUID struct{ uuid string }

// apply refuses to change the uuid of a table that has one. Java's builder
// would; the spec calls it unsafe.
func (ch assignUUID) apply(b *builder) error {
	switch {
	case ch.uuid == "":
		return illegal("Cannot set uuid to null")
	case b.uuid == ch.uuid:
		return nil
	case b.base != nil && b.base.uuid != "":
		if strings.EqualFold(b.base.uuid, ch.uuid) {
			return nil
		}
		return illegal("Cannot reassign the UUID of a table: %s to %s", b.base.uuid, clip([]byte(ch.uuid)))
	}
	b.uuid, b.changed = ch.uuid, true
	return nil
}

type upgradeFormatVersion struct{ version int }

func (ch upgradeFormatVersion) apply(b *builder) error {
	switch {
	case ch.version > MaxFormatVersion || ch.version < MinFormatVersion:
		return illegal("Cannot upgrade table to unsupported format version: v%d (supported: v%d)", ch.version, MaxFormatVersion)
	case ch.version < b.formatVersion:
		return illegal("Cannot downgrade v%d table to v%d", b.formatVersion, ch.version)
	case ch.version == b.formatVersion:
		return nil
	}
	b.formatVersion, b.changed = ch.version, true
	return nil
}

type addSchema struct {
	schema       *schema
	lastColumnID int
}

// apply ignores the client's schema id: an identical schema is reused, else
// it gets the next id. last-column-id is the highest of the table's, the
// client's and the schema's: clients leave it out (DuckDB, ClickHouse), send
// a lower one (Spark's REPLACE TABLE) or count top-level columns only.
func (ch addSchema) apply(b *builder) error {
	if err := ch.schema.check(b.formatVersion); err != nil {
		return err
	}
	all, err := b.loadSchemas()
	if err != nil {
		return err
	}
	if highest := max(b.lastColumnID, ch.lastColumnID, ch.schema.highestID()); highest > b.lastColumnID {
		b.lastColumnID, b.changed = highest, true
	}
	id := 0
	for _, s := range all {
		if s.sameSchema(ch.schema) {
			// Java forgets "last added" here unless the schema came with this
			// request, so that -1 fails; clients other than its own send it.
			b.lastAddedSchema = s.id
			return nil
		}
		id = max(id, s.id+1)
	}
	s, err := parseSchema(withSchemaID(ch.schema.raw, id))
	if err != nil {
		return err
	}
	b.schemas.items = append(b.schemas.items, s)
	b.lastAddedSchema, b.changed = id, true
	return nil
}

type setCurrentSchema struct{ id int }

func (ch setCurrentSchema) apply(b *builder) error {
	id := ch.id
	if id == lastAdded {
		if id = b.lastAddedSchema; id < 0 {
			return invalid("Cannot set last added schema: no schema has been added")
		}
	}
	if id == b.currentSchemaID {
		return nil
	}
	s, err := b.schemaByID(id)
	if err != nil {
		return err
	}
	if s == nil {
		return illegal("Cannot set current schema to unknown schema: %d", id)
	}
	b.currentSchemaID, b.changed, b.checkDefaults = id, true, true
	return nil
}

type removeSchemas struct{ ids []int }

func (ch removeSchemas) apply(b *builder) error {
	if slices.Contains(ch.ids, b.currentSchemaID) {
		return illegal("Cannot remove the current schema")
	}
	if len(ch.ids) == 0 {
		return nil
	}
	all, err := b.loadSchemas()
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(all), func(s *schema) bool { return slices.Contains(ch.ids, s.id) })
	if len(kept) < len(all) {
		b.schemas.items, b.changed = kept, true
		if slices.Contains(ch.ids, b.lastAddedSchema) {
			b.lastAddedSchema = -1
		}
	}
	return nil
}

type addSpec struct{ spec *partitionSpec }

// apply reuses a spec that partitions alike. Fields without id take that of
// an equal field in any spec, else the next free one: Java would number from
// 1000 again and collide with older specs.
func (ch addSpec) apply(b *builder) error {
	all, err := b.loadSpecs()
	if err != nil {
		return err
	}
	id := 0
	for _, s := range all {
		if s.compatibleWith(ch.spec) {
			b.lastAddedSpec = s.id
			return nil
		}
		id = max(id, s.id+1)
	}
	s := &partitionSpec{raw: ch.spec.raw, id: id, fields: slices.Clone(ch.spec.fields)}
	s.numberFields(all, b.lastPartitionID)
	if err := b.checkNewSpec(s); err != nil {
		return err
	}
	if s, err = parseSpec(s.withIDs(id)); err != nil {
		return err
	}
	b.lastPartitionID = max(b.lastPartitionID, s.highestID())
	b.specs.items = append(b.specs.items, s)
	b.lastAddedSpec, b.changed = id, true
	return nil
}

func (s *partitionSpec) numberFields(others []*partitionSpec, last int) {
	used := map[int]bool{}
	for i := range s.fields {
		if s.fields[i].hasID {
			used[s.fields[i].id] = true
			last = max(last, s.fields[i].id)
		}
	}
	for i := range s.fields {
		f := &s.fields[i]
		if f.hasID {
			continue
		}
		for _, o := range others {
			for j := range o.fields {
				g := &o.fields[j]
				if f.id == 0 && f.transform == g.transform && slices.Equal(f.sources, g.sources) && !used[g.id] {
					f.id = g.id
				}
			}
		}
		if f.id == 0 {
			last++
			f.id = last
		}
		used[f.id] = true
	}
}

func (b *builder) checkNewSpec(s *partitionSpec) error {
	if err := s.checkFields(b.formatVersion); err != nil {
		return err
	}
	current, err := b.schemaByID(b.currentSchemaID)
	if err != nil {
		return err
	}
	if current == nil {
		if len(s.fields) == 0 {
			return nil
		}
		return invalid("Attempting to add a partition spec before a current schema is set")
	}
	if err := s.checkSources(current); err != nil {
		return err
	}
	return s.checkNames(current)
}

type setDefaultSpec struct{ id int }

// apply checks existence at once; Java finds out when it builds.
func (ch setDefaultSpec) apply(b *builder) error {
	id := ch.id
	if id == lastAdded {
		if id = b.lastAddedSpec; id < 0 {
			return invalid("Cannot set last added spec: no spec has been added")
		}
	}
	if id == b.defaultSpecID {
		return nil
	}
	all, err := b.loadSpecs()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(s *partitionSpec) bool { return s.id == id })
	if i < 0 {
		return illegal("Cannot set default partition spec to unknown spec: %d", id)
	}
	if err := all[i].checkKnown(); err != nil {
		return err
	}
	b.defaultSpecID, b.changed, b.checkDefaults = id, true, true
	return nil
}

type removeSpecs struct{ ids []int }

// apply doesn't look at manifests: the client has made sure that none uses
// the specs.
func (ch removeSpecs) apply(b *builder) error {
	if slices.Contains(ch.ids, b.defaultSpecID) {
		return illegal("Cannot remove the default partition spec")
	}
	if len(ch.ids) == 0 {
		return nil
	}
	all, err := b.loadSpecs()
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(all), func(s *partitionSpec) bool { return slices.Contains(ch.ids, s.id) })
	if len(kept) < len(all) {
		b.specs.items, b.changed = kept, true
		if slices.Contains(ch.ids, b.lastAddedSpec) {
			b.lastAddedSpec = -1
		}
	}
	return nil
}

type addOrder struct{ order *sortOrder }

// apply gives the unsorted order id 0 always, an equal order its id, another
// one the next from 1.
func (ch addOrder) apply(b *builder) error {
	all, err := b.loadOrders()
	if err != nil {
		return err
	}
	id := 1
	if ch.order.unsorted() {
		id = 0
	}
	for _, s := range all {
		if s.sameOrder(ch.order) {
			b.lastAddedOrder = s.id
			return nil
		}
		if !ch.order.unsorted() {
			id = max(id, s.id+1)
		} else if s.id == 0 {
			return invalid("Sort order 0 is taken by a sorted order")
		}
	}
	current, err := b.schemaByID(b.currentSchemaID)
	switch {
	case err != nil:
		return err
	case current == nil && !ch.order.unsorted():
		return invalid("Attempting to add a sort order before a current schema is set")
	case current != nil:
		if err := ch.order.checkSources(current); err != nil {
			return err
		}
	}
	s, err := parseOrder(ch.order.withID(id))
	if err != nil {
		return err
	}
	b.orders.items = append(b.orders.items, s)
	b.lastAddedOrder, b.changed = id, true
	return nil
}

type setDefaultOrder struct{ id int }

func (ch setDefaultOrder) apply(b *builder) error {
	id := ch.id
	if id == lastAdded {
		if id = b.lastAddedOrder; id < 0 {
			return invalid("Cannot set last added sort order: no sort order has been added")
		}
	}
	if id == b.defaultOrderID {
		return nil
	}
	all, err := b.loadOrders()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(s *sortOrder) bool { return s.id == id })
	if i < 0 {
		return illegal("Cannot set default sort order to unknown sort order: %d", id)
	}
	if err := all[i].checkKnown(); err != nil {
		return err
	}
	b.defaultOrderID, b.changed, b.checkDefaults = id, true, true
	return nil
}

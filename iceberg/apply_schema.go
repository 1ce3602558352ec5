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
	if err := b.loadSchemas(); err != nil {
		return err
	}
	if highest := max(b.lastColumnID, ch.lastColumnID, ch.schema.highestID()); highest > b.lastColumnID {
		b.lastColumnID, b.changed = highest, true
	}
	if id, ok := b.schemas.same(ch.schema); ok {
		// Java forgets "last added" here unless the schema came with this
		// request, so that -1 fails; clients other than its own send it.
		b.addedSchema(ch.schema, id)
		return nil
	}
	id := b.schemas.nextID(0)
	s, err := parseSchema(withSchemaID(ch.schema.raw, id))
	if err != nil {
		return err
	}
	b.schemas.add(s)
	b.addedSchema(ch.schema, id)
	b.changed = true
	return nil
}

func (b *builder) addedSchema(sent *schema, id int) {
	b.lastAddedSchema = id
	if sent.hasID {
		b.schemas.name(sent.id, id)
	}
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
	if err := b.loadSchemas(); err != nil {
		return err
	}
	s, ok := b.schemas.named(id)
	if !ok {
		return illegal("Cannot set current schema to unknown schema: %d", id)
	}
	if s.id == b.currentSchemaID {
		return nil
	}
	b.currentSchemaID, b.changed, b.checkDefaults = s.id, true, true
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
	if err := b.loadSchemas(); err != nil {
		return err
	}
	if b.schemas.remove(ch.ids) {
		b.changed = true
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
	if err := b.loadSpecs(); err != nil {
		return err
	}
	if id, ok := b.specs.same(ch.spec); ok {
		b.addedSpec(ch.spec, id)
		return nil
	}
	id := b.specs.nextID(0)
	s := &partitionSpec{raw: ch.spec.raw, id: id, fields: slices.Clone(ch.spec.fields)}
	b.numberFields(s)
	if err := b.checkNewSpec(s); err != nil {
		return err
	}
	s, err := parseSpec(s.withIDs(id))
	if err != nil {
		return err
	}
	b.lastPartitionID = max(b.lastPartitionID, s.highestID())
	b.specs.add(s)
	b.rememberFields(s)
	b.addedSpec(ch.spec, id)
	b.changed = true
	return nil
}

func (b *builder) addedSpec(sent *partitionSpec, id int) {
	b.lastAddedSpec = id
	if sent.hasID {
		b.specs.name(sent.id, id)
	}
}

// numberFields gives an id to every field that has none.
func (b *builder) numberFields(s *partitionSpec) {
	used := map[int]bool{}
	last, incomplete := b.lastPartitionID, false
	for i := range s.fields {
		if f := &s.fields[i]; f.hasID {
			used[f.id] = true
			last = max(last, f.id)
		} else {
			incomplete = true
		}
	}
	if !incomplete {
		return
	}
	if b.partitionIDs == nil {
		b.partitionIDs = map[string]int{}
		for _, o := range b.specs.items {
			b.rememberFields(o)
		}
	}
	for i := range s.fields {
		f := &s.fields[i]
		if f.hasID {
			continue
		}
		if id, ok := b.partitionIDs[f.partitionKey()]; ok && !used[id] {
			f.id = id
		} else {
			last++
			f.id = last
		}
		used[f.id] = true
	}
}

func (b *builder) rememberFields(s *partitionSpec) {
	if b.partitionIDs == nil {
		return
	}
	for i := range s.fields {
		if k := s.fields[i].partitionKey(); !has(b.partitionIDs, k) {
			b.partitionIDs[k] = s.fields[i].id
		}
	}
}

func (b *builder) checkNewSpec(s *partitionSpec) error {
	if err := s.checkFields(b.formatVersion); err != nil {
		return err
	}
	current, err := b.schemaToBind()
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
	if err := b.loadSpecs(); err != nil {
		return err
	}
	s, ok := b.specs.named(id)
	if !ok {
		return illegal("Cannot set default partition spec to unknown spec: %d", id)
	}
	if s.id == b.defaultSpecID {
		return nil
	}
	if err := s.checkKnown(); err != nil {
		return err
	}
	b.defaultSpecID, b.changed, b.checkDefaults = s.id, true, true
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
	if err := b.loadSpecs(); err != nil {
		return err
	}
	if b.specs.remove(ch.ids) {
		b.changed = true
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
	if err := b.loadOrders(); err != nil {
		return err
	}
	if id, ok := b.orders.same(ch.order); ok {
		b.addedOrder(ch.order, id)
		return nil
	}
	id := 0
	if ch.order.unsorted() {
		if _, taken := b.orders.get(0); taken {
			return invalid("Sort order 0 is taken by a sorted order")
		}
	} else {
		id = b.orders.nextID(1)
		current, err := b.schemaToBind()
		if err != nil {
			return err
		}
		if current == nil {
			return invalid("Attempting to add a sort order before a current schema is set")
		}
		if err := ch.order.checkSources(current); err != nil {
			return err
		}
	}
	s, err := parseOrder(ch.order.withID(id))
	if err != nil {
		return err
	}
	b.orders.add(s)
	b.addedOrder(ch.order, id)
	b.changed = true
	return nil
}

// addedOrder knows a missing id as 0, which is that of the unsorted order
// alone.
func (b *builder) addedOrder(sent *sortOrder, id int) {
	b.lastAddedOrder = id
	if sent.id != 0 {
		b.orders.name(sent.id, id)
	}
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
	if err := b.loadOrders(); err != nil {
		return err
	}
	s, ok := b.orders.named(id)
	if !ok {
		return illegal("Cannot set default sort order to unknown sort order: %d", id)
	}
	if s.id == b.defaultOrderID {
		return nil
	}
	if err := s.checkKnown(); err != nil {
		return err
	}
	b.defaultOrderID, b.changed, b.checkDefaults = s.id, true, true
	return nil
}

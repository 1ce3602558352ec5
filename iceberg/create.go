package iceberg

import (
	"slices"
	"time"
)

// CreateRequest is a decoded CreateTableRequest (REST spec). The exported
// fields may be set by the caller before [NewTable], which is how a catalog
// puts its own location in.
type CreateRequest struct {
	Name string
	// Location is the requested base location; empty lets the catalog choose.
	Location string
	// Staged asks for a document that a later commit creates.
	Staged bool

	schema     *schema
	spec       *partitionSpec // nil when unpartitioned
	order      *sortOrder     // nil when unsorted
	properties []property
}

// Property returns a requested property.
func (r CreateRequest) Property(name string) (string, bool) {
	for _, p := range r.properties {
		if p.name == name {
			return p.value, true
		}
	}
	return "", false
}

// DecodeCreateRequest reads a CreateTableRequest. Optional members that are
// null count as absent (iceberg-rust sends them so); unknown members are
// ignored.
func DecodeCreateRequest(raw []byte) (CreateRequest, error) {
	var r CreateRequest
	c := &cursor{data: raw}
	if c.peek() != '{' {
		c.mistyped("an object", "create request")
		return r, c.err
	}
	var schemaAt, specAt, orderAt span
	named := false
	for o := c.object(); c.member(&o); {
		key := string(o.key)
		if c.null() {
			continue
		}
		switch key {
		case "name":
			named = true
			r.Name = c.str(key)
		case "location":
			r.Location = c.str(key)
		case "stage-create":
			r.Staged = c.bool(key)
		case "schema":
			schemaAt = c.skip()
		case "partition-spec":
			specAt = c.skip()
		case "write-order":
			orderAt = c.skip()
		case "properties":
			r.properties = c.stringMap(key, true)
		default:
			c.skip()
		}
	}
	c.end()
	switch {
	case c.err != nil:
		return r, c.err
	case !named:
		return r, missing("string", "name")
	case r.Name == "":
		return r, badRequest("Invalid table name: empty")
	case schemaAt.empty():
		return r, missing("field", "schema")
	}
	var err error
	if r.schema, err = parseSchema(schemaAt.of(raw)); err != nil {
		return r, err
	}
	if !specAt.empty() {
		if r.spec, err = parseSpec(specAt.of(raw)); err != nil {
			return r, err
		}
	}
	if !orderAt.empty() {
		r.order, err = parseOrder(orderAt.of(raw))
	}
	return r, err
}

// NewTable makes the first document of a table (Java's newTableMetadata): all
// ids are assigned anew, spec and order follow their columns by name, reserved
// properties choose and then vanish. A staged document also says when it was
// made.
func NewTable(req CreateRequest, ctx BuildContext) (*Metadata, error) {
	if req.schema == nil {
		return nil, missing("field", "schema")
	}
	b := newBuilder(nil, ctx)
	b.formatVersion = ctx.formatVersion()
	if v, ok := req.Property(propFormatVersion); ok {
		n, err := parseFormatVersion(v)
		if err != nil {
			return nil, err
		}
		if n < MinFormatVersion || n > MaxFormatVersion {
			return nil, illegal("Unsupported format version: v%d (supported: v%d)", n, MaxFormatVersion)
		}
		b.formatVersion = n
	}
	old := req.schema
	sc, ids, err := old.fresh()
	if err != nil {
		return nil, err
	}
	if err := sc.check(b.formatVersion); err != nil {
		return nil, err
	}
	b.schemas.items, b.currentSchemaID, b.lastColumnID = []*schema{sc}, 0, sc.highestID()
	if err := b.freshSpec(req.spec, ids); err != nil {
		return nil, err
	}
	if err := b.freshOrder(req.order, ids); err != nil {
		return nil, err
	}
	b.setInitialProperties(req)
	if err := checkCreateProperties(b.properties.items, sc); err != nil {
		return nil, err
	}
	b.location = stripTrailingSlash(req.Location)
	b.added = 2*(len(old.raw)+len(sc.raw)) + 4096
	next, _, err := b.build()
	return next, err
}

// remap maps source ids of a request onto the fresh schema.
func remap(sources []int, ids map[int]int) ([]int, bool) {
	out := make([]int, len(sources))
	for i, id := range sources {
		n, ok := ids[id]
		if !ok || n < 0 {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

// withSources returns a partition or sort field's bytes with these sources.
func withSources(raw []byte, sources []int) []byte {
	for _, m := range rawMembers(raw) {
		switch {
		case m.key == "source-id" && string(raw[m.value:m.end]) != "null":
			raw = withMember(raw, "source-id", appendInt(nil, int64(sources[0])), "")
		case m.key == "source-ids" && string(raw[m.value:m.end]) != "null":
			raw = withMember(raw, "source-ids", intList(sources), "")
		}
	}
	return raw
}

func (b *builder) freshSpec(spec *partitionSpec, ids map[int]int) error {
	if spec == nil {
		spec = &partitionSpec{raw: []byte(`{"fields":[]}`)}
	}
	var edits []edit
	for i := range spec.fields {
		f := &spec.fields[i]
		sources, ok := remap(f.sources, ids)
		if !ok {
			return invalid("Cannot find source column for partition field: %s", f)
		}
		raw := withMember(f.raw, "field-id", appendInt(nil, int64(firstPartitionID+i)), "source-id")
		edits = append(edits, edit{f.at, withSources(raw, sources)})
	}
	raw := withMember(splice(spec.raw, edits), "spec-id", []byte("0"), "")
	fresh, err := parseSpec(raw)
	if err != nil {
		return err
	}
	if err := b.checkNewSpec(fresh); err != nil {
		return err
	}
	b.specs.items, b.defaultSpecID, b.lastPartitionID = []*partitionSpec{fresh}, 0, fresh.highestID()
	return fresh.checkKnown()
}

func (b *builder) freshOrder(order *sortOrder, ids map[int]int) error {
	if order == nil {
		order = &sortOrder{raw: []byte(`{"fields":[]}`)}
	}
	var edits []edit
	for i := range order.fields {
		f := &order.fields[i]
		sources, ok := remap(f.sources, ids)
		if !ok {
			return invalid("Cannot find source column for sort field: %s", f)
		}
		edits = append(edits, edit{f.at, withSources(f.raw, sources)})
	}
	id := 1
	if order.unsorted() {
		id = 0
	}
	raw := withMember(splice(order.raw, edits), "order-id", appendInt(nil, int64(id)), "")
	fresh, err := parseOrder(raw)
	if err != nil {
		return err
	}
	b.orders.items, b.defaultOrderID = []*sortOrder{fresh}, id
	return fresh.checkKnown()
}

// setInitialProperties takes the request's properties but reserved ones;
// zstd is the default for new tables since Iceberg 1.4.
func (b *builder) setInitialProperties(req CreateRequest) {
	list := []property{{name: propParquetCompression, value: "zstd"}}
	if req.Staged {
		at := time.UnixMilli(b.ctx.NowMS).UTC().Format("2006-01-02T15:04:05.000Z07:00")
		list = append(list, property{name: propCreatedAt, value: at})
	}
	defaults := len(list)
	for _, p := range req.properties {
		if reserved(p.name) {
			continue
		}
		i := slices.IndexFunc(list[:defaults], func(q property) bool { return q.name == p.name })
		if i >= 0 {
			list[i] = p
			continue
		}
		list = append(list, p)
	}
	b.properties.items = list
}

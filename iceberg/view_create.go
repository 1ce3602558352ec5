package iceberg

// CreateViewRequest is a decoded CreateViewRequest (REST spec). Location may be
// set by the caller before [NewView], which is how a catalog puts its own in.
type CreateViewRequest struct {
	Name string
	// Location is the requested base location; empty lets the catalog choose.
	Location string

	schema     *schema
	version    *viewVersion
	properties []property
}

// DecodeCreateViewRequest reads a CreateViewRequest. Optional members that are
// null count as absent, and so do missing properties; unknown members are
// ignored.
func DecodeCreateViewRequest(raw []byte) (CreateViewRequest, error) {
	var r CreateViewRequest
	c := &cursor{data: raw}
	if c.peek() != '{' {
		c.mistyped("an object", "create request")
		return r, c.err
	}
	var schemaAt, versionAt span
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
		case "schema":
			schemaAt = c.skip()
		case "view-version":
			versionAt = c.skip()
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
		return r, badRequest("Invalid view name: empty")
	case schemaAt.empty():
		return r, missing("field", "schema")
	case versionAt.empty():
		return r, missing("field", "view-version")
	}
	var err error
	if r.schema, err = parseSchema(schemaAt.of(raw)); err != nil {
		return r, err
	}
	r.version, err = parseViewVersion(versionAt.of(raw))
	return r, err
}

// NewView makes the first document of a view. The version gets id 1 and the
// given schema, whose id is 0, whatever the client numbered them; everything
// else in both stays as it was sent.
func NewView(req CreateViewRequest, ctx BuildContext) (*ViewMetadata, error) {
	if req.schema == nil {
		return nil, missing("field", "schema")
	}
	if req.version == nil {
		return nil, missing("field", "view-version")
	}
	if err := req.version.check("create"); err != nil {
		return nil, err
	}
	b := newViewBuilder(nil, ctx)
	if err := (addSchema{schema: req.schema}).applyView(b); err != nil {
		return nil, err
	}
	v, err := req.version.with(1, b.lastAddedSchema)
	if err != nil {
		return nil, err
	}
	if err := (addViewVersion{v}).applyView(b); err != nil {
		return nil, err
	}
	if err := (setCurrentVersion{lastAdded}).applyView(b); err != nil {
		return nil, err
	}
	if err := (setProperties{req.properties}).applyView(b); err != nil {
		return nil, err
	}
	b.location = stripTrailingSlash(req.Location)
	b.size = 2*(len(req.schema.raw)+len(v.raw)) + 2048
	next, _, err := b.build()
	return next, err
}

package iceberg

import "strings"

// applyView refuses to change the uuid of a view, as Java does.
func (ch assignUUID) applyView(b *viewBuilder) error {
	switch {
	case ch.uuid == "":
		return illegal("Cannot set uuid to null")
	case !strings.EqualFold(b.uuid, ch.uuid):
		return illegal("Cannot reassign uuid")
	}
	return nil
}

func (ch upgradeFormatVersion) applyView(*viewBuilder) error {
	switch {
	case ch.version < ViewFormatVersion:
		return illegal("Cannot downgrade v%d view to v%d", ViewFormatVersion, ch.version)
	case ch.version > ViewFormatVersion:
		return illegal("Unsupported format version: %d", ch.version)
	}
	return nil
}

// applyView ignores the client's schema id: an identical schema is reused, else
// it gets the next id. Field ids stay as they are sent, for they mean nothing
// beyond the view.
func (ch addSchema) applyView(b *viewBuilder) error {
	if err := ch.schema.check(MaxFormatVersion); err != nil {
		return err
	}
	if err := b.loadSchemas(); err != nil {
		return err
	}
	id, ok := b.schemas.same(ch.schema)
	if !ok {
		id = b.schemas.nextID(0)
		s, err := parseSchema(withSchemaID(ch.schema.raw, id))
		if err != nil {
			return err
		}
		b.schemas.add(s)
		b.changed = true
	}
	b.lastAddedSchema = id
	if ch.schema.hasID {
		b.schemas.name(ch.schema.id, id)
	}
	return nil
}

func (ch setLocation) applyView(b *viewBuilder) error {
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

func (ch setProperties) applyView(b *viewBuilder) error {
	if len(ch.updates) == 0 {
		return nil
	}
	b.loadProperties()
	for _, p := range ch.updates {
		b.properties.set(p)
	}
	return nil
}

func (ch removeProperties) applyView(b *viewBuilder) error {
	if len(ch.names) == 0 {
		return nil
	}
	b.loadProperties()
	for _, name := range ch.names {
		b.properties.remove(name)
	}
	return nil
}

type addViewVersion struct{ version *viewVersion }

// applyView takes the client's version id for a hint: a version that behaves
// as one that is there is reused, else it gets the next id. Two clients that
// replaced a view at the same time have both chosen the same one. Whoever goes
// on by the id that he chose means what he added: no requirement would tell him
// that somebody else has got it.
func (ch addViewVersion) applyView(b *viewBuilder) error {
	v := ch.version
	if err := v.check("replace"); err != nil {
		return err
	}
	schemaID := b.schemas.own(v.schemaID)
	if schemaID == lastAdded {
		if b.lastAddedSchema < 0 {
			return invalid("Cannot set last added schema: no schema has been added")
		}
		schemaID = b.lastAddedSchema
	}
	if err := b.loadSchemas(); err != nil {
		return err
	}
	if _, ok := b.schemas.get(schemaID); !ok {
		return illegal("Cannot add version with unknown schema: %d", v.schemaID)
	}
	if err := b.loadVersions(); err != nil {
		return err
	}
	v, err := v.with(b.versions.nextID(1), schemaID)
	if err != nil {
		return err
	}
	if id, ok := b.versions.same(v); ok {
		// Java forgets "last added" here unless the version came with this
		// request, so that -1 fails; clients other than its own send it.
		v, _ = b.versions.get(id)
	} else {
		b.versions.add(v)
		b.added[v.id], b.changed = true, true
	}
	b.lastAddedVersion = v
	b.versions.name(ch.version.id, v.id)
	return nil
}

type setCurrentVersion struct{ id int }

// applyView notes when the version became current: a new one when it was made,
// one that is taken up again now.
func (ch setCurrentVersion) applyView(b *viewBuilder) error {
	id := ch.id
	if id == lastAdded {
		if b.lastAddedVersion == nil {
			return invalid("Cannot set last version id: no current version id has been set")
		}
		id = b.lastAddedVersion.id
	} else {
		id = b.versions.own(id)
	}
	if id == b.currentVersionID {
		return nil
	}
	if err := b.loadVersions(); err != nil {
		return err
	}
	v, ok := b.versions.get(id)
	if !ok {
		return illegal("Cannot set current version to unknown version: %d", id)
	}
	b.currentVersionID, b.changed = id, true
	entry := viewLogItem{version: id, timestamp: b.ctx.NowMS}
	if b.added[id] {
		entry.timestamp = v.timestamp
	}
	b.entry = &entry
	return nil
}

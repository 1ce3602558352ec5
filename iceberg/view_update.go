package iceberg

import (
	"encoding/json"
	"strings"
)

// ViewUpdate is one change to a view (REST spec, ViewUpdate). It holds no
// state of an application, so the same value may be applied to several bases.
type ViewUpdate struct {
	raw    json.RawMessage
	action string
	change viewChange
}

// viewChange is what an update does to a builder. Implementations are
// immutable.
type viewChange interface {
	applyView(b *viewBuilder) error
}

// Raw returns the update as the client sent it. It must not be changed.
func (u ViewUpdate) Raw() json.RawMessage { return u.raw }

// Action returns the lower-case discriminator, e.g. "add-view-version".
func (u ViewUpdate) Action() string { return u.action }

// DecodeViewUpdates reads a JSON array of updates. Nothing and null mean none.
// Actions match in any case; an unknown one is a BadRequest, never ignored, and
// so is one for tables. The result refers to raw, which must not be changed.
func DecodeViewUpdates(raw []byte) ([]ViewUpdate, error) {
	var list []ViewUpdate
	err := eachObject(raw, "updates", func(b *body) error {
		u, err := decodeViewUpdate(b)
		list = append(list, u)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func decodeViewUpdate(b *body) (ViewUpdate, error) {
	u := ViewUpdate{raw: b.raw, action: strings.ToLower(b.str("action"))}
	if b.err != nil {
		return u, b.err
	}
	switch u.action {
	case "assign-uuid":
		u.change = assignUUID{b.str("uuid")}
	case "upgrade-format-version":
		u.change = upgradeFormatVersion{b.int("format-version")}
	case "add-schema":
		u.change, _ = b.addSchema().(addSchema)
	case "set-location":
		u.change = setLocation{b.str("location")}
	case "set-properties":
		u.change, _ = b.setProperties().(setProperties)
	case "remove-properties":
		u.change = removeProperties{b.removals()}
	case "add-view-version":
		u.change = b.addVersion()
	case "set-current-view-version":
		u.change = setCurrentVersion{b.int("view-version-id")}
	case "set-current-schema", "add-spec", "set-default-spec", "remove-partition-specs", "remove-schemas",
		"add-sort-order", "set-default-sort-order", "add-snapshot", "set-snapshot-ref", "remove-snapshots",
		"remove-snapshot-ref", "set-statistics", "set-partition-statistics", "remove-statistics",
		"remove-partition-statistics", "add-encryption-key", "remove-encryption-key":
		b.reject(badRequest("Cannot apply update %s to a view", u.action))
	default:
		b.reject(unknownAction(u.action))
	}
	return u, b.err
}

func (b *body) addVersion() viewChange {
	var ch addViewVersion
	if c := b.need("field", "view-version"); c != nil {
		v, err := parseViewVersion(c.data)
		if err != nil {
			b.reject(err)
			return ch
		}
		ch.version = v
	}
	return ch
}

// CheckViewRequirements checks every requirement against the current state of a
// view. A failed one is a CommitFailed error with the text of the Java
// reference. Views know one requirement, assert-view-uuid; those of tables are
// a BadRequest.
func CheckViewRequirements(base *ViewMetadata, reqs []Requirement) error {
	for _, r := range reqs {
		if r.kind != "assert-view-uuid" {
			return badRequest("Cannot validate %s against a view", r.kind)
		}
		if !strings.EqualFold(r.uuid, base.uuid) {
			return requirementFailed("view UUID does not match: expected %s != %s", base.uuid, r.uuid)
		}
	}
	return nil
}

package commands

import (
	"context"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// propertyLocation is the namespace property that gives the base of default
// table locations.
const propertyLocation = "location"

// namespaceAnswer is the small answer that a replay repeats word for word.
type namespaceAnswer struct {
	ID         ids.ID          `json:"id"`
	Levels     []string        `json:"namespace"`
	Properties json.RawMessage `json:"properties"`
}

// CreateNamespace creates a namespace. All its levels but the last must exist
// (404); the name must be free in any letter case (409). A location property
// must lie below the warehouse's root.
func (s *Service) CreateNamespace(ctx context.Context, call Call, in CreateNamespace) (Namespace, error) {
	if err := catalog.Namespace(in.Namespace).Validate(); err != nil {
		return Namespace{}, err
	}
	if err := checkProperties(in.Properties); err != nil {
		return Namespace{}, err
	}
	return once(ctx, s, call, func(ctx context.Context) (answer Namespace, appended bool, err error) {
		receipt, err := s.attempt(ctx, []string{lineOf(in.Warehouse, in.Namespace, "")}, func(ctx context.Context, t *try) error {
			answer, err = s.createNamespace(ctx, call, &in, t)
			return err
		})
		return answer, len(receipt.Records) > 0, err
	}, func(ctx context.Context, stored eventstore.Idempotency) (Namespace, error) {
		if _, err := s.parentOfNew(ctx, call, &in); err != nil {
			return Namespace{}, err
		}
		var a namespaceAnswer
		if err := json.Unmarshal(stored.Response, &a); err != nil {
			return Namespace{}, err
		}
		return Namespace(a), nil
	})
}

// parentOfNew resolves the namespace to create and its parent, and asks for
// the right to create below the parent. The facts are those of the namespace,
// then those of the parent, if it is one.
func (s *Service) parentOfNew(ctx context.Context, call Call, in *CreateNamespace) ([]projections.Facts, error) {
	asked := []projections.Query{{Warehouse: in.Warehouse, Namespace: in.Namespace}}
	parent := catalog.Namespace(in.Namespace).Parent()
	if len(parent) > 0 {
		asked = append(asked, projections.Query{Warehouse: in.Warehouse, Namespace: parent})
	}
	facts, err := s.resolve(ctx, asked...)
	if err != nil {
		return nil, err
	}
	f := &facts[0]
	if len(parent) == 0 {
		if err := s.may(ctx, call, subject.Warehouse(f), authz.WarehouseCreateNamespace, noSuchWarehouse()); err != nil {
			return nil, err
		}
		return facts, inWarehouse(f)
	}
	if err := s.may(ctx, call, subject.Namespace(&facts[1]), authz.NamespaceCreateNamespace, noSuchNamespace(parent)); err != nil {
		return nil, err
	}
	if err := inWarehouse(f); err != nil {
		return nil, err
	}
	if !facts[1].Namespace.Exists {
		return nil, noSuchNamespace(parent)
	}
	return facts, nil
}

// inWarehouse refuses when the warehouse of a request is not there or not
// active, which look alike.
func inWarehouse(f *projections.Facts) error {
	if !f.Warehouse.Exists || !f.Warehouse.Active {
		return noSuchWarehouse()
	}
	return nil
}

func (s *Service) createNamespace(ctx context.Context, call Call, in *CreateNamespace, t *try) (Namespace, error) {
	facts, err := s.parentOfNew(ctx, call, in)
	if err != nil {
		return Namespace{}, err
	}
	f := &facts[0]
	if f.Namespace.Exists {
		return Namespace{}, namespaceExists(in.Namespace)
	}
	properties, err := s.namespaceProperties(ctx, f, in.Properties)
	if err != nil {
		return Namespace{}, err
	}
	hold := f.Warehouse.ID
	levels := slices.Clone(in.Namespace)
	var ancestors []ids.ID
	if len(facts) > 1 {
		p := &facts[1].Namespace
		hold = p.ID
		ancestors = append([]ids.ID{p.ID}, p.Ancestors...)
		copy(levels, p.Levels) // the parent's spelling is its creator's
	}
	id := s.deps.IDs.New()
	record, err := s.record(call, id, &catalog.NamespaceCreated{Namespace: levels, Ancestors: ancestors, Properties: properties}, f)
	if err != nil {
		return Namespace{}, err
	}
	answer := Namespace{ID: id, Levels: levels, Properties: properties}
	response, err := marshal(namespaceAnswer(answer))
	if err != nil {
		return Namespace{}, err
	}
	t.commit = s.newCommit(f, s.claim(call, 200, id, "", response))
	t.commit.Streams = []eventstore.Stream{
		{ID: hold, Mode: eventstore.Held},
		{ID: id, Type: string(catalog.EntityNamespace), Mode: eventstore.Created},
	}
	t.commit.Records = []eventstore.Record{record}
	t.refuse = func(e *eventstore.ConstraintError) error {
		if e.Constraint == projections.NamespacePathKey {
			return namespaceExists(in.Namespace)
		}
		return nil
	}
	return answer, nil
}

// namespaceProperties returns the stored form of properties, with a location
// in its canonical spelling.
func (s *Service) namespaceProperties(ctx context.Context, f *projections.Facts, properties map[string]string) (json.RawMessage, error) {
	if properties == nil {
		properties = map[string]string{}
	}
	if location, ok := properties[propertyLocation]; ok {
		store, err := s.store(ctx, f)
		if err != nil {
			return nil, err
		}
		canonical, err := locate(ctx, store, location)
		if err != nil {
			return nil, err
		}
		if canonical != location {
			clone := make(map[string]string, len(properties))
			for k, v := range properties {
				clone[k] = v
			}
			clone[propertyLocation] = canonical
			properties = clone
		}
	}
	return marshal(properties)
}

// propertiesAnswer is the answer of UpdateNamespaceProperties, kept for
// replays: the state tells no more what was missing.
type propertiesAnswer struct {
	Updated []string `json:"updated"`
	Removed []string `json:"removed"`
	Missing []string `json:"missing"`
}

// UpdateNamespaceProperties sets and removes properties. A key in both lists
// is 422; a key to remove that is not there is reported as missing.
func (s *Service) UpdateNamespaceProperties(ctx context.Context, call Call, in UpdateNamespaceProperties) (PropertiesChanged, error) {
	if err := checkProperties(in.Updates); err != nil {
		return PropertiesChanged{}, err
	}
	for _, key := range in.Removals {
		if _, both := in.Updates[key]; both {
			return PropertiesChanged{}, &catalog.Error{Kind: catalog.Unprocessable, Message: "A property cannot be removed and updated in one request"}
		}
	}
	return once(ctx, s, call, func(ctx context.Context) (answer PropertiesChanged, appended bool, err error) {
		receipt, err := s.attempt(ctx, []string{lineOf(in.Warehouse, in.Namespace, "")}, func(ctx context.Context, t *try) error {
			answer, err = s.updateNamespaceProperties(ctx, call, &in, t)
			return err
		})
		return answer, len(receipt.Records) > 0, err
	}, func(ctx context.Context, stored eventstore.Idempotency) (PropertiesChanged, error) {
		if _, err := s.namespace(ctx, call, in.Warehouse, in.Namespace, authz.NamespaceUpdateProperties, stored.Object); err != nil {
			return PropertiesChanged{}, err
		}
		var a propertiesAnswer
		if err := json.Unmarshal(stored.Response, &a); err != nil {
			return PropertiesChanged{}, err
		}
		return PropertiesChanged(a), nil
	})
}

// namespace resolves an existing namespace and asks for a right on it. With
// was, it need not exist any more: the right is then asked on that object.
func (s *Service) namespace(ctx context.Context, call Call, warehouse ids.ID, levels []string, action authz.Action, was ids.ID) (*projections.Facts, error) {
	query := projections.Query{Warehouse: warehouse}
	if addressable(levels, "") {
		query.Namespace = levels // else the namespace is simply missing
	}
	facts, err := s.resolve(ctx, query)
	if err != nil {
		return nil, err
	}
	f := &facts[0]
	on := subject.Namespace(f)
	if on.Object.IsNil() {
		on.Object = was
	}
	missing := noSuchNamespace(levels)
	if err := s.may(ctx, call, on, action, missing); err != nil {
		return nil, err
	}
	if err := inWarehouse(f); err != nil {
		return nil, err
	}
	if !f.Namespace.Exists && was.IsNil() {
		return nil, missing
	}
	return f, nil
}

func (s *Service) updateNamespaceProperties(ctx context.Context, call Call, in *UpdateNamespaceProperties, t *try) (PropertiesChanged, error) {
	f, err := s.namespace(ctx, call, in.Warehouse, in.Namespace, authz.NamespaceUpdateProperties, ids.Nil)
	if err != nil {
		return PropertiesChanged{}, err
	}
	before := map[string]string{}
	if err := json.Unmarshal(f.Namespace.Properties, &before); err != nil {
		return PropertiesChanged{}, err
	}
	after := make(map[string]string, len(before)+len(in.Updates))
	for k, v := range before {
		after[k] = v
	}
	answer := PropertiesChanged{Updated: []string{}, Removed: []string{}, Missing: []string{}}
	for k, v := range in.Updates {
		after[k] = v
		answer.Updated = append(answer.Updated, k)
	}
	slices.Sort(answer.Updated)
	for _, k := range in.Removals {
		if _, ok := after[k]; ok {
			delete(after, k)
			answer.Removed = append(answer.Removed, k)
		} else if !slices.Contains(answer.Removed, k) && !slices.Contains(answer.Missing, k) {
			answer.Missing = append(answer.Missing, k)
		}
	}
	properties, err := s.namespaceProperties(ctx, f, after)
	if err != nil {
		return PropertiesChanged{}, err
	}
	if err := json.Unmarshal(properties, &after); err != nil {
		return PropertiesChanged{}, err
	}
	changed := map[string]string{}
	for k := range in.Updates {
		if was, ok := before[k]; !ok || was != after[k] {
			changed[k] = after[k]
		}
	}
	if len(changed) == 0 && len(answer.Removed) == 0 {
		return answer, nil
	}
	updated, err := marshal(changed)
	if err != nil {
		return PropertiesChanged{}, err
	}
	record, err := s.record(call, f.Namespace.ID, &catalog.NamespacePropertiesUpdated{
		Namespace: f.Namespace.Levels, Updated: updated, Removed: answer.Removed, Properties: properties,
	}, f)
	if err != nil {
		return PropertiesChanged{}, err
	}
	response, err := marshal(propertiesAnswer(answer))
	if err != nil {
		return PropertiesChanged{}, err
	}
	t.commit = s.newCommit(f, s.claim(call, 200, f.Namespace.ID, "", response))
	t.commit.Streams = []eventstore.Stream{{ID: f.Namespace.ID, Mode: eventstore.Advanced, Version: f.Namespace.Version}}
	t.commit.Records = []eventstore.Record{record}
	return answer, nil
}

// checkProperties refuses properties that no event can hold.
func checkProperties(properties map[string]string) error {
	for k, v := range properties {
		if len(k) > catalog.MaxPropertyBytes || !utf8.ValidString(k) || !utf8.ValidString(v) {
			return badRequest("Invalid property: its key is too long, or it is not valid UTF-8")
		}
	}
	return nil
}

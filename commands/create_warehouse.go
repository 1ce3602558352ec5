package commands

import (
	"context"
	"errors"
	"strings"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// maxWarehouseName is Lakekeeper's bound, in bytes.
const maxWarehouseName = 128

// CreateWarehouse validates a storage profile by writing, reading, listing and
// deleting a probe, and creates a warehouse on it. The name is unique in its
// project in any letter case; it holds no slash, for clients write
// <project>/<name>.
func (s *Service) CreateWarehouse(ctx context.Context, call Call, in CreateWarehouse) (Warehouse, error) {
	if err := in.check(); err != nil {
		return Warehouse{}, err
	}
	line := "warehouse " + in.Project.String() + catalog.FoldName(in.Name)
	return once(ctx, s, call, func(ctx context.Context) (answer Warehouse, appended bool, err error) {
		receipt, err := s.attempt(ctx, []string{line}, func(ctx context.Context, t *try) error {
			answer, err = s.createWarehouse(ctx, call, &in, t)
			return err
		})
		return answer, len(receipt.Records) > 0, err
	}, func(ctx context.Context, stored eventstore.Idempotency) (Warehouse, error) {
		if _, err := s.projectFor(ctx, call, &in); err != nil {
			return Warehouse{}, err
		}
		facts, err := s.resolve(ctx, projections.Query{Warehouse: stored.Object})
		if err != nil || !facts[0].Warehouse.Exists {
			return Warehouse{ID: stored.Object}, err
		}
		return s.describeWarehouse(ctx, &facts[0])
	})
}

func (in *CreateWarehouse) check() error {
	in.Project = projectOf(in.Project)
	if err := checkWarehouseName(in.Name); err != nil {
		return err
	}
	if err := checkExpiration(in.ExpirationSeconds); err != nil {
		return err
	}
	if in.AllowedFormats == nil {
		in.AllowedFormats = []int{1, 2, 3}
	}
	return checkFormats(&in.AllowedFormats, &in.DefaultFormat)
}

// projectFor resolves the project and the name, and asks for the right to
// create a warehouse there.
func (s *Service) projectFor(ctx context.Context, call Call, in *CreateWarehouse) (*projections.Facts, error) {
	facts, err := s.resolve(ctx, projections.Query{Project: in.Project, WarehouseName: in.Name})
	if err != nil {
		return nil, err
	}
	f := &facts[0]
	missing := noSuchProject()
	if err := s.may(ctx, call, subject.Project(f), authz.ProjectCreateWarehouse, missing); err != nil {
		return nil, err
	}
	if !f.Project.Exists {
		return nil, missing
	}
	return f, nil
}

func (s *Service) createWarehouse(ctx context.Context, call Call, in *CreateWarehouse, t *try) (Warehouse, error) {
	f, err := s.projectFor(ctx, call, in)
	if err != nil {
		return Warehouse{}, err
	}
	project, found, err := s.deps.Details.Project(ctx, f.Project.ID)
	switch {
	case err != nil:
		return Warehouse{}, unavailable(err, "The catalog is not available")
	case !found:
		return Warehouse{}, noSuchProject()
	}
	taken := warehouseExists(in.Name, project.Ident)
	if f.Warehouse.Exists {
		return Warehouse{}, taken
	}
	profile, err := storage.ParseProfile(in.StorageProfile)
	if err != nil {
		return Warehouse{}, invalidProfile(err)
	}
	if err := s.deps.Profiles.Validate(ctx, profile).Err(); err != nil {
		return Warehouse{}, profileRefused(ctx, err)
	}
	wire, err := profile.MarshalJSON()
	if err != nil {
		return Warehouse{}, err
	}
	id := s.deps.IDs.New()
	events := []catalog.Event{&catalog.WarehouseCreated{
		Project: f.Project.ID, Name: in.Name, StorageProfile: wire,
		DefaultFormat: in.DefaultFormat, AllowedFormats: in.AllowedFormats,
	}}
	if in.ExpirationSeconds != nil {
		events = append(events, &catalog.WarehouseDeleteProfileUpdated{Name: in.Name, ExpirationSeconds: in.ExpirationSeconds})
	}
	records := make([]eventstore.Record, len(events))
	for i, event := range events {
		facts := &projections.Facts{Project: f.Project, Warehouse: projections.WarehouseFacts{ID: id}}
		if records[i], err = s.record(call, id, event, facts); err != nil {
			return Warehouse{}, err
		}
	}
	t.commit = s.newCommit(f, s.claim(call, 201, id, "", nil))
	t.commit.Streams = []eventstore.Stream{
		{ID: f.Project.ID, Mode: eventstore.Held},
		{ID: id, Type: string(catalog.EntityWarehouse), Mode: eventstore.Created},
	}
	t.commit.Records = records
	t.refuse = func(e *eventstore.ConstraintError) error {
		if e.Constraint == projections.WarehouseNameKey {
			return taken
		}
		return nil
	}
	return Warehouse{
		ID: id, Project: project.Ident, Name: in.Name, Active: true, StorageProfile: wire, DefaultFormat: in.DefaultFormat,
		AllowedFormats: in.AllowedFormats, ExpirationSeconds: in.ExpirationSeconds, UpdatedAt: records[len(records)-1].Time,
	}, nil
}

// invalidProfile is the answer to a profile that cannot be read.
func invalidProfile(err error) error {
	return &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid storage profile: " + strings.TrimPrefix(err.Error(), "storage profile: "), Cause: err}
}

// profileRefused is the answer to a profile that does not work. The cause is
// the operator's own store, so its text helps and tells no secret.
func profileRefused(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return unavailable(err, "The request ended before the store answered")
	}
	if errors.Is(err, storage.ErrOutside) {
		return &catalog.Error{Kind: catalog.BadRequest, Message: "The storage profile's root is not below a configured storage root", Cause: err}
	}
	return &catalog.Error{Kind: catalog.BadRequest, Message: "The storage profile does not work: " + err.Error(), Cause: err}
}

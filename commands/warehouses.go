package commands

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// Warehouse is a warehouse after a command, as the management API shows it.
type Warehouse struct {
	ID             ids.ID
	Project        string // id by which callers name its project
	Name           string
	Active         bool
	Protected      bool
	StorageProfile json.RawMessage // holds no secret (law 6)
	DefaultFormat  int
	AllowedFormats []int
	// ExpirationSeconds is how long a dropped object can come back; nil where a
	// drop is for good.
	ExpirationSeconds *int64
	// UndoWindowSeconds is how long the metadata files of former states are kept;
	// nil where the server's setting holds.
	UndoWindowSeconds *int64
	UpdatedAt         time.Time
}

// RenameWarehouse is POST /management/v1/warehouse/{warehouse_id}/rename.
type RenameWarehouse struct {
	Warehouse ids.ID
	Name      string
}

// SetWarehouseActive is POST …/activate and …/deactivate.
type SetWarehouseActive struct {
	Warehouse ids.ID
	Active    bool
}

// UpdateWarehouseStorage is POST …/storage.
type UpdateWarehouseStorage struct {
	Warehouse      ids.ID
	StorageProfile json.RawMessage
}

// CheckWarehouseStorage is POST …/storage-credential without a credential.
type CheckWarehouseStorage struct{ Warehouse ids.ID }

// UpdateWarehouseDeleteProfile is POST …/delete-profile.
type UpdateWarehouseDeleteProfile struct {
	Warehouse         ids.ID
	ExpirationSeconds *int64 // nil: a drop is for good
}

// UpdateWarehouseFormatVersions is POST …/format-version-policy.
type UpdateWarehouseFormatVersions struct {
	Warehouse      ids.ID
	AllowedFormats []int
	DefaultFormat  int // 0 means 2 if that is allowed, else the highest
}

// SetWarehouseProtection is POST …/protection.
type SetWarehouseProtection struct {
	Warehouse ids.ID
	Protected bool
}

// DeleteWarehouse is DELETE /management/v1/warehouse/{warehouse_id}.
type DeleteWarehouse struct {
	Warehouse ids.ID
	Force     bool // deletes a protected one
}

// checkWarehouseName refuses what may not become a warehouse's name, in
// Lakekeeper's words where it has some.
func checkWarehouseName(name string) error {
	switch {
	case name == "":
		return badRequest("Warehouse name cannot be empty")
	case len(name) > maxWarehouseName:
		return badRequest("Warehouse must be shorter than 128 chars")
	case strings.Contains(name, "/"):
		return badRequest("Invalid warehouse name: it holds a slash")
	}
	return catalog.ValidateName("warehouse", name)
}

// checkExpiration refuses a time to come back that is out of bounds.
func checkExpiration(seconds *int64) error {
	if seconds != nil && (*seconds < 0 || *seconds > catalog.MaxExpirationSeconds) {
		return badRequest("expiration-seconds must be between 0 and %d", int64(catalog.MaxExpirationSeconds))
	}
	return nil
}

// checkFormats puts allowed format versions in order and settles the default:
// 2 if it is allowed, else the highest.
func checkFormats(allowed *[]int, standard *int) error {
	*allowed = slices.Compact(slices.Sorted(slices.Values(*allowed)))
	for _, v := range *allowed {
		if v < iceberg.MinFormatVersion || v > iceberg.MaxFormatVersion {
			return badRequest("Unsupported format version: %d", v)
		}
	}
	if len(*allowed) == 0 {
		return badRequest("allowed_format_versions must contain at least one format version.")
	}
	if *standard == 0 {
		*standard = iceberg.DefaultFormatVersion
		if !slices.Contains(*allowed, *standard) {
			*standard = (*allowed)[len(*allowed)-1]
		}
	}
	if !slices.Contains(*allowed, *standard) {
		return badRequest("default_format_version '%d' is not in allowed_format_versions", *standard)
	}
	return nil
}

func warehouseExists(name, project string) error {
	return &catalog.Error{Kind: catalog.WarehouseExists, Message: "A warehouse with the name '" + name + "' already exists in project with id '" + project + "'"}
}

// RenameWarehouse gives a warehouse another name. Its id, by which clients
// address it, stays.
func (s *Service) RenameWarehouse(ctx context.Context, call Call, in RenameWarehouse) (Warehouse, error) {
	return s.changeWarehouse(ctx, call, in.Warehouse, authz.WarehouseRename, func(c *warehouseChange) (catalog.Event, error) {
		if err := checkWarehouseName(in.Name); err != nil || in.Name == c.Name {
			return nil, err
		}
		taken := warehouseExists(in.Name, c.Project)
		c.try.refuse = func(e *eventstore.ConstraintError) error {
			if e.Constraint == projections.WarehouseNameKey {
				return taken
			}
			return nil
		}
		event := &catalog.WarehouseRenamed{From: c.Name, To: in.Name}
		c.Name = in.Name
		return event, nil
	})
}

// SetWarehouseActive hides a warehouse from its clients, or opens it again.
func (s *Service) SetWarehouseActive(ctx context.Context, call Call, in SetWarehouseActive) (Warehouse, error) {
	action := authz.WarehouseDeactivate
	if in.Active {
		action = authz.WarehouseActivate
	}
	return s.changeWarehouse(ctx, call, in.Warehouse, action, func(c *warehouseChange) (catalog.Event, error) {
		if in.Active == c.Active {
			return nil, nil
		}
		c.Active = in.Active
		if in.Active {
			return &catalog.WarehouseActivated{Name: c.Name}, nil
		}
		c.stream.Exclusive = true // creations in it that came first are through
		return &catalog.WarehouseDeactivated{Name: c.Name}, nil
	})
}

// UpdateWarehouseStorage replaces the storage profile. What says where files
// are may not change; of a file profile nothing else is there, so that the same
// profile is tried out and stays.
func (s *Service) UpdateWarehouseStorage(ctx context.Context, call Call, in UpdateWarehouseStorage) (Warehouse, error) {
	return s.changeWarehouse(ctx, call, in.Warehouse, authz.WarehouseUpdateStorage, func(c *warehouseChange) (catalog.Event, error) {
		now, err := storage.ParseProfile(c.StorageProfile)
		if err != nil {
			return nil, err
		}
		next, err := storage.ParseProfile(in.StorageProfile)
		if err != nil {
			return nil, invalidProfile(err)
		}
		if err := keepsRoot(now, next); err != nil {
			return nil, err
		}
		if err := s.deps.Profiles.Validate(ctx, next).Err(); err != nil {
			return nil, profileRefused(ctx, err)
		}
		return nil, nil
	})
}

// CheckWarehouseStorage asks for the right to change the storage and changes
// nothing: a store that needs no credential has none to remove.
func (s *Service) CheckWarehouseStorage(ctx context.Context, call Call, in CheckWarehouseStorage) (Warehouse, error) {
	return s.changeWarehouse(ctx, call, in.Warehouse, authz.WarehouseUpdateStorage, func(*warehouseChange) (catalog.Event, error) {
		return nil, nil
	})
}

// UpdateWarehouseDeleteProfile says what a drop means from now on. What was
// dropped before keeps the time that was fixed at its drop.
func (s *Service) UpdateWarehouseDeleteProfile(ctx context.Context, call Call, in UpdateWarehouseDeleteProfile) (Warehouse, error) {
	return s.changeWarehouse(ctx, call, in.Warehouse, authz.WarehouseModifySoftDeletion, func(c *warehouseChange) (catalog.Event, error) {
		now, next := c.ExpirationSeconds, in.ExpirationSeconds
		err := checkExpiration(next)
		if err != nil || now == nil && next == nil || now != nil && next != nil && *now == *next {
			return nil, err
		}
		c.ExpirationSeconds = next
		return &catalog.WarehouseDeleteProfileUpdated{Name: c.Name, ExpirationSeconds: next}, nil
	})
}

// UpdateWarehouseFormatVersions says which Iceberg format versions new and
// upgraded tables may have.
func (s *Service) UpdateWarehouseFormatVersions(ctx context.Context, call Call, in UpdateWarehouseFormatVersions) (Warehouse, error) {
	return s.changeWarehouse(ctx, call, in.Warehouse, authz.WarehouseSetFormatVersionPolicy, func(c *warehouseChange) (catalog.Event, error) {
		if err := checkFormats(&in.AllowedFormats, &in.DefaultFormat); err != nil {
			return nil, err
		}
		if in.DefaultFormat == c.DefaultFormat && slices.Equal(in.AllowedFormats, c.AllowedFormats) {
			return nil, nil
		}
		c.DefaultFormat, c.AllowedFormats = in.DefaultFormat, in.AllowedFormats
		return &catalog.WarehouseFormatVersionsUpdated{Name: c.Name, DefaultFormat: in.DefaultFormat, AllowedFormats: in.AllowedFormats}, nil
	})
}

// SetWarehouseProtection says whether deleting the warehouse needs force.
func (s *Service) SetWarehouseProtection(ctx context.Context, call Call, in SetWarehouseProtection) (Warehouse, error) {
	return s.changeWarehouse(ctx, call, in.Warehouse, authz.WarehouseSetProtection, func(c *warehouseChange) (catalog.Event, error) {
		if in.Protected == c.Protected {
			return nil, nil
		}
		c.Protected = in.Protected
		return &catalog.WarehouseProtectionUpdated{Name: c.Name, Protected: in.Protected}, nil
	})
}

// DeleteWarehouse ends a warehouse that holds no namespace and no file that
// waits for its deletion. Its storage is left as it is.
func (s *Service) DeleteWarehouse(ctx context.Context, call Call, in DeleteWarehouse) error {
	_, err := s.changeWarehouse(ctx, call, in.Warehouse, authz.WarehouseDelete, func(c *warehouseChange) (catalog.Event, error) {
		notEmpty := &catalog.Error{Kind: catalog.WarehouseNotEmpty, Message: "Warehouse is not empty. Cannot delete a non-empty warehouse."}
		switch {
		case c.Protected && !in.Force:
			return nil, &catalog.Error{
				Kind:    catalog.WarehouseProtected,
				Message: "Warehouse is protected and force flag not set. Cannot delete protected warehouse.",
			}
		case c.details.Populated:
			return nil, notEmpty
		case c.details.Claimed:
			return nil, &catalog.Error{
				Kind:    catalog.WarehouseBusy,
				Message: "Warehouse has unfinished tasks. Cannot delete warehouse until all tasks are finished.",
			}
		}
		c.stream.Exclusive, c.stream.Close, c.status = true, true, 204
		c.try.refuse = func(e *eventstore.ConstraintError) error {
			if e.Constraint == projections.NamespaceWarehouseFK {
				return notEmpty
			}
			return nil // what was dropped in it meanwhile is seen now
		}
		return &catalog.WarehouseDeleted{Name: c.Name, Forced: c.Protected}, nil
	})
	return err
}

// warehouseChange is what the decision about a warehouse sees and adapts: the
// warehouse as it stands, which becomes the answer, and what is appended.
type warehouseChange struct {
	Warehouse
	details projections.WarehouseDetails
	stream  eventstore.Stream
	status  int // of the answer, for replays
	try     *try
}

// changeWarehouse advances a warehouse, active or not, by the event that decide
// returns; nil changes nothing. Decide changes the answer along.
func (s *Service) changeWarehouse(
	ctx context.Context, call Call, warehouse ids.ID, action authz.Action, decide func(*warehouseChange) (catalog.Event, error),
) (Warehouse, error) {
	return once(ctx, s, call, func(ctx context.Context) (answer Warehouse, appended bool, err error) {
		receipt, err := s.attempt(ctx, []string{"warehouse " + warehouse.String()}, func(ctx context.Context, t *try) error {
			f, c, err := s.warehouse(ctx, call, warehouse, action)
			if err != nil {
				return err
			}
			c.stream = eventstore.Stream{ID: warehouse, Mode: eventstore.Advanced, Version: f.Warehouse.Version}
			c.status, c.try = 200, t
			event, err := decide(c)
			answer = c.Warehouse
			if err != nil || event == nil {
				return err
			}
			record, err := s.record(call, warehouse, event, f)
			if err != nil {
				return err
			}
			answer.UpdatedAt = record.Time
			t.commit = s.newCommit(f, s.claim(call, c.status, warehouse, "", nil))
			t.commit.Streams = []eventstore.Stream{c.stream}
			t.commit.Records = []eventstore.Record{record}
			return nil
		})
		return answer, len(receipt.Records) > 0, err
	}, func(ctx context.Context, _ eventstore.Idempotency) (Warehouse, error) {
		return s.replayWarehouse(ctx, call, warehouse, action)
	})
}

// warehouse resolves a warehouse that exists and asks for a right on it.
func (s *Service) warehouse(ctx context.Context, call Call, warehouse ids.ID, action authz.Action) (*projections.Facts, *warehouseChange, error) {
	facts, err := s.resolve(ctx, projections.Query{Warehouse: warehouse})
	if err != nil {
		return nil, nil, err
	}
	f := &facts[0]
	if err := s.may(ctx, call, subject.Warehouse(f), action, noSuchWarehouse()); err != nil {
		return nil, nil, err
	}
	if !f.Warehouse.Exists {
		return nil, nil, noSuchWarehouse()
	}
	details, err := s.deps.Details.Warehouse(ctx, warehouse)
	if err != nil {
		return nil, nil, unavailable(err, "The catalog is not available")
	}
	return f, &warehouseChange{details: details, Warehouse: warehouseOf(f, details)}, nil
}

func warehouseOf(f *projections.Facts, details projections.WarehouseDetails) Warehouse {
	w := &f.Warehouse
	return Warehouse{
		ID: w.ID, Project: details.Project, Name: w.Name, Active: w.Active, Protected: w.Protected, StorageProfile: w.StorageProfile,
		DefaultFormat: w.DefaultFormat, AllowedFormats: slices.Clone(w.AllowedFormats), ExpirationSeconds: details.ExpirationSeconds,
		UndoWindowSeconds: details.UndoWindowSeconds,
		UpdatedAt:         w.UpdatedAt,
	}
}

// describeWarehouse is a warehouse as it stands now, without asking for a right.
func (s *Service) describeWarehouse(ctx context.Context, f *projections.Facts) (Warehouse, error) {
	details, err := s.deps.Details.Warehouse(ctx, f.Warehouse.ID)
	if err != nil {
		return Warehouse{}, unavailable(err, "The catalog is not available")
	}
	return warehouseOf(f, details), nil
}

// replayWarehouse answers a repeated request with the warehouse as it stands
// now. One that is gone by now leaves its id.
func (s *Service) replayWarehouse(ctx context.Context, call Call, warehouse ids.ID, action authz.Action) (Warehouse, error) {
	_, c, err := s.warehouse(ctx, call, warehouse, action)
	if catalog.KindOf(err) == catalog.NoSuchWarehouse {
		facts, err := s.resolve(ctx, projections.Query{Warehouse: warehouse})
		if err != nil {
			return Warehouse{}, err
		}
		on := subject.Warehouse(&facts[0])
		on.Object = warehouse
		return Warehouse{ID: warehouse}, s.may(ctx, call, on, action, noSuchWarehouse())
	}
	if err != nil {
		return Warehouse{}, err
	}
	return c.Warehouse, nil
}

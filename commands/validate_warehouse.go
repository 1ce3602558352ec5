package commands

import (
	"context"
	"encoding/json"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// ValidateWarehouse is POST /management/v1/warehouse-creation-validation: what
// creating the warehouse would check, without creating it.
type ValidateWarehouse struct {
	CreateWarehouse
	// Refused is why the request asks for what this server does not do, by the
	// check that it belongs to; nil for nothing.
	Refused map[string]error
}

// ValidateStorage is POST …/storage/validate-access, …/validate-profile and
// …/validate-credential.
type ValidateStorage struct {
	Warehouse ids.ID
	Profile   json.RawMessage // that would replace the stored one; empty tries that one
	Refused   map[string]error
}

// Validation is the outcome of a dry run: every check, in order.
type Validation []ValidationCheck

// ValidationCheck is one check, by Lakekeeper's name for it.
type ValidationCheck struct {
	Name     string
	Err      error         // why it failed; nil if it did not
	Skipped  string        // why it was not made; empty if it was
	Duration time.Duration // of a check that was made
}

// Valid reports whether no check failed.
func (v Validation) Valid() bool {
	for _, check := range v {
		if check.Err != nil {
			return false
		}
	}
	return true
}

// The checks, as Lakekeeper names them.
const (
	CheckProfileWellFormed = "profile-well-formed"
	CheckProfileCompatible = "profile-compatible"
	CheckWarehouseName     = "warehouse-name-valid"
	CheckLocationExclusive = "location-exclusive"
	CheckSpecMutable       = "spec-mutable"
	CheckFormatVersions    = "format-version-policy-consistent"
	CheckManagedBy         = "managed-by-allowed"
	CheckClient            = "storage-client-initialized"
	CheckReadWrite         = "lakekeeper-read-write"
	CheckVendedIssued      = "vended-credentials-issued"
	CheckVendedReadWrite   = "vended-credentials-read-write"
	CheckVendedScope       = "vended-credentials-scope-enforced"
	CheckCleanUp           = "cleanup"
)

const (
	onlyChanging = "Only applies when changing a warehouse."
	onlyCreating = "Only applies when creating a warehouse."
	sharedRoots  = "Warehouses may share a location: tables and views claim theirs one by one."
	failedBefore = "A check that it needs failed."
	noVending    = "Local files have no credentials to hand out."
)

// checks collects the outcome of a dry run.
type checks struct {
	list    Validation
	refused map[string]error
}

// made notes a check; what the request asked for and cannot have fails it.
func (c *checks) made(name string, err error) {
	if refused := c.refused[name]; refused != nil {
		err = refused
	}
	c.list = append(c.list, ValidationCheck{Name: name, Err: err})
}

func (c *checks) skip(name, why string) {
	c.list = append(c.list, ValidationCheck{Name: name, Skipped: why})
}

// ValidateWarehouse makes the checks of creating a warehouse and reports them
// all. It writes a probe into the store, and nothing else.
func (s *Service) ValidateWarehouse(ctx context.Context, call Call, in ValidateWarehouse) (Validation, error) {
	in.Project = projectOf(in.Project)
	query := projections.Query{Project: in.Project}
	if catalog.Addressable(in.Name) {
		query.WarehouseName = in.Name
	}
	facts, err := s.resolve(ctx, query)
	if err != nil {
		return nil, err
	}
	f := &facts[0]
	if err := s.may(ctx, call, subject.Project(f), authz.ProjectCreateWarehouse, noSuchProject()); err != nil {
		return nil, err
	}
	if !f.Project.Exists {
		return nil, noSuchProject()
	}
	c := checks{refused: in.Refused}
	profile := c.profile(in.StorageProfile)
	c.skip(CheckProfileCompatible, onlyChanging)
	name := checkWarehouseName(in.Name)
	if name == nil && f.Warehouse.Exists {
		name = &catalog.Error{Kind: catalog.WarehouseExists, Message: "A warehouse named `" + in.Name + "` already exists in this project."}
	}
	c.made(CheckWarehouseName, name)
	c.skip(CheckLocationExclusive, sharedRoots)
	c.skip(CheckSpecMutable, onlyChanging)
	if in.AllowedFormats == nil {
		in.AllowedFormats = []int{1, 2, 3}
	}
	c.made(CheckFormatVersions, checkFormats(&in.AllowedFormats, &in.DefaultFormat))
	c.made(CheckManagedBy, nil)
	s.tryStorage(ctx, &c, profile)
	return c.list, nil
}

// ValidateStorage makes the checks of changing a warehouse's storage, or tries
// the present one out.
func (s *Service) ValidateStorage(ctx context.Context, call Call, in ValidateStorage) (Validation, error) {
	_, warehouse, err := s.warehouse(ctx, call, in.Warehouse, authz.WarehouseUpdateStorage)
	if err != nil {
		return nil, err
	}
	stored, err := storage.ParseProfile(warehouse.StorageProfile)
	if err != nil {
		return nil, err
	}
	c := checks{refused: in.Refused}
	profile := &stored
	if len(in.Profile) == 0 {
		c.skip(CheckProfileWellFormed, "The stored profile is tried.")
		c.skip(CheckProfileCompatible, "The profile does not change.")
	} else if profile = c.profile(in.Profile); profile == nil {
		c.skip(CheckProfileCompatible, failedBefore)
	} else {
		c.made(CheckProfileCompatible, keepsRoot(stored, *profile))
	}
	c.skip(CheckWarehouseName, onlyCreating)
	c.skip(CheckLocationExclusive, sharedRoots)
	c.made(CheckSpecMutable, nil)
	c.skip(CheckFormatVersions, onlyCreating)
	c.skip(CheckManagedBy, onlyCreating)
	s.tryStorage(ctx, &c, profile)
	return c.list, nil
}

// keepsRoot refuses a profile whose files would be elsewhere.
func keepsRoot(now, next storage.Profile) error {
	if now.Root() != next.Root() {
		return badRequest("Field `root` cannot be updated to prevent loss of data.")
	}
	return nil
}

// profile notes whether a profile can be read, and returns it if so.
func (c *checks) profile(raw json.RawMessage) *storage.Profile {
	profile, err := storage.ParseProfile(raw)
	if err != nil {
		c.made(CheckProfileWellFormed, invalidProfile(err))
		return nil
	}
	c.made(CheckProfileWellFormed, nil)
	return &profile
}

// tryStorage notes what trying a profile out gave; nil has nothing to try.
func (s *Service) tryStorage(ctx context.Context, c *checks, profile *storage.Profile) {
	opened, worked, cleaned := false, false, false
	var failure error
	start := s.deps.Clock.Now()
	if profile != nil {
		report := s.deps.Profiles.Validate(ctx, *profile)
		opened = len(report.Checks) > 0 && report.Checks[0].Err == nil
		if err := report.Err(); err != nil {
			failure = profileRefused(ctx, err)
		}
		// A probe that could not be deleted is the last check and has worked.
		last := report.Checks[len(report.Checks)-1]
		cleaned = failure == nil
		worked = cleaned || opened && last.Name == storage.DeleteCheck
	}
	took := s.deps.Clock.Now().Sub(start)
	switch {
	case profile == nil:
		c.skip(CheckClient, failedBefore)
	case opened:
		c.made(CheckClient, nil)
	default:
		c.made(CheckClient, failure)
	}
	switch {
	case !opened:
		c.skip(CheckReadWrite, failedBefore)
	case worked:
		c.made(CheckReadWrite, nil)
	default:
		c.made(CheckReadWrite, failure)
	}
	c.list[len(c.list)-1].Duration = took
	c.skip(CheckVendedIssued, noVending)
	c.skip(CheckVendedReadWrite, noVending)
	c.skip(CheckVendedScope, noVending)
	switch {
	case !worked:
		c.skip(CheckCleanUp, failedBefore)
	case cleaned:
		c.made(CheckCleanUp, nil)
	default:
		c.made(CheckCleanUp, failure)
	}
}

package commands

import (
	"context"
	"log/slog"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// ClaimReader reads what objects claim, for the few commands that move or end
// them.
type ClaimReader interface {
	// Claims returns the canonical location keys of an object, and the mark of
	// the state they belong to.
	Claims(ctx context.Context, warehouse, object ids.ID) (mark ids.ID, claims []string, err error)
	// Free reports whether nobody but one object, which may be Nil, claims a
	// location at, below or above one of the keys.
	Free(ctx context.Context, keys []string, except ids.ID) (bool, error)
	// Tree returns up to limit objects of a namespace's tree, in an order in
	// which they can be dropped; the namespace itself comes last.
	Tree(ctx context.Context, warehouse, namespace ids.ID, limit int) ([]projections.Member, error)
	// TreeProtected reports whether a namespace below one is protected, and
	// whether a table or view in its tree is.
	TreeProtected(ctx context.Context, warehouse, namespace ids.ID) (namespaces, tabulars bool, err error)
	// Dropped returns a dropped object that still holds its locations.
	Dropped(ctx context.Context, warehouse, object ids.ID) (projections.Dropped, bool, error)
	// DroppedTree returns a namespace that was dropped with all that stood in it.
	DroppedTree(ctx context.Context, warehouse, root ids.ID) (projections.DroppedTree, bool, error)
	// Holders returns up to limit objects that claim a location at, below or
	// above one of the keys.
	Holders(ctx context.Context, keys []string, limit int) ([]projections.Holder, error)
}

// DetailReader reads what management asks for and Resolve leaves out;
// [projections.Details] is one.
type DetailReader interface {
	// Project returns a project with its guard.
	Project(ctx context.Context, id ids.ID) (p projections.ProjectDetails, found bool, err error)
	// Warehouse returns what a warehouse is beside its facts.
	Warehouse(ctx context.Context, id ids.ID) (projections.WarehouseDetails, error)
	// Destination returns a destination with its guard and how it is doing.
	Destination(ctx context.Context, id ids.ID) (d projections.Destination, found bool, err error)
	// Parked returns events that a destination refused for good, after a position.
	Parked(ctx context.Context, destination ids.ID, after int64, limit int) ([]projections.ParkedEvent, error)
	// Queues returns the settings of the queues of a warehouse or project.
	Queues(ctx context.Context, owner ids.ID) (catalog.Queues, error)
	// TabularByUUID finds a table or view by its table-uuid, Nil if there is none.
	TabularByUUID(ctx context.Context, warehouse, tableUUID ids.ID) (ids.ID, error)
}

// ProfileValidator tries a storage profile out; [*storage.Stores] is one.
type ProfileValidator interface {
	Validate(ctx context.Context, profile storage.Profile) storage.Report
}

// Deps are what commands need from the outside. All are required but those that
// name their default.
type Deps struct {
	Log         eventstore.Log
	Idempotency IdempotencyStore
	Resolver    projections.Resolver
	Claims      ClaimReader
	Details     DetailReader
	Profiles    ProfileValidator
	Places      PlaceReader
	Documents   *documents.Library
	Authorizer  authz.Authorizer
	Clock       clock.Clock
	IDs         ids.Source
	// LogID is the id of the log: names of metadata files carry a trace of it.
	LogID ids.ID
	// CleanUps reads what a clean-up rests on, History the events of an object.
	CleanUps CleanUpReader
	History  HistoryReader

	// DestinationKinds are what the server can publish to; nil publishes nowhere.
	DestinationKinds DestinationKinds
	// Tasks is what waits to be done and is done now; nil for those that control no
	// task.
	Tasks TaskControl
	// Reports takes metrics reports; nil lets them go.
	Reports ReportKeeper
	// Sleep waits between two tries; nil waits for real.
	Sleep func(ctx context.Context, d time.Duration) error
	// Logger hears of files left behind and of commits in doubt; nil is silent.
	Logger *slog.Logger
	// IdempotencyLifetime is how long an outcome is kept for replays; 0 means
	// [DefaultIdempotencyLifetime].
	IdempotencyLifetime time.Duration
}

// DefaultIdempotencyLifetime is what idempotency-key-lifetime promises unless
// configured otherwise.
const DefaultIdempotencyLifetime = 30 * time.Minute

// Service carries out the mutations of the catalog. It is safe for concurrent
// use.
type Service struct {
	deps  Deps
	queue *queue
}

// New returns a service on the given dependencies.
func New(deps Deps) *Service {
	if deps.Sleep == nil {
		deps.Sleep = sleep
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.IdempotencyLifetime == 0 {
		deps.IdempotencyLifetime = DefaultIdempotencyLifetime
	}
	return &Service{deps: deps, queue: newQueue(deps.Clock)}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// resolve asks for the facts of a request.
func (s *Service) resolve(ctx context.Context, queries ...projections.Query) ([]projections.Facts, error) {
	facts, err := s.deps.Resolver.Resolve(ctx, queries...)
	if err != nil {
		return nil, unavailable(err, "The catalog is not available")
	}
	return facts, nil
}

// record makes the record of an event on a stream.
func (s *Service) record(call Call, stream ids.ID, e catalog.Event, f *projections.Facts) (eventstore.Record, error) {
	typ, schema, data, err := catalog.Encode(e)
	if err != nil {
		return eventstore.Record{}, err
	}
	return eventstore.Record{
		ID:          s.deps.IDs.New(),
		Stream:      stream,
		StreamType:  string(catalog.EntityOf(typ)),
		Type:        typ,
		DataSchema:  schema,
		Time:        s.now(),
		Actor:       call.Actor.ID,
		RequestID:   call.RequestID,
		Warehouse:   f.Warehouse.ID,
		Project:     f.Project.ID,
		TraceParent: call.TraceParent,
		Data:        data,
	}, nil
}

// now is the injected time in the log's resolution.
func (s *Service) now() time.Time { return s.deps.Clock.Now().UTC().Truncate(time.Microsecond) }

// newCommit starts a commit that rests on the given facts.
func (s *Service) newCommit(f *projections.Facts, claim *eventstore.Idempotency) *eventstore.Commit {
	return &eventstore.Commit{ID: s.deps.IDs.New(), Idempotency: claim, ResolvedAt: f.Now}
}

// lineOf names the place in the queue of what stands at a path, which is also
// its place in the library.
func lineOf(warehouse ids.ID, namespace []string, name string) string {
	return documents.Path(warehouse, namespace, name)
}

// addressable reports whether a path can exist at all.
func addressable(namespace []string, name string) bool {
	return catalog.Namespace(namespace).Validate() == nil && (name == "" || catalog.Addressable(name))
}

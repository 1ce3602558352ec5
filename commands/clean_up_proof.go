package commands

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

const (
	// cleanUpPage is how many files one listing of a clean-up returns.
	cleanUpPage = 1000
	// cleanUpListed bounds the candidates that one plan looks at.
	cleanUpListed = 20_000
	// historyPage is how many events of an object are read at a time.
	historyPage = 500
	// maxAdopted bounds the documents that one plan reads because they were
	// registered within the undo window.
	maxAdopted = 100
	// claimSlack is by how much a file may be older than the claim that it lies
	// below: the first one of a claim is written before the claim is granted.
	claimSlack = eventstore.MaxCommitAge + 5*time.Minute
	// positionTime bounds the wait for the sequencer.
	positionTime = 10 * time.Second
)

// Reasons for which a file of the server's own stays.
const (
	keptYoung   = "younger than 24 hours"
	keptClaim   = "older than the claim on its location"
	keptNamed   = "part of the state of now, or of one within the undo window"
	keptHistory = "a former state, and the table keeps those"
)

// proof collects what shows that files of an object are of no use (design 5).
//
// A candidate is a file that this server has written for this very object, which
// its name tells, below what the object claims, in a folder of its metadata files.
// So nobody else's current document can name it: while the object holds the claim,
// no other object can be made of a document that lies at home there. What is left
// to ask is the object's own history.
type proof struct {
	s       *Service
	in      CleanUp
	store   storage.Store
	objects storage.Objects
	claims  []projections.HeldClaim
	plan    CleanUpPlan

	listed     []candidate
	next       string
	waiting    bool
	young      int
	before     int
	knownUntil time.Time

	// Of the object's history, up to version upTo.
	upTo   int64
	since  time.Time
	kept   map[ids.ID]bool // named within the undo window, or at its begin
	former map[ids.ID]bool // candidates that were states before
	start  string          // the document at the begin of the undo window
	adopts []string        // documents that were registered since
	erased bool
}

type candidate struct {
	id   ids.ID
	info storage.Info
}

var errUnproved = errors.New("not all that could name a file can be read")

// beginProof lists the candidates.
func (s *Service) beginProof(ctx context.Context, in CleanUp) (*proof, error) {
	p := &proof{s: s, in: in, kept: map[ids.ID]bool{}, former: map[ids.ID]bool{}}
	facts, err := s.resolve(ctx, projections.Query{Warehouse: in.Warehouse})
	if err != nil {
		return nil, err
	}
	o, found, err := s.deps.CleanUps.Object(ctx, in.Warehouse, in.Object)
	if err != nil {
		return nil, unavailable(err, "The catalog is not available")
	}
	if !found || !facts[0].Warehouse.Exists {
		return nil, ErrCleanUpOver
	}
	if p.store, err = s.store(ctx, &facts[0]); err != nil {
		return nil, err
	}
	p.objects, p.claims = scope(p.store, claimsHeld(&o)), o.Claims
	now := p.now(&o)
	window := in.UndoWindow
	if o.UndoWindow != nil {
		window = *o.UndoWindow
	}
	p.since = now.Add(-window).Truncate(time.Millisecond) // as the manifest says it
	p.knownUntil = now.Add(-OrphanAge)
	if o.Restored.After(p.since) || o.Restored.After(p.knownUntil) {
		// The history of the database is another than that of the store: there may be
		// a twin who goes on with the old one, and states that were lost may be
		// registered again.
		p.plan.Unproved, p.plan.Waiting = "the database was restored or failed over within the undo window", true
		return p, nil
	}
	folders, keeps, err := p.folders(ctx, &o)
	if err != nil {
		return p, p.unproved(ctx, "the metadata document cannot be read", err)
	}
	for _, folder := range folders {
		if err := p.list(ctx, &o, folder, now, keeps); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// now is the earlier of two clocks: a machine whose clock runs ahead does not make
// files old.
func (p *proof) now(o *projections.Cleanable) time.Time {
	now := p.s.deps.Clock.Now()
	if o.Now.Before(now) {
		now = o.Now
	}
	return now.UTC()
}

// unproved ends a plan whose proof cannot be had: nothing is deleted. What may pass
// is an error instead, for the job to come again.
func (p *proof) unproved(ctx context.Context, why string, err error) error {
	var broken *iceberg.Error
	if ctx.Err() != nil || err != nil && !errors.Is(err, errUnproved) && !errors.Is(err, storage.ErrNotFound) && !errors.As(err, &broken) &&
		!errors.Is(err, storage.ErrTooLarge) && !errors.Is(err, storage.ErrOutside) && !errors.Is(err, storage.ErrInvalid) {
		return err
	}
	p.plan.Unproved, p.plan.Waiting, p.plan.Files, p.plan.Next = why, true, nil, ""
	return nil
}

// folders returns where the object's metadata files are written, and whether a
// table keeps its former states.
func (p *proof) folders(ctx context.Context, o *projections.Cleanable) (folders []string, keeps bool, err error) {
	var location, folder string
	if o.Kind == catalog.EntityTable {
		m, err := p.s.deps.Documents.Read(ctx, p.store, o.Pointer)
		if err != nil {
			return nil, false, err
		}
		location, folder, keeps = m.Location(), m.MetadataDir(), !m.DeleteAfterCommit()
	} else {
		m, err := p.s.readView(ctx, p.store, o.Pointer)
		if err != nil {
			return nil, false, err
		}
		location, folder, keeps = m.Location(), m.MetadataDir(), true
	}
	for _, f := range []string{folder, strings.TrimRight(location, "/") + "/metadata"} {
		l, err := p.store.Locate(f)
		if err != nil {
			continue // a registered table may name what is nowhere in the store
		}
		if !slices.Contains(folders, l.String()) {
			folders = append(folders, l.String())
		}
	}
	slices.SortFunc(folders, func(a, b string) int { return strings.Compare(a+"/", b+"/") })
	return folders, keeps, nil
}

// list adds the candidates of a folder, in order of their names, behind the place
// where the last plan ended.
func (p *proof) list(ctx context.Context, o *projections.Cleanable, folder string, now time.Time, keeps bool) error {
	if p.next != "" {
		return nil // it is the next plan's
	}
	after := ""
	if p.in.After != "" {
		if folder+"/" > p.in.After {
			after = ""
		} else if strings.HasPrefix(p.in.After, folder+"/") {
			after = p.in.After
		} else {
			return nil // the last plan has been here
		}
	}
	for {
		found, err := p.objects.List(ctx, folder, after, cleanUpPage)
		if errors.Is(err, storage.ErrOutside) || errors.Is(err, storage.ErrInvalid) {
			return nil // the object does not own the folder
		}
		if err != nil {
			return err
		}
		for _, info := range found {
			after = info.Location
			name := strings.TrimPrefix(info.Location, folder+"/")
			if name > ":" { // behind all digits
				return nil
			}
			if strings.Contains(name, "/") || !catalog.WroteFile(p.s.deps.LogID, p.in.Object, info.Location) {
				continue
			}
			p.consider(o, info, now, keeps)
			if len(p.listed) == cleanUpListed {
				p.next = info.Location
				return nil
			}
		}
		if len(found) < cleanUpPage {
			return nil
		}
	}
}

// consider takes a file as a candidate unless its age keeps it.
func (p *proof) consider(o *projections.Cleanable, info storage.Info, now time.Time, keeps bool) {
	id, _ := catalog.FileIDIn(info.Location)
	switch {
	case info.ModTime.After(now.Add(-OrphanAge)):
		p.young, p.waiting = p.young+1, true
	case keeps && info.ModTime.Before(p.in.KnownUntil):
	case info.ModTime.Before(heldSince(o)):
		p.before++
	default:
		p.listed = append(p.listed, candidate{id, info})
	}
}

// heldSince is the time before which a file may have been written under an earlier
// claim. The latest of the claims counts for all: which of them a file lies below is
// a matter of links.
func heldSince(o *projections.Cleanable) time.Time {
	var last time.Time
	for _, c := range o.Claims {
		if c.Since.IsZero() {
			return o.Now // has no position yet
		}
		if c.Since.After(last) {
			last = c.Since
		}
	}
	return last.Add(-claimSlack)
}

// prove fills the plan in from what stands now. It may be called again when the
// object has moved on.
func (p *proof) prove(ctx context.Context) (*projections.Facts, error) {
	if p.plan.Unproved != "" {
		return nil, nil
	}
	p.plan = CleanUpPlan{Next: p.next, Waiting: p.waiting, Kept: map[string]int{}, Keeps: true, KnownUntil: p.knownUntil}
	p.keep(keptYoung, p.young)
	p.keep(keptClaim, p.before)
	facts, err := p.s.resolve(ctx, projections.Query{Warehouse: p.in.Warehouse})
	if err != nil {
		return nil, err
	}
	o, found, err := p.s.deps.CleanUps.Object(ctx, p.in.Warehouse, p.in.Object)
	if err != nil {
		return nil, unavailable(err, "The catalog is not available")
	}
	if !found {
		return nil, ErrCleanUpOver
	}
	if !slices.Equal(o.Claims, p.claims) {
		return nil, errMoved // what was listed is not all below what it claims now
	}
	p.pin(o.Pointer)
	p.plan.CleanUpStarted = catalog.CleanUpStarted{
		CleanUp: catalog.CleanUp{Object: p.in.Object, Kind: o.Kind, TableName: o.Name}, ObjectVersion: o.Version, ObjectEvent: o.Mark,
		KeptSinceMS: max(p.since.UnixMilli(), 0),
	}
	if len(p.listed) == 0 {
		return &facts[0], nil
	}
	if err := p.history(ctx, &o); err != nil {
		return nil, err
	}
	if p.erased {
		return nil, p.unproved(ctx, "the payload of an event of the object was erased", nil)
	}
	allowed, err := p.documents(ctx, &o)
	if err != nil {
		return nil, p.unproved(ctx, "a metadata document of the undo window cannot be read", err)
	}
	p.choose(allowed)
	return &facts[0], nil
}

func (p *proof) keep(why string, n int) {
	if n > 0 {
		p.plan.Kept[why] += n
	}
}

// choose sorts the candidates.
func (p *proof) choose(allowed bool) {
	p.plan.Keeps = !allowed
	for _, c := range p.listed {
		reason := catalog.CleanedOrphan
		switch {
		case p.kept[c.id]:
			p.keep(keptNamed, 1)
			p.plan.Waiting = p.plan.Waiting || allowed
			continue
		case p.former[c.id] && !allowed:
			p.keep(keptHistory, 1)
			continue
		case p.former[c.id]:
			reason = catalog.CleanedSuperseded
		}
		p.plan.Files = append(p.plan.Files, catalog.CleanedFile{
			Location: c.info.Location, Size: c.info.Size, ModifiedMS: max(c.info.ModTime.UnixMilli(), 0), Reason: reason,
		})
		if len(p.plan.Files) == catalog.MaxCleaned {
			p.plan.Next = c.info.Location
			return
		}
	}
}

// documents adds what the metadata logs of the states in the undo window name, and
// says whether the table lets go of former states: it has to say so now, and to have
// said so when the undo window began. A log is that of the state before and the
// states since, so those of the first state and of what was registered are enough.
func (p *proof) documents(ctx context.Context, o *projections.Cleanable) (allowed bool, err error) {
	if o.Kind != catalog.EntityTable {
		return false, nil
	}
	if len(p.adopts) > maxAdopted {
		return false, errUnproved
	}
	read := map[string]bool{}
	look := func(location string) (bool, error) {
		if location == "" || read[location] {
			return false, nil
		}
		read[location] = true
		m, err := p.s.deps.Documents.Read(ctx, p.store, location)
		if err != nil {
			return false, err
		}
		for _, e := range m.MetadataLog() {
			p.pin(e.MetadataFile)
		}
		return m.DeleteAfterCommit(), nil
	}
	now, err := look(o.Pointer)
	if err != nil {
		return false, err
	}
	then := now
	if p.start != o.Pointer {
		if then, err = look(p.start); err != nil {
			return false, err
		}
	}
	for _, location := range p.adopts {
		if _, err := look(location); err != nil {
			return false, err
		}
	}
	return now && then && p.start != "", nil
}

func (p *proof) pin(location string) {
	if id, ok := catalog.FileIDIn(location); ok {
		p.kept[id] = true
	}
}

// history reads the object's events, the newest first: those within the undo window,
// the state at its begin, and then as far back as candidates are not explained. Called
// again it reads what has come since.
func (p *proof) history(ctx context.Context, o *projections.Cleanable) error {
	if o.Version == p.upTo {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, positionTime)
	defer cancel()
	if _, err := p.s.deps.History.WaitFor(bounded, o.Mark); err != nil {
		return unavailable(err, "The log is behind")
	}
	open := map[ids.ID]bool{}
	if p.upTo == 0 {
		for _, c := range p.listed {
			open[c.id] = true
		}
	}
	for high := o.Version; high > p.upTo; high -= historyPage {
		low := max(high-historyPage, p.upTo) + 1
		entries, err := p.s.deps.History.ReadStream(ctx, p.in.Object, low, int(high-low)+1)
		if err != nil {
			return unavailable(err, "The catalog is not available")
		}
		if int64(len(entries)) != high-low+1 {
			return errMoved // a gap that an operator accepted, or a position that is to come
		}
		for i := range slices.Backward(entries) {
			if err := p.event(&entries[i], open); err != nil {
				return err
			}
		}
		if p.erased || p.upTo == 0 && p.start != "" && len(open) == 0 {
			break
		}
	}
	p.upTo = o.Version
	return nil
}

// event takes one event of the object into account.
func (p *proof) event(e *eventstore.Entry, open map[ids.ID]bool) error {
	if e.Erased {
		p.erased = p.erased || namesFile(e.Type)
		return nil
	}
	if !namesFile(e.Type) {
		return nil
	}
	event, err := catalog.Decode(e.Type, e.DataSchema, e.Data)
	if err != nil {
		return err
	}
	var location, previous string
	adopted := false
	switch v := event.(type) {
	case *catalog.TableCreated:
		location = v.MetadataLocation
	case *catalog.TableCommitted:
		location, previous = v.MetadataLocation, v.Previous
	case *catalog.TableRegistered:
		location, previous, adopted = v.MetadataLocation, v.Previous, true
	case *catalog.ViewCreated:
		location = v.MetadataLocation
	case *catalog.ViewCommitted:
		location, previous = v.MetadataLocation, v.Previous
	case *catalog.ViewRegistered:
		location, adopted = v.MetadataLocation, true
	}
	// What has come since the first look is of now, whatever clocks say.
	within := p.upTo > 0 || !e.LogTime.Before(p.since)
	if id, ok := catalog.FileIDIn(location); ok && open[id] {
		delete(open, id)
		p.former[id] = true
	}
	switch {
	case within:
		p.pin(location)
		p.pin(previous)
		if adopted {
			p.adopts = append(p.adopts, location)
		}
	case p.start == "":
		p.start = location
		p.pin(location)
	}
	return nil
}

// namesFile reports whether events of a type name a metadata file.
func namesFile(typ string) bool {
	switch typ {
	case catalog.TypeTableCreated, catalog.TypeTableCommitted, catalog.TypeTableRegistered,
		catalog.TypeViewCreated, catalog.TypeViewCommitted, catalog.TypeViewRegistered:
		return true
	}
	return false
}

package catalog

import (
	"math"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Types of the events of clean-ups.
const (
	TypeCleanUpStarted  = TypePrefix + "cleanup.started"
	TypeCleanUpFinished = TypePrefix + "cleanup.finished"
)

// MaxCleaned bounds the files that one clean-up deletes.
const MaxCleaned = 500

// Reasons for which a clean-up deletes a metadata file.
const (
	// CleanedOrphan: no event ever named the file. Its commit lost a race, or the
	// process that wrote it ended before it committed.
	CleanedOrphan = "orphan"
	// CleanedSuperseded: it was a state of the table and fell out of the metadata
	// log before the undo window, and the table asks for such files to go.
	CleanedSuperseded = "superseded"
)

// CleanedFile is a line of the manifest of deletions.
type CleanedFile struct {
	Location   string // canonical spelling
	Size       int64  // bytes
	ModifiedMS int64  // by the store's clock, milliseconds since 1970
	Reason     string // CleanedOrphan or CleanedSuperseded
}

func (f *CleanedFile) fields(c *coder) {
	c.text("location", &f.Location, MaxLocationBytes)
	c.integer("size", &f.Size, 0, math.MaxInt64)
	c.integer("modified-ms", &f.ModifiedMS, 0, math.MaxInt64)
	c.word("reason", &f.Reason, CleanedOrphan, CleanedSuperseded)
}

// CleanUp is what both events of a clean-up say of its object.
type CleanUp struct {
	Object    ids.ID // the table or view that the files were written for
	Kind      Entity // EntityTable or EntityView
	TableName        // where it stood
}

func (e *CleanUp) fields(c *coder) {
	c.id("object-id", &e.Object)
	c.word("object-kind", (*string)(&e.Kind), string(EntityTable), string(EntityView))
	e.TableName.fields(c)
}

// CleanUpStarted opens the stream of a clean-up, before the first deletion. From
// here to the end no registration may name one of the files.
type CleanUpStarted struct {
	CleanUp
	// ObjectVersion is the version of the object's stream at which the files were
	// proved to be of no use, ObjectEvent the event of that version. The commit
	// asserts it.
	ObjectVersion int64
	ObjectEvent   ids.ID
	// KeptSinceMS is where the undo window began: nothing that was a state of the
	// object then or since is among the files.
	KeptSinceMS int64
	Files       []CleanedFile // at most MaxCleaned
}

// EventType implements [Event].
func (*CleanUpStarted) EventType() string { return TypeCleanUpStarted }

func (e *CleanUpStarted) fields(c *coder) {
	e.CleanUp.fields(c)
	c.integer("object-version", &e.ObjectVersion, 1, math.MaxInt64)
	c.id("object-event", &e.ObjectEvent)
	c.integer("kept-since-ms", &e.KeptSinceMS, 0, math.MaxInt64)
	c.objects("files", len(e.Files), MaxCleaned,
		func(n int) { e.Files = make([]CleanedFile, n) },
		func(i int, c *coder) { e.Files[i].fields(c) })
}

// CleanUpFinished ends a clean-up: of the files that were announced, all but those
// that are kept are gone.
type CleanUpFinished struct {
	CleanUp
	Deleted int64 // by the run that ended it; a run that was broken off deleted more
	// Kept are files that stay after all: they were changed since, or are no longer
	// below a location of the object.
	Kept []string
}

// EventType implements [Event].
func (*CleanUpFinished) EventType() string { return TypeCleanUpFinished }

func (e *CleanUpFinished) fields(c *coder) {
	e.CleanUp.fields(c)
	c.integer("deleted", &e.Deleted, 0, MaxCleaned)
	c.locations("kept", &e.Kept)
}

// cleanUpKind is what the codec knows of the events of clean-ups.
func cleanUpKind(typ string) (kind, bool) {
	switch typ {
	case TypeCleanUpStarted:
		return first(func() Event { return new(CleanUpStarted) })
	case TypeCleanUpFinished:
		return first(func() Event { return new(CleanUpFinished) })
	}
	return kind{}, false
}

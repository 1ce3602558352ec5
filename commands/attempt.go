package commands

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/storage"
)

const (
	// maxTries is how often a command is decided anew before a lost race
	// becomes the client's 409 (design 3.2).
	maxTries = 4
	// firstPause is the longest pause after the first lost race; it doubles.
	firstPause = 20 * time.Millisecond
	// cleanUpTime bounds the deletion of files that a lost try left behind.
	cleanUpTime = 5 * time.Second
)

// try is one round of a command: what it wrote, and what it wants appended.
type try struct {
	// commit is what to append; nil means that the answer stands without.
	commit *eventstore.Commit
	// unconditional marks a commit without any requirement: the client said
	// nothing about the base it expects, so losing a race is its business.
	unconditional bool

	writing sync.Mutex
	files   []file
	// refuse turns a violated constraint into the caller's error; nil, or a nil
	// answer, has the command decided anew, for the facts have changed.
	refuse func(*eventstore.ConstraintError) error
}

// file is an object that a try wrote, with the scope it was written in.
type file struct {
	objects  storage.Objects
	location string
}

// put writes an object of a try. A failed Put may have left the object, so it
// is remembered either way.
func (t *try) put(ctx context.Context, objects storage.Objects, location string, data []byte) error {
	t.writing.Lock()
	t.files = append(t.files, file{objects, location})
	t.writing.Unlock()
	if err := objects.Put(ctx, location, data); err != nil {
		return fromStorage(ctx, err)
	}
	return nil
}

// attempt is the one retry loop. decide resolves the facts, decides, and
// writes the files of one try; its errors are final. A lost race discards the
// files and decides anew, on the new base. keys are the objects whose writers
// line up in this process.
//
// Law 3 lives here: files are deleted only when the log has proved that the
// commit did not and cannot happen.
func (s *Service) attempt(ctx context.Context, keys []string, decide func(context.Context, *try) error) (_ eventstore.Receipt, failed error) {
	leave, err := s.queue.enter(ctx, keys...)
	if err != nil {
		return eventstore.Receipt{}, unavailable(err, "The request ended while it waited for its turn")
	}
	defer func() { leave(isStale(failed)) }()
	for n := 1; ; n++ {
		t := &try{}
		var again bool
		err := decide(ctx, t)
		switch {
		case errors.Is(err, errMoved):
			s.discard(ctx, t.files)
			again, err = true, lostRace(err)
		case err != nil:
			s.discard(ctx, t.files)
			return eventstore.Receipt{}, err
		case t.commit == nil:
			return eventstore.Receipt{}, nil
		default:
			receipt, cause := s.deps.Log.Append(ctx, t.commit)
			if cause == nil {
				return receipt, nil
			}
			again, err = s.lost(ctx, t, cause)
		}
		if !again || n == maxTries {
			return eventstore.Receipt{}, err
		}
		pause := firstPause << (n - 1)
		jitter := rand.N(pause / 2) //nolint:gosec // G404: two losers need different pauses, not secret ones
		if err := s.deps.Sleep(ctx, pause/2+jitter); err != nil {
			return eventstore.Receipt{}, unavailable(err, "The request ended while it waited to try again")
		}
	}
}

// errMoved ends a try whose facts were overtaken before it could decide on
// them: it starts anew, and nothing was appended.
var errMoved = errors.New("the object was changed while it was read")

// isStale reports a refusal after which a client loads and comes again.
func isStale(err error) bool {
	var refusal *catalog.Error
	return errors.As(err, &refusal) && refusal.Kind == catalog.CommitFailed
}

func lostRace(cause error) error {
	return &catalog.Error{Kind: catalog.CommitFailed, Message: "Commit failed: the object was changed concurrently, please retry", Cause: cause}
}

// lost says what a failed append means: whether to decide anew, and the error
// to give if not.
func (s *Service) lost(ctx context.Context, t *try, err error) (again bool, _ error) {
	var (
		conflict   *eventstore.ConflictError
		closed     *eventstore.ClosedError
		stale      *eventstore.StaleError
		constraint *eventstore.ConstraintError
		hit        *eventstore.IdempotencyHitError
		busy       *eventstore.BusyError
	)
	race := lostRace(err)
	switch {
	case errors.As(err, &conflict):
		s.discard(ctx, t.files)
		return !t.unconditional, race
	case errors.As(err, &closed):
		s.discard(ctx, t.files)
		return !t.unconditional, race
	case errors.As(err, &busy):
		// No race was lost: nothing happened, for a lock, a connection or the
		// database was not to be had. A commit without requirements is not tried
		// again all the same: what it waited for may have changed its base.
		s.discard(ctx, t.files)
		return !t.unconditional, unavailable(err, "The catalog is busy")
	case errors.As(err, &constraint):
		s.discard(ctx, t.files)
		if t.refuse != nil {
			if refusal := t.refuse(constraint); refusal != nil {
				return false, refusal
			}
		}
		return true, race
	case errors.As(err, &stale):
		// The process stood still between Resolve and append. Nothing happened,
		// and the file may be gone by the time somebody reads it.
		s.discard(ctx, t.files)
		return false, unavailable(err, "The request took too long and was not carried out")
	case errors.As(err, &hit):
		s.discard(ctx, t.files)
		return false, err
	case errors.Is(err, eventstore.ErrInvalidCommit):
		s.discard(ctx, t.files) // our own mistake, found before anything was sent
		return false, err
	default:
		// UnknownError, and whatever else the log could not vouch for.
		s.deps.Logger.ErrorContext(ctx, "the fate of a commit is unknown", "commit", t.commit.ID.String(), "error", err)
		return false, &catalog.Error{Kind: catalog.CommitStateUnknown, Message: "The commit may or may not have happened", Cause: err}
	}
}

// discard deletes the files of a try that provably lost, as far as it can: the
// cleaner finds the rest.
func (s *Service) discard(ctx context.Context, files []file) {
	if len(files) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	for _, f := range files {
		if err := f.objects.Delete(ctx, f.location); err != nil {
			s.deps.Logger.WarnContext(ctx, "a file of a lost commit stays behind", slog.String("location", f.location), slog.Any("error", err))
		}
	}
}

package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
)

// Report is the outcome of [Stores.Validate].
type Report struct {
	Root   string  // canonical root of the profile
	Checks []Check // in the order in which they ran; after a failed one the rest is left out
}

// DeleteCheck names the check that deletes the probe, the last one.
const DeleteCheck = "delete it"

// Check is one step of a validation.
type Check struct {
	Name string // what was tried, e.g. "write an object"
	Err  error  // nil if it went well
	// Advisory: the warehouse works without it, but the operator should know.
	Advisory bool
}

// Err returns what stands against using the profile, or nil.
func (r Report) Err() error {
	for _, check := range r.Checks {
		if check.Err != nil && !check.Advisory {
			return fmt.Errorf("storage at %s cannot be used: to %s failed: %w", r.Root, check.Name, check.Err)
		}
	}
	return nil
}

// String prints one line a check, for people.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "storage at %s\n", r.Root)
	for _, check := range r.Checks {
		switch {
		case check.Err == nil:
			fmt.Fprintf(&b, "  ok       %s\n", check.Name)
		case check.Advisory:
			fmt.Fprintf(&b, "  note     %s: %v\n", check.Name, check.Err)
		default:
			fmt.Fprintf(&b, "  FAILED   %s: %v\n", check.Name, check.Err)
		}
	}
	return b.String()
}

// Validate tries a profile out as a warehouse will use it: it writes, reads,
// lists and deletes objects in a folder of its own below the root, which it
// makes if it is missing, and leaves nothing else behind.
func (s *Stores) Validate(ctx context.Context, profile Profile) Report {
	report := Report{Root: profile.root.String()}
	store, err := s.Open(ctx, profile)
	report.Checks = append(report.Checks, Check{Name: "open the root", Err: err})
	if err != nil {
		return report
	}
	p := probe{store: store, folder: report.Root + "/.icecore-probe-" + rand.Text()}
	defer p.cleanUp(ctx)
	for _, step := range []struct {
		name     string
		advisory bool
		run      func(context.Context) error
	}{
		{"write an object", false, p.write},
		{"read it back", false, p.read},
		{"replace it", false, p.replace},
		{"list it", false, p.list},
		{"keep it when it must not be replaced", true, p.putIfAbsent},
		{"tell names apart by letter case", true, p.letterCase},
		{DeleteCheck, false, p.delete},
	} {
		err := step.run(ctx)
		report.Checks = append(report.Checks, Check{Name: step.name, Err: err, Advisory: step.advisory})
		if err != nil && !step.advisory {
			break
		}
	}
	return report
}

// probe is the folder that a validation works in.
type probe struct {
	store  Store
	folder string
}

func (p probe) object() string { return p.folder + "/object" }

func (p probe) write(ctx context.Context) error {
	return p.store.Put(ctx, p.object(), []byte("first"))
}

func (p probe) read(ctx context.Context) error { return p.holds(ctx, "first") }

func (p probe) holds(ctx context.Context, want string) error {
	got, err := p.store.Get(ctx, p.object(), 64)
	if err == nil && string(got) != want {
		err = fmt.Errorf("%q came back instead of %q", got, want)
	}
	return err
}

func (p probe) replace(ctx context.Context) error {
	if err := p.store.Put(ctx, p.object(), []byte("second")); err != nil {
		return err
	}
	return p.holds(ctx, "second")
}

func (p probe) list(ctx context.Context) error {
	infos, err := p.store.List(ctx, p.folder, "", 10)
	if err == nil && (len(infos) != 1 || infos[0].Location != p.object() || infos[0].Size != int64(len("second"))) {
		err = fmt.Errorf("%d objects are listed instead of the one that was written", len(infos))
	}
	return err
}

func (p probe) putIfAbsent(ctx context.Context) error {
	switch err := p.store.PutIfAbsent(ctx, p.object(), []byte("third")); {
	case errors.Is(err, ErrExists):
	case err != nil:
		return err
	default:
		return errors.New("the store replaced the object")
	}
	if err := p.store.PutIfAbsent(ctx, p.folder+"/absent", nil); err != nil {
		return err
	}
	return p.holds(ctx, "second")
}

func (p probe) letterCase(ctx context.Context) error {
	_, err := p.store.Stat(ctx, p.folder+"/OBJECT")
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return errors.New("the store takes names that differ in letter case for one: do not choose table locations by hand")
}

func (p probe) delete(ctx context.Context) error {
	if err := p.store.Delete(ctx, p.object()); err != nil {
		return err
	}
	_, err := p.store.Get(ctx, p.object(), 64)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return errors.New("the object is still there")
}

// cleanUp does what it can; a validation that failed says why already. It
// works after the caller went away, too.
func (p probe) cleanUp(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for _, name := range []string{"/object", "/absent"} {
		_ = p.store.Delete(ctx, p.folder+name)
	}
	_ = p.store.Prune(ctx, p.folder)
}

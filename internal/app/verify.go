package app

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// VerifyOptions choose what is verified and told.
type VerifyOptions struct {
	Replay bool // fold each table's updates anew and compare with its documents
	Quiet  bool // no progress
}

// Verify checks the log against its tree and checkpoints, the read models
// against a rebuild, and each table's document against its event. It prints
// findings and a summary on out, progress on progress, and reports whether
// there was no finding.
func Verify(ctx context.Context, t *Target, o VerifyOptions, out, progress io.Writer) (clean bool, err error) {
	log, err := t.operate(ctx, progress)
	if err != nil {
		return false, err
	}
	defer log.close()
	meter := newMeter(progress, o.Quiet)

	proofs, err := log.store.VerifyLog(ctx, func(done, size int64) { meter.tell("log", done, size) })
	if err != nil {
		return false, err
	}
	for _, p := range proofs.Problems {
		fmt.Fprintf(out, "log: %s\n", p)
	}
	more(out, "log", proofs.Count, len(proofs.Problems))
	fmt.Fprintf(out, "log: %d events, root %x, %d checkpoints of known signers, %d of others, %d payloads erased: %s\n",
		proofs.Size, proofs.Root, proofs.Checkpoints, proofs.Unchecked, proofs.Erased, verdict(proofs.Count))

	read, err := t.documentReader()
	if err != nil {
		return false, err
	}
	models, err := projections.Verify(ctx, projections.VerifyConfig{
		CheckConfig: projections.CheckConfig{Pool: log.pools.append, Log: log.store, Progress: meter.tell},
		Read:        read, Replay: o.Replay,
	})
	if err != nil {
		return false, err
	}
	report(out, "read models and documents", models)
	return proofs.OK() && models.OK(), nil
}

// Rebuild makes the read models anew from the log, says what differed, and puts
// them in place.
func Rebuild(ctx context.Context, t *Target, quiet bool, out, progress io.Writer) error {
	log, err := t.operate(ctx, progress)
	if err != nil {
		return err
	}
	defer log.close()
	conn, err := t.owner(ctx) // says in words if the owner isn't known
	if err != nil {
		return err
	}
	config := conn.Config()
	_ = conn.Close(ctx)
	owner, err := openPool(ctx, config, operatorPool, nil)
	if err != nil {
		return err
	}
	defer owner.Close()
	rebuilt, err := projections.Rebuild(ctx, projections.RebuildConfig{
		Owner: owner, Log: log.store, Progress: newMeter(progress, quiet).tell,
	})
	if err != nil {
		return err
	}
	report(out, "read models before", rebuilt)
	fmt.Fprintf(out, "rebuilt from the log up to position %d\n", rebuilt.Position)
	return nil
}

// report prints what was found in the read models.
func report(out io.Writer, what string, r projections.Report) {
	for _, f := range r.Findings {
		fmt.Fprintln(out, f)
	}
	more(out, what, r.Count, len(r.Findings))
	fmt.Fprintf(out, "%s: %d rows, %d documents, %d folds, %d deletions up to position %d: %s\n", what, r.Rows, r.Documents, r.Folds, r.CleanUpLines, r.Position, verdict(r.Count))
}

func more(out io.Writer, what string, count int64, shown int) {
	if rest := count - int64(shown); rest > 0 {
		fmt.Fprintf(out, "%s: and %d more\n", what, rest)
	}
}

func verdict(findings int64) string {
	if findings == 0 {
		return "sound"
	}
	return fmt.Sprintf("%d findings", findings)
}

// documentReader reads metadata documents below the allowed roots.
func (t *Target) documentReader() (projections.ReadDocument, error) {
	stores, err := storage.NewStores(storage.Config{FileRoots: t.config.Catalog.FileRoots})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ ids.ID, raw []byte, location string) ([]byte, error) {
		profile, err := storage.ParseProfile(raw)
		if err != nil {
			return nil, err
		}
		store, err := stores.Open(ctx, profile)
		if err != nil {
			return nil, err
		}
		file, err := store.Get(ctx, location, documents.MaxFile)
		if err != nil {
			return nil, err
		}
		return iceberg.DecodeFile(location, file, documents.MaxFile)
	}, nil
}

// meter tells a person how far a long command is: each stage at most once a
// second.
type meter struct {
	w     io.Writer
	quiet bool
	mu    sync.Mutex
	last  time.Time
}

func newMeter(w io.Writer, quiet bool) *meter {
	return &meter{w: w, quiet: quiet, last: time.Now()} //nolint:forbidigo // paces output for a person
}

func (m *meter) tell(stage string, done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now() //nolint:forbidigo // paces output for a person
	if m.quiet || now.Sub(m.last) < time.Second {
		return
	}
	m.last = now
	fmt.Fprintf(m.w, "%s: %d of %d\n", stage, done, total)
}

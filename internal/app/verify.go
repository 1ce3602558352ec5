package app

import (
	"context"
	"fmt"
	"io"
	"time"
)

// VerifyOptions choose what is verified and told.
type VerifyOptions struct {
	Replay bool // fold each table's updates anew and compare with its document
	Quiet  bool // no progress
}

// Verify checks the log against its tree and checkpoints. It prints findings
// on out, progress on progress, and reports whether there was none.
func Verify(ctx context.Context, t *Target, o VerifyOptions, out, progress io.Writer) (clean bool, err error) {
	log, err := t.operate(ctx, progress)
	if err != nil {
		return false, err
	}
	defer log.close()
	meter := meter{w: progress, quiet: o.Quiet}

	report, err := log.store.VerifyLog(ctx, meter.stage("log", "events"))
	if err != nil {
		return false, err
	}
	for _, p := range report.Problems {
		_, _ = fmt.Fprintf(out, "log: %s\n", p)
	}
	if more := report.Count - int64(len(report.Problems)); more > 0 {
		_, _ = fmt.Fprintf(out, "log: and %d more\n", more)
	}
	_, _ = fmt.Fprintf(out, "log: %d events, root %x, %d checkpoints signed by a known key, %d by others, %d payloads erased: %s\n",
		report.Size, report.Root, report.Checkpoints, report.Unchecked, report.Erased, verdict(report.Count))
	return report.OK(), nil
}

func verdict(findings int64) string {
	if findings == 0 {
		return "sound"
	}
	return fmt.Sprintf("%d findings", findings)
}

// meter tells of progress, at most once a second and stage.
type meter struct {
	w     io.Writer
	quiet bool
}

// stage returns the function that hears how far a stage is.
func (m meter) stage(name, unit string) func(done, size int64) {
	last := time.Now() //nolint:forbidigo // paces output for a person
	return func(done, size int64) {
		now := time.Now() //nolint:forbidigo // paces output for a person
		if m.quiet || now.Sub(last) < time.Second {
			return
		}
		last = now
		_, _ = fmt.Fprintf(m.w, "%s: %d of %d %s\n", name, done, size, unit)
	}
}

package eventstore

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// aheadReads draws numbers on one connection and reads the last one by a
// statement on another, until the time is over. It returns how many reads saw a
// number that nobody had drawn yet.
func aheadReads(t *testing.T, b *bundle, read string, during time.Duration) (ahead, reads int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), during)
	defer cancel()
	drawer, reader := b.db.Connect(t, pgtest.RoleApp), b.db.Connect(t, pgtest.RoleApp)
	var drawing atomic.Bool
	drawing.Store(true)
	done := make(chan error, 1)
	go func() {
		defer drawing.Store(false)
		for ctx.Err() == nil {
			if _, err := drawer.Exec(context.WithoutCancel(ctx), "SELECT nextval('es.append_seq') FROM generate_series(1, 2000)"); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for drawing.Load() {
		// Whatever was drawn before the read is below the number drawn after it.
		var last, next int64
		if err := reader.QueryRow(t.Context(), read).Scan(&last); err != nil {
			t.Fatal(err)
		}
		if err := reader.QueryRow(t.Context(), "SELECT nextval('es.append_seq')").Scan(&next); err != nil {
			t.Fatal(err)
		}
		if reads++; last >= next {
			ahead++
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return ahead, reads
}

// The premise of the proof: the number that a round reads first was drawn.
// The control shows that reading the sequence as a table breaks it (ADR 0015).
func TestLastNumberIsNeverAhead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	during := time.Second
	if os.Getenv("ICECORE_LONG") != "" {
		during = 20 * time.Second
	}
	for _, read := range []string{"SELECT coalesce(pg_sequence_last_value('es.append_seq'), 0)", "SELECT es.last_append_seq()"} {
		if ahead, reads := aheadReads(t, b, read, during); ahead > 0 || reads == 0 {
			t.Errorf("%s: %d of %d reads were ahead", read, ahead, reads)
		}
	}
	ahead, reads := aheadReads(t, b, "SELECT last_value FROM es.append_seq", during)
	t.Logf("the sequence as a table: %d of %d reads were ahead", ahead, reads)
}

// No statement of the log reads the sequence as a table.
func TestNoStatementReadsTheSequenceAsATable(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("sql/*.sql")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d statements, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if code, _, _ := strings.Cut(line, "--"); strings.Contains(code, "FROM es.append_seq") || strings.Contains(strings.ReplaceAll(code, "pg_sequence_last_value", ""), "last_value") {
				t.Errorf("%s: %s", file, line)
			}
		}
	}
	// Nor does a function of ours, as it stands after all migrations.
	b := setup(t)
	if n := value[int](t, b.db, `SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		WHERE n.nspname = 'es' AND replace(p.prosrc, 'pg_sequence_last_value', '') LIKE '%last_value%'`); n != 0 {
		t.Errorf("%d functions read the sequence as a table", n)
	}
}

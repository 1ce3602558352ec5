package eventstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// Every statement is prepared as the application role.
func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.db.Connect(t, pgtest.RoleApp)
	files, err := statements.ReadDir("sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), ".sql")
		if _, err := conn.Prepare(t.Context(), name, statement(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Law 9: nothing in es and rm may be checked after the seal.
func TestSerialisationOrderForbidsDeferrableConstraintsAndTriggers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rows, err := b.db.Owner.Query(t.Context(), `
		SELECT n.nspname || '.' || c.conname || ' is deferrable'
		  FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace
		 WHERE n.nspname IN ('es', 'rm') AND (c.condeferrable OR c.condeferred)
		UNION ALL
		SELECT n.nspname || '.' || r.relname || ' has the trigger ' || t.tgname
		  FROM pg_trigger t JOIN pg_class r ON r.oid = t.tgrelid JOIN pg_namespace n ON n.oid = r.relnamespace
		 WHERE n.nspname IN ('es', 'rm') AND (NOT t.tgisinternal OR t.tgdeferrable)`)
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range found {
		t.Error(what)
	}
	if cache := value[int64](t, b.db, "SELECT seqcache FROM pg_sequence WHERE seqrelid = 'es.append_seq'::regclass"); cache != 1 {
		t.Errorf("es.append_seq caches %d numbers; a later commit could get a lower one", cache)
	}
}

// The application may add to the log and never change it.
func TestAppendOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.append(t, creation(testIDs.New()))
	b.drain(t)
	if user := value1[string](t, b, "SELECT current_user"); user != string(pgtest.RoleApp) {
		t.Fatalf("the store works as %s", user)
	}
	partition := value[string](t, b.db, "SELECT name FROM es.partition ORDER BY low LIMIT 1")
	for _, sql := range []string{
		"UPDATE es.event SET data = ''", "DELETE FROM es.event", "TRUNCATE es.event",
		"UPDATE es." + partition + " SET data = ''", "DELETE FROM es." + partition, "DROP TABLE es." + partition,
		"ALTER TABLE es.event DETACH PARTITION es." + partition,
		"UPDATE es.log_entry SET leaf = ''", "DELETE FROM es.log_entry", "TRUNCATE es.log_entry",
		"UPDATE es.merkle_node SET hash = ''", "DELETE FROM es.merkle_node",
		"UPDATE es.checkpoint SET note = ''", "DELETE FROM es.checkpoint",
		"UPDATE es.epoch SET epoch = 9", "DELETE FROM es.epoch",
		"UPDATE es.commit SET outcome = 'aborted'", "DELETE FROM es.commit",
		"UPDATE es.repair SET decision = 'accept'", "DELETE FROM es.repair",
		"DELETE FROM es.log_head", "INSERT INTO es.log_head SELECT * FROM es.log_head",
		"DELETE FROM es.stream", "SELECT setval('es.append_seq', 1)", "CREATE TABLE es.mine ()",
		"INSERT INTO es.partition VALUES (1, 2, 'x')",
	} {
		_, err := b.db.App.Exec(t.Context(), sql)
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || pgErr.Code != "42501" {
			t.Errorf("%s: got %v, want permission denied", sql, err)
		}
	}
}

// value1 reads one value as the application.
func value1[T any](t testing.TB, b *bundle, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := b.db.App.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// Every read of es.event names a range of numbers, so that a hundred
// partitions cost no more than the one that is wanted.
func TestReadsPrunePartitions(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.PartitionSize = 10 })
	stream := testIDs.New()
	b.append(t, creation(stream))
	for version := int64(1); version < 65; version++ {
		b.append(t, change(stream, version))
		if err := b.EnsurePartitions(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	b.drain(t)
	if n := value[int](t, b.db, "SELECT count(*) FROM es.partition"); n < 7 {
		t.Fatalf("%d partitions", n)
	}
	conn := b.db.Connect(t, pgtest.RoleApp)
	for name, test := range map[string]struct {
		sql  string
		args []any
		most int // partitions that may be read; from 64 on there are three: the current and two empty ones
	}{
		"read_events":        {sqlReadEvents, []any{int64(31), int64(38), []int64{31, 38}}, 1},
		"read_sizes":         {sqlReadSizes, []any{int64(31), int64(38), []int64{31, 38}, []string{"x"}}, 1},
		"read_wanted":        {sqlReadWanted, []any{int64(31), int64(38), []int64{31, 38}, []string{"x"}}, 1},
		"read_selected":      {sqlReadSelected, []any{int64(30), 8, int64(1 << 20), []pgtype.UUID{}, []pgtype.UUID{}, []string{}, []string{}}, 1},
		"scan":               {sqlScan, []any{int64(64), []int64{33, 35}, int64(33), int64(35), nil, 100}, 4},
		"scan without holes": {sqlScan, []any{int64(64), []int64{}, int64(1), int64(0), nil, 100}, 3},
		"find_commit":        {sqlFindCommit, []any{int64(64), pgID(stream), pgID(stream)}, 3},
		"verify_unnumbered":  {sqlVerifyUnnumbered, []any{int64(31), int64(38), []int64{}}, 1},
		"peek":               {sqlPeek, nil, 3},
	} {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			if _, err := conn.Exec(t.Context(), "SET plan_cache_mode = "+mode); err != nil {
				t.Fatal(err)
			}
			read := partitionsRead(t, conn, test.sql, test.args)
			if len(read) > test.most {
				t.Errorf("%s reads %v with %s, want at most %d partitions", name, read, mode, test.most)
			}
		}
	}
}

// partitionsRead returns the partitions of es.event that a plan executed.
func partitionsRead(t *testing.T, conn *pgx.Conn, sql string, args []any) map[string]bool {
	t.Helper()
	rows, err := conn.Query(t.Context(), "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) "+sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]bool{}
	for _, line := range lines {
		if i := strings.Index(line, "on event_"); i >= 0 && !strings.Contains(line, "never executed") {
			read[strings.Fields(line[i+3:])[0]] = true
		}
	}
	return read
}

// A reader of the log does not stop commits while a partition is attached, and
// maintenance in the way makes the attacher give up, not the commits wait.
func TestPartitionsAreAttachedBesideReaders(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.PartitionSize = 100 })
	b.append(t, creation(testIDs.New()))
	reader := b.db.Connect(t, pgtest.RoleApp)
	tx, err := reader.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT count(*) FROM es.event WHERE append_seq BETWEEN 0 AND 1000"); err != nil {
		t.Fatal(err)
	}
	before := value[int](t, b.db, "SELECT count(*) FROM es.partition")
	if err := b.EnsurePartitions(t.Context(), 3); err != nil {
		t.Fatalf("beside a reader: %v", err)
	}
	if after := value[int](t, b.db, "SELECT count(*) FROM es.partition"); after != before+2 {
		t.Errorf("%d partitions after, %d before", after, before)
	}
	b.append(t, creation(testIDs.New()))
	_ = tx.Rollback(context.WithoutCancel(t.Context()))

	owner, err := b.db.Owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Exec(t.Context(), "LOCK TABLE es.event IN SHARE UPDATE EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	err = ensurePartitions(t.Context(), b.db.App, 100, 5)
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "55P03" {
		t.Errorf("behind maintenance: %v", err)
	}
	b.append(t, creation(testIDs.New()))
	_ = owner.Rollback(context.WithoutCancel(t.Context()))
	if err := b.EnsurePartitions(t.Context(), 5); err != nil {
		t.Error(err)
	}
}

// The sequencer keeps a spare partition ahead of the commits.
func TestSequencerMakesPartitionsAtHalfFill(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.PartitionSize = 40 })
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	q := b.Sequencer()
	defer q.Close()
	for n := range 200 {
		b.append(t, creation(testIDs.New()))
		if n%10 == 9 {
			q.roundsLeft = 0 // looks every hundred rounds by itself
			if _, err := q.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := b.Ready(t.Context()); err != nil {
				t.Fatalf("after %d commits: %v", n+1, err)
			}
		}
	}
}

func TestReadyFailsWithoutASparePartition(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.PartitionSize = 5 })
	for range 5 {
		b.append(t, creation(testIDs.New()))
	}
	var notReady *NotReadyError
	if err := b.Ready(t.Context()); !errors.As(err, &notReady) {
		t.Errorf("ready without a spare: %v", err)
	}
	for range 5 {
		_, _ = b.Append(t.Context(), creation(testIDs.New()))
	}
	// No default partition: without room a commit fails and leaves nothing.
	if _, err := b.Append(t.Context(), creation(testIDs.New())); err == nil {
		t.Error("a commit without a partition passed")
	}
	if err := b.EnsurePartitions(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	b.append(t, creation(testIDs.New()))
	if err := b.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// A sequence that is behind the log (logical replication does not carry it)
// would hand out numbers that nobody looks at again.
func TestOpenLiftsASequenceBehindTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 10 {
		b.append(t, creation(testIDs.New()))
	}
	b.drain(t)
	if _, err := b.db.Owner.Exec(t.Context(), "SELECT setval('es.append_seq', 3)"); err != nil {
		t.Fatal(err)
	}
	var notReady *NotReadyError
	if err := b.Ready(t.Context()); !errors.As(err, &notReady) {
		t.Errorf("ready with a sequence behind: %v", err)
	}
	again := open(t, b.db)
	if receipt := again.append(t, creation(testIDs.New())); receipt.AppendSeq <= 10 {
		t.Errorf("number %d was drawn again", receipt.AppendSeq)
	}
	again.drain(t)
	if n := len(again.all(t)); n != 11 {
		t.Errorf("%d entries", n)
	}
}

func TestMissingHeadIsNotALockedHead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.db.Owner.Exec(t.Context(), "DELETE FROM es.log_head"); err != nil {
		t.Fatal(err)
	}
	q := b.Sequencer()
	defer q.Close()
	if _, err := q.turn(t.Context(), true); !errors.Is(err, errNoHead) {
		t.Errorf("got %v", err)
	}
}

func ExampleOrigin() {
	fmt.Println(Origin([16]byte{15: 1}, 2))
	// Output: icecore/00000000-0000-0000-0000-000000000001/2
}

// Migrate makes the first partitions as the owner, so that a server started
// later finds room at once.
func TestOwnerMakesPartitions(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for range 2 { // the second time there is nothing to do
		if err := MakePartitions(t.Context(), db.Owner, 1000, 1); err != nil {
			t.Fatal(err)
		}
		if n := value[int](t, db, "SELECT count(*) FROM es.partition"); n != 2 {
			t.Errorf("%d partitions", n)
		}
	}
}

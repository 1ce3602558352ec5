package eventstore

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// zeros is a source of bytes for keys in tests.
func testKey(t testing.TB, name string, seed byte) (signing, verifying string) {
	t.Helper()
	signing, verifying, err := NewSigningKey(bytes.NewReader(bytes.Repeat([]byte{seed}, 64)), name)
	if err != nil {
		t.Fatal(err)
	}
	return signing, verifying
}

// filled opens a store with n events of a few streams, sequenced in batches.
func filled(t testing.TB, n int, options ...func(*Config)) *bundle {
	t.Helper()
	b := setup(t, options...)
	for n > 0 {
		c := &Commit{ID: testIDs.New()}
		for range min(n, 1+rand.IntN(200)) {
			one := creation(testIDs.New())
			c.Streams = append(c.Streams, one.Streams...)
			c.Records = append(c.Records, one.Records...)
		}
		b.append(t, c)
		n -= len(c.Records)
	}
	b.drain(t)
	return b
}

func TestProofs(t *testing.T) {
	t.Parallel()
	b := filled(t, 1300)
	size := b.head(t).Size
	root := b.head(t).Root
	roots := map[int64][32]byte{}
	for _, n := range []int64{1, 2, 3, 255, 256, 257, 511, 512, 700, 1024, 1299, size} {
		computed, err := b.RootAt(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		roots[n] = computed
	}
	if roots[size] != root {
		t.Fatal("the stored tree has another root than the head")
	}
	log := b.all(t)
	for n, rootAt := range roots {
		for _, position := range []int64{1, n/2 + 1, n} {
			p, err := b.ProveInclusion(t.Context(), position, n)
			if err != nil {
				t.Fatal(err)
			}
			if p.Leaf != Leaf(&log[position-1].Record) {
				t.Errorf("position %d: another leaf", position)
			}
			if err := p.Check(rootAt); err != nil {
				t.Errorf("position %d of %d: %v", position, n, err)
			}
			p.Leaf[0] ^= 1
			if err := p.Check(rootAt); !errors.Is(err, ErrProof) {
				t.Errorf("a forged leaf passes: %v", err)
			}
		}
		c, err := b.ProveConsistency(t.Context(), n, size)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(rootAt, root); err != nil {
			t.Errorf("consistency of %d: %v", n, err)
		}
		if n != size {
			rootAt[3] ^= 1
			if err := c.Check(rootAt, root); !errors.Is(err, ErrProof) {
				t.Errorf("a rewritten history passes: %v", err)
			}
		}
	}
	if _, err := b.ProveInclusion(t.Context(), size+1, size); err == nil {
		t.Error("a position beyond the log was proved")
	}
	if _, err := b.ProveConsistency(t.Context(), 0, size); err == nil {
		t.Error("consistency with nothing was proved")
	}
}

func TestCheckpoints(t *testing.T) {
	t.Parallel()
	signing, verifying := testKey(t, "icecore-test", 7)
	b := filled(t, 5, func(c *Config) { c.SigningKey = signing })
	if latest, err := b.LatestCheckpoint(t.Context()); err != nil || latest != nil {
		t.Errorf("a checkpoint before the first: %s, %v", latest, err)
	}
	signed, err := b.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.Checkpoint(t.Context())
	if err != nil || string(again) != string(signed) {
		t.Errorf("the same head gave another note: %v", err)
	}
	verifier, err := note.NewVerifier(verifying)
	if err != nil {
		t.Fatal(err)
	}
	c, err := OpenCheckpoint(signed, note.VerifierList(verifier))
	if err != nil {
		t.Fatal(err)
	}
	head := b.head(t)
	if c.Size != 5 || c.Root != head.Root || c.Origin != fmt.Sprintf("icecore/%s/1", b.LogID()) {
		t.Errorf("checkpoint %+v", c)
	}
	_, stranger := testKey(t, "icecore-test", 8)
	other, err := note.NewVerifier(stranger)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCheckpoint(signed, note.VerifierList(other)); err == nil {
		t.Error("a stranger's key opens it")
	}
	forged := strings.Replace(string(signed), "\n5\n", "\n6\n", 1)
	if _, err := OpenCheckpoint([]byte(forged), note.VerifierList(verifier)); err == nil {
		t.Error("a changed size passes")
	}
	if _, err := setup(t).Checkpoint(t.Context()); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
	if _, err := New(t.Context(), Config{Pool: b.db.App, SigningKey: "PRIVATE+KEY+secret"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a malformed key: %v", err)
	}
}

func TestParseCheckpointRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "a\n", "a\n1\n", "\n1\nAAAA\n", "a\n-1\n" + strings.Repeat("A", 43) + "=\n", "a\n01\n" + strings.Repeat("A", 43) + "=\n",
		"a\n1\nAAAA\n", "a\n1\n" + strings.Repeat("A", 43) + "=",
	} {
		if c, err := parseCheckpoint(text); err == nil {
			t.Errorf("%q is read as %+v", text, c)
		}
	}
}

func FuzzParseCheckpoint(f *testing.F) {
	f.Add(Checkpoint{Origin: "icecore/x/1", Size: 7}.text())
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCheckpoint(text)
		if err == nil && !strings.HasPrefix(text, c.text()) {
			t.Errorf("%q is read as %+v", text, c)
		}
	})
}

func TestLeavesAreStored(t *testing.T) {
	t.Parallel()
	signing, _ := testKey(t, "icecore-test", 7)
	b := filled(t, 1200, func(c *Config) { c.SigningKey = signing })
	if _, err := b.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	tx := b.inOpenTx(t, creation(testIDs.New())) // a hole is no problem
	b.append(t, creation(testIDs.New()))
	b.drain(t)
	var seen []int64
	report, err := b.VerifyLog(t.Context(), func(done, size int64) { seen = append(seen, done, size) })
	if err != nil || !report.OK() {
		t.Fatalf("%v, %v", report.Problems, err)
	}
	if report.Size != 1201 || report.Root != b.head(t).Root || report.Checkpoints != 1 || report.Erased != 0 {
		t.Errorf("report %+v", report)
	}
	if len(seen) != 4 || seen[0] != 1000 || seen[2] != 1201 {
		t.Errorf("progress %v", seen)
	}
	_ = tx.Rollback(t.Context())
	report, err = open(t, b.db).VerifyLog(t.Context(), nil)
	if err != nil || !report.OK() || report.Checkpoints != 0 || report.Unchecked != 1 {
		t.Errorf("without the key: %+v, %v", report, err)
	}
}

// What an intruder with the owner's rights may do, and what betrays him.
func TestVerifyLogFinds(t *testing.T) {
	t.Parallel()
	signing, _ := testKey(t, "icecore-test", 7)
	for name, test := range map[string]struct {
		sql  string
		want string
	}{
		"changed data":          {`UPDATE es.event SET data = 'x' WHERE append_seq = 3`, "the data of event"},
		"changed data and hash": {`UPDATE es.event SET data = 'x', data_sha256 = sha256('x') WHERE append_seq = 3`, "the leaf is not the hash"},
		"changed attribute":     {`UPDATE es.event SET actor = gen_random_uuid() WHERE append_seq = 3`, "the leaf is not the hash"},
		"changed leaf too":      {`UPDATE es.log_entry SET leaf = sha256('x') WHERE position = 3`, "the root of the head"},
		"removed event":         {`DELETE FROM es.event WHERE append_seq = 3`, "is missing"},
		"removed entry":         {`DELETE FROM es.log_entry WHERE position = 3`, "it follows 2"},
		"removed last entry":    {`DELETE FROM es.log_entry WHERE position = 6`, "the log ends here"},
		"cut off the end": {`DELETE FROM es.log_entry WHERE position > 4; DELETE FROM es.event WHERE append_seq > 4;
			UPDATE es.log_head SET size = 4, seen = 4`, "a checkpoint of size 6"},
		"swapped": {`UPDATE es.log_entry SET position = -1 WHERE position = 2; UPDATE es.log_entry SET position = 2 WHERE position = 3;
			UPDATE es.log_entry SET position = 3 WHERE position = -1`, "does not follow version"},
		"added":                     {`INSERT INTO es.event SELECT append_seq, 9, commit_size, gen_random_uuid(), stream_id, stream_type, version + 100, type, data_schema, occurred_at, actor, request_id, causation, commit_id, warehouse, project, traceparent, data, data_sha256 FROM es.event WHERE append_seq = 3`, "has no position"},
		"logtime":                   {`UPDATE es.log_entry SET logtime = logtime - interval '1 day' WHERE position = 5`, "its logtime is before"},
		"epoch":                     {`UPDATE es.log_entry SET epoch = 2 WHERE position = 6`, "it is in epoch 2 instead of 1"},
		"checkpoint's root":         {`UPDATE es.checkpoint SET root = sha256('x')`, "says something else than its row"},
		"checkpoint's note":         {`UPDATE es.checkpoint SET note = replace(note, E'\n6\n', E'\n5\n')`, "is not rightly signed"},
		"checkpoint of another log": {`UPDATE es.checkpoint SET epoch = 7`, "says something else than its row"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(c *Config) { c.SigningKey = signing })
			stream := testIDs.New()
			b.append(t, creation(stream))
			for version := int64(1); version < 6; version++ {
				b.append(t, change(stream, version))
			}
			b.drain(t)
			if _, err := b.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			super := b.db.Connect(t, pgtest.RoleSuper)
			if _, err := super.PgConn().Exec(t.Context(), test.sql).ReadAll(); err != nil {
				t.Fatal(err)
			}
			report, err := b.VerifyLog(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			found := fmt.Sprint(report.Problems)
			if report.OK() || !strings.Contains(found, test.want) {
				t.Errorf("found %s, want %q", found, test.want)
			}
		})
	}
}

// A rewritten history with all hashes made anew is betrayed by a checkpoint.
func TestVerifyLogFindsRewrittenHistory(t *testing.T) {
	t.Parallel()
	signing, _ := testKey(t, "icecore-test", 7)
	b := filled(t, 4, func(c *Config) { c.SigningKey = signing })
	if _, err := b.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	log := b.all(t)
	log[1].Data = []byte(`{"of": "something else"}`)
	var f frontier
	hash := sha256.Sum256(log[1].Data)
	for i := range log {
		leaf := Leaf(&log[i].Record)
		f.add(leaf)
		if i == 1 {
			if _, err := b.db.Owner.Exec(t.Context(), "UPDATE es.event SET data = $1, data_sha256 = $2 WHERE event_id = $3", log[1].Data, hash[:], pgID(log[1].ID)); err != nil {
				t.Fatal(err)
			}
			if _, err := b.db.Owner.Exec(t.Context(), "UPDATE es.log_entry SET leaf = $1 WHERE position = 2", leaf[:]); err != nil {
				t.Fatal(err)
			}
		}
	}
	root := f.root()
	if _, err := b.db.Owner.Exec(t.Context(), "UPDATE es.log_head SET frontier = $1, root = $2", f.bytes(), root[:]); err != nil {
		t.Fatal(err)
	}
	report, err := b.VerifyLog(t.Context(), nil)
	if err != nil || report.Count != 1 || !strings.Contains(report.Problems[0].What, "history was rewritten") {
		t.Errorf("%v, %v", report.Problems, err)
	}
}

// Erasing a payload leaves its hash: the log still verifies and says so.
func TestErasedPayloadVerifies(t *testing.T) {
	t.Parallel()
	b := filled(t, 4)
	if _, err := b.db.Owner.Exec(t.Context(), "UPDATE es.event SET data = NULL WHERE event_id = (SELECT event_id FROM es.log_entry WHERE position = 2)"); err != nil {
		t.Fatal(err)
	}
	report, err := b.VerifyLog(t.Context(), nil)
	if err != nil || !report.OK() || report.Erased != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	log := b.all(t)
	if !log[1].Erased || log[1].Data != nil || log[0].Erased {
		t.Errorf("entry %+v", log[1])
	}
	b.append(t, creation(testIDs.New()))
	b.drain(t)
	if n := b.head(t).Size; n != 5 {
		t.Errorf("size %d", n)
	}
}

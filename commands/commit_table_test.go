package commands_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

func TestCommitRefuses(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	table := k.Table("db", "t")
	cases := map[string]struct {
		at                    commands.Identifier
		requirements, updates string
		kind                  catalog.Kind
		text                  string
	}{
		"a missing table":        {kit.At("db", "no"), `[]`, `[]`, catalog.NoSuchTable, "Table does not exist: db.no"},
		"in a missing namespace": {kit.At("no", "t"), `[]`, `[]`, catalog.NoSuchTable, "Table does not exist: no.t"},
		"an unknown requirement": {kit.At("db", "t"), `[{"type":"assert-nothing"}]`, `[]`, catalog.BadRequest, ""},
		"an unknown update":      {kit.At("db", "t"), `[]`, `[{"action":"do-nothing"}]`, catalog.BadRequest, ""},
		"a failed requirement": {kit.At("db", "t"), `[{"type":"assert-table-uuid","uuid":"5d4c6a8e-0000-4000-8000-000000000001"}]`, `[]`, catalog.CommitFailed,
			"Requirement failed: UUID does not match: expected " + table.ID.String() + " != 5d4c6a8e-0000-4000-8000-000000000001"},
		"another uuid":         {kit.At("db", "t"), ``, `[{"action":"assign-uuid","uuid":"5d4c6a8e-0000-4000-8000-000000000001"}]`, catalog.BadRequest, ""},
		"a violated rule":      {kit.At("db", "t"), ``, `[{"action":"set-current-schema","schema-id":7}]`, catalog.BadRequest, ""},
		"a location outside":   {kit.At("db", "t"), ``, `[{"action":"set-location","location":"file:///etc"}]`, catalog.BadRequest, ""},
		"a stale sequence":     {kit.At("db", "t"), ``, kit.Append(9, 8, 0), catalog.CommitFailed, "Validation failed, please retry: …"},
		"the root as location": {kit.At("db", "t"), ``, `[{"action":"set-location","location":"file://` + k.Root + `"}]`, catalog.BadRequest, ""},
	}
	files, events := kit.Files(t, k.Root), len(k.Events())
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := k.Commit(c.at, c.requirements, c.updates)
			if c.kind == catalog.BadRequest {
				if kind := catalog.KindOf(err); kind != catalog.BadRequest && kind != catalog.Validation && kind != catalog.IllegalArgument {
					t.Errorf("error %v of kind %d", err, kind)
				}
				return
			}
			wantError(t, err, c.kind, c.text)
		})
	}
	if !slices.Equal(files, kit.Files(t, k.Root)) || events != len(k.Events()) {
		t.Error("refused commits left something behind")
	}
}

func TestCommitsOfNothingWriteNothing(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	table := k.Table("db", "t")
	files, events := kit.Files(t, k.Root), len(k.Events())
	for name, c := range map[string][2]string{
		"no updates":             {``, ``},
		"requirements alone":     {kit.Head(0), `[]`},
		"the same location":      {``, `[{"action":"set-location","location":"` + decodedOf(t, table)["location"].(string) + `/"}]`},
		"the same uuid":          {``, `[{"action":"assign-uuid","uuid":"` + table.ID.String() + `"}]`},
		"a property not there":   {``, `[{"action":"remove-properties","removals":["x"]}]`},
		"the same format":        {``, `[{"action":"upgrade-format-version","format-version":2}]`},
		"a ref that isn't there": {``, `[{"action":"remove-snapshot-ref","ref-name":"x"}]`},
	} {
		got, err := k.Commit(kit.At("db", "t"), c[0], c[1])
		if err != nil || got.Pointer != table.Pointer || got.Mark != table.Mark || got.ETag != table.ETag || string(got.Document) != string(table.Document) {
			t.Errorf("%s: %v at %s", name, err, got.Pointer)
		}
	}
	if !slices.Equal(files, kit.Files(t, k.Root)) || events != len(k.Events()) {
		t.Error("commits of nothing left something behind")
	}
}

func TestCommitKeepsUnknownMembersAndLogsThePast(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	last := k.Table("db", "t")
	for i := int64(1); i <= 3; i++ {
		next, err := k.Commit(kit.At("db", "t"), kit.Head(i-1), kit.Append(i, i-1, i))
		if err != nil {
			t.Fatal(err)
		}
		doc := decodedOf(t, next)
		log := doc["metadata-log"].([]any)
		if n := len(log); int64(n) != i || log[n-1].(map[string]any)["metadata-file"] != last.Pointer {
			t.Errorf("metadata log %v", log)
		}
		if !strings.Contains(next.Pointer, fmt.Sprintf("/%05d-", i)) {
			t.Errorf("pointer %s", next.Pointer)
		}
		last = next
	}
}

func TestARepeatedCommitSucceeds(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	k.Table("db", "t")
	first, err := k.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	events := len(k.Events())
	if again, err := k.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1)); err != nil || again.Pointer != first.Pointer {
		t.Errorf("repeated at once: %v", err)
	}
	second, err := k.Commit(kit.At("db", "t"), kit.Head(1), kit.Append(2, 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := k.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1)); err != nil || again.Pointer != second.Pointer {
		t.Errorf("repeated after another commit: %v", err)
	}
	if n := len(k.Events()); n != events+1 {
		t.Errorf("%d events", n-events)
	}
	for name, updates := range map[string]string{
		"another snapshot with that id": kit.Append(1, 0, 7),
		"one that is there, one not":    strings.TrimSuffix(kit.Append(1, 0, 1), "]") + "," + strings.TrimPrefix(kit.Append(5, 2, 3), "["),
		"no snapshot":                   `[{"action":"set-properties","updates":{"a":"b"}}]`,
	} {
		_, err := k.Commit(kit.At("db", "t"), kit.Head(0), updates)
		if catalog.KindOf(err) != catalog.CommitFailed {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The snapshot is there, but its branch was set back: that is another state.
	if _, err := k.Commit(kit.At("db", "t"), kit.Head(2), `[{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":1}]`); err != nil {
		t.Fatal(err)
	}
	_, err = k.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(2, 1, 2))
	wantError(t, err, catalog.CommitFailed, "")
}

func TestCommitSeesWhatAnotherInstanceDid(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	a.Namespace("db")
	a.Table("db", "t")
	instances := []*kit.Kit{a, b}
	for i := int64(1); i <= 6; i++ {
		k := instances[i%2]
		if _, err := k.Commit(kit.At("db", "t"), kit.Head(i-1), kit.Append(i, i-1, i)); err != nil {
			t.Fatalf("commit %d: %v", i, err)
		}
		for _, k := range instances {
			loaded, err := k.Load(kit.At("db", "t"), loadAll)
			if err != nil || kit.Document(t, loaded.Document.Plain())["current-snapshot-id"] != float64(i) {
				t.Fatalf("after commit %d an instance shows another state: %v", i, err)
			}
		}
	}
}

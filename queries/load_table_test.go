package queries_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/authz/authztest"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/queries"
)

func TestLoadServesTheStoredBytes(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	table, err := k.Create("db", "t", `,"properties":{"write.metadata.compression-codec":"gzip"}`)
	if err != nil {
		t.Fatal(err)
	}
	cold := kit.New(t, kit.Setup{Share: k})
	for name, k := range map[string]*kit.Kit{"warm": k, "cold": cold, "cold, now warm": cold} {
		for _, gzip := range []bool{false, true} {
			got, err := k.Load(kit.At("db", "t"), queries.LoadOptions{AcceptGzip: gzip})
			if err != nil {
				t.Fatal(err)
			}
			if !gzip && !bytes.Equal(got.Document.Plain(), table.Document) {
				t.Errorf("%s: another document", name)
			}
			packed := got.Document.Packed()
			if gzip && packed.IsZero() || !gzip && packed != nil {
				t.Errorf("%s: packed form %v", name, packed)
			}
			if gzip {
				if plain, err := packed.Unpack(); err != nil || !bytes.Equal(plain, table.Document) {
					t.Errorf("%s: another document in packed form, %v", name, err)
				}
			}
			if got.ID != table.ID || got.Mark != table.Mark || got.Pointer != table.Pointer || got.Config == nil {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	k.Table("db", "t")
	for _, c := range []struct {
		namespace []string
		name      string
	}{
		{[]string{"db"}, "no"}, {[]string{"no"}, "t"}, {[]string{"db", "t"}, "files"}, {nil, "t"}, {[]string{}, ""}, {[]string{"db"}, ""},
		{[]string{"db"}, "a\x00b"}, {[]string{"db\xff"}, "t"}, {[]string{"db"}, strings.Repeat("x", 10_000)},
	} {
		at := queries.Identifier{Namespace: c.namespace, Name: c.name}
		for what, err := range map[string]error{
			"load": func() error {
				_, err := k.Queries.LoadTable(t.Context(), authz.Anonymous, k.Warehouse, at, queries.LoadOptions{})
				return err
			}(),
			"exists": k.Queries.TableExists(t.Context(), authz.Anonymous, k.Warehouse, at),
		} {
			want := "Table does not exist: " + strings.Join(append(slices.Clone(c.namespace), c.name), ".")
			if catalog.KindOf(err) != catalog.NoSuchTable || err.Error() != want {
				t.Errorf("%s %q: %v", what, at, err)
			}
		}
	}
	if err := k.Queries.TableExists(t.Context(), authz.Anonymous, k.Warehouse, queries.Identifier{Namespace: []string{"DB"}, Name: "T"}); err != nil {
		t.Error(err)
	}
	if _, err := k.Load(kit.At("db", "t"), queries.LoadOptions{Snapshots: "some"}); catalog.KindOf(err) != catalog.BadRequest {
		t.Error(err)
	}
	if _, err := k.Queries.LoadTable(t.Context(), authz.Anonymous, k.IDs.New(), queries.Identifier{Namespace: []string{"db"}, Name: "t"}, queries.LoadOptions{}); catalog.KindOf(err) != catalog.NoSuchWarehouse {
		t.Error(err)
	}
}

func TestETagCoversWhatChangesTheAnswer(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	created := k.Table("db", "t")
	load := func(options queries.LoadOptions) *queries.Table {
		t.Helper()
		got, err := k.Load(kit.At("db", "t"), options)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := load(queries.LoadOptions{})
	if first.ETag != created.ETag || !strings.HasPrefix(first.ETag, `W/"`) || load(queries.LoadOptions{Snapshots: "all"}).ETag != first.ETag ||
		load(queries.LoadOptions{AcceptGzip: true}).ETag != first.ETag {
		t.Errorf("the tag of one answer differs: %s", first.ETag)
	}
	refs := load(queries.LoadOptions{Snapshots: "refs"})
	if refs.ETag == first.ETag {
		t.Error("the two snapshot modes share a tag")
	}
	for _, tags := range [][]string{{first.ETag}, {`"x"`, first.ETag}, {strings.TrimPrefix(first.ETag, "W/")}, {"*"}} {
		if got := load(queries.LoadOptions{IfNoneMatch: tags}); !got.NotModified || got.Document.Plain() != nil || got.ETag != first.ETag {
			t.Errorf("%v: %+v", tags, got)
		}
	}
	for _, tags := range [][]string{nil, {`"x"`}, {refs.ETag}, {""}} {
		if got := load(queries.LoadOptions{IfNoneMatch: tags}); got.NotModified || got.Document.Plain() == nil {
			t.Errorf("%v: not modified", tags)
		}
	}
	committed, err := k.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	if got := load(queries.LoadOptions{IfNoneMatch: []string{first.ETag}}); got.NotModified || got.ETag != committed.ETag {
		t.Error("the old tag matches the new state")
	}
}

func TestNotModifiedTouchesNoDocument(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{NoSaver: true, Damaged: true})
	k.Namespace("db")
	table := k.Table("db", "t")
	if err := os.WriteFile(strings.TrimPrefix(table.Pointer, "file://"), []byte("no document"), 0o600); err != nil {
		t.Fatal(err)
	}
	cold := kit.New(t, kit.Setup{Share: k, NoSaver: true})
	if got, err := cold.Load(kit.At("db", "t"), queries.LoadOptions{IfNoneMatch: []string{table.ETag}}); err != nil || !got.NotModified {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := cold.Load(kit.At("db", "t"), queries.LoadOptions{}); catalog.KindOf(err) != catalog.Internal {
		t.Error(err)
	}
}

// The compatibility kit's testLoadTableWithMissingMetadataFile, whose client
// sends the tag of the state that it has.
func TestADeletedFileIsNotHiddenByATag(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{Damaged: true})
	k.Namespace("db")
	table := k.Table("db", "t")
	if err := os.Remove(strings.TrimPrefix(table.Pointer, "file://")); err != nil {
		t.Fatal(err)
	}
	want := "Failed to open input stream for file: " + table.Pointer
	for name, on := range map[string]*kit.Kit{"warm": k, "cold": kit.New(t, kit.Setup{Share: k})} {
		for _, tags := range [][]string{nil, {table.ETag}, {"*"}} {
			_, err := on.Load(kit.At("db", "t"), queries.LoadOptions{IfNoneMatch: tags})
			if catalog.KindOf(err) != catalog.NotFound || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %v: %v", name, tags, err)
			}
		}
	}
}

func TestRightsAreDecidedBeforeTheTagIsCompared(t *testing.T) {
	t.Parallel()
	refuse := false
	k := kit.New(t, kit.Setup{Authorizer: &authztest.Recorder{Authorizer: allowall.Authorizer{}, Refuse: func(authztest.Asked) bool { return refuse }}})
	k.Namespace("db")
	table := k.Table("db", "t")
	refuse = true
	_, err := k.Load(kit.At("db", "t"), queries.LoadOptions{IfNoneMatch: []string{table.ETag}})
	if catalog.KindOf(err) != catalog.NoSuchTable {
		t.Errorf("a revoked right hides behind a 304: %v", err)
	}
}

// A small document comes with the facts to an instance that never saw it, once
// somebody has saved it; the saving is beside the commit.
func TestASavedDocumentSparesTheStore(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	table := k.Table("db", "t")
	k.Library.Close(t.Context()) // saves what waits
	cold := kit.New(t, kit.Setup{Share: k})
	facts, err := cold.Resolver.Resolve(t.Context(), kit.TableQuery(cold, "db", "t"))
	if err != nil {
		t.Fatal(err)
	}
	packed := facts[0].Table.Document
	if packed.IsZero() {
		t.Fatal("the document was not saved")
	}
	if plain, err := packed.Unpack(); err != nil || !bytes.Equal(plain, table.Document) {
		t.Errorf("another document was saved: %v", err)
	}
	if got, err := cold.Load(kit.At("db", "t"), queries.LoadOptions{}); err != nil || !bytes.Equal(got.Document.Plain(), table.Document) {
		t.Error(err)
	}
}

func TestEveryInstanceReadsWhatWasWritten(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	a.Namespace("db")
	for i := range 5 {
		name := fmt.Sprint("t", i)
		table := a.Table("db", name)
		for _, k := range []*kit.Kit{b, a} {
			if got, err := k.Load(kit.At("db", name), queries.LoadOptions{}); err != nil || got.Mark != table.Mark {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		if err := b.Commands.DropTable(t.Context(), b.Call(), commands.DropTable{Warehouse: b.Warehouse, Table: kit.At("db", name)}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Load(kit.At("db", name), queries.LoadOptions{}); catalog.KindOf(err) != catalog.NoSuchTable {
			t.Errorf("a dropped table is loaded: %v", err)
		}
	}
}

func TestRefsLoadLeavesOutWhatNoRefNames(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	k.Table("db", "t")
	for i := int64(1); i <= 4; i++ {
		if _, err := k.Commit(kit.At("db", "t"), kit.Head(i-1), kit.Append(i, i-1, i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.Commit(kit.At("db", "t"), "", `[{"action":"set-snapshot-ref","ref-name":"old","type":"tag","snapshot-id":2}]`); err != nil {
		t.Fatal(err)
	}
	for _, gzip := range []bool{false, true} {
		got, err := k.Load(kit.At("db", "t"), queries.LoadOptions{Snapshots: "refs", AcceptGzip: gzip})
		if err != nil {
			t.Fatal(err)
		}
		plain := got.Document.Plain()
		if gzip {
			if plain, err = got.Document.Packed().Unpack(); err != nil {
				t.Fatal(err)
			}
		}
		doc := kit.Document(t, plain)
		var ids []any
		for _, s := range doc["snapshots"].([]any) {
			ids = append(ids, s.(map[string]any)["snapshot-id"])
		}
		if fmt.Sprint(ids) != "[2 4]" || len(doc["snapshot-log"].([]any)) != 4 {
			t.Errorf("snapshots %v, log %v", ids, doc["snapshot-log"])
		}
		all, err := k.Load(kit.At("db", "t"), queries.LoadOptions{})
		if err != nil || len(kit.Document(t, all.Document.Plain())["snapshots"].([]any)) != 4 {
			t.Errorf("all: %v", err)
		}
	}
}

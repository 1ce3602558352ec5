package commands_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/storage"
)

// These tests attack law 5: metadata is client data, and whatever it names, the
// server reads, writes and deletes below the claims of the very object only.

// victim is a table whose folder must not change.
type victim struct {
	location string // file:///…
	folder   string
	before   map[string]string // content by path
}

func newVictim(t *testing.T, k *kit.Kit) *victim {
	t.Helper()
	table, err := k.Create("db", "victim", `,"location":"file://`+k.Root+`/victim"`)
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{location: "file://" + k.Root + "/victim", folder: filepath.Join(k.Root, "victim")}
	if table.Staged() {
		t.Fatal("no victim")
	}
	v.before = contents(t, v.folder)
	return v
}

func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, file := range kit.Files(t, folder) {
		b, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		all[file] = string(b)
	}
	return all
}

func (v *victim) unharmed(t *testing.T, k *kit.Kit) {
	t.Helper()
	if after := contents(t, v.folder); fmt.Sprint(after) != fmt.Sprint(v.before) {
		t.Errorf("the victim's folder changed from %v to %v", v.before, after)
	}
	if _, err := k.Load(kit.At("db", "victim"), loadAll); err != nil {
		t.Errorf("the victim cannot be loaded: %v", err)
	}
}

// watchedObjects note where files are put.
type watchedStore struct {
	storage.Store
	puts *puts
}

type watchedObjects struct {
	storage.Objects
	puts *puts
}

type puts struct {
	mu        sync.Mutex
	locations []string
}

func (s watchedStore) Scoped(claims []storage.Key) storage.Objects {
	return watchedObjects{s.Store.Scoped(claims), s.puts}
}

func (o watchedObjects) Put(ctx context.Context, location string, data []byte) error {
	o.puts.mu.Lock()
	o.puts.locations = append(o.puts.locations, location)
	o.puts.mu.Unlock()
	return o.Objects.Put(ctx, location, data)
}

type putsOpener struct {
	stores *storage.Stores
	puts   *puts
}

func (o putsOpener) Open(ctx context.Context, p storage.Profile) (storage.Store, error) {
	store, err := o.stores.Open(ctx, p)
	return watchedStore{store, o.puts}, err
}

// Not even for a moment: a place that somebody owns is refused before a file is
// put there.
func TestNothingIsWrittenIntoANeighbourNotEvenForAMoment(t *testing.T) {
	t.Parallel()
	seen := &puts{}
	k := kit.New(t, kit.Setup{Opener: func(s *storage.Stores) kit.Opener { return putsOpener{s, seen} }})
	k.Namespace("db")
	v := newVictim(t, k)
	k.Table("db", "mallory")
	before := len(seen.locations)
	for _, place := range []string{v.location, v.location + "/deeper", "file://" + k.Root + "/victim/metadata"} {
		_, err := k.Create("db", "eve", `,"location":"`+place+`"`)
		wantError(t, err, catalog.BadRequest, overlaps)
		_, err = k.Create("db", "eve", `,"properties":{"write.metadata.path":"`+place+`"}`)
		wantError(t, err, catalog.BadRequest, overlaps)
		_, err = k.Commit(kit.At("db", "eve"), assertCreate, creation(place, k.IDs.New().String()))
		wantError(t, err, catalog.BadRequest, overlaps)
		_, err = k.Commit(kit.At("db", "mallory"), "", `[{"action":"set-location","location":"`+place+`"}]`)
		wantError(t, err, catalog.BadRequest, overlaps)
	}
	if after := seen.locations[before:]; len(after) != 0 {
		t.Errorf("files were put at %v", after)
	}
	v.unharmed(t, k)
}

const overlaps = "The location overlaps with the location of another object"

func TestMetadataPathCannotPointIntoANeighbour(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	v := newVictim(t, k)
	k.Table("db", "mallory")
	for _, path := range []string{
		v.location + "/metadata", v.location, v.location + "/deeper/still/", "file:" + k.Root + "/victim/metadata",
		k.Root + "//victim//metadata", "FILE://localhost" + k.Root + "/victim/metadata",
	} {
		_, err := k.Commit(kit.At("db", "mallory"), "", `[{"action":"set-properties","updates":{"write.metadata.path":"`+path+`"}}]`)
		wantError(t, err, catalog.BadRequest, overlaps)
		_, err = k.Create("db", "eve", `,"properties":{"write.metadata.path":"`+path+`"}`)
		wantError(t, err, catalog.BadRequest, overlaps)
	}
	for _, path := range []string{"file:///etc", v.location + "/../victim/metadata", "s3://bucket/x", k.Root + "/victim%2fmetadata"} {
		_, err := k.Commit(kit.At("db", "mallory"), "", `[{"action":"set-properties","updates":{"write.metadata.path":"`+path+`"}}]`)
		wantError(t, err, catalog.BadRequest, "")
	}
	v.unharmed(t, k)
}

func TestSetLocationCannotMoveIntoANeighbour(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	v := newVictim(t, k)
	k.Table("db", "mallory")
	for _, location := range []string{v.location, v.location + "/metadata", "file:" + k.Root + "/victim/x", k.Root + "/victim/"} {
		_, err := k.Commit(kit.At("db", "mallory"), "", `[{"action":"set-location","location":"`+location+`"}]`)
		wantError(t, err, catalog.BadRequest, overlaps)
	}
	v.unharmed(t, k)
}

func TestLinksDoNotLeadAround(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{Damaged: true})
	k.Namespace("db")
	v := newVictim(t, k)
	alias := filepath.Join(k.Root, "alias")
	if err := os.Symlink(v.folder, alias); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(k.Root, "out")); err != nil {
		t.Fatal(err)
	}
	_, err := k.Create("db", "mallory", `,"location":"file://`+alias+`/x"`)
	wantError(t, err, catalog.BadRequest, overlaps)
	if _, err = k.Create("db", "mallory", `,"location":"file://`+k.Root+`/out/x"`); err == nil {
		t.Error("a table stands outside of the root, behind a link")
	}

	// A table may do what it likes in its own folder, also make its metadata
	// folder a link into the neighbour's.
	if _, err := k.Create("db", "mallory", `,"location":"file://`+k.Root+`/mallory"`); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(k.Root, "mallory", "metadata")
	if err := os.Rename(own, own+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(v.folder, "metadata"), own); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Commit(kit.At("db", "mallory"), "", `[{"action":"set-properties","updates":{"a":"b"}}]`); err == nil {
		t.Error("a commit wrote through a link into the neighbour")
	}
	v.unharmed(t, k)
	if files := kit.Files(t, outside); len(files) != 0 {
		t.Errorf("written outside: %v", files)
	}
}

// forge writes a metadata document of the caller's making into a folder of the
// warehouse, as an engine with its own credentials could.
func forge(t *testing.T, k *kit.Kit, folder string, change func(doc map[string]any)) string {
	t.Helper()
	template, err := k.Create("db", "template", `,"stage-create":true`)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(template.Document))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	change(doc)
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "00000-forged.metadata.json")
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return "file://" + file
}

func register(k *kit.Kit, name, location string, overwrite bool) (commands.Table, error) {
	return k.Commands.RegisterTable(k.Context(), k.Call(), commands.RegisterTable{
		Warehouse: k.Warehouse, Namespace: []string{"db"}, Name: name, MetadataLocation: location, Overwrite: overwrite,
	})
}

func TestARegisteredDocumentCannotClaimANeighbour(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	v := newVictim(t, k)
	for name, change := range map[string]func(map[string]any){
		"its location":      func(doc map[string]any) { doc["location"] = v.location },
		"above it":          func(doc map[string]any) { doc["location"] = "file://" + k.Root },
		"its metadata path": func(doc map[string]any) { doc["properties"] = map[string]any{"write.metadata.path": v.location + "/m"} },
		"outside":           func(doc map[string]any) { doc["location"] = "file:///etc" },
		"another store":     func(doc map[string]any) { doc["location"] = "s3://bucket/t" },
	} {
		file := forge(t, k, filepath.Join(k.Root, "forged"), change)
		_, err := register(k, "mallory", file, false)
		if catalog.KindOf(err) != catalog.BadRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	v.unharmed(t, k)
}

func TestRegisterReadsBelowTheWarehouseOnly(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	outside := t.TempDir()
	secret := forge(t, k, outside, func(map[string]any) {})
	link := filepath.Join(k.Root, "linked.metadata.json")
	if err := os.Symlink(strings.TrimPrefix(secret, "file://"), link); err != nil {
		t.Fatal(err)
	}
	for _, location := range []string{
		secret, "file://" + k.Root + "/../../" + filepath.Base(outside) + "/00000-forged.metadata.json", "file://" + link,
		"s3://bucket/a.metadata.json", "http://169.254.169.254/a.metadata.json", "", "file://" + k.Root, "a.metadata.json",
	} {
		if _, err := register(k, "mallory", location, false); err == nil || catalog.KindOf(err) == catalog.Internal {
			t.Errorf("%s: %v", location, err)
		}
	}
	_, err := register(k, "mallory", "file://"+k.Root+"/no/such.metadata.json", false)
	wantError(t, err, catalog.NotFound, "Failed to open input stream for file: file://"+k.Root+"/no/such.metadata.json")
	broken := filepath.Join(k.Root, "broken.metadata.json")
	if err := os.WriteFile(broken, []byte(`{"format-version":2`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = register(k, "mallory", "file://"+broken, false)
	wantError(t, err, catalog.BadRequest, "")
}

// A registered document names foreign files everywhere; the table lives its
// whole life and none of them is read, written or deleted.
func TestForeignFilesOfARegisteredDocumentAreLeftAlone(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	v := newVictim(t, k)
	manifests := filepath.Join(v.folder, "data", "manifest-list.avro")
	if err := os.MkdirAll(filepath.Dir(manifests), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifests, []byte("theirs"), 0o000); err != nil { // nobody may even read it
		t.Fatal(err)
	}
	foreign := "file://" + manifests
	file := forge(t, k, filepath.Join(k.Root, "mallory", "metadata"), func(doc map[string]any) {
		doc["location"] = "file://" + k.Root + "/mallory"
		doc["last-sequence-number"] = 1
		doc["snapshots"] = []any{map[string]any{
			"snapshot-id": 1, "sequence-number": 1, "timestamp-ms": kit.Now.UnixMilli(), "schema-id": 0,
			"manifest-list": foreign, "summary": map[string]any{"operation": "append"},
		}}
		doc["current-snapshot-id"] = 1
		doc["refs"] = map[string]any{"main": map[string]any{"snapshot-id": 1, "type": "branch"}}
		doc["metadata-log"] = []any{map[string]any{"metadata-file": foreign, "timestamp-ms": kit.Now.UnixMilli() - 1000}}
		doc["properties"] = map[string]any{"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
	})
	if _, err := register(k, "mallory", file, false); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Commit(kit.At("db", "mallory"), kit.Head(1), kit.Append(2, 1, 2)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Commit(kit.At("db", "mallory"), kit.Head(2), `[{"action":"remove-snapshots","snapshot-ids":[1]}]`); err != nil {
		t.Fatal(err)
	}
	if err := k.Commands.DropTable(t.Context(), k.Call(), commands.DropTable{Warehouse: k.Warehouse, Table: kit.At("db", "mallory"), PurgeRequested: true}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(manifests)
	if err != nil || info.Size() != 6 {
		t.Errorf("the foreign file: %v, %v", info, err)
	}
	if _, err := os.Stat(strings.TrimPrefix(file, "file://")); err != nil {
		t.Errorf("the registered file is gone: %v", err)
	}
}

func TestRegisterOverwriteMovesTheClaims(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	old, err := k.Create("db", "t", `,"location":"file://`+k.Root+`/old"`)
	if err != nil {
		t.Fatal(err)
	}
	file := forge(t, k, filepath.Join(k.Root, "new", "metadata"), func(doc map[string]any) { doc["location"] = "file://" + k.Root + "/new" })
	_, err = register(k, "T", file, false)
	wantError(t, err, catalog.AlreadyExists, "Table already exists: db.T")
	now, err := register(k, "T", file, true)
	if err != nil {
		t.Fatal(err)
	}
	if now.ID != old.ID || now.Pointer != file || decodedOf(t, now)["table-uuid"] == decodedOf(t, old)["table-uuid"] {
		t.Errorf("overwritten: %s at %s", now.ID, now.Pointer)
	}
	if _, err := os.Stat(strings.TrimPrefix(old.Pointer, "file://")); err != nil {
		t.Errorf("overwriting took a file: %v", err)
	}
	if _, err := k.Create("db", "heir", `,"location":"file://`+k.Root+`/old"`); err != nil {
		t.Errorf("the old location is not free: %v", err)
	}
	_, err = k.Create("db", "other", `,"location":"file://`+k.Root+`/new/x"`)
	wantError(t, err, catalog.BadRequest, overlaps)
	if _, err := k.Commit(kit.At("db", "t"), "", `[{"action":"set-properties","updates":{"a":"b"}}]`); err != nil {
		t.Error(err)
	}
	loaded, err := k.Load(kit.At("db", "t"), loadAll)
	if err != nil || !strings.Contains(loaded.Pointer, "/new/metadata/00001-") {
		t.Errorf("loaded %v", err)
	}
}

// Claims move with the metadata: what a commit gives up is free, what it takes
// is held.
func TestClaimsFollowEveryChange(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	root := "file://" + k.Root
	if _, err := k.Create("db", "t", `,"location":"`+root+`/a"`); err != nil {
		t.Fatal(err)
	}
	free := func(path string) bool {
		t.Helper()
		_, err := k.Create("db", "probe", `,"stage-create":true,"location":"`+root+path+`"`)
		if err != nil {
			wantError(t, err, catalog.BadRequest, overlaps)
		}
		return err == nil
	}
	for _, step := range []struct {
		updates string
		held    []string
		free    []string
	}{
		{`[{"action":"set-properties","updates":{"write.metadata.path":"` + root + `/m"}}]`, []string{"/a", "/m"}, []string{"/b"}},
		{`[{"action":"set-location","location":"` + root + `/b"}]`, []string{"/b", "/m"}, []string{"/a"}},
		{`[{"action":"set-properties","updates":{"write.metadata.path":"` + root + `/b/meta/"}}]`, []string{"/b", "/b/meta"}, []string{"/m"}},
		{`[{"action":"set-location","location":"` + root + `/c"}]`, []string{"/c", "/b/meta"}, []string{"/b/data", "/m"}},
		{`[{"action":"remove-properties","removals":["write.metadata.path"]}]`, []string{"/c"}, []string{"/b", "/a", "/m"}},
	} {
		if _, err := k.Commit(kit.At("db", "t"), "", step.updates); err != nil {
			t.Fatalf("%s: %v", step.updates, err)
		}
		for _, path := range step.held {
			if free(path) {
				t.Errorf("after %s the path %s is free", step.updates, path)
			}
		}
		for _, path := range step.free {
			if !free(path) {
				t.Errorf("after %s the path %s is held", step.updates, path)
			}
		}
	}
}

package commands_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// decodedOf decodes a table's document.
func decodedOf(t *testing.T, table commands.Table) map[string]any {
	t.Helper()
	return kit.Document(t, table.Document)
}

func TestCreateTableRefuses(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	k.Table("db", "taken")
	root := "file://" + k.Root
	occupied, err := k.Create("db", "occupied", `,"location":"`+root+`/place/here"`)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		namespace, name, more string
		kind                  catalog.Kind
		text                  string
	}{
		"a missing namespace":             {"nope", "t", "", catalog.NoSuchNamespace, "Namespace does not exist: nope"},
		"a taken name":                    {"db", "taken", "", catalog.AlreadyExists, "Table already exists: db.taken"},
		"a taken name in another case":    {"DB", "TAKEN", "", catalog.AlreadyExists, "Table already exists: DB.TAKEN"},
		"a name that is too long":         {"db", strings.Repeat("x", 256), "", catalog.BadRequest, ""},
		"a name with a NUL":               {"db", "a\x00b", "", catalog.BadRequest, ""},
		"a location outside":              {"db", "t", `,"location":"file:///etc/t"`, catalog.BadRequest, "The location is not below the warehouse's root"},
		"a location that steps out":       {"db", "t", `,"location":"` + root + `/../x"`, catalog.BadRequest, ""},
		"a location that is the root":     {"db", "t", `,"location":"` + root + `/"`, catalog.BadRequest, ""},
		"a location of another store":     {"db", "t", `,"location":"s3://bucket/t"`, catalog.BadRequest, ""},
		"a location that is too deep":     {"db", "t", `,"location":"` + root + strings.Repeat("/d", 129) + `"`, catalog.BadRequest, "The location lies too deep: more than 128 folders"},
		"a location that engines decode":  {"db", "t", `,"location":"` + root + `/a%2e%2e"`, catalog.BadRequest, ""},
		"another's location":              {"db", "t", `,"location":"` + root + `/place/here"`, catalog.BadRequest, "The location overlaps with the location of another object"},
		"a location below another's":      {"db", "t", `,"location":"` + root + `/place/here/x"`, catalog.BadRequest, "The location overlaps with the location of another object"},
		"a location above another's":      {"db", "t", `,"location":"` + root + `/place"`, catalog.BadRequest, "The location overlaps with the location of another object"},
		"a metadata path below another's": {"db", "t", `,"properties":{"write.metadata.path":"` + root + `/place/here/m"}`, catalog.BadRequest, "The location overlaps with the location of another object"},
		"a metadata path outside":         {"db", "t", `,"properties":{"write.metadata.path":"file:///etc/m"}`, catalog.BadRequest, ""},
		"staged, a location below another's": {"db", "t", `,"stage-create":true,"location":"` + root + `/place/here/x"`, catalog.BadRequest,
			"The location overlaps with the location of another object"},
		"staged, a taken name":        {"db", "taken", `,"stage-create":true`, catalog.AlreadyExists, ""},
		"a format that is no version": {"db", "t", `,"properties":{"format-version":"4"}`, catalog.IllegalArgument, ""},
	}
	files := kit.Files(t, k.Root)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := k.Create(c.namespace, c.name, c.more)
			wantError(t, err, c.kind, c.text)
		})
	}
	if after := kit.Files(t, k.Root); !slices.Equal(files, after) {
		t.Errorf("refused creates changed the files from %v to %v", files, after)
	}
	if _, err := k.Load(kit.At("db", "occupied"), loadAll); err != nil || occupied.Staged() {
		t.Error(err)
	}
	// As deep and as long as a file system has it.
	deep := root + strings.Repeat("/d", 110-strings.Count(root, "/")) + strings.Repeat("/"+strings.Repeat("x", 200), 2)
	if _, err := k.Create("db", "deep", `,"location":"`+deep+`"`); err != nil {
		t.Error(err)
	}
	// A neighbour whose name only begins alike is none.
	if _, err := k.Create("db", "near", `,"location":"`+root+`/place/here2"`); err != nil {
		t.Error(err)
	}
}

func TestCreateTableKeepsWhatTheClientSaid(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	for format := 1; format <= 3; format++ {
		location := fmt.Sprintf("%s/own/v%d", k.Root, format)
		table, err := k.Create("db", fmt.Sprintf("v%d", format),
			fmt.Sprintf(`,"location":"file:%s/","properties":{"format-version":"%d","owner":"x","write.metadata.compression-codec":"gzip"}`, location, format))
		if err != nil {
			t.Fatal(err)
		}
		doc := decodedOf(t, table)
		if doc["location"] != "file://"+location || doc["format-version"] != float64(format) || doc["last-updated-ms"] != float64(kit.Now.UnixMilli()) {
			t.Errorf("document %v", doc)
		}
		if properties := doc["properties"].(map[string]any); properties["owner"] != "x" || properties["format-version"] != nil {
			t.Errorf("properties %v", properties)
		}
		if !strings.HasPrefix(table.Pointer, "file://"+location+"/metadata/00000-") || !strings.HasSuffix(table.Pointer, ".gz.metadata.json") {
			t.Errorf("pointer %s", table.Pointer)
		}
		if doc["table-uuid"] != table.ID.String() {
			t.Errorf("the table of uuid %v has the id %s", doc["table-uuid"], table.ID)
		}
		if loaded, err := k.Load(kit.At("db", fmt.Sprintf("v%d", format)), loadAll); err != nil || string(loaded.Document.Plain()) != string(table.Document) {
			t.Errorf("loaded %v", err)
		}
	}
}

func TestWarehouseChoosesFormats(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	w, err := k.Commands.CreateWarehouse(t.Context(), k.Call(), commands.CreateWarehouse{
		Name: "three", StorageProfile: kit.Profile(k.Root), AllowedFormats: []int{1, 3}, DefaultFormat: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	k.Warehouse = w.ID
	k.Namespace("db")
	if doc := decodedOf(t, k.Table("db", "default")); doc["format-version"] != float64(1) {
		t.Errorf("default format %v", doc["format-version"])
	}
	_, err = k.Create("db", "two", `,"properties":{"format-version":"2"}`)
	wantError(t, err, catalog.BadRequest, "Format version 2 is not allowed in this warehouse")
	_, err = k.Commit(kit.At("db", "default"), "", `[{"action":"upgrade-format-version","format-version":2}]`)
	wantError(t, err, catalog.BadRequest, "Format version 2 is not allowed in this warehouse")
	if _, err = k.Commit(kit.At("db", "default"), "", `[{"action":"upgrade-format-version","format-version":3}]`); err != nil {
		t.Error(err)
	}
}

// creation is the updates by which a client creates what it staged.
func creation(location, uuid string) string {
	return `[{"action":"assign-uuid","uuid":"` + uuid + `"},{"action":"upgrade-format-version","format-version":2},` +
		`{"action":"add-schema","schema":` + kit.Schema + `,"last-column-id":2},{"action":"set-current-schema","schema-id":-1},` +
		`{"action":"add-spec","spec":{"spec-id":0,"fields":[]}},{"action":"set-default-spec","spec-id":-1},` +
		`{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},{"action":"set-default-sort-order","sort-order-id":-1},` +
		`{"action":"set-location","location":"` + location + `"},{"action":"set-properties","updates":{"owner":"x"}}]`
}

const assertCreate = `[{"type":"assert-create"}]`

func TestStagedCreateKeepsNothing(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	events := len(k.Events())
	staged, err := k.Create("db", "t", `,"stage-create":true`)
	if err != nil {
		t.Fatal(err)
	}
	if !staged.Staged() || staged.ETag != "" || len(staged.Document) == 0 {
		t.Errorf("staged %+v", staged)
	}
	if after := len(k.Events()); after != events || len(kit.Files(t, k.Root)) != 0 {
		t.Errorf("%d events, files %v", after-events, kit.Files(t, k.Root))
	}
	_, err = k.Load(kit.At("db", "t"), loadAll)
	wantError(t, err, catalog.NoSuchTable, "Table does not exist: db.t")

	doc := decodedOf(t, staged)
	wantFolder(t, doc["location"].(string)+"/metadata")
	location, uuid := doc["location"].(string), doc["table-uuid"].(string)
	made, err := k.Commit(kit.At("db", "t"), assertCreate, creation(location, uuid))
	if err != nil {
		t.Fatal(err)
	}
	doc = decodedOf(t, made)
	if doc["location"] != location || doc["table-uuid"] != uuid || !strings.HasPrefix(made.Pointer, location+"/metadata/00000-") {
		t.Errorf("created as %v at %s", doc, made.Pointer)
	}
	_, err = k.Commit(kit.At("db", "t"), assertCreate, creation(location, uuid))
	wantError(t, err, catalog.CommitFailed, "Requirement failed: table already exists")
}

func wantFolder(t *testing.T, location string) {
	t.Helper()
	names, err := os.ReadDir(strings.TrimPrefix(location, "file://"))
	if err != nil || len(names) != 0 {
		t.Errorf("%s is no empty folder: %v, %v", location, names, err)
	}
}

// Clients write their first manifests before there is a table (DuckDB's CREATE
// TABLE … AS), and not all make folders.
func TestStagedCreateMakesTheMetadataFolder(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	root := "file://" + k.Root
	if _, err := k.Create("db", "t", `,"stage-create":true,"location":"`+root+`/here/"`); err != nil {
		t.Fatal(err)
	}
	wantFolder(t, root+"/here/metadata")
	if _, err := k.Create("db", "t", `,"stage-create":true,"location":"`+root+`/apart","properties":{"write.metadata.path":"`+root+`/meta/"}`); err != nil {
		t.Fatal(err)
	}
	wantFolder(t, root+"/meta")

	// A refused one makes nothing, not even when only the metadata's place is taken.
	if _, err := k.Create("db", "taken", `,"location":"`+root+`/taken"`); err != nil {
		t.Fatal(err)
	}
	for name, more := range map[string]string{
		"t":     `,"location":"` + root + `/new","properties":{"write.metadata.path":"` + root + `/taken/metadata"}`,
		"taken": `,"location":"` + root + `/new"`,
	} {
		if _, err := k.Create("db", name, `,"stage-create":true`+more); err == nil {
			t.Errorf("%s was staged", name)
		}
	}
	if _, err := os.Stat(k.Root + "/new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused create left a folder: %v", err)
	}
}

func TestCreateByCommitIsJudgedAnew(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	root := "file://" + k.Root
	first, err := k.Commit(kit.At("db", "first"), assertCreate, creation(root+"/first", "5d4c6a8e-0000-4000-8000-000000000001"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		at                     commands.Identifier
		requirements, location string
		uuid                   string
		kind                   catalog.Kind
	}{
		"in a missing namespace":      {kit.At("nope", "t"), assertCreate, root + "/t", "", catalog.NoSuchNamespace},
		"outside the warehouse":       {kit.At("db", "t"), assertCreate, "file:///etc/t", "", catalog.BadRequest},
		"below another table":         {kit.At("db", "t"), assertCreate, root + "/first/t", "", catalog.BadRequest},
		"with another table's uuid":   {kit.At("db", "t"), assertCreate, root + "/t", "5d4c6a8e-0000-4000-8000-000000000001", catalog.AlreadyExists},
		"with a uuid that is none":    {kit.At("db", "t"), assertCreate, root + "/t", "five", catalog.BadRequest},
		"with an illegal name":        {kit.At("db", "a\x1fb"), assertCreate, root + "/t", "", catalog.BadRequest},
		"with other requirements":     {kit.At("db", "t"), `[{"type":"assert-create"},{"type":"assert-default-spec-id","default-spec-id":0}]`, root + "/t", "", catalog.IllegalArgument},
		"without assert-create, none": {kit.At("db", "t"), `[]`, root + "/t", "", catalog.NoSuchTable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			uuid := c.uuid
			if uuid == "" {
				uuid = k.IDs.New().String()
			}
			_, err := k.Commit(c.at, c.requirements, creation(c.location, uuid))
			wantError(t, err, c.kind, "")
		})
	}
	if files := kit.Files(t, k.Root); len(files) != 1 || "file://"+k.Root+"/"+files[0] != first.Pointer {
		t.Errorf("refused commits left %v", files)
	}
}

func TestFreeLocationsComeBackAfterADrop(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	location := `,"location":"file://` + k.Root + `/place"`
	drop := func(purge bool) {
		t.Helper()
		if err := k.Commands.DropTable(t.Context(), k.Call(), commands.DropTable{Warehouse: k.Warehouse, Table: kit.At("db", "t"), PurgeRequested: purge}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, err := k.Create("db", "t", location); err != nil {
			t.Fatal(err)
		}
		drop(false)
	}
	if _, err := k.Create("db", "t", location); err != nil {
		t.Fatal(err)
	}
	drop(true) // its files are to be deleted: nobody may write there meanwhile
	_, err := k.Create("db", "t", location)
	wantError(t, err, catalog.BadRequest, "The location overlaps with the location of another object")
}

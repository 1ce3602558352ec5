package commands_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/authztest"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/queries"
)

// viewVersion is a version of one dialect.
func viewVersion(id int, dialect, sql string) string {
	return fmt.Sprintf(`{"version-id":%d,"timestamp-ms":1772366400000,"schema-id":0,"summary":{"engine-name":"x"},"default-namespace":["db"],"representations":[{"type":"sql","sql":%q,"dialect":%q}]}`, id, sql, dialect)
}

// createViewRequest is a CreateViewRequest; more are further members.
func createViewRequest(name, more string) []byte {
	return fmt.Appendf(nil, `{"name":%q,"schema":%s,"view-version":%s%s}`, name, kit.Schema, viewVersion(1, "spark", "select 1"), more)
}

func createView(k *kit.Kit, namespace, name, more string) (commands.View, error) {
	return k.Commands.CreateView(k.Context(), k.Call(), commands.CreateView{Warehouse: k.Warehouse, Namespace: []string{namespace}, Request: createViewRequest(name, more)})
}

func newView(k *kit.Kit, namespace, name string) commands.View {
	k.Helper()
	v, err := createView(k, namespace, name, "")
	if err != nil {
		k.Fatalf("create view %s.%s: %v", namespace, name, err)
	}
	return v
}

func commitView(k *kit.Kit, at commands.Identifier, requirements, updates string) (commands.View, error) {
	return k.Commands.CommitView(k.Context(), k.Call(), commands.CommitView{Warehouse: k.Warehouse, View: at, Requirements: []byte(requirements), Updates: []byte(updates)})
}

func replaceBy(version string) string {
	return `[{"action":"add-view-version","view-version":` + version + `},{"action":"set-current-view-version","view-version-id":-1}]`
}

func viewUUID(t testing.TB, v commands.View) string {
	t.Helper()
	return kit.Document(t, v.Document)["view-uuid"].(string)
}

func renameView(k *kit.Kit, from, to commands.Identifier) error {
	return k.Commands.RenameView(k.Context(), k.Call(), commands.RenameView{Warehouse: k.Warehouse, Source: from, Destination: to})
}

func dropView(k *kit.Kit, at commands.Identifier) error {
	return k.Commands.DropView(k.Context(), k.Call(), commands.DropView{Warehouse: k.Warehouse, View: at})
}

func registerView(k *kit.Kit, name, pointer string) (commands.View, error) {
	return k.Commands.RegisterView(k.Context(), k.Call(), commands.RegisterView{Warehouse: k.Warehouse, Namespace: []string{"db"}, Name: name, MetadataLocation: pointer})
}

func loadView(k *kit.Kit, at commands.Identifier) (*queries.View, error) {
	return k.Queries.LoadView(k.Context(), authz.Anonymous, k.Warehouse, queries.Identifier(at), false)
}

func TestAViewsLife(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	k.Namespace("other")
	created := newView(k, "db", "Report")
	if !strings.HasPrefix(created.Pointer, "file://"+k.Root+"/db/Report-") || created.ID.String() != viewUUID(t, created) {
		t.Fatalf("created %+v", created)
	}
	file, err := os.ReadFile(strings.TrimPrefix(created.Pointer, "file://"))
	if err != nil || string(file) != string(created.Document) {
		t.Errorf("the file holds %s, %v", file, err)
	}
	loaded, err := loadView(k, kit.At("DB", "report"))
	if err != nil || string(loaded.Document.Plain()) != string(created.Document) || loaded.Pointer != created.Pointer || loaded.Mark != created.Mark {
		t.Fatalf("loaded %+v, %v", loaded, err)
	}
	replaced, err := commitView(k, kit.At("db", "report"), `[{"type":"assert-view-uuid","uuid":"`+viewUUID(t, created)+`"}]`, replaceBy(viewVersion(2, "spark", "select 2")))
	if err != nil {
		t.Fatal(err)
	}
	if replaced.Mark == created.Mark || !strings.Contains(replaced.Pointer, "/metadata/00001-") {
		t.Errorf("replaced %+v", replaced)
	}
	events := len(k.Events())
	if same, err := commitView(k, kit.At("db", "report"), "", replaceBy(viewVersion(3, "spark", "select 2"))); err != nil || same.Mark != replaced.Mark || len(k.Events()) != events {
		t.Errorf("the same again: %+v, %v", same, err)
	}
	if same, err := commitView(k, kit.At("db", "report"), "", "[]"); err != nil || same.Mark != replaced.Mark {
		t.Errorf("nothing: %+v, %v", same, err)
	}
	if err := renameView(k, kit.At("db", "report"), kit.At("db", "REPORT")); err != nil {
		t.Errorf("to another letter case: %v", err)
	}
	if err := renameView(k, kit.At("db", "report"), kit.At("db", "REPORT")); err != nil {
		t.Errorf("to its own name: %v", err)
	}
	if err := renameView(k, kit.At("db", "report"), kit.At("other", "w")); err != nil {
		t.Fatal(err)
	}
	wantError(t, dropView(k, kit.At("db", "report")), catalog.NoSuchView, "View does not exist: db.report")
	if moved, err := loadView(k, kit.At("other", "w")); err != nil || moved.Pointer != replaced.Pointer || moved.ID != created.ID {
		t.Errorf("moved %+v, %v", moved, err)
	}
	if err := dropView(k, kit.At("other", "w")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimPrefix(replaced.Pointer, "file://")); err != nil {
		t.Errorf("the drop took the file: %v", err)
	}
	registered, err := registerView(k, "again", replaced.Pointer)
	if err != nil || registered.ID == created.ID || string(registered.Document) != string(replaced.Document) {
		t.Fatalf("registered %+v, %v", registered, err)
	}
	if _, err := commitView(k, kit.At("db", "again"), "", replaceBy(viewVersion(2, "spark", "select 3"))); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"dev.icecore.namespace.created", "dev.icecore.namespace.created", "dev.icecore.view.created", "dev.icecore.view.committed", "dev.icecore.view.renamed",
		"dev.icecore.view.renamed", "dev.icecore.view.dropped", "dev.icecore.view.registered", "dev.icecore.view.committed",
	}
	if got := k.Events()[3:]; !slices.Equal(got, want) {
		t.Errorf("events %v", got)
	}
	if n := len(kit.Files(t, filepath.Join(k.Root, "db"))); n != 3 {
		t.Errorf("%d files", n)
	}
	// Another instance sees the same, from the file.
	cold := kit.New(t, kit.Setup{Share: k})
	if got, err := loadView(cold, kit.At("db", "again")); err != nil || !strings.Contains(string(got.Document.Plain()), "select 3") {
		t.Errorf("%+v, %v", got, err)
	}
}

// Replacing a view of the same base at the same time loses nothing: whoever
// comes second is applied to what the first made.
func TestReplacesOfOneViewRace(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	a.Namespace("db")
	uuid := viewUUID(t, newView(a, "db", "v"))
	const n = 8
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		k := []*kit.Kit{a, b}[i%2]
		wg.Go(func() {
			_, errs[i] = commitView(k, kit.At("db", "v"), `[{"type":"assert-view-uuid","uuid":"`+uuid+`"}]`, replaceBy(viewVersion(2, "spark", fmt.Sprint("select ", 100+i))))
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			wantError(t, err, catalog.CommitFailed, "Commit failed: the object was changed concurrently, please retry")
		}
	}
	v, err := loadView(b, kit.At("db", "v"))
	if err != nil {
		t.Fatal(err)
	}
	doc := kit.Document(t, v.Document.Plain())
	if got := int(doc["current-version-id"].(float64)); got != won+1 || len(doc["versions"].([]any)) != won+1 || won == 0 {
		t.Errorf("%d replaces were accepted, version %d is current: %s", won, got, v.Document.Plain())
	}
	for _, files := range [][]string{kit.Files(t, filepath.Join(a.Root, "db"))} {
		if len(files) != won+1 {
			t.Errorf("%d files for %d states", len(files), won+1)
		}
	}
}

func TestTablesAndViewsOfOneNameRace(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	a.Namespace("db")
	for i := range 8 {
		name := fmt.Sprint("x", i)
		var table, view error
		var wg sync.WaitGroup
		wg.Go(func() { _, table = a.Create("db", name, "") })
		wg.Go(func() { _, view = createView(b, "db", name, "") })
		wg.Wait()
		switch {
		case table == nil:
			wantError(t, view, catalog.AlreadyExists, "Table with same name already exists: db."+name)
		case view == nil:
			wantError(t, table, catalog.AlreadyExists, "View with same name already exists: db."+name)
		default:
			t.Errorf("nobody won: %v, %v", table, view)
		}
	}
	// Renames meet at one name, too.
	a.Table("db", "t")
	newView(a, "db", "v")
	var table, view error
	var wg sync.WaitGroup
	wg.Go(func() { table = rename(a, kit.At("db", "t"), kit.At("db", "goal")) })
	wg.Go(func() { view = renameView(b, kit.At("db", "v"), kit.At("db", "goal")) })
	wg.Wait()
	switch {
	case table == nil:
		wantError(t, view, catalog.AlreadyExists, "Cannot rename db.v to db.goal. Table already exists")
	case view == nil:
		wantError(t, table, catalog.AlreadyExists, "Cannot rename db.t to db.goal. View already exists")
	default:
		t.Errorf("nobody won: %v, %v", table, view)
	}
}

func TestDropAndReplaceOfAViewRace(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	a.Namespace("db")
	for i := range 6 {
		name := fmt.Sprint("v", i)
		uuid := viewUUID(t, newView(a, "db", name))
		var dropped, committed error
		var wg sync.WaitGroup
		wg.Go(func() { dropped = dropView(a, kit.At("db", name)) })
		wg.Go(func() {
			_, committed = commitView(b, kit.At("db", name), `[{"type":"assert-view-uuid","uuid":"`+uuid+`"}]`, replaceBy(viewVersion(2, "spark", "select 2")))
		})
		wg.Wait()
		if dropped != nil {
			t.Errorf("drop: %v", dropped)
		}
		if committed != nil {
			wantError(t, committed, catalog.NoSuchView, "View does not exist: db."+name)
		}
	}
}

// Law 5: a view is written below its own claims, within the warehouse, and
// never into what another object owns.
func TestViewsKeepToTheirPlaces(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	table := k.Table("db", "t")
	owned := kit.Document(t, table.Document)["location"].(string)
	root := "file://" + k.Root
	outside := t.TempDir()
	for name, c := range map[string]struct{ more, text string }{
		"another's place":        {fmt.Sprintf(`,"location":%q`, owned), "The location overlaps with the location of another object"},
		"below another's":        {fmt.Sprintf(`,"location":%q`, owned+"/v"), "The location overlaps with the location of another object"},
		"above another's":        {fmt.Sprintf(`,"location":%q`, root+"/db"), "The location overlaps with the location of another object"},
		"files in another's":     {fmt.Sprintf(`,"properties":{"write.metadata.path":%q}`, owned+"/metadata"), "The location overlaps with the location of another object"},
		"the root":               {fmt.Sprintf(`,"location":%q`, root), "The location is not below the warehouse's root"},
		"outside":                {fmt.Sprintf(`,"location":%q`, "file://"+outside), "The location is not below the warehouse's root"},
		"files outside":          {fmt.Sprintf(`,"properties":{"write.metadata.path":%q}`, "file://"+outside), "The location is not below the warehouse's root"},
		"steps":                  {fmt.Sprintf(`,"location":%q`, root+"/db/../x"), "Invalid location"},
		"another store":          {`,"location":"s3://bucket/v"`, "Invalid location"},
		"no history":             {`,"properties":{"version.history.num-entries":"0"}`, "version.history.num-entries must be positive but was 0"},
		"a codec nobody knows":   {`,"properties":{"write.metadata.compression-codec":"rar"}`, "Invalid codec name: rar"},
		"percent signs that lie": {fmt.Sprintf(`,"location":%q`, root+"/db/%2e%2e/x"), "Invalid location"},
	} {
		_, err := createView(k, "db", "v", c.more)
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(kit.Files(t, outside)) != 0 || len(kit.Files(t, k.Root)) != 1 {
		t.Errorf("written: %v, %v", kit.Files(t, outside), kit.Files(t, k.Root))
	}
	v := newView(k, "db", "v")
	for name, updates := range map[string]string{
		"moved onto another": fmt.Sprintf(`[{"action":"set-location","location":%q}]`, owned),
		"moved outside":      fmt.Sprintf(`[{"action":"set-location","location":%q}]`, "file://"+outside),
		"files into another": fmt.Sprintf(`[{"action":"set-properties","updates":{"write.metadata.path":%q}}]`, owned+"/x"),
	} {
		if _, err := commitView(k, kit.At("db", "v"), "", updates); catalog.KindOf(err) != catalog.BadRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	// It moves, its old place is free, and a table may come to live there.
	was := kit.Document(t, v.Document)["location"].(string)
	if _, err := commitView(k, kit.At("db", "v"), "", fmt.Sprintf(`[{"action":"set-location","location":%q}]`, strings.Replace(root, "file://", "file:", 1)+"/moved/")); err != nil {
		t.Fatal(err)
	}
	if got, err := loadView(k, kit.At("db", "v")); err != nil || !strings.HasPrefix(got.Pointer, root+"/moved/metadata/00001-") || kit.Document(t, got.Document.Plain())["location"] != root+"/moved" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := k.Create("db", "guest", fmt.Sprintf(`,"location":%q`, was)); err != nil {
		t.Errorf("a table at the old place: %v", err)
	}
	if _, err := registerView(k, "w", v.Pointer); err == nil {
		t.Error("a file in a table's place is registered as a view")
	}
}

func TestRegisterViewRefuses(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	table := k.Table("db", "t")
	v := newView(k, "db", "v")
	wantError(t, second(registerView(k, "w", v.Pointer)), catalog.AlreadyExists, "A table or view with the same UUID already exists in the warehouse")
	if err := dropView(k, kit.At("db", "v")); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(k.Root, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return "file://" + path
	}
	doc := string(v.Document)
	for name, c := range map[string]struct {
		location string
		kind     catalog.Kind
		text     string
	}{
		"no file":       {"file://" + k.Root + "/no.metadata.json", catalog.NotFound, "Failed to open input stream for file: file://" + k.Root + "/no.metadata.json"},
		"a folder":      {"file://" + k.Root, catalog.BadRequest, "is not named like a metadata file"},
		"outside":       {"file:///etc/passwd.metadata.json", catalog.BadRequest, "not below the warehouse's root"},
		"a table":       {table.Pointer, catalog.BadRequest, "Cannot parse view metadata: Cannot parse missing string: view-uuid"},
		"no JSON":       {write("a.metadata.json", "{"), catalog.BadRequest, "Cannot parse view metadata"},
		"no gzip":       {write("a.gz.metadata.json", doc), catalog.BadRequest, "named as gzip but is not"},
		"another uuid":  {write("b.metadata.json", strings.Replace(doc, v.ID.String(), "me", 1)), catalog.BadRequest, "Invalid view-uuid: me"},
		"another place": {write("c.metadata.json", strings.Replace(doc, `"location":"file://`+k.Root, `"location":"file:///elsewhere`, 1)), catalog.BadRequest, "not below the warehouse's root"},
		"a new version": {write("d.metadata.json", strings.Replace(doc, `"format-version":1`, `"format-version":2`, 1)), catalog.BadRequest, "Unsupported format version: 2"},
	} {
		_, err := registerView(k, "w", c.location)
		if catalog.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantError(t, second(registerView(k, "T", v.Pointer)), catalog.AlreadyExists, "Table with same name already exists: db.T")
	if _, err := registerView(k, "w", v.Pointer); err != nil {
		t.Error(err)
	}
	wantError(t, second(registerView(k, "W", v.Pointer)), catalog.AlreadyExists, "View already exists: db.W")
}

func second[T any](_ T, err error) error { return err }

// A twin of a living view's uuid, at another place, is refused by name.
func TestViewsHaveTheirUUIDsForThemselves(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	v := newView(k, "db", "v")
	twin := strings.Replace(string(v.Document), kit.Document(t, v.Document)["location"].(string), "file://"+k.Root+"/twin", 1)
	path := filepath.Join(k.Root, "twin.metadata.json")
	if err := os.WriteFile(path, []byte(twin), 0o644); err != nil {
		t.Fatal(err)
	}
	wantError(t, second(registerView(k, "w", "file://"+path)), catalog.AlreadyExists, "A table or view with the same UUID already exists in the warehouse")
}

// The rights that each command asks for, in order.
func TestViewCommandsAskForTheirRights(t *testing.T) {
	t.Parallel()
	recorder := &authztest.Recorder{Authorizer: allowAll}
	k := kit.New(t, kit.Setup{Authorizer: recorder})
	k.Namespace("db")
	at, old := kit.At("db", "v"), newView(k, "db", "old")
	if err := dropView(k, kit.At("db", "old")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		run  func() error
		want []authz.Action
	}{
		{"create", func() error { return second(createView(k, "db", "v", "")) }, []authz.Action{authz.NamespaceCreateView}},
		{"commit", func() error { return second(commitView(k, at, "", setProperty)) }, []authz.Action{authz.ViewCommit}},
		{"load", func() error { return second(loadView(k, at)) }, []authz.Action{authz.ViewGetMetadata}},
		{"exists", func() error {
			return k.Queries.ViewExists(t.Context(), authz.Anonymous, k.Warehouse, queries.Identifier(at))
		}, []authz.Action{authz.ViewGetMetadata}},
		{"list", func() error {
			return second(k.Queries.ListViews(t.Context(), authz.Anonymous, k.Warehouse, []string{"db"}, queries.Page{}))
		}, []authz.Action{authz.NamespaceListViews}},
		{"rename", func() error { return renameView(k, at, kit.At("db", "w")) }, []authz.Action{authz.ViewRename, authz.NamespaceCreateView}},
		{"register", func() error { return second(registerView(k, "back", old.Pointer)) }, []authz.Action{authz.NamespaceCreateView}},
		{"drop", func() error { return dropView(k, kit.At("db", "w")) }, []authz.Action{authz.ViewDrop}},
	} {
		before := len(recorder.Actions())
		if err := c.run(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := recorder.Actions()[before:]; !slices.Equal(got, c.want) {
			t.Errorf("%s asks for %v, want %v", c.name, got, c.want)
		}
	}
	for _, q := range recorder.Questions() {
		if strings.HasPrefix(string(q.Action), "view.") && (q.Facts.Entity != "view" || q.Facts.Object.IsNil() || len(q.Facts.Ancestors) < 4) {
			t.Errorf("asked without an object or its ancestors: %+v", q)
		}
	}
}

// Whatever a client sends, the answer is success or the client's fault, and
// what was accepted can be loaded.
func TestOddViewsAreTheClientsFaultOrFine(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	good := viewVersion(1, "spark", "select 1")
	root := "file://" + k.Root
	odd := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	n := 0
	for _, c := range []struct{ version, more string }{
		{odd(`"version-id":1`, `"version-id":-1`), ""}, {odd(`"version-id":1`, `"version-id":2147483647`), ""}, {odd(`"version-id":1`, `"version-id":2147483648`), ""},
		{odd(`"version-id":1`, `"version-id":1.0`), ""}, {odd(`"version-id":1`, `"version-id":1,"version-id":2`), ""}, {odd(`"schema-id":0`, `"schema-id":-1`), ""},
		{odd(`1772366400000`, `-9223372036854775808`), ""}, {odd(`1772366400000`, `9223372036854775808`), ""}, {odd(`"spark"`, `""`), ""}, {odd(`"spark"`, `"`+strings.Repeat("d", 1<<20)+`"`), ""},
		{odd(`"select 1"`, `"\u0000"`), ""}, {odd(`"select 1"`, `"`+strings.Repeat("s", 1<<20)+`"`), ""}, {odd(`"select 1"`, `"\ud800"`), ""}, {odd(`["db"]`, `[]`), ""}, {odd(`["db"]`, `[1]`), ""},
		{odd(`["db"]`, `["a","\u001f",""]`), ""}, {odd(`{"engine-name":"x"}`, `{"":""}`), ""}, {odd(`{"engine-name":"x"}`, `null`), ""}, {odd(`"summary"`, `"deep":`+strings.Repeat(`[`, 490)+strings.Repeat(`]`, 490)+`,"summary"`), ""},
		{odd(`"summary"`, `"deep":`+strings.Repeat(`[`, 20_000)+strings.Repeat(`]`, 20_000)+`,"summary"`), ""}, {`null`, ""}, {`[]`, ""}, {`7`, ""},
		{good, `,"properties":null`}, {good, `,"properties":[]`}, {good, `,"properties":{"a":{}}`}, {good, `,"properties":{"nul\u0000":"x"}`}, {good, `,"location":null`}, {good, `,"location":""`}, {good, `,"location":7`},
		{good, `,"properties":{"write.metadata.path":""}`}, {good, fmt.Sprintf(`,"properties":{"write.metadata.path":%q}`, k.Root+"/bare")},
		{good, fmt.Sprintf(`,"properties":{"write.metadata.path":%q}`, "FILE:"+k.Root+"/capitals")},
		{good, fmt.Sprintf(`,"properties":{"write.metadata.path":%q}`, "file:"+strings.Repeat("/", 6000)+k.Root[1:]+"/slashes")},
		{good, fmt.Sprintf(`,"location":%q`, root+"/"+strings.Repeat("l", 2000))}, {good, fmt.Sprintf(`,"location":%q`, root+"/"+strings.Repeat("l", 200)+"\x00")},
	} {
		n++
		name := fmt.Sprint("v", n)
		made, err := k.Commands.CreateView(t.Context(), k.Call(), commands.CreateView{Warehouse: k.Warehouse, Namespace: []string{"db"},
			Request: fmt.Appendf(nil, `{"name":%q,"schema":%s,"view-version":%s%s}`, name, kit.Schema, c.version, c.more)})
		if err != nil {
			switch catalog.KindOf(err) {
			case catalog.BadRequest, catalog.IllegalArgument, catalog.Validation:
			default:
				t.Errorf("%.150s%.100s: %v of kind %d", c.version, c.more, err, catalog.KindOf(err))
			}
			continue
		}
		if !strings.HasPrefix(made.Pointer, root+"/") {
			t.Errorf("%.100s: its file is %s", c.more, made.Pointer)
		}
		if _, err := loadView(kit.New(t, kit.Setup{Share: k}), kit.At("db", name)); err != nil {
			t.Errorf("%.150s%.100s: accepted, but %v", c.version, c.more, err)
		}
	}
}

package commands_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// Java replaces a table (CREATE OR REPLACE, replaceTransaction) by one commit
// to its path: the table's uuid and, where ids were given out, the last ones are
// required; main is removed, schema, spec and order are set, properties are
// merged, and a first snapshot without parent may follow. Nothing tells the
// server that this is a replace. The cases are those of the compatibility kit.

const (
	otherSchema = `{"type":"struct","schema-id":1,"fields":[{"id":3,"name":"some_id","required":true,"type":"long"}]}`
	thirdSchema = `{"type":"struct","schema-id":1,"fields":[{"id":3,"name":"another","required":false,"type":"string"}]}`
	otherSpec   = `{"spec-id":1,"fields":[{"source-id":3,"field-id":1000,"name":"p","transform":"bucket[16]"}]}`
	plainSpec   = `{"spec-id":1,"fields":[{"source-id":1,"field-id":1000,"name":"id_b","transform":"bucket[16]"}]}`
	secondSpec  = `{"spec-id":1,"fields":[{"source-id":2,"field-id":1000,"name":"data_t","transform":"truncate[4]"}]}`

	removeMain = `{"action":"remove-snapshot-ref","ref-name":"main"}`
)

func addSchema(schema string, last int) string {
	return fmt.Sprintf(`{"action":"add-schema","schema":%s,"last-column-id":%d},{"action":"set-current-schema","schema-id":-1}`, schema, last)
}

func addSpec(spec string) string {
	return fmt.Sprintf(`{"action":"add-spec","spec":%s},{"action":"set-default-spec","spec-id":-1}`, spec)
}

func sameTable(uuid string, more ...string) string {
	return "[" + strings.Join(append([]string{fmt.Sprintf(`{"type":"assert-table-uuid","uuid":%q}`, uuid)}, more...), ",") + "]"
}

func lastField(id int) string {
	return fmt.Sprintf(`{"type":"assert-last-assigned-field-id","last-assigned-field-id":%d}`, id)
}

func lastPartition(id int) string {
	return fmt.Sprintf(`{"type":"assert-last-assigned-partition-id","last-assigned-partition-id":%d}`, id)
}

// updates joins updates and the ones of a first snapshot; 0 for none.
func updates(snapshot, sequence int64, list ...string) string {
	if snapshot != 0 {
		list = append(list, strings.Trim(kit.Append(snapshot, 0, sequence), "[]"))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// appendedTable makes db.t with snapshots 1 to n and returns its uuid.
func appendedTable(t *testing.T, k *kit.Kit, n int64) string {
	t.Helper()
	table := k.Table("db", "t")
	for i := int64(1); i <= n; i++ {
		if _, err := k.Commit(kit.At("db", "t"), kit.Head(i-1), kit.Append(i, i-1, i)); err != nil {
			t.Fatal(err)
		}
	}
	return decodedOf(t, table)["table-uuid"].(string)
}

type replaced struct {
	UUID       string            `json:"table-uuid"`
	Location   string            `json:"location"`
	Format     int               `json:"format-version"`
	Current    int64             `json:"current-snapshot-id"`
	LastColumn int               `json:"last-column-id"`
	Schema     int               `json:"current-schema-id"`
	Schemas    []json.RawMessage `json:"schemas"`
	Spec       int               `json:"default-spec-id"`
	Properties map[string]string `json:"properties"`
	Sequence   int64             `json:"last-sequence-number"`
	Snapshots  []struct {
		ID     int64  `json:"snapshot-id"`
		Parent *int64 `json:"parent-snapshot-id"`
	} `json:"snapshots"`
	Log []struct {
		ID int64 `json:"snapshot-id"`
	} `json:"snapshot-log"`
}

func replacedOf(t *testing.T, table commands.Table) (r replaced) {
	t.Helper()
	if err := json.Unmarshal(table.Document, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *replaced) snapshots() (list []int64) {
	for _, s := range r.Snapshots {
		list = append(list, s.ID)
	}
	return list
}

func (r *replaced) log() (list []int64) {
	for _, e := range r.Log {
		list = append(list, e.ID)
	}
	return list
}

// Kit: testReplaceTransaction, testCompleteReplaceTransaction,
// testReplaceTableKeepsSnapshotLog.
func TestReplaceStartsAnewAndKeepsThePast(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	uuid := appendedTable(t, k, 2)
	before, err := k.Commit(kit.At("db", "t"), "", `[{"action":"set-properties","updates":{"kept":"1","changed":"1"}}]`)
	if err != nil {
		t.Fatal(err)
	}
	location := "file://" + k.Root + "/elsewhere"
	requirements := sameTable(uuid, lastField(2), lastPartition(999))
	change := []string{
		`{"action":"upgrade-format-version","format-version":2}`, removeMain, addSchema(otherSchema, 3), addSpec(otherSpec),
		`{"action":"add-sort-order","sort-order":{"order-id":1,"fields":[{"source-id":3,"transform":"identity","direction":"asc","null-order":"nulls-first"}]}},{"action":"set-default-sort-order","sort-order-id":-1}`,
		`{"action":"set-location","location":"` + location + `"}`, `{"action":"set-properties","updates":{"changed":"2","added":"1"}}`,
	}
	made, err := k.Commit(kit.At("db", "t"), requirements, updates(0, 0, change...))
	if err != nil {
		t.Fatal(err)
	}
	was, is := replacedOf(t, before), replacedOf(t, made)
	if is.UUID != uuid || made.ID != before.ID || is.Current != -1 || is.LastColumn != 3 || is.Schema != 1 || len(is.Schemas) != 2 || is.Spec != 1 ||
		is.Location != location || is.Sequence != was.Sequence || !slices.Equal(is.snapshots(), []int64{1, 2}) || !slices.Equal(is.log(), was.log()) {
		t.Errorf("replaced without data: %+v", is)
	}
	if is.Properties["kept"] != "1" || is.Properties["changed"] != "2" || is.Properties["added"] != "1" {
		t.Errorf("properties %v", is.Properties)
	}
	// A replace with data: its first snapshot has no parent.
	made, err = k.Commit(kit.At("db", "t"), sameTable(uuid), updates(3, 3, `{"action":"set-properties","updates":{"changed":"3"}}`))
	if err != nil {
		t.Fatal(err)
	}
	is = replacedOf(t, made)
	if is.Current != 3 || !slices.Equal(is.snapshots(), []int64{1, 2, 3}) || is.Snapshots[2].Parent != nil || !slices.Equal(is.log(), []int64{1, 2, 3}) {
		t.Errorf("replaced with data: %+v", is)
	}
	// Back to what it was: the first schema and spec are used again.
	made, err = k.Commit(kit.At("db", "t"), sameTable(uuid), updates(4, 4, removeMain, addSchema(kit.Schema, 3), `{"action":"set-default-spec","spec-id":0}`,
		`{"action":"set-default-sort-order","sort-order-id":0}`))
	if err != nil {
		t.Fatal(err)
	}
	if is = replacedOf(t, made); is.Schema != 0 || len(is.Schemas) != 2 || is.Spec != 0 || is.Current != 4 || !slices.Equal(is.log(), []int64{1, 2, 3, 4}) {
		t.Errorf("replaced again: %+v", is)
	}
}

// A replace may raise the format in the same commit, and then gives row ids.
func TestReplaceUpgradesTheFormat(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	uuid := appendedTable(t, k, 1)
	first := strings.Replace(kit.Append(2, 0, 2), `"schema-id":0`, `"schema-id":0,"first-row-id":0,"added-rows":7`, 1)
	made, err := k.Commit(kit.At("db", "t"), sameTable(uuid), `[{"action":"upgrade-format-version","format-version":3},`+removeMain+","+strings.TrimPrefix(first, "["))
	if err != nil {
		t.Fatal(err)
	}
	if is := replacedOf(t, made); is.Format != 3 || is.Current != 2 || !strings.Contains(string(made.Document), `"next-row-id":7`) {
		t.Errorf("%+v", is)
	}
	_, err = k.Commit(kit.At("db", "t"), sameTable(uuid), `[{"action":"upgrade-format-version","format-version":2},`+removeMain+"]")
	wantError(t, err, catalog.IllegalArgument, "Cannot downgrade v3 table to v2")
}

// Two replaces that were prepared on one base: the second lands on the first,
// unless both gave out ids. Kit: testConcurrentReplaceTransaction….
func TestReplacesPreparedOnOneBase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second                         []string // updates
		firstRequirements, secondRequirements []string
		kind                                  catalog.Kind
		text                                  string // "" if the second lands
		schema, spec                          int
	}{
		"data alone": {first: []string{removeMain}, second: []string{removeMain}},
		"first changes the schema": {
			first: []string{removeMain, addSchema(otherSchema, 3)}, firstRequirements: []string{lastField(2)},
			second: []string{removeMain, `{"action":"set-current-schema","schema-id":0}`},
		},
		"second changes the schema": {
			first: []string{removeMain}, second: []string{removeMain, addSchema(otherSchema, 3)}, secondRequirements: []string{lastField(2)}, schema: 1,
		},
		"both change the schema": {
			first: []string{removeMain, addSchema(otherSchema, 3)}, firstRequirements: []string{lastField(2)},
			second: []string{removeMain, addSchema(thirdSchema, 3)}, secondRequirements: []string{lastField(2)},
			kind: catalog.CommitFailed, text: "Requirement failed: last assigned field id changed: expected id 2 != 3",
		},
		"second changes the spec": {
			first: []string{removeMain}, second: []string{removeMain, addSpec(plainSpec)}, secondRequirements: []string{lastPartition(999)}, spec: 1,
		},
		"both change the spec": {
			first: []string{removeMain, addSpec(plainSpec)}, firstRequirements: []string{lastPartition(999)},
			second: []string{removeMain, addSpec(secondSpec)}, secondRequirements: []string{lastPartition(999)},
			kind: catalog.CommitFailed, text: "Requirement failed: last assigned partition id changed: expected id 999 != 1000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kit.New(t, kit.Setup{})
			other := kit.New(t, kit.Setup{Share: k})
			k.Namespace("db")
			uuid := appendedTable(t, k, 1)
			if _, err := k.Commit(kit.At("db", "t"), sameTable(uuid, c.firstRequirements...), updates(2, 2, c.first...)); err != nil {
				t.Fatal(err)
			}
			// Prepared before the first was committed: the same sequence number.
			made, err := other.Commit(kit.At("db", "t"), sameTable(uuid, c.secondRequirements...), updates(3, 2, c.second...))
			if c.text != "" {
				wantError(t, err, c.kind, c.text)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			is := replacedOf(t, made)
			if is.Current != 3 || !slices.Equal(is.snapshots(), []int64{1, 2, 3}) || !slices.Equal(is.log(), []int64{1, 2, 3}) || is.Schema != c.schema || is.Spec != c.spec {
				t.Errorf("%+v", is)
			}
		})
	}
}

// What stands in the way of a replace, and of an append that meets one, is said
// in the texts that clients compare.
func TestReplaceRefusals(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	replace := func(uuid string) error {
		_, err := k.Commit(kit.At("db", "t"), sameTable(uuid), updates(9, 9, removeMain))
		return err
	}
	// Kit: testReplaceTransactionRequiresTableExists.
	wantError(t, replace("5d4c6a8e-0000-4000-8000-000000000001"), catalog.NoSuchTable, "Table does not exist: db.t")
	uuid := appendedTable(t, k, 1)
	_, err := k.Commit(kit.At("db", "t"), sameTable(uuid, `{"type":"assert-create"}`), updates(9, 9, removeMain))
	wantError(t, err, catalog.IllegalArgument, "Invalid create requirements: [assert-table-uuid]")
	// An append that was prepared before a replace.
	if _, err := k.Commit(kit.At("db", "t"), sameTable(uuid), updates(0, 0, removeMain)); err != nil {
		t.Fatal(err)
	}
	_, err = k.Commit(kit.At("db", "t"), kit.Head(1), kit.Append(2, 1, 2))
	wantError(t, err, catalog.CommitFailed, "Requirement failed: branch or tag main is missing, expected 1")
	if err := replace(uuid); err != nil {
		t.Fatal(err)
	}
	_, err = k.Commit(kit.At("db", "t"), kit.Head(1), kit.Append(2, 1, 2))
	wantError(t, err, catalog.CommitFailed, "Requirement failed: branch main has changed: expected id 1 != 9")
	// Replaced is the table that was loaded, not the next one of its name.
	if err := drop(k, kit.At("db", "t")); err != nil {
		t.Fatal(err)
	}
	wantError(t, replace(uuid), catalog.NoSuchTable, "Table does not exist: db.t")
	next := decodedOf(t, k.Table("db", "t"))["table-uuid"].(string)
	wantError(t, replace(uuid), catalog.CommitFailed, fmt.Sprintf("Requirement failed: UUID does not match: expected %s != %s", next, uuid))
}

// A create-or-replace decides by a load; what it decided may be overtaken.
// Kit: testCreateOrReplaceTransactionConcurrentCreate and its siblings.
func TestCreateOrReplaceIsOvertaken(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	location := "file://" + k.Root + "/t"
	create := creation(location, "5d4c6a8e-0000-4000-8000-000000000001")
	if _, err := k.Commit(kit.At("db", "t"), assertCreate, create); err != nil {
		t.Fatal(err)
	}
	// Both saw no table; the later one is told.
	_, err := k.Commit(kit.At("db", "t"), assertCreate, creation("file://"+k.Root+"/other", "5d4c6a8e-0000-4000-8000-000000000002"))
	wantError(t, err, catalog.CommitFailed, "Requirement failed: table already exists")
	// One saw the table and replaces it, with what a create would have made.
	made, err := k.Commit(kit.At("db", "t"), sameTable("5D4C6A8E-0000-4000-8000-000000000001", lastField(2)), updates(1, 1, addSchema(otherSchema, 3), addSpec(otherSpec)))
	if err != nil {
		t.Fatal(err)
	}
	if is := replacedOf(t, made); is.Current != 1 || is.Schema != 1 || is.Location != location {
		t.Errorf("%+v", is)
	}
}

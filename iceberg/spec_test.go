package iceberg

import (
	"fmt"
	"strings"
	"testing"
)

func specField(source int, transform, name string) string {
	return fmt.Sprintf(`{"source-id":%d,"transform":%q,"name":%q}`, source, transform, name)
}

func specFieldID(source, id int, transform, name string) string {
	return fmt.Sprintf(`{"source-id":%d,"field-id":%d,"transform":%q,"name":%q}`, source, id, transform, name)
}

func addSpecJSON(fields ...string) string {
	return `{"action":"add-spec","spec":{"spec-id":9,"fields":[` + strings.Join(fields, ",") + `]}}`
}

const setLastSpec = `{"action":"set-default-spec","spec-id":-1}`

func specFieldIDs(t *testing.T, m *Metadata, id int) []int {
	t.Helper()
	for _, it := range m.specs {
		if it.id != id {
			continue
		}
		s, err := m.spec(it)
		if err != nil {
			t.Fatal(err)
		}
		var ids []int
		for i := range s.fields {
			ids = append(ids, s.fields[i].id)
		}
		return ids
	}
	t.Fatalf("no spec %d in %s", id, m.Bytes())
	return nil
}

func TestAddSpecReusesEqualFields(t *testing.T) {
	t.Parallel()
	m := apply(t, newTable(t, 2), "["+addSpecJSON(specFieldID(3, 1000, "day", "ts_day"))+"]")
	// Field ids and spec id don't matter; -1 is the reused spec.
	next := apply(t, m, "["+addSpecJSON(specFieldID(3, 1007, "DAY", "ts_day"))+","+setLastSpec+"]")
	if len(next.specs) != 2 || next.DefaultSpecID() != 1 || next.LastPartitionID() != 1000 {
		t.Errorf("%d specs, default %d, last partition id %d", len(next.specs), next.DefaultSpecID(), next.LastPartitionID())
	}
	for _, other := range []string{specField(3, "day", "other"), specField(3, "month", "ts_day"), specField(1, "bucket[4]", "ts_day")} {
		if next := apply(t, m, "["+addSpecJSON(other)+"]"); len(next.specs) != 3 {
			t.Errorf("%s taken for the same spec", other)
		}
	}
}

func TestPartitionFieldIDs(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	if m.LastPartitionID() != 999 {
		t.Errorf("initial last-partition-id %d, want 999", m.LastPartitionID())
	}
	m = apply(t, m, "["+addSpecJSON(specFieldID(3, 1004, "day", "ts_day"))+","+setLastSpec+"]")
	if m.LastPartitionID() != 1004 {
		t.Errorf("given ids are kept: last-partition-id %d, want 1004", m.LastPartitionID())
	}
	// Missing ids: an equal source and transform keeps its id, others get the
	// next free one; Java would begin at 1000 again.
	m = apply(t, m, "["+addSpecJSON(specField(1, "bucket[4]", "b"), specField(3, "day", "renamed"))+"]")
	if got := fmt.Sprint(specFieldIDs(t, m, 2)); got != "[1005 1004]" {
		t.Errorf("field ids %v, want [1005 1004]", got)
	}
	if m.LastPartitionID() != 1005 {
		t.Errorf("last-partition-id %d, want 1005", m.LastPartitionID())
	}
	// A lower given id doesn't lower it.
	m = apply(t, m, "["+addSpecJSON(specFieldID(2, 1001, "identity", "data"))+"]")
	if m.LastPartitionID() != 1005 {
		t.Errorf("last-partition-id went to %d", m.LastPartitionID())
	}
}

func TestSpecRules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, fields string
		version      int
		kind         Kind
		text         string
	}{
		{"source exists", specField(99, "identity", "p"), 2, Validation, "Cannot find source column for partition field: 1000: p: identity(99)"},
		{"source is primitive", specField(4, "identity", "p"), 2, Validation, "Cannot partition by non-primitive source field: struct<"},
		{"source not in a list", specField(8, "identity", "p"), 2, Validation, "Invalid partition field parent: list<string>"},
		{"day of a string", specField(2, "day", "p"), 2, Validation, "Cannot create day partition sourced from data"},
		{"hour of a date is checked by type", specField(1, "hour", "p"), 2, Validation, "Invalid source type long for transform: hour"},
		{"truncate of a timestamp", specField(3, "truncate[4]", "p"), 2, Validation, "Invalid source type timestamp for transform: truncate[4]"},
		{"bucket of a float", specField(7, "bucket[4]", "p"), 2, Validation, "Invalid source type float for transform: bucket[4]"},
		{"bucket width", specField(1, "bucket[0]", "p"), 2, IllegalArgument, "Invalid number of buckets: 0 (must be > 0)"},
		{"truncate width", specField(1, "truncate[0]", "p"), 2, IllegalArgument, "Invalid truncate width: 0 (must be > 0)"},
		{"unique names", specField(1, "bucket[4]", "p") + "," + specField(3, "day", "p"), 2, IllegalArgument, "Cannot use partition name more than once: p"},
		{"unique ids", specFieldID(1, 1000, "bucket[4]", "p") + "," + specFieldID(3, 1000, "day", "q"), 2, IllegalArgument, "Cannot use partition field id more than once: 1000"},
		{"no field twice", specField(3, "day", "p") + "," + specField(3, "day", "q"), 2, IllegalArgument, "Cannot add redundant partition: 1001: q: day(3) conflicts with 1000: p: day(3)"},
		{"no empty name", specField(3, "day", ""), 2, IllegalArgument, "Cannot use empty or null partition name"},
		{"name of a column", specField(1, "bucket[4]", "data"), 2, IllegalArgument, "Cannot create partition from name that exists in schema: data"},
		{"identity under another column's name", specField(1, "identity", "data"), 2, IllegalArgument, "Cannot create identity partition sourced from different field in schema: data"},
		{"v1 wants sequential ids", specFieldID(1, 1001, "bucket[4]", "p"), 1, Validation, "Spec does not use sequential IDs that are required in v1: [\n  1001: p: bucket[4](1)\n]"},
		{"source-id", `{"transform":"day","name":"p"}`, 2, BadRequest, "Cannot parse missing int: source-id"},
		{"name", `{"transform":"day","source-id":3}`, 2, BadRequest, "Cannot parse missing string: name"},
		{"transform", `{"name":"day","source-id":3}`, 2, BadRequest, "Cannot parse missing string: transform"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			refuse(t, newTable(t, tc.version), "["+addSpecJSON(tc.fields)+"]", tc.kind, tc.text)
		})
	}
	apply(t, newTable(t, 2), "["+addSpecJSON(specField(2, "identity", "data"), specField(6, "identity", "point.x"))+","+setLastSpec+"]")
	apply(t, newTable(t, 2), "["+addSpecJSON(specField(2, "void", "data"))+"]")
	apply(t, newTable(t, 2), "["+addSpecJSON(specField(2, "truncate[3]", "data"))+"]")
}

func TestTransformsAccept(t *testing.T) {
	t.Parallel()
	types := []string{"boolean", "int", "long", "float", "double", "decimal(9,2)", "date", "time", "timestamp", "timestamptz",
		"timestamp_ns", "timestamptz_ns", "string", "uuid", "fixed[4]", "binary", "variant", "geometry", "geography", "unknown"}
	want := map[string]string{
		"identity":    "boolean int long float double decimal(9,2) date time timestamp timestamptz timestamp_ns timestamptz_ns string uuid fixed[4] binary unknown",
		"bucket[3]":   "int long decimal(9,2) date time timestamp timestamptz timestamp_ns timestamptz_ns string uuid fixed[4] binary",
		"truncate[3]": "int long decimal(9,2) string binary",
		"year":        "date timestamp timestamptz timestamp_ns timestamptz_ns",
		"month":       "date timestamp timestamptz timestamp_ns timestamptz_ns",
		"day":         "date timestamp timestamptz timestamp_ns timestamptz_ns",
		"hour":        "timestamp timestamptz timestamp_ns timestamptz_ns",
		"void":        strings.Join(types, " "),
		"zorder":      strings.Join(types, " "), // unknown: not ours to judge
	}
	for text, list := range want {
		tr, err := parseTransform(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, typ := range types {
			if tr.accepts(primitive(typ)) {
				got = append(got, typ)
			}
		}
		if strings.Join(got, " ") != list {
			t.Errorf("%s accepts %v, want %s", text, got, list)
		}
	}
}

func TestSetDefaultSpec(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	refuse(t, m, `[{"action":"set-default-spec","spec-id":5}]`, IllegalArgument, "Cannot set default partition spec to unknown spec: 5")
	refuse(t, m, "["+setLastSpec+"]", Validation, "Cannot set last added spec: no spec has been added")
	if next := apply(t, m, `[{"action":"set-default-spec","spec-id":0}]`); next != m {
		t.Error("setting the default spec again is a change")
	}
}

// TestUnknownTransform parses and is kept, but can't become the default.
func TestUnknownTransform(t *testing.T) {
	t.Parallel()
	m := apply(t, newTable(t, 3), "["+addSpecJSON(`{"source-id":1,"transform":"zorder[2]","name":"z","source-ids":[1,2]}`)+"]")
	if !strings.Contains(string(m.Bytes()), `"transform":"zorder[2]","name":"z","source-ids":[1,2]`) {
		t.Errorf("multi-argument transform not kept: %s", m.Bytes())
	}
	refuse(t, m, `[{"action":"set-default-spec","spec-id":1}]`, Validation, "Cannot use unknown transform in the default partition spec")
}

func TestRemoveSpecs(t *testing.T) {
	t.Parallel()
	m := apply(t, newTable(t, 2), "["+addSpecJSON(specField(3, "day", "ts_day"))+","+setLastSpec+"]")
	refuse(t, m, `[{"action":"remove-partition-specs","spec-ids":[1]}]`, IllegalArgument, "Cannot remove the default partition spec")
	if next := apply(t, m, `[{"action":"remove-partition-specs","spec-ids":[7]}]`); next != m {
		t.Error("removing an unknown spec is a change")
	}
	if next := apply(t, m, `[{"action":"remove-partition-specs","spec-ids":[0]}]`); len(next.specs) != 1 {
		t.Errorf("%d specs left", len(next.specs))
	}
}

// TestEmptyRemovals: expiry sends empty lists.
func TestEmptyRemovals(t *testing.T) {
	t.Parallel()
	m := appended(t, newTable(t, 2), 2)
	next := apply(t, m, `[{"action":"remove-snapshots","snapshot-ids":[1]},{"action":"remove-partition-specs","spec-ids":[]},{"action":"remove-schemas","schema-ids":[]}]`)
	if next.SnapshotCount() != 1 {
		t.Errorf("%d snapshots", next.SnapshotCount())
	}
	for _, updates := range []string{`[{"action":"remove-partition-specs","spec-ids":[]}]`, `[]`, ``, `null`,
		`[{"action":"remove-properties","removals":[]}]`, `[{"action":"set-properties","updates":{}}]`, `[{"action":"remove-snapshots","snapshot-ids":[]}]`} {
		if next := apply(t, m, updates); next != m {
			t.Errorf("%s is a change", updates)
		}
	}
}

func TestDropPartitionSource(t *testing.T) {
	t.Parallel()
	m := apply(t, newTable(t, 2), "["+addSpecJSON(specField(3, "day", "ts_day"))+","+setLastSpec+"]")
	drop := addSchemaJSON(schemaWith(column(1, "id", `"long"`))) + "," + setLastSchema
	refuse(t, m, "["+drop+"]", Validation, "Cannot find source column for partition field: 1000: ts_day: day(3)")
	// Together with a new spec it is fine, in either order.
	apply(t, m, "["+drop+`,{"action":"set-default-spec","spec-id":0}]`)
	apply(t, m, `[{"action":"set-default-spec","spec-id":0},`+drop+"]")
	// A change of type must fit too.
	refuse(t, m, "["+addSchemaJSON(schemaWith(column(3, "ts", `"string"`)))+","+setLastSchema+"]", Validation, "Invalid source type string for transform: day")
}

func sortFieldJSON(source int, transform string) string {
	return fmt.Sprintf(`{"source-id":%d,"transform":%q,"direction":"asc","null-order":"nulls-first"}`, source, transform)
}

func addOrderJSON(fields ...string) string {
	return `{"action":"add-sort-order","sort-order":{"order-id":9,"fields":[` + strings.Join(fields, ",") + `]}}`
}

const setLastOrder = `{"action":"set-default-sort-order","sort-order-id":-1}`

func TestSortOrders(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	m = apply(t, m, "["+addOrderJSON(sortFieldJSON(1, "identity"))+","+setLastOrder+"]")
	if m.DefaultSortOrderID() != 1 {
		t.Errorf("first sorted order has id %d, want 1", m.DefaultSortOrderID())
	}
	same := `{"source-id":1,"transform":"Identity","direction":"ASC","null-order":"NULLS-FIRST"}`
	next := apply(t, m, "["+addOrderJSON(same)+","+setLastOrder+"]")
	if next != m {
		t.Errorf("an equal order is not reused: %s", next.Bytes())
	}
	next = apply(t, m, "["+addOrderJSON(sortFieldJSON(3, "day"))+","+setLastOrder+"]")
	if next.DefaultSortOrderID() != 2 {
		t.Errorf("second order has id %d, want 2", next.DefaultSortOrderID())
	}
	// The unsorted order is 0 always.
	next = apply(t, next, "["+addOrderJSON()+","+setLastOrder+"]")
	if next.DefaultSortOrderID() != 0 {
		t.Errorf("unsorted order has id %d", next.DefaultSortOrderID())
	}
	created := apply(t, nil, strings.Replace(javaCreate(2), `"sort-order":{"order-id":0,"fields":[]}`,
		`"sort-order":{"order-id":0,"fields":[`+sortFieldJSON(1, "identity")+`]}`, 1))
	if created.DefaultSortOrderID() != 1 {
		t.Errorf("a sorted order has id %d though no other is there: 0 is the unsorted one's", created.DefaultSortOrderID())
	}
	refuse(t, created, `[{"action":"set-default-sort-order","sort-order-id":0}]`, IllegalArgument, "unknown sort order: 0")
	if next := apply(t, m, `[{"action":"set-default-sort-order","sort-order-id":1}]`); next != m {
		t.Error("setting the default order again is a change")
	}
}

func TestSortOrderRules(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	refuse(t, m, "["+addOrderJSON(sortFieldJSON(99, "identity"))+"]", Validation, "Cannot find source column for sort field: identity(99) ASC NULLS FIRST")
	refuse(t, m, "["+addOrderJSON(sortFieldJSON(4, "identity"))+"]", Validation, "Cannot sort by non-primitive source field: struct<")
	refuse(t, m, "["+addOrderJSON(sortFieldJSON(2, "day"))+"]", Validation, "Invalid source type string for transform: day")
	refuse(t, m, "["+addOrderJSON(strings.Replace(sortFieldJSON(1, "identity"), "asc", "up", 1))+"]", IllegalArgument, "Invalid sort direction: up")
	refuse(t, m, "["+addOrderJSON(strings.Replace(sortFieldJSON(1, "identity"), "nulls-first", "x", 1))+"]", IllegalArgument, "Invalid null order: x")
	refuse(t, m, `[{"action":"set-default-sort-order","sort-order-id":7}]`, IllegalArgument, "Cannot set default sort order to unknown sort order: 7")
	refuse(t, m, "["+setLastOrder+"]", Validation, "Cannot set last added sort order: no sort order has been added")
	m = apply(t, m, "["+addOrderJSON(sortFieldJSON(3, "day"))+","+setLastOrder+"]")
	refuse(t, m, "["+addSchemaJSON(schemaWith(column(1, "id", `"long"`)))+","+setLastSchema+"]", Validation,
		"Cannot find source column for sort field: day(3) ASC NULLS FIRST")
	unknown := apply(t, newTable(t, 3), "["+addOrderJSON(sortFieldJSON(1, "zorder"))+"]")
	refuse(t, unknown, `[{"action":"set-default-sort-order","sort-order-id":1}]`, Validation, "Cannot use unknown transform in the default sort order")
}

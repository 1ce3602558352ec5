package iceberg

import (
	"fmt"
	"strings"
	"testing"
)

func column(id int, name, typ string) string {
	return fmt.Sprintf(`{"id":%d,"name":%q,"required":false,"type":%s}`, id, name, typ)
}

func schemaWith(columns ...string) string {
	return `{"type":"struct","fields":[` + strings.Join(columns, ",") + `]}`
}

func addSchemaJSON(schema string) string {
	return `{"action":"add-schema","schema":` + schema + `}`
}

const setLastSchema = `{"action":"set-current-schema","schema-id":-1}`

func TestAddSchemaAssignsNextID(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	s := schemaWith(column(1, "id", `"long"`), column(9, "extra", `"int"`))
	m = apply(t, m, "["+addSchemaJSON(strings.Replace(s, "{", `{"schema-id":77,`, 1))+","+setLastSchema+"]")
	if m.CurrentSchemaID() != 1 {
		t.Errorf("schema id %d, the client's 77 must be ignored for 1", m.CurrentSchemaID())
	}
	if !strings.Contains(string(m.Bytes()), `{"schema-id":1,"type":"struct","fields":[{"id":1,"name":"id"`) {
		t.Errorf("schema bytes not kept: %s", m.Bytes())
	}
}

func TestAddSchemaReusesIdentical(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	a := schemaWith(column(1, "id", `"decimal(9,2)"`))
	m = apply(t, m, "["+addSchemaJSON(a)+"]")
	n := len(m.schemas)
	// Other spelling, same meaning; -1 after a reused schema is its id, where
	// Java would fail.
	b := `{"fields":[{"type":"decimal(9, 2)","required":false,"name":"id","id":1,"doc":null}],"type":"struct","schema-id":5,"identifier-field-ids":[]}`
	m = apply(t, m, "["+addSchemaJSON(b)+","+setLastSchema+"]")
	if len(m.schemas) != n || m.CurrentSchemaID() != 1 {
		t.Errorf("%d schemas, current %d", len(m.schemas), m.CurrentSchemaID())
	}
	for name, other := range map[string]string{
		"doc":             strings.Replace(a, `"id":1`, `"id":1,"doc":"x"`, 1),
		"unknown member":  strings.Replace(a, `"id":1`, `"id":1,"future":true`, 1),
		"identifier":      strings.Replace(strings.Replace(a, `"fields"`, `"identifier-field-ids":[1],"fields"`, 1), "false", "true", 1),
		"required":        strings.Replace(a, "false", "true", 1),
		"default":         strings.Replace(a, `"id":1`, `"id":1,"write-default":"1.00"`, 1),
		"order of fields": schemaWith(column(2, "b", `"int"`), column(1, "id", `"decimal(9,2)"`)),
	} {
		if next := apply(t, m, "["+addSchemaJSON(other)+"]"); len(next.schemas) != n+1 {
			t.Errorf("%s: taken for the same schema", name)
		}
	}
}

func TestAddSchemaNumbersAfterTheHighest(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	m = apply(t, m, "["+addSchemaJSON(schemaWith(column(1, "a", `"int"`)))+","+addSchemaJSON(schemaWith(column(1, "b", `"int"`)))+"]")
	m = apply(t, m, `[{"action":"remove-schemas","schema-ids":[1]}]`)
	m = apply(t, m, "["+addSchemaJSON(schemaWith(column(1, "c", `"int"`)))+","+setLastSchema+"]")
	if m.CurrentSchemaID() != 3 {
		t.Errorf("schema id %d, want 3: above the highest that is left", m.CurrentSchemaID())
	}
}

// TestLastColumnID: absent and lower values take the maximum. Java refuses a
// lower one, but Spark's CREATE OR REPLACE sends it.
func TestLastColumnID(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, member string
		want         int
	}{
		{"absent: DuckDB and ClickHouse", "", 12},
		{"given and higher", `,"last-column-id":40`, 40},
		{"lower: Spark's REPLACE TABLE", `,"last-column-id":2`, 12},
		{"null", `,"last-column-id":null`, 12},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := apply(t, newTable(t, 2), `[{"action":"add-schema","schema":`+
				schemaWith(column(12, "n", `"int"`))+tc.member+`}]`)
			if m.LastColumnID() != tc.want {
				t.Errorf("last-column-id %d, want %d", m.LastColumnID(), tc.want)
			}
		})
	}
	m := apply(t, newTable(t, 2), `[{"action":"add-schema","schema":`+schemaWith(column(1, "n", `"int"`))+`,"last-column-id":1}]`)
	if m.LastColumnID() != 8 {
		t.Errorf("last-column-id went down to %d", m.LastColumnID())
	}
}

func TestSchemaRules(t *testing.T) {
	t.Parallel()
	ident := func(id int, columns ...string) string {
		return strings.Replace(schemaWith(columns...), `"fields"`, fmt.Sprintf(`"identifier-field-ids":[%d],"fields"`, id), 1)
	}
	req := func(c string) string { return strings.Replace(c, "false", "true", 1) }
	nested := func(c string) string { return `{"type":"struct","fields":[` + c + `]}` }
	for _, tc := range []struct {
		name, schema string
		kind         Kind
		text         string
	}{
		{"unique ids", schemaWith(column(1, "a", `"int"`), column(1, "b", `"int"`)), Validation, "multiple fields for id 1: a and b"},
		{"unique ids in nested types", schemaWith(column(1, "a", nested(column(2, "x", `"int"`))), column(2, "b", `"int"`)), Validation, "multiple fields for id 2: a.x and b"},
		{"unique names", schemaWith(column(1, "a", `"int"`), column(2, "a", `"int"`)), Validation, "multiple fields for name a: 1 and 2"},
		{"unique full names", schemaWith(column(1, "a", nested(column(2, "x", `"int"`))), column(3, "a.x", `"int"`)), Validation, "multiple fields for name a.x: 2 and 3"},
		{"no negative ids", schemaWith(column(-1, "a", `"int"`)), Validation, "negative id"},
		{"known types", schemaWith(column(1, "a", `"int128"`)), IllegalArgument, "Cannot parse type string to primitive: int128"},
		{"decimal precision", schemaWith(column(1, "a", `"decimal(39,2)"`)), IllegalArgument, "Decimals with precision larger than 38 are not supported: 39"},
		{"decimal scale", schemaWith(column(1, "a", `"decimal(3,4)"`)), IllegalArgument, "Invalid decimal scale"},
		{"fixed length", schemaWith(column(1, "a", `"fixed[99999999999]"`)), IllegalArgument, "Invalid fixed length"},
		{"identifier exists", ident(9, req(column(1, "a", `"int"`))), IllegalArgument, "Cannot add fieldId 9 as an identifier field: field does not exist"},
		{"identifier is required", ident(1, column(1, "a", `"int"`)), IllegalArgument, "Cannot add field a as an identifier field: not a required field"},
		{"identifier is primitive", ident(1, req(column(1, "a", nested(column(2, "x", `"int"`))))), IllegalArgument, "Cannot add field a as an identifier field: not a primitive type field"},
		{"identifier is no float", ident(1, req(column(1, "a", `"float"`))), IllegalArgument, "Cannot add field a as an identifier field: must not be float or double field"},
		{"identifier is no double", ident(1, req(column(1, "a", `"double"`))), IllegalArgument, "must not be float or double field"},
		{"identifier not in a list", ident(2, req(column(1, "a", `{"type":"list","element-id":2,"element":"int","element-required":true}`))), IllegalArgument, "Cannot add field element as an identifier field: must not be nested in 1: a: required list<int>"},
		{"identifier not in a map", ident(2, req(column(1, "a", `{"type":"map","key-id":2,"key":"int","value-id":3,"value":"int","value-required":true}`))), IllegalArgument, "Cannot add field key as an identifier field: must not be nested in 1: a: required map<int, int>"},
		{"identifier's parents are required", ident(2, column(1, "a", nested(req(column(2, "x", `"int"`))))), IllegalArgument, "Cannot add field x as an identifier field: must not be nested in an optional field 1: a: optional struct<"},
		{"variant is v3", schemaWith(column(1, "a", `"variant"`)), Validation, "variant is not supported until v3"},
		{"timestamp_ns is v3", schemaWith(column(1, "a", `"timestamp_ns"`)), Validation, "Invalid type for a: timestamp_ns is not supported until v3"},
		{"timestamptz_ns is v3", schemaWith(column(1, "a", `"timestamptz_ns"`)), Validation, "timestamptz_ns is not supported until v3"},
		{"unknown is v3", schemaWith(column(1, "a", `"unknown"`)), Validation, "unknown is not supported until v3"},
		{"geometry is v3", schemaWith(column(1, "a", `"geometry(srid:3857)"`)), Validation, "geometry(srid:3857) is not supported until v3"},
		{"geography is v3", schemaWith(column(1, "a", nested(column(2, "g", `"geography"`)))), Validation, "Invalid type for a.g: geography is not supported until v3"},
		{"initial defaults are v3", schemaWith(strings.Replace(column(1, "a", `"int"`), "}", `,"initial-default":5}`, 1)), Validation, "Invalid initial default for a: non-null default (5) is not supported until v3"},
		{"a schema is a struct", `{"type":"list","fields":[]}`, BadRequest, "a schema must be a struct"},
		{"field id", schemaWith(`{"name":"a","required":false,"type":"int"}`), BadRequest, "Cannot parse missing int: id"},
		{"field name", schemaWith(`{"id":1,"required":false,"type":"int"}`), BadRequest, "Cannot parse missing string: name"},
		{"field required", schemaWith(`{"id":1,"name":"a","type":"int"}`), BadRequest, "Cannot parse missing boolean: required"},
		{"field type", schemaWith(`{"id":1,"name":"a","required":true}`), BadRequest, "Cannot parse missing field: type"},
		{"list element id", schemaWith(column(1, "a", `{"type":"list","element":"int","element-required":true}`)), BadRequest, "Cannot parse missing int: element-id"},
		{"map value required", schemaWith(column(1, "a", `{"type":"map","key-id":2,"key":"int","value-id":3,"value":"int"}`)), BadRequest, "Cannot parse missing boolean: value-required"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			refuse(t, newTable(t, 2), "["+addSchemaJSON(tc.schema)+"]", tc.kind, tc.text)
		})
	}
}

func TestV3TypesAndDefaults(t *testing.T) {
	t.Parallel()
	m := newTable(t, 3)
	for _, typ := range []string{"timestamp_ns", "timestamptz_ns", "variant", "unknown", "geometry", "geometry(EPSG:4326)", "geography(srid:4326, karney)"} {
		apply(t, m, "["+addSchemaJSON(schemaWith(column(1, "a", `"`+typ+`"`)))+"]")
	}
	apply(t, m, "["+addSchemaJSON(schemaWith(`{"id":1,"name":"a","required":true,"type":"int","initial-default":5,"write-default":6}`))+"]")
	refuse(t, m, "["+addSchemaJSON(schemaWith(`{"id":1,"name":"a","required":true,"type":"unknown"}`))+"]", IllegalArgument,
		"Cannot create required field with unknown type: a")
}

// TestNamesThatDifferInCase are legal.
func TestNamesThatDifferInCase(t *testing.T) {
	t.Parallel()
	apply(t, newTable(t, 2), "["+addSchemaJSON(schemaWith(column(1, "data", `"int"`), column(2, "DATA", `"int"`)))+"]")
}

func TestSetCurrentSchema(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	refuse(t, m, `[{"action":"set-current-schema","schema-id":9}]`, IllegalArgument, "Cannot set current schema to unknown schema: 9")
	refuse(t, m, "["+setLastSchema+"]", Validation, "Cannot set last added schema: no schema has been added")
	if next := apply(t, m, `[{"action":"set-current-schema","schema-id":0}]`); next != m {
		t.Error("setting the current schema again is a change")
	}
}

func TestRemoveSchemas(t *testing.T) {
	t.Parallel()
	m := apply(t, newTable(t, 2), "["+addSchemaJSON(schemaWith(column(1, "a", `"int"`)))+","+setLastSchema+"]")
	refuse(t, m, `[{"action":"remove-schemas","schema-ids":[0,1]}]`, IllegalArgument, "Cannot remove the current schema")
	if next := apply(t, m, `[{"action":"remove-schemas","schema-ids":[]}]`); next != m {
		t.Error("empty removal is a change")
	}
	if next := apply(t, m, `[{"action":"remove-schemas","schema-ids":[42]}]`); next != m {
		t.Error("removing an unknown schema is a change")
	}
	if next := apply(t, m, `[{"action":"remove-schemas","schema-ids":[0]}]`); len(next.schemas) != 1 || next.schemas[0].id != 1 {
		t.Errorf("schemas left: %v", next.schemas)
	}
}

// TestLongNestedNames: names multiply along a path; the request must not.
func TestLongNestedNames(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 1<<20)
	var leaves []string
	for i := range 200 {
		leaves = append(leaves, column(100+i, fmt.Sprintf("l%d", i), `"int"`))
	}
	typ := `{"type":"struct","fields":[` + strings.Join(leaves, ",") + `]}`
	refuse(t, newTable(t, 2), "["+addSchemaJSON(schemaWith(column(1, name, typ)))+"]", IllegalArgument, "full column names")
}

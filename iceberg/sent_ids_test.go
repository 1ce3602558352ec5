package iceberg

import (
	"fmt"
	"testing"
)

// TestChosenByTheIDThatTheRequestGave: ids of added schemas, specs and orders
// are hints, and an equal one is reused; but a client that numbers them itself
// (DuckDB, when an ALTER leads back to an earlier schema) chooses by its number.
func TestChosenByTheIDThatTheRequestGave(t *testing.T) {
	t.Parallel()
	schema := func(id int, columns string) string {
		return fmt.Sprintf(`{"action":"add-schema","schema":{"type":"struct","schema-id":%d,"fields":[%s]}}`, id, columns)
	}
	spec := func(id int, fields string) string {
		return fmt.Sprintf(`{"action":"add-spec","spec":{"spec-id":%d,"fields":[%s]}}`, id, fields)
	}
	order := func(id int, fields string) string {
		return fmt.Sprintf(`{"action":"add-sort-order","sort-order":{"order-id":%d,"fields":[%s]}}`, id, fields)
	}
	one, two := column(1, "id", `"long"`), column(1, "id", `"long"`)+","+column(9, "b", `"int"`)
	byID, byName := `{"source-id":1,"field-id":1000,"transform":"identity","name":"id"}`, `{"source-id":1,"field-id":1001,"transform":"bucket[4]","name":"b4"}`
	m := apply(t, nil, "["+schema(0, one)+`,{"action":"set-current-schema","schema-id":0},`+spec(0, "")+`,{"action":"set-default-spec","spec-id":0},`+
		order(0, "")+`,{"action":"set-default-sort-order","sort-order-id":0},{"action":"set-location","location":"s3://x"}]`)

	// Back to the first schema, under a number that nothing has.
	m = apply(t, m, "["+schema(1, two)+`,{"action":"set-current-schema","schema-id":1}]`)
	m = apply(t, m, "["+schema(2, one)+`,{"action":"set-current-schema","schema-id":2}]`)
	if m.CurrentSchemaID() != 0 || len(m.schemas) != 2 {
		t.Errorf("the equal schema was not chosen: %s", m.Bytes())
	}
	// A new one under a number far off.
	m = apply(t, m, "["+schema(40, column(1, "id", `"long"`)+","+column(11, "c", `"int"`))+`,{"action":"set-current-schema","schema-id":40}]`)
	if m.CurrentSchemaID() != 2 {
		t.Errorf("the new schema was not chosen: %s", m.Bytes())
	}
	m = apply(t, m, "["+spec(7, byID)+`,{"action":"set-default-spec","spec-id":7}]`)
	m = apply(t, m, "["+spec(8, byName)+`,{"action":"set-default-spec","spec-id":8}]`)
	m = apply(t, m, "["+spec(9, byID)+`,{"action":"set-default-spec","spec-id":9}]`)
	if m.DefaultSpecID() != 1 || len(m.specs) != 3 {
		t.Errorf("the equal spec was not chosen: %s", m.Bytes())
	}
	m = apply(t, m, "["+order(5, sortFieldJSON(1, "identity"))+`,{"action":"set-default-sort-order","sort-order-id":5}]`)
	if m.DefaultSortOrderID() != 1 {
		t.Errorf("the order was not chosen: %s", m.Bytes())
	}

	// Whoever has the number comes first, as in Java.
	if next := apply(t, m, "["+schema(1, one)+`,{"action":"set-current-schema","schema-id":1}]`); next.CurrentSchemaID() != 1 {
		t.Errorf("the number of another schema led elsewhere: %s", next.Bytes())
	}
	// What is chosen already is no change.
	if next := apply(t, m, "["+spec(9, byID)+`,{"action":"set-default-spec","spec-id":9}]`); next != m {
		t.Error("choosing the default spec again, by another number, is a change")
	}
	// A number holds within its request, and only while its part is there.
	refuse(t, m, `[{"action":"set-current-schema","schema-id":40}]`, IllegalArgument, "Cannot set current schema to unknown schema: 40")
	refuse(t, m, "["+schema(41, one)+`,{"action":"set-current-schema","schema-id":42}]`, IllegalArgument, "Cannot set current schema to unknown schema: 42")
	refuse(t, m, "["+schema(41, one)+`,{"action":"remove-schemas","schema-ids":[0]},{"action":"set-current-schema","schema-id":41}]`, IllegalArgument,
		"Cannot set current schema to unknown schema: 41")
}

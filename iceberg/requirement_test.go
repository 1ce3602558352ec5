package iceberg

import (
	"fmt"
	"testing"
)

// requirementBase has main at 2, a tag at 1, two schemas, specs and orders.
func requirementBase(t *testing.T) *Metadata {
	t.Helper()
	m := appended(t, newTable(t, 2), 2)
	return apply(t, m, `[{"action":"set-snapshot-ref","ref-name":"v1","type":"tag","snapshot-id":1}]`)
}

func TestRequirements(t *testing.T) {
	t.Parallel()
	base := requirementBase(t)
	const failed = "Requirement failed: "
	for _, tc := range []struct {
		name, req string
		want      string // whole text of the failure, empty when it passes
	}{
		{"assert-create on an existing table", `{"type":"assert-create"}`, failed + "table already exists"},
		{"assert-table-uuid passes", `{"type":"assert-table-uuid","uuid":"11111111-2222-4333-8444-555555555555"}`, ""},
		{"assert-table-uuid fails", `{"type":"assert-table-uuid","uuid":"99999999-2222-4333-8444-555555555555"}`,
			failed + "UUID does not match: expected 11111111-2222-4333-8444-555555555555 != 99999999-2222-4333-8444-555555555555"},
		{"assert-ref-snapshot-id passes", `{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":2}`, ""},
		{"assert-ref-snapshot-id passes on a tag", `{"type":"assert-ref-snapshot-id","ref":"v1","snapshot-id":1}`, ""},
		{"assert-ref-snapshot-id fails on another id", `{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":1}`,
			failed + "branch main has changed: expected id 1 != 2"},
		{"assert-ref-snapshot-id names tags", `{"type":"assert-ref-snapshot-id","ref":"v1","snapshot-id":9}`,
			failed + "tag v1 has changed: expected id 9 != 1"},
		{"assert-ref-snapshot-id on a missing ref", `{"type":"assert-ref-snapshot-id","ref":"dev","snapshot-id":1}`,
			failed + "branch or tag dev is missing, expected 1"},
		{"assert-ref-snapshot-id null means absent", `{"type":"assert-ref-snapshot-id","ref":"dev","snapshot-id":null}`, ""},
		{"assert-ref-snapshot-id null on an existing branch", `{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}`,
			failed + "branch main was created concurrently"},
		{"assert-ref-snapshot-id null on an existing tag", `{"type":"assert-ref-snapshot-id","ref":"v1","snapshot-id":null}`,
			failed + "tag v1 was created concurrently"},
		{"assert-ref-snapshot-id omitted is null", `{"type":"assert-ref-snapshot-id","ref":"main"}`,
			failed + "branch main was created concurrently"},
		{"assert-ref-snapshot-id -1 is null", `{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":-1}`,
			failed + "branch main was created concurrently"},
		{"assert-last-assigned-field-id passes", `{"type":"assert-last-assigned-field-id","last-assigned-field-id":8}`, ""},
		{"assert-last-assigned-field-id fails", `{"type":"assert-last-assigned-field-id","last-assigned-field-id":4}`,
			failed + "last assigned field id changed: expected id 4 != 8"},
		{"assert-current-schema-id passes", `{"type":"assert-current-schema-id","current-schema-id":0}`, ""},
		{"assert-current-schema-id fails", `{"type":"assert-current-schema-id","current-schema-id":1}`,
			failed + "current schema changed: expected id 1 != 0"},
		{"assert-last-assigned-partition-id passes", `{"type":"assert-last-assigned-partition-id","last-assigned-partition-id":999}`, ""},
		{"assert-last-assigned-partition-id fails", `{"type":"assert-last-assigned-partition-id","last-assigned-partition-id":1000}`,
			failed + "last assigned partition id changed: expected id 1000 != 999"},
		{"assert-default-spec-id passes", `{"type":"assert-default-spec-id","default-spec-id":0}`, ""},
		{"assert-default-spec-id fails", `{"type":"assert-default-spec-id","default-spec-id":3}`,
			failed + "default partition spec changed: expected id 3 != 0"},
		{"assert-default-sort-order-id passes", `{"type":"assert-default-sort-order-id","default-sort-order-id":0}`, ""},
		{"assert-default-sort-order-id fails", `{"type":"assert-default-sort-order-id","default-sort-order-id":3}`,
			failed + "default sort order changed: expected id 3 != 0"},
		{"types match in any case", `{"type":"ASSERT-CURRENT-SCHEMA-ID","current-schema-id":0}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			reqs, err := DecodeRequirements([]byte("[" + tc.req + "]"))
			if err != nil {
				t.Fatal(err)
			}
			if string(reqs[0].Raw()) != tc.req {
				t.Errorf("raw %s", reqs[0].Raw())
			}
			err = CheckRequirements(base, reqs)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("failed: %v", err)
			case tc.want != "" && (KindOf(err) != CommitFailed || err.Error() != tc.want):
				t.Errorf("got %v %v, want %q", KindOf(err), err, tc.want)
			}
		})
	}
}

func TestRequirementsOnAbsentTable(t *testing.T) {
	t.Parallel()
	reqs, err := DecodeRequirements([]byte(`[{"type":"assert-create"}]`))
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckRequirements(nil, reqs); err != nil {
		t.Errorf("assert-create on an absent table: %v", err)
	}
	if create, err := IsCreate(reqs); !create || err != nil {
		t.Errorf("IsCreate = %v, %v", create, err)
	}
	reqs, _ = DecodeRequirements([]byte(`[{"type":"assert-default-spec-id","default-spec-id":0}]`))
	checkError(t, CheckRequirements(nil, reqs), CommitFailed, "Requirement failed: table does not exist")
}

func TestAssertCreateAlone(t *testing.T) {
	t.Parallel()
	reqs, err := DecodeRequirements([]byte(`[{"type":"assert-create"},{"type":"assert-default-spec-id","default-spec-id":0}]`))
	if err != nil {
		t.Fatal(err)
	}
	const text = "Invalid create requirements: [assert-default-spec-id]"
	checkError(t, CheckRequirements(nil, reqs), IllegalArgument, text)
	_, err = IsCreate(reqs)
	checkError(t, err, IllegalArgument, text)
}

func TestAssertViewUUIDOnTable(t *testing.T) {
	t.Parallel()
	reqs, err := DecodeRequirements([]byte(`[{"type":"assert-view-uuid","uuid":"x"}]`))
	if err != nil {
		t.Fatal(err)
	}
	checkError(t, CheckRequirements(newTable(t, 2), reqs), BadRequest, "Cannot validate assert-view-uuid against a table")
}

func TestDecodeRequirementsRejects(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, raw, text string }{
		{"unknown type", `[{"type":"assert-weather"}]`, "unknown type assert-weather"},
		{"missing type", `[{}]`, "Cannot parse missing string: type"},
		{"missing uuid", `[{"type":"assert-table-uuid"}]`, "Cannot parse missing string: uuid"},
		{"null uuid", `[{"type":"assert-table-uuid","uuid":null}]`, "Cannot parse missing string: uuid"},
		{"missing ref", `[{"type":"assert-ref-snapshot-id"}]`, "Cannot parse missing string: ref"},
		{"id as string", `[{"type":"assert-default-spec-id","default-spec-id":"0"}]`, `Cannot parse to an integer value: default-spec-id: "0"`},
		{"id with fraction", `[{"type":"assert-default-spec-id","default-spec-id":1.0}]`, "Cannot parse to an integer value: default-spec-id: 1.0"},
		{"id beyond 32 bits", `[{"type":"assert-default-spec-id","default-spec-id":3000000000}]`, "Cannot parse to an integer value"},
		{"snapshot id beyond 64 bits", `[{"type":"assert-ref-snapshot-id","ref":"a","snapshot-id":9223372036854775808}]`, "Cannot parse to a long value"},
		{"not a list", `{"type":"assert-create"}`, "a list"},
		{"not objects", `[1]`, "an object"},
		{"trailing data", `[] []`, "unexpected data"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := DecodeRequirements([]byte(tc.raw))
			checkError(t, err, BadRequest, tc.text)
		})
	}
}

// TestMissingRequirements: ClickHouse sends no list for a first insert.
func TestMissingRequirements(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", " ", "null", "[]"} {
		reqs, err := DecodeRequirements([]byte(raw))
		if err != nil || len(reqs) != 0 {
			t.Errorf("%q: %v, %v", raw, reqs, err)
		}
	}
}

// TestSnapshotIDsKeepAllBits: ids above 2^53 differ in their last digits only.
func TestSnapshotIDsKeepAllBits(t *testing.T) {
	t.Parallel()
	const id = int64(9223372036854775807)
	m := apply(t, newTable(t, 2), "["+addSnapshotJSON(id, 0, 1)+","+setMainJSON(id)+"]")
	reqs, _ := DecodeRequirements(fmt.Appendf(nil, `[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":%d}]`, id-1))
	checkError(t, CheckRequirements(m, reqs), CommitFailed, "expected id 9223372036854775806 != 9223372036854775807")
}

// TestRequirementsLookAtTheBase: a commit that raises the last
// field id still asserts the one before it.
func TestRequirementsLookAtTheBase(t *testing.T) {
	t.Parallel()
	nested := `{"name":"t","location":"s3://b/t","schema":{"type":"struct","fields":[{"id":1,"name":"id","required":true,"type":"long"},` +
		`{"id":2,"name":"addr","required":false,"type":{"type":"struct","fields":[{"id":5,"name":"street","required":false,"type":"string"},{"id":6,"name":"zip","required":false,"type":"string"}]}},` +
		`{"id":3,"name":"tags","required":false,"type":{"type":"list","element-id":7,"element":"string","element-required":false}},` +
		`{"id":4,"name":"attrs","required":false,"type":{"type":"map","key-id":8,"key":"string","value-id":9,"value":"string","value-required":false}}]}}`
	req, err := DecodeCreateRequest([]byte(nested))
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewTable(req, testContext())
	if err != nil {
		t.Fatal(err)
	}
	if m.LastColumnID() != 9 {
		t.Fatalf("last-column-id %d, nested ids count: want 9", m.LastColumnID())
	}
	reqs := func(n int) []Requirement {
		r, _ := DecodeRequirements(fmt.Appendf(nil, `[{"type":"assert-last-assigned-field-id","last-assigned-field-id":%d}]`, n))
		return r
	}
	checkError(t, CheckRequirements(m, reqs(4)), CommitFailed, "last assigned field id changed: expected id 4 != 9")
	if err := CheckRequirements(m, reqs(9)); err != nil {
		t.Error(err)
	}
	m = apply(t, m, `[{"action":"add-schema","schema":{"type":"struct","schema-id":1,"fields":[{"id":1,"name":"id","required":true,"type":"long"},`+
		`{"id":10,"name":"extra","required":false,"type":{"type":"struct","fields":[{"id":11,"name":"a","required":false,"type":"int"}]}}]}},{"action":"set-current-schema","schema-id":-1}]`)
	if m.LastColumnID() != 11 {
		t.Errorf("last-column-id %d, want 11", m.LastColumnID())
	}
	refuse(t, m, `[{"action":"add-schema","schema":{"type":"struct","fields":[{"id":10,"name":"extra","required":false,"type":{"type":"struct","fields":[{"id":11,"name":"a","required":false,"type":"int"}]}},`+
		`{"id":11,"name":"dup","required":false,"type":"int"}]}}]`, Validation, "multiple fields for id 11: extra.a and dup")
}

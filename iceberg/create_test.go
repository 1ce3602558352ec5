package iceberg

import (
	"fmt"
	"strings"
	"testing"
)

func TestNewTableDocument(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2, `,"partition-spec":{"fields":[{"source-id":3,"transform":"day","name":"ts_day"}]}`,
		`,"write-order":{"order-id":5,"fields":[{"source-id":1,"transform":"identity","direction":"asc","null-order":"nulls-first"}]}`)
	const want = `{"format-version":2,"table-uuid":"11111111-2222-4333-8444-555555555555","location":"s3://bucket/ns/t",` +
		`"last-sequence-number":0,"last-updated-ms":1700000000000,"last-column-id":8,"current-schema-id":0,"schemas":[` +
		`{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"},` +
		`{"id":2,"name":"data","required":false,"type":"string"},{"id":3,"name":"ts","required":false,"type":"timestamp"},` +
		`{"id":4,"name":"point","required":false,"type":{"type":"struct","fields":[{"id":6,"name":"x","required":true,"type":"int"},` +
		`{"id":7,"name":"y","required":false,"type":"float"}]}},` +
		`{"id":5,"name":"tags","required":false,"type":{"type":"list","element-id":8,"element":"string","element-required":false}}]}],` +
		`"default-spec-id":0,"partition-specs":[{"spec-id":0,"fields":[{"source-id":3,"field-id":1000,"transform":"day","name":"ts_day"}]}],` +
		`"last-partition-id":1000,"default-sort-order-id":1,"sort-orders":[{"order-id":1,"fields":[{"source-id":1,"transform":"identity",` +
		`"direction":"asc","null-order":"nulls-first"}]}],"properties":{"write.parquet.compression-codec":"zstd"},` +
		`"current-snapshot-id":-1,"refs":{},"snapshots":[],"statistics":[],"partition-statistics":[],"snapshot-log":[],"metadata-log":[]}`
	if got := string(m.Bytes()); got != want {
		t.Errorf("document:\n%s\nwant:\n%s", got, want)
	}
}

func TestAppendKeepsEverything(t *testing.T) {
	t.Parallel()
	for version := 1; version <= 2; version++ {
		m := newTable(t, version)
		for i := int64(1); i <= 3; i++ {
			seq := i
			if version == 1 {
				seq = 0
			}
			m = apply(t, m, "["+addSnapshotJSON(i, i-1, seq)+","+setMainJSON(i)+"]")
		}
		if id, ok := m.CurrentSnapshotID(); !ok || id != 3 || m.SnapshotCount() != 3 {
			t.Errorf("v%d: current %d, %d snapshots", version, id, m.SnapshotCount())
		}
	}
}

func createRequest(t *testing.T, body string) CreateRequest {
	t.Helper()
	req, err := DecodeCreateRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// TestCreateNullsAreAbsent: iceberg-rust sends optional members as
// null, some clients in snake case.
func TestCreateNullsAreAbsent(t *testing.T) {
	t.Parallel()
	for _, extra := range []string{
		`"location":null,"partition-spec":null,"write-order":null,"stage-create":null,"properties":{}`,
		`"location":null,"partition_spec":null,"write_order":null,"stage_create":null,"properties":{}`,
		`"properties":null`,
	} {
		req := createRequest(t, `{"name":"t","schema":`+testSchema+`,`+extra+`}`)
		if req.Staged || req.Location != "" {
			t.Errorf("%s: %+v", extra, req)
		}
		ctx := testContext()
		ctx.DefaultLocation = "s3://w/t/"
		m, err := NewTable(req, ctx)
		if err != nil || m.Location() != "s3://w/t" {
			t.Errorf("%s: %v", extra, err)
		}
	}
}

func TestDecodeCreateRequestRejects(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ body, text string }{
		{`[]`, "Cannot parse to an object"},
		{`{"schema":` + testSchema + `}`, "Cannot parse missing string: name"},
		{`{"name":"","schema":` + testSchema + `}`, "Invalid table name: empty"},
		{`{"name":"t"}`, "Cannot parse missing field: schema"},
		{`{"name":"t","schema":null}`, "Cannot parse missing field: schema"},
		{`{"name":"t","schema":7}`, "Cannot parse to a schema"},
		{`{"name":"t","schema":{"type":"struct"}}`, "Cannot parse missing field: fields"},
		{`{"name":"t","schema":` + testSchema + `,"stage-create":"yes"}`, `Cannot parse to a boolean value: stage-create: "yes"`},
		{`{"name":"t","name":"u","schema":` + testSchema + `}`, "duplicate member"},
	} {
		_, err := DecodeCreateRequest([]byte(tc.body))
		checkError(t, err, BadRequest, tc.text)
	}
}

// TestFreshIDs: a struct's children first, then what is nested in them; the
// client's ids, here from 0 as Flink and Spark send them, are hints.
func TestFreshIDs(t *testing.T) {
	t.Parallel()
	req := createRequest(t, `{"name":"t","location":"s3://b/t","schema":{"type":"struct","identifier-field-ids":[3,0],"fields":[`+
		`{"id":0,"name":"a","required":true,"type":"long"},`+
		`{"id":1,"name":"m","required":false,"type":{"type":"map","key-id":7,"key":{"type":"struct","fields":[{"id":70,"name":"k","required":true,"type":"int"}]},"value-id":8,"value":{"type":"list","element-id":9,"element":"int","element-required":true},"value-required":true}},`+
		`{"id":2,"name":"s","required":true,"type":{"type":"struct","fields":[{"id":3,"name":"x","required":true,"type":"int"},{"id":4,"name":"y","required":true,"type":{"type":"struct","fields":[{"id":5,"name":"z","required":true,"type":"int"}]}}]}}]},`+
		`"partition-spec":{"spec-id":4,"fields":[{"source-id":5,"field-id":7,"transform":"bucket[2]","name":"zb"},{"source-id":0,"transform":"identity","name":"a"}]},`+
		`"write-order":{"order-id":9,"fields":[{"source-id":3,"transform":"identity","direction":"asc","null-order":"nulls-first"}]}}`)
	m, err := NewTable(req, testContext())
	if err != nil {
		t.Fatal(err)
	}
	checkBuilt(t, m)
	sc, _ := m.schema(0)
	var got []string
	sc.walk(func(f *field, path string, _ []*field) { got = append(got, fmt.Sprintf("%s=%d", path, f.id)) })
	const want = "a=1 m=2 m.key=4 m.key.k=6 m.value=5 m.value.element=7 s=3 s.x=8 s.y=9 s.y.z=10"
	if strings.Join(got, " ") != want {
		t.Errorf("ids %v\nwant %s", got, want)
	}
	if fmt.Sprint(sc.identifiers) != "[1 8]" || m.LastColumnID() != 10 || m.LastPartitionID() != 1001 {
		t.Errorf("identifiers %v, last column %d, last partition %d", sc.identifiers, m.LastColumnID(), m.LastPartitionID())
	}
	for _, piece := range []string{`{"source-id":10,"field-id":1000,"transform":"bucket[2]","name":"zb"},{"source-id":1,"field-id":1001,"transform":"identity","name":"a"}`,
		`{"order-id":1,"fields":[{"source-id":8,`} {
		if !strings.Contains(string(m.Bytes()), piece) {
			t.Errorf("no %s in %s", piece, m.Bytes())
		}
	}
}

func TestFreshIDsOfAmbiguousSources(t *testing.T) {
	t.Parallel()
	const fields = `"fields":[{"id":0,"name":"a","required":true,"type":"long"},{"id":0,"name":"b","required":true,"type":"long"}]`
	if _, err := NewTable(createRequest(t, `{"name":"t","location":"s3://b/t","schema":{"type":"struct",`+fields+`}}`), testContext()); err != nil {
		t.Errorf("equal ids that nothing refers to are harmless: %v", err)
	}
	_, err := NewTable(createRequest(t, `{"name":"t","location":"s3://b/t","schema":{"type":"struct",`+fields+`},"partition-spec":{"fields":[{"source-id":0,"transform":"identity","name":"a"}]}}`), testContext())
	checkError(t, err, Validation, "Cannot find source column for partition field")
	_, err = NewTable(createRequest(t, `{"name":"t","location":"s3://b/t","schema":{"type":"struct","identifier-field-ids":[0],`+fields+`}}`), testContext())
	checkError(t, err, Validation, "multiple fields for id 0")
}

func TestCreateProperties(t *testing.T) {
	t.Parallel()
	create := func(properties string) (*Metadata, error) {
		return NewTable(createRequest(t, `{"name":"t","location":"s3://b/t","schema":`+testSchema+`,"properties":`+properties+`}`), testContext())
	}
	m, err := create(`{"format-version":"3","uuid":"x","snapshot-count":"1","current-snapshot-id":"1","current-snapshot-summary":"x","current-snapshot-timestamp-ms":"1",` +
		`"current-schema":"x","default-partition-spec":"x","default-sort-order":"x","owner":"me","n":5}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(m.Properties()); got != "map[n:5 owner:me write.parquet.compression-codec:zstd]" || m.FormatVersion() != 3 {
		t.Errorf("v%d %s", m.FormatVersion(), got)
	}
	if m, err = create(`{"write.parquet.compression-codec":"snappy"}`); err != nil {
		t.Fatal(err)
	}
	if v, _ := m.Property("write.parquet.compression-codec"); v != "snappy" {
		t.Errorf("the client's codec is %q", v)
	}
	for _, tc := range []struct {
		properties string
		kind       Kind
		text       string
	}{
		{`{"format-version":"4"}`, IllegalArgument, "Unsupported format version: v4 (supported: v3)"},
		{`{"format-version":"x"}`, IllegalArgument, "Invalid format-version: x"},
		{`{"commit.retry.num-retries":"x"}`, Validation, "Table property commit.retry.num-retries must have integer value"},
		{`{"commit.status-check.total-timeout-ms":"-1"}`, Validation, "Table property commit.status-check.total-timeout-ms must have non negative integer value"},
		{`{"write.metadata.metrics.column.nope":"full"}`, Validation, "Invalid metrics config, could not find column nope from table prop write.metadata.metrics.column.nope in schema"},
		{`{"encryption.key-id":"k"}`, IllegalArgument, "encryption is not supported until v3"},
		{`{"write.metadata.compression-codec":"zstd"}`, IllegalArgument, "Invalid codec name: zstd"},
		{`{"a":null}`, BadRequest, "Cannot parse to a string value: a"},
	} {
		req, err := DecodeCreateRequest([]byte(`{"name":"t","location":"s3://b/t","schema":` + testSchema + `,"properties":` + tc.properties + `}`))
		if err == nil {
			_, err = NewTable(req, testContext())
		}
		checkError(t, err, tc.kind, tc.text)
	}
	if _, err := create(`{"write.metadata.metrics.column.point.x":"full","format-version":"3","encryption.key-id":"k"}`); err != nil {
		t.Error(err)
	}
}

func TestDefaultFormatVersion(t *testing.T) {
	t.Parallel()
	req := createRequest(t, `{"name":"t","location":"s3://b/t","schema":`+testSchema+`}`)
	for version := range 4 {
		ctx := testContext()
		ctx.DefaultFormatVersion = version
		m, err := NewTable(req, ctx)
		want := version
		if version == 0 {
			want = 2
		}
		if err != nil || m.FormatVersion() != want {
			t.Errorf("default %d: v%d, %v", version, m.FormatVersion(), err)
		}
	}
}

func TestCreateNeedsLocation(t *testing.T) {
	t.Parallel()
	_, err := NewTable(createRequest(t, `{"name":"t","schema":`+testSchema+`}`), testContext())
	checkError(t, err, IllegalArgument, "Invalid location: empty")
}

// TestStagedCreate: the same computation, and a property says when.
func TestStagedCreate(t *testing.T) {
	t.Parallel()
	req := createRequest(t, `{"name":"t","location":"s3://b/t/","stage-create":true,"schema":`+testSchema+`}`)
	if !req.Staged {
		t.Fatal("not staged")
	}
	m, err := NewTable(req, testContext())
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := m.Property("created-at"); v != "2023-11-14T22:13:20.000Z" {
		t.Errorf("created-at %q", v)
	}
}

// javaCreate is the order in which the Java client creates by commit.
func javaCreate(version int, more ...string) string {
	return fmt.Sprintf(`[{"action":"assign-uuid","uuid":"aaaaaaaa-2222-4333-8444-555555555555"},{"action":"upgrade-format-version","format-version":%d},`+
		`{"action":"add-schema","schema":%s,"last-column-id":8},{"action":"set-current-schema","schema-id":-1},`+
		`{"action":"add-spec","spec":{"spec-id":0,"fields":[{"source-id":3,"field-id":1000,"transform":"day","name":"ts_day"}]}},{"action":"set-default-spec","spec-id":-1},`+
		`{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},{"action":"set-default-sort-order","sort-order-id":-1},`+
		`{"action":"set-location","location":"s3://bucket/ns/t"},{"action":"set-properties","updates":{"a":"b"}}%s]`,
		version, testSchema, strings.Join(more, ""))
}

func TestCreateByCommit(t *testing.T) {
	t.Parallel()
	for version := 1; version <= 3; version++ {
		m := apply(t, nil, javaCreate(version))
		if m.FormatVersion() != version {
			t.Errorf("v%d came out as v%d", version, m.FormatVersion())
		}
		if m.UUID() != "aaaaaaaa-2222-4333-8444-555555555555" || m.LastColumnID() != 8 || m.LastPartitionID() != 1000 ||
			m.CurrentSchemaID() != 0 || m.DefaultSpecID() != 0 || m.DefaultSortOrderID() != 0 {
			t.Errorf("%s", m.Bytes())
		}
		if len(m.MetadataLog()) != 0 {
			t.Error("a created table has no former file")
		}
		if _, ok := m.Property("write.parquet.compression-codec"); ok {
			t.Error("a create by commit gets no defaults: the staged answer had them")
		}
	}
	m := apply(t, nil, javaCreate(2, ","+addSnapshotJSON(1, 0, 1)+","+setMainJSON(1)))
	if id, _ := m.CurrentSnapshotID(); id != 1 {
		t.Error("CTAS: no snapshot")
	}
}

// TestCreateByCommitMayChooseTheSchemaLast: DuckDB's CREATE TABLE with PARTITIONED
// BY sets the current schema after the spec and the order that rest on it.
func TestCreateByCommitMayChooseTheSchemaLast(t *testing.T) {
	t.Parallel()
	const schema = `{"action":"add-schema","schema":` + testSchema + `},`
	const rest = `,{"action":"set-location","location":"s3://x"}`
	spec := `{"action":"add-spec","spec":{"spec-id":0,"fields":[{"source-id":3,"field-id":1000,"transform":"day","name":"ts_day"}]}},{"action":"set-default-spec","spec-id":0},`
	order := `{"action":"add-sort-order","sort-order":{"order-id":1,"fields":[{"source-id":1,"transform":"identity","direction":"asc","null-order":"nulls-first"}]}},` +
		`{"action":"set-default-sort-order","sort-order-id":1}`
	m := apply(t, nil, "["+schema+spec+order+rest+`,{"action":"set-current-schema","schema-id":0}]`)
	if m.CurrentSchemaID() != 0 || m.DefaultSpecID() != 0 || m.DefaultSortOrderID() != 1 || m.LastPartitionID() != 1000 {
		t.Errorf("%s", m.Bytes())
	}
	refuse(t, nil, "["+schema+spec+order+rest+"]", Validation, "Cannot find current schema: -1")
	// Against the schema that is chosen in the end, the default has to hold.
	other := `{"action":"add-schema","schema":` + schemaWith(column(1, "a", `"int"`)) + `},{"action":"set-current-schema","schema-id":-1}`
	refuse(t, nil, "["+schema+spec+order+rest+","+other+"]", Validation, "Cannot find source column for partition field")
	refuse(t, nil, "["+schema+addSpecJSON(specField(99, "identity", "id"))+"]", Validation, "Cannot find source column for partition field")
}

// TestCreateByCommitKeepsIDs: ids are as sent now; several schemas may come.
func TestCreateByCommitKeepsIDs(t *testing.T) {
	t.Parallel()
	m := apply(t, nil, `[{"action":"add-schema","schema":`+schemaWith(column(5, "a", `"int"`))+`},{"action":"add-schema","schema":`+schemaWith(column(5, "a", `"int"`), column(9, "b", `"int"`))+`},`+
		setLastSchema+","+addSpecJSON()+","+setLastSpec+","+addOrderJSON()+","+setLastOrder+`,{"action":"set-location","location":"s3://x"}]`)
	if m.LastColumnID() != 9 || m.CurrentSchemaID() != 1 || len(m.schemas) != 2 || m.FormatVersion() != 2 || m.UUID() != testUUID {
		t.Errorf("%s", m.Bytes())
	}
}

func TestCreateByCommitDefaults(t *testing.T) {
	t.Parallel()
	const body = `{"action":"add-schema","schema":` + testSchema + `},` + setLastSchema + `,{"action":"add-spec","spec":{"fields":[]}},` + setLastSpec +
		`,{"action":"add-sort-order","sort-order":{"fields":[]}},` + setLastOrder
	ctx := testContext()
	ctx.DefaultLocation, ctx.DefaultFormatVersion = "s3://default/t/", 3
	m, _, err := Apply(nil, decode(t, "["+body+"]"), ctx)
	if err != nil || m.Location() != "s3://default/t" || m.FormatVersion() != 3 {
		t.Errorf("%v", err)
	}
	m, _, err = Apply(nil, decode(t, `[{"action":"set-properties","updates":{"format-version":"1"}},`+body+"]"), ctx)
	if err != nil || m.FormatVersion() != 1 {
		t.Errorf("the old property chooses the version: %v", err)
	}
}

func TestCreateByCommitIncomplete(t *testing.T) {
	t.Parallel()
	const loc = `{"action":"set-location","location":"s3://x"}`
	schema := addSchemaJSON(testSchema) + "," + setLastSchema + ","
	spec, order := addSpecJSON()+","+setLastSpec+",", addOrderJSON()+","+setLastOrder+","
	refuse(t, nil, "["+spec+order+loc+"]", Validation, "Cannot find current schema: -1")
	refuse(t, nil, "["+addSchemaJSON(testSchema)+","+spec+order+loc+"]", Validation, "Cannot find current schema: -1")
	refuse(t, nil, "["+schema+order+loc+"]", IllegalArgument, "Partition specs cannot be null or empty")
	refuse(t, nil, "["+schema+addSpecJSON()+","+order+loc+"]", Validation, "Cannot find default partition spec: -1")
	refuse(t, nil, "["+schema+spec+loc+"]", IllegalArgument, "Sort orders cannot be null or empty")
	refuse(t, nil, "["+schema+spec+addOrderJSON()+","+loc+"]", Validation, "Cannot find default sort order: -1")
	refuse(t, nil, "["+strings.TrimSuffix(schema+spec+order, ",")+"]", IllegalArgument, "Invalid location: empty")
	refuse(t, nil, "["+addSpecJSON(specField(1, "identity", "id"))+"]", Validation, "Attempting to add a partition spec before a current schema is set")
	refuse(t, nil, "["+addOrderJSON(sortFieldJSON(1, "identity"))+"]", Validation, "Attempting to add a sort order before a current schema is set")
	refuse(t, nil, "[]", IllegalArgument, "Invalid location: empty")
}

package iceberg

import (
	"fmt"
	"strings"
	"testing"
)

// withDefault is a column with one default value.
func withDefault(typ, member, value string) string {
	return schemaWith(fmt.Sprintf(`{"id":1,"name":"a","required":false,"type":%s,%q:%s}`, typ, member, value))
}

// TestDefaultValuesFitTheirType: initial-default and write-default are written
// in the JSON form of a single value of the column's type.
func TestDefaultValuesFitTheirType(t *testing.T) {
	t.Parallel()
	for typ, values := range map[string]struct{ good, bad []string }{
		"boolean":        {[]string{"true", "false"}, []string{`"true"`, "1"}},
		"int":            {[]string{"0", "-2147483648", "2147483647"}, []string{"2147483648", "1.0", `"1"`, "true", "[]"}},
		"long":           {[]string{"9223372036854775807", "-1"}, []string{"9223372036854775808", "1e3", `"1"`}},
		"float":          {[]string{"1", "-1.5", "1e10"}, []string{`"NaN"`, "true"}},
		"double":         {[]string{"0.1", "-0"}, []string{`"0.1"`, "{}"}},
		"decimal(9,2)":   {[]string{`"14.20"`, `"-0.00"`, `"1.420e1"`, `"1420e-2"`, `"9999999.99"`}, []string{`"14.2"`, `"14.200"`, "14.20", `""`, `"x"`, `"--1.00"`, `"."`, `"10000000.00"`, `"1.00ex"`}},
		"decimal(5,0)":   {[]string{`"12"`, `"12e0"`}, []string{`"1e2"`, `"12.0"`}},
		"string":         {[]string{`""`, `"a\u0041é"`}, []string{"1", "{}"}},
		"uuid":           {[]string{`"f79c3e09-677c-4bbd-a479-3f349cb785e7"`, `"F79C3E09-677C-4BBD-A479-3F349CB785E7"`}, []string{`"f79c3e09"`, `"f79c3e09-677c-4bbd-a479-3f349cb785eg"`, "1"}},
		"date":           {[]string{`"2017-11-16"`, `"2024-02-29"`, `"-0001-02-28"`, `"+12345-01-01"`}, []string{`"2017-11-31"`, `"2023-02-29"`, `"2017-1-1"`, `"17-11-16"`, `"+1-01-01"`, "17486"}},
		"time":           {[]string{`"22:31:08.123456"`, `"22:31:08"`, `"22:31"`}, []string{`"24:00:00"`, `"22:31:08."`, `"22:31.5"`, `"22"`, "81068123456"}},
		"timestamp":      {[]string{`"2017-11-16T22:31:08.123456"`, `"2017-11-16T22:31:08"`}, []string{`"2017-11-16T22:31:08.123456+00:00"`, `"2017-11-16 22:31:08"`, `"2017-11-16"`, "1510871468123456"}},
		"timestamptz":    {[]string{`"2017-11-16T22:31:08.123456+00:00"`, `"2017-11-16T22:31:08Z"`}, []string{`"2017-11-16T22:31:08.123456"`, `"2017-11-16T22:31:08-08:00"`, `"2017-11-16T22:31:08+01:00"`}},
		"timestamp_ns":   {[]string{`"2017-11-16T22:31:08.123456789"`}, []string{`"2017-11-16T22:31:08.1234567890"`, `"2017-11-16T22:31:08.123456789+00:00"`}},
		"timestamptz_ns": {[]string{`"2017-11-16T22:31:08.123456789+00:00"`}, []string{`"2017-11-16T22:31:08.123456789"`}},
		"fixed[4]":       {[]string{`"00010203"`, `"DEADbeef"`}, []string{`"000102"`, `"0001020304"`, `"0001020g"`, "1"}},
		"binary":         {[]string{`""`, `"0001"`}, []string{`"001"`, `"zz"`, "1"}},
	} {
		for _, member := range []string{"initial-default", "write-default"} {
			for _, value := range values.good {
				m := apply(t, newTable(t, 3), "["+addSchemaJSON(withDefault(quote(typ), member, value))+"]")
				if !strings.Contains(string(m.Bytes()), fmt.Sprintf("%q:%s", member, value)) {
					t.Errorf("%s %s %s was not kept as sent", typ, member, value)
				}
			}
			for _, value := range values.bad {
				refuse(t, newTable(t, 3), "["+addSchemaJSON(withDefault(quote(typ), member, value))+"]", IllegalArgument, "Cannot parse default as a ")
			}
		}
	}
	refuse(t, newTable(t, 3), "["+addSchemaJSON(withDefault(`"timestamptz"`, "initial-default", `"2017-11-16T22:31:08-08:00"`))+"]", IllegalArgument,
		`Cannot parse default as a timestamptz value: "2017-11-16T22:31:08-08:00", offset must be +00:00 (initial-default of a)`)
	refuse(t, newTable(t, 3), "["+addSchemaJSON(withDefault(`"decimal(9,2)"`, "write-default", `"1.5"`))+"]", IllegalArgument,
		`Cannot parse default as a decimal(9, 2) value: "1.5", the scale doesn't match (write-default of a)`)
	refuse(t, newTable(t, 3), "["+addSchemaJSON(withDefault(`"fixed[4]"`, "write-default", `"00"`))+"]", IllegalArgument, "incorrect length: 2")
}

func quote(s string) string { return `"` + s + `"` }

// TestDefaultsOfTheseTypesAreNull: unknown, variant, geometry and geography
// (Iceberg spec, Default values), and nested types, which Java cannot read.
func TestDefaultsOfTheseTypesAreNull(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{
		`"unknown"`, `"variant"`, `"geometry"`, `"geometry(srid:3857)"`, `"geography(srid:4326, karney)"`,
		`{"type":"struct","fields":[{"id":2,"name":"x","required":false,"type":"int"}]}`,
		`{"type":"list","element-id":2,"element":"int","element-required":false}`,
		`{"type":"map","key-id":2,"key":"int","value-id":3,"value":"int","value-required":false}`,
	} {
		for _, member := range []string{"initial-default", "write-default"} {
			apply(t, newTable(t, 3), "["+addSchemaJSON(withDefault(typ, member, "null"))+"]")
			for _, value := range []string{"{}", "[]", `"x"`, "1"} {
				refuse(t, newTable(t, 3), "["+addSchemaJSON(withDefault(typ, member, value))+"]", IllegalArgument, "Invalid default value for ")
				refuse(t, newTable(t, 3), "["+addSchemaJSON(withDefault(typ, member, value))+"]", IllegalArgument, "(must be null)")
			}
		}
	}
	// Nested columns have defaults of their own.
	nested := `{"type":"struct","fields":[{"id":2,"name":"x","required":false,"type":"int","initial-default":"one"}]}`
	refuse(t, newTable(t, 3), "["+addSchemaJSON(schemaWith(column(1, "s", nested)))+"]", IllegalArgument, `Cannot parse default as a int value: "one" (initial-default of s.x)`)
}

// TestWriteDefaultsNeedNoVersion: as in Java, only initial defaults, which
// change what old files mean, wait for v3.
func TestWriteDefaultsNeedNoVersion(t *testing.T) {
	t.Parallel()
	for version := 1; version <= 2; version++ {
		apply(t, newTable(t, version), "["+addSchemaJSON(withDefault(`"int"`, "write-default", "5"))+"]")
		refuse(t, newTable(t, version), "["+addSchemaJSON(withDefault(`"int"`, "initial-default", "5"))+"]", Validation, "non-null default (5) is not supported until v3")
		apply(t, newTable(t, version), "["+addSchemaJSON(withDefault(`"int"`, "initial-default", "null"))+"]")
	}
}

// TestCreateKeepsDefaults: ids are assigned anew, defaults stay with their
// columns, byte for byte.
func TestCreateKeepsDefaults(t *testing.T) {
	t.Parallel()
	body := `{"name":"t","location":"s3://b/t","schema":{"type":"struct","fields":[` +
		`{"id":40,"name":"s","required":false,"type":{"type":"struct","fields":[{"id":41,"name":"x","required":true,"type":"decimal(4,1)","initial-default":"1.5","write-default":"2.5"}]}},` +
		`{"id":42,"name":"d","required":true,"type":"date","initial-default":"2026-01-01"}]},"properties":{"format-version":"%d"}}`
	m, err := NewTable(createRequest(t, fmt.Sprintf(body, 3)), testContext())
	if err != nil {
		t.Fatal(err)
	}
	checkBuilt(t, m)
	for _, want := range []string{
		`{"id":3,"name":"x","required":true,"type":"decimal(4,1)","initial-default":"1.5","write-default":"2.5"}`,
		`{"id":2,"name":"d","required":true,"type":"date","initial-default":"2026-01-01"}`,
	} {
		if !strings.Contains(string(m.Bytes()), want) {
			t.Errorf("%s lacks %s", m.Bytes(), want)
		}
	}
	if next := apply(t, m, "["+addSchemaJSON(string(m.schemas[0].at.of(m.doc)))+"]"); next != m {
		t.Error("the same schema with its defaults is a new one")
	}
	_, err = NewTable(createRequest(t, fmt.Sprintf(body, 2)), testContext())
	checkError(t, err, Validation, "Invalid initial default for s.x: non-null default (\"1.5\") is not supported until v3")
	_, err = NewTable(createRequest(t, strings.Replace(fmt.Sprintf(body, 3), `"2026-01-01"`, "5", 1)), testContext())
	checkError(t, err, IllegalArgument, "Cannot parse default as a date value: 5")
}

// TestGeospatialTypes: coordinate systems and algorithms are checked, and kept
// as they were written; spellings of one type are one schema.
func TestGeospatialTypes(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{
		"geometry", "geometry(srid:3857)", "Geometry( EPSG:4326 )", "geometry (projjson:my_crs)", "geography", "geography(srid:4326)",
		"geography(srid:4326, spherical)", "geography(srid:4326,VINCENTY)", "geography(srid:4326, thomas)", "geography(OGC:CRS84, andoyer)", "geography(OGC:CRS84, karney)",
	} {
		m := apply(t, newTable(t, 3), "["+addSchemaJSON(schemaWith(column(1, "g", quote(typ))))+"]")
		if !strings.Contains(string(m.Bytes()), quote(typ)) {
			t.Errorf("%s was not kept as sent", typ)
		}
	}
	for typ, text := range map[string]string{
		"geometry()": "Invalid CRS: (empty string)", "geography( )": "Invalid CRS: (empty string)", "geography(, karney)": "Invalid CRS: (empty string)",
		"geography(srid:4326, flat)": "Invalid edge interpolation algorithm: flat", "geography(srid:4326,)": "Invalid edge interpolation algorithm: ",
		"geometry(srid:1": "Cannot parse type string to primitive", "geography(a, karney, b)": "Cannot parse type string to primitive",
		"geometries": "Cannot parse type string to primitive",
	} {
		refuse(t, newTable(t, 3), "["+addSchemaJSON(schemaWith(column(1, "g", quote(typ))))+"]", IllegalArgument, text)
	}
	for _, same := range [][]string{
		{"geometry", "geometry(OGC:CRS84)", "GEOMETRY( ogc:crs84 )"},
		{"geography", "geography(OGC:CRS84)", "geography(OGC:CRS84, spherical)"},
		{"geography(srid:1, karney)", "geography( srid:1,KARNEY )"}, {"geometry(srid:1)", "geometry( srid:1 )"},
	} {
		m := apply(t, newTable(t, 3), "["+addSchemaJSON(schemaWith(column(1, "g", quote(same[0]))))+"]")
		for _, other := range same[1:] {
			if next := apply(t, m, "["+addSchemaJSON(schemaWith(column(1, "g", quote(other))))+"]"); next != m {
				t.Errorf("%s and %s are two schemas", same[0], other)
			}
		}
		if next := apply(t, m, "["+addSchemaJSON(schemaWith(column(1, "g", `"geometry(srid:2)"`)))+"]"); next == m {
			t.Errorf("%s and another system are one schema", same[0])
		}
	}
}

// TestV3TypesInSpecsAndOrders: what has no order or equality partitions and
// sorts nothing; nanoseconds do what microseconds do.
func TestV3TypesInSpecsAndOrders(t *testing.T) {
	t.Parallel()
	columns := []string{column(1, "v", `"variant"`), column(2, "g", `"geometry"`), column(3, "h", `"geography"`), column(4, "n", `"timestamp_ns"`), column(5, "z", `"timestamptz_ns"`), column(6, "u", `"unknown"`)}
	m := apply(t, newTable(t, 3), "["+addSchemaJSON(schemaWith(columns...))+","+setLastSchema+"]")
	spec := func(source int, transform string) string {
		return fmt.Sprintf(`[{"action":"add-spec","spec":{"fields":[{"source-id":%d,"field-id":1000,"name":"p","transform":%q}]}}]`, source, transform)
	}
	order := func(source int, transform string) string {
		return fmt.Sprintf(`[{"action":"add-sort-order","sort-order":{"order-id":1,"fields":[{"source-id":%d,"transform":%q,"direction":"asc","null-order":"nulls-first"}]}}]`, source, transform)
	}
	for source := 1; source <= 3; source++ {
		for _, transform := range []string{"identity", "bucket[4]", "truncate[4]", "day"} {
			refuse(t, m, spec(source, transform), Validation, "Invalid source type")
			refuse(t, m, order(source, transform), Validation, "Invalid source type")
		}
		apply(t, m, spec(source, "void"))
	}
	for source := 4; source <= 5; source++ {
		for _, transform := range []string{"identity", "bucket[4]", "year", "month", "day", "hour", "void"} {
			apply(t, m, spec(source, transform))
			apply(t, m, order(source, transform))
		}
		refuse(t, m, spec(source, "truncate[4]"), Validation, "Invalid source type")
	}
	refuse(t, m, spec(6, "day"), Validation, "Invalid source type unknown")
}

// TestRowLineageOverATablesLife: row ids are given out once, over branches,
// expiry, replace and the upgrade to v3.
func TestRowLineageOverATablesLife(t *testing.T) {
	t.Parallel()
	m := apply(t, appended(t, newTable(t, 2), 2), `[{"action":"upgrade-format-version","format-version":3}]`)
	if m.NextRowID() != 0 || strings.Contains(string(m.Bytes()), "first-row-id") {
		t.Fatalf("the upgrade gives row ids: %s", m.Bytes())
	}
	refuse(t, m, "["+addSnapshotJSON(3, 2, 3)+"]", Validation, "Cannot add a snapshot: first-row-id is null")
	m = apply(t, m, "["+v3Snapshot(3, 3, 0, 10)+","+setMainJSON(3)+"]")
	m = apply(t, m, "["+v3Snapshot(4, 4, 10, 5)+`,{"action":"set-snapshot-ref","ref-name":"dev","type":"branch","snapshot-id":4}]`)
	m = apply(t, m, "["+v3Snapshot(5, 5, 15, 0)+","+setMainJSON(5)+"]") // a delete adds no rows
	for i, step := range []string{
		`[{"action":"remove-snapshots","snapshot-ids":[3,4]}]`, `[{"action":"remove-snapshot-ref","ref-name":"main"}]`,
		`[{"action":"set-properties","updates":{"a":"b"}}]`,
	} {
		m = apply(t, m, step)
		if m.NextRowID() != 15 || !strings.Contains(string(m.Bytes()), `"next-row-id":15,`) {
			t.Errorf("step %d: next-row-id %d", i, m.NextRowID())
		}
	}
	refuse(t, m, "["+v3Snapshot(6, 6, 0, 1)+"]", StaleCommit, "Validation failed, please retry: Cannot add a snapshot, first-row-id is behind table next-row-id: 0 < 15")
	// Two snapshots of one request follow each other.
	refuse(t, m, "["+v3Snapshot(6, 6, 15, 2)+","+v3Snapshot(7, 7, 15, 2)+"]", StaleCommit, "behind table next-row-id: 15 < 17")
	if m = apply(t, m, "["+v3Snapshot(6, 6, 15, 2)+","+v3Snapshot(7, 7, 17, 2)+"]"); m.NextRowID() != 19 {
		t.Errorf("next-row-id %d, want 19", m.NextRowID())
	}
	// Members of snapshots that belong to encryption and lineage are kept.
	keyed := strings.Replace(v3Snapshot(8, 8, 19, 1), `"schema-id":0`, `"schema-id":0,"key-id":"k1"`, 1)
	if m = apply(t, m, "["+keyed+"]"); !strings.Contains(string(m.Bytes()), `"key-id":"k1"`) || !strings.Contains(string(m.Bytes()), `"first-row-id":19,"added-rows":1`) {
		t.Errorf("%s", m.Bytes())
	}
}

// TestEncryptionKeysAreReadable: a key that Java could not decode would make
// the whole document unreadable.
func TestEncryptionKeysAreReadable(t *testing.T) {
	t.Parallel()
	add := func(key string) string { return `[{"action":"add-encryption-key","encryption-key":` + key + `}]` }
	m := newTable(t, 3)
	for _, key := range []string{
		`{"key-id":"k","encrypted-key-metadata":"YWJj"}`, `{"key-id":"k","encrypted-key-metadata":"YQ=="}`, `{"key-id":"k","encrypted-key-metadata":"YQ"}`,
		`{"key-id":"k","encrypted-key-metadata":"","encrypted-by-id":null}`, `{"key-id":"k","encrypted-key-metadata":"+/==","encrypted-by-id":"root"}`,
	} {
		if next := apply(t, m, add(key)); !strings.Contains(string(next.Bytes()), `"encryption-keys":[`+key+`]`) {
			t.Errorf("%s was not kept as sent", key)
		}
	}
	for _, metadata := range []string{"no base64!", "YQ=", "Y", "YW\\nJj", "YW_-"} {
		refuse(t, m, add(`{"key-id":"k","encrypted-key-metadata":"`+metadata+`"}`), IllegalArgument, "Invalid encrypted-key-metadata: not base64")
	}
	refuse(t, m, add(`{"key-id":"k","encrypted-key-metadata":"YWJj","encrypted-by-id":1}`), BadRequest, "Cannot parse to a string value: encrypted-by-id")
	refuse(t, m, add(`{"encrypted-key-metadata":"YWJj"}`), BadRequest, "Cannot parse missing string: key-id")
	refuse(t, m, add(`{"key-id":"k","encrypted-key-metadata":5}`), BadRequest, "encrypted-key-metadata")
	refuse(t, m, add(`{"key-id":"k","encrypted-key-metadata":"YWJj","properties":{"a":1}}`), BadRequest, "Cannot parse to a string value: a")
}

// TestV3DocumentNeedsNextRowID: Java cannot read one without.
func TestV3DocumentNeedsNextRowID(t *testing.T) {
	t.Parallel()
	doc := strings.Replace(string(newTable(t, 3).Bytes()), `"next-row-id":0,`, "", 1)
	_, err := ParseMetadata([]byte(doc))
	if err == nil || !strings.Contains(err.Error(), "next-row-id") {
		t.Errorf("%v", err)
	}
}

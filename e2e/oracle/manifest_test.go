package oracle

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	ice "github.com/apache/iceberg-go"

	"github.com/icecore-catalog/icecore/iceberg/manifest"
)

// TestManifestsOfAllVersions has iceberg-go write lists and manifests of each
// format version, partitioned by types of every kind of Avro, and reads the paths
// that our reader finds in them.
func TestManifestsOfAllVersions(t *testing.T) {
	t.Parallel()
	schema := ice.NewSchema(0,
		ice.NestedField{ID: 1, Name: "id", Type: ice.PrimitiveTypes.Int64, Required: true},
		ice.NestedField{ID: 2, Name: "s", Type: ice.PrimitiveTypes.String},
		ice.NestedField{ID: 3, Name: "d", Type: ice.PrimitiveTypes.Date},
		ice.NestedField{ID: 4, Name: "f", Type: ice.FixedTypeOf(7)},
		ice.NestedField{ID: 5, Name: "n", Type: ice.DecimalTypeOf(20, 3)},
		ice.NestedField{ID: 6, Name: "b", Type: ice.PrimitiveTypes.Bool},
	)
	specs := map[string]ice.PartitionSpec{"unpartitioned": *ice.UnpartitionedSpec}
	var fields []ice.PartitionField
	for i, name := range []string{"id", "s", "d", "f", "n", "b"} {
		fields = append(fields, ice.PartitionField{SourceIDs: []int{i + 1}, FieldID: 1000 + i, Name: name, Transform: ice.IdentityTransform{}})
	}
	specs["partitioned"] = ice.NewPartitionSpecID(1, fields...)
	for version := 1; version <= 3; version++ {
		for name, spec := range specs {
			t.Run(fmt.Sprintf("v%d/%s", version, name), func(t *testing.T) {
				t.Parallel()
				testManifest(t, version, spec, schema)
			})
		}
	}
}

func testManifest(t *testing.T, version int, spec ice.PartitionSpec, schema *ice.Schema) {
	t.Helper()
	snapshot, sequence := int64(7), int64(3)
	var entries []ice.ManifestEntry
	var want []string
	for i := range 500 {
		path := fmt.Sprintf("s3://bucket/t/data/ä b/%05d.parquet", i)
		b, err := ice.NewDataFileBuilder(spec, ice.EntryContentData, path, ice.ParquetFile, nil, nil, nil, int64(i+1), 1000)
		if err != nil {
			t.Fatal(err)
		}
		b.ColumnSizes(map[int]int64{1: 10, 2: 20}).ValueCounts(map[int]int64{1: 1}).
			LowerBoundValues(map[int][]byte{1: {1}}).UpperBoundValues(map[int][]byte{1: {2}}).SplitOffsets([]int64{4, 8})
		entries = append(entries, ice.NewManifestEntryBuilder(ice.EntryStatusADDED, &snapshot, b.Build()).Build())
		want = append(want, path)
	}
	var file, list bytes.Buffer
	made, err := ice.WriteManifest("s3://bucket/t/metadata/m0.avro", &file, version, spec, schema, snapshot, entries)
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(t, manifest.Files, file.Bytes()); !slices.Equal(got, want) {
		t.Errorf("%d files, %d written", len(got), len(want))
	}
	if err := ice.WriteManifestList(version, &list, snapshot, nil, &sequence, 0, []ice.ManifestFile{made, made}); err != nil {
		t.Fatal(err)
	}
	if got := paths(t, manifest.List, list.Bytes()); !slices.Equal(got, []string{made.FilePath(), made.FilePath()}) {
		t.Errorf("list of %q", got)
	}
}

func paths(t *testing.T, read func(context.Context, []byte, func(string) error) error, data []byte) (found []string) {
	t.Helper()
	if err := read(t.Context(), data, func(path string) error {
		found = append(found, path)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

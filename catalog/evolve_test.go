package catalog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/iceberg"
)

const createRequest = `{"name":"t","schema":{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"a","type":"long","required":true}]},"properties":{"k":"v","format-version":"1"}}`

func TestEvolveTableBuildsTheSameBytesAgain(t *testing.T) {
	t.Parallel()
	request, err := iceberg.DecodeCreateRequest([]byte(createRequest))
	if err != nil {
		t.Fatal(err)
	}
	first, err := iceberg.NewTable(request, iceberg.BuildContext{
		NowMS: 5, NewUUID: id(4).String, DefaultFormatVersion: 2, DefaultLocation: "file:///srv/t",
	})
	if err != nil {
		t.Fatal(err)
	}
	created := &catalog.TableCreated{
		TableUUID: id(4), Location: first.Location(), NowMS: 5, Request: json.RawMessage(createRequest),
		MetadataFile: catalog.MetadataFile{Format: first.FormatVersion()},
	}
	got, err := catalog.EvolveTable(nil, created)
	if err != nil || !bytes.Equal(got, first.Bytes()) {
		t.Fatalf("creation: %v\n got %s\nwant %s", err, got, first.Bytes())
	}

	const raw = `[{"action":"set-properties","updates":{"x":"y"}},{"action":"upgrade-format-version","format-version":2}]`
	updates, err := iceberg.DecodeUpdates([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := iceberg.Apply(first, updates, iceberg.BuildContext{NowMS: 6, MetadataLocation: "file:///srv/t/metadata/0.json", DefaultFormatVersion: 3})
	if err != nil {
		t.Fatal(err)
	}
	committed := &catalog.TableCommitted{NowMS: 6, Previous: "file:///srv/t/metadata/0.json", Updates: json.RawMessage(raw), MetadataFile: catalog.MetadataFile{Format: second.FormatVersion()}}
	if got, err = catalog.EvolveTable(got, committed); err != nil || !bytes.Equal(got, second.Bytes()) {
		t.Fatalf("commit: %v\n got %s\nwant %s", err, got, second.Bytes())
	}
	committed.NowMS++
	if other, err := catalog.EvolveTable(first.Bytes(), committed); err != nil || bytes.Equal(other, second.Bytes()) {
		t.Errorf("another clock builds the same document: %v", err)
	}
	if _, err := catalog.EvolveTable(nil, &catalog.TableRegistered{}); !errors.Is(err, catalog.ErrNotFolded) {
		t.Errorf("a registered table: %v", err)
	}
	if _, err := catalog.EvolveTable([]byte("{"), committed); err == nil {
		t.Error("a broken base is accepted")
	}
}

func TestEvolveTableCreatedByUpdates(t *testing.T) {
	t.Parallel()
	const raw = `[{"action":"upgrade-format-version","format-version":2},
{"action":"add-schema","schema":{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"a","type":"long","required":false}]},"last-column-id":1},{"action":"set-current-schema","schema-id":-1},
{"action":"add-spec","spec":{"spec-id":0,"fields":[]}},{"action":"set-default-spec","spec-id":-1},
{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},{"action":"set-default-sort-order","sort-order-id":-1}]`
	updates, err := iceberg.DecodeUpdates([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := iceberg.Apply(nil, updates, iceberg.BuildContext{NowMS: 9, NewUUID: id(4).String, DefaultFormatVersion: 3, DefaultLocation: "file:///srv/t"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := catalog.EvolveTable(nil, &catalog.TableCreated{
		TableUUID: id(4), Location: m.Location(), NowMS: 9, Updates: json.RawMessage(raw), MetadataFile: catalog.MetadataFile{Format: m.FormatVersion()},
	})
	if err != nil || !bytes.Equal(got, m.Bytes()) {
		t.Fatalf("%v\n got %s\nwant %s", err, got, m.Bytes())
	}
}

package catalog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/iceberg"
)

const createViewRequest = `{"name":"v","schema":{"type":"struct","schema-id":7,"fields":[{"id":4,"name":"a","type":"long","required":true}]},` +
	`"view-version":{"version-id":9,"timestamp-ms":3,"schema-id":7,"summary":{},"default-namespace":["n"],"representations":[{"type":"sql","sql":"select 1","dialect":"spark"}]},"properties":{}}`

func TestEvolveViewBuildsTheSameBytesAgain(t *testing.T) {
	t.Parallel()
	request, err := iceberg.DecodeCreateViewRequest([]byte(createViewRequest))
	if err != nil {
		t.Fatal(err)
	}
	first, err := iceberg.NewView(request, iceberg.BuildContext{NowMS: 5, NewUUID: id(4).String, DefaultLocation: "file:///srv/v"})
	if err != nil {
		t.Fatal(err)
	}
	created := &catalog.ViewCreated{ViewUUID: id(4), Location: first.Location(), NowMS: 5, Request: json.RawMessage(createViewRequest)}
	got, err := catalog.EvolveView(nil, created)
	if err != nil || !bytes.Equal(got, first.Bytes()) {
		t.Fatalf("creation: %v\n got %s\nwant %s", err, got, first.Bytes())
	}

	// Taking version 1 up again is noted at the clock of the commit.
	const raw = `[{"action":"add-view-version","view-version":{"version-id":2,"timestamp-ms":4,"schema-id":0,"summary":{},"default-namespace":["n"],"representations":[{"type":"sql","sql":"select 2","dialect":"spark"}]}},
{"action":"set-current-view-version","view-version-id":-1},{"action":"set-current-view-version","view-version-id":1},{"action":"set-properties","updates":{"x":"y"}}]`
	updates, err := iceberg.DecodeViewUpdates([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := iceberg.ApplyView(first, updates, iceberg.BuildContext{NowMS: 6})
	if err != nil {
		t.Fatal(err)
	}
	committed := &catalog.ViewCommitted{NowMS: 6, Previous: "file:///srv/v/metadata/0.json", Updates: json.RawMessage(raw)}
	if got, err = catalog.EvolveView(got, committed); err != nil || !bytes.Equal(got, second.Bytes()) {
		t.Fatalf("commit: %v\n got %s\nwant %s", err, got, second.Bytes())
	}
	committed.NowMS++
	if other, err := catalog.EvolveView(first.Bytes(), committed); err != nil || bytes.Equal(other, second.Bytes()) {
		t.Errorf("another clock builds the same document: %v", err)
	}
	if _, err := catalog.EvolveView(nil, &catalog.ViewRegistered{}); !errors.Is(err, catalog.ErrNotFolded) {
		t.Errorf("a registered view: %v", err)
	}
	for name, broken := range map[string]error{
		"base":    errorIn(catalog.EvolveView([]byte("{"), committed)),
		"updates": errorIn(catalog.EvolveView(first.Bytes(), &catalog.ViewCommitted{Updates: json.RawMessage(`[{"action":"x"}]`)})),
		"request": errorIn(catalog.EvolveView(nil, &catalog.ViewCreated{Request: json.RawMessage(`{}`)})),
	} {
		if broken == nil {
			t.Errorf("a broken %s is accepted", name)
		}
	}
}

func errorIn[T any](_ T, err error) error { return err }

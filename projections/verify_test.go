package projections_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/projections"
)

// shelf holds documents by location, as a store would.
type shelf struct {
	mu   sync.Mutex
	docs map[string][]byte
}

func (s *shelf) read(_ context.Context, warehouse ids.ID, profile []byte, location string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if warehouse.IsNil() || !strings.Contains(string(profile), `"type":"file"`) {
		return nil, fmt.Errorf("no profile for %s", location)
	}
	doc, ok := s.docs[location]
	if !ok {
		return nil, errors.New("no such file")
	}
	return doc, nil
}

func (s *shelf) put(location string, doc []byte) catalog.MetadataFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.docs[location] = doc
	return catalog.MetadataFile{MetadataLocation: location, SHA256: sha256.Sum256(doc), Size: int64(len(doc)), Format: 2}
}

// realTable creates a table whose documents are real, and commits n times.
func (w *world) realTable(s *shelf, namespace *object, name string, n int) *object {
	w.Helper()
	raw := []byte(`{"name":"` + name + `","schema":{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"a","type":"long","required":false}]}}`)
	request, err := iceberg.DecodeCreateRequest(raw)
	if err != nil {
		w.Fatal(err)
	}
	st := tableStep(namespace, name)
	created := st.event.(*catalog.TableCreated)
	m, err := iceberg.NewTable(request, iceberg.BuildContext{NowMS: 7, NewUUID: created.TableUUID.String, DefaultFormatVersion: 2, DefaultLocation: created.Location})
	if err != nil {
		w.Fatal(err)
	}
	created.Request, created.NowMS = raw, 7
	created.MetadataFile = s.put(st.pointer, m.Bytes())
	w.must(st)
	for i := range n {
		updates := json.RawMessage(fmt.Sprintf(`[{"action":"set-properties","updates":{"k":"%d"}}]`, i))
		list, err := iceberg.DecodeUpdates(updates)
		if err != nil {
			w.Fatal(err)
		}
		now := int64(8 + i)
		if m, _, err = iceberg.Apply(m, list, iceberg.BuildContext{NowMS: now, MetadataLocation: st.on.pointer, DefaultFormatVersion: 2}); err != nil {
			w.Fatal(err)
		}
		next := commitStep(st.on, nil, nil)
		committed := next.event.(*catalog.TableCommitted)
		committed.NowMS, committed.Updates, committed.MetadataFile = now, updates, s.put(next.pointer, m.Bytes())
		w.must(next)
	}
	return st.on
}

func (w *world) verify(read projections.ReadDocument, replay bool) projections.Report {
	w.Helper()
	report, err := projections.Verify(w.Context(), projections.VerifyConfig{
		CheckConfig: projections.CheckConfig{Pool: w.db.App, Log: w.store}, Read: read, Replay: replay,
	})
	if err != nil {
		w.Fatalf("verify: %v", err)
	}
	return report
}

func TestVerifyHoldsDocumentsAgainstTheirEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := &shelf{docs: map[string][]byte{}}
	_, project := w.bootstrap()
	ns := w.newNamespace(w.newWarehouse(project, "demo"), "ns")
	tables := []*object{w.realTable(s, ns, "a", 0), w.realTable(s, ns, "b", 5), w.realTable(s, ns, "c", 2), w.realTable(s, ns, "gone", 1)}
	w.must(dropStep(tables[3]))
	delete(s.docs, tables[3].pointer) // nobody misses the file of a dropped table

	// A document from elsewhere, and commits on top of it.
	foreign := tableStep(ns, "foreign")
	created := foreign.event.(*catalog.TableCreated)
	base := s.docs[tables[0].pointer]
	foreign.event = &catalog.TableRegistered{TableName: created.TableName, TableUUID: testIDs.New(), Location: created.Location, MetadataFile: s.put(foreign.pointer, base), ClaimsAdded: created.Claims}
	w.must(foreign)
	m, err := iceberg.ParseMetadata(base)
	if err != nil {
		t.Fatal(err)
	}
	updates := json.RawMessage(`[{"action":"set-properties","updates":{"k":"v"}}]`)
	list, err := iceberg.DecodeUpdates(updates)
	if err != nil {
		t.Fatal(err)
	}
	if m, _, err = iceberg.Apply(m, list, iceberg.BuildContext{NowMS: 9, MetadataLocation: foreign.on.pointer}); err != nil {
		t.Fatal(err)
	}
	registeredAt := foreign.on.pointer
	next := commitStep(foreign.on, nil, nil)
	committed := next.event.(*catalog.TableCommitted)
	committed.NowMS, committed.Updates, committed.MetadataFile = 9, updates, s.put(next.pointer, m.Bytes())
	w.must(next)
	w.drain()

	report := w.verify(s.read, true)
	if !report.OK() || report.Documents != 4 || report.Folds != 1+6+3+1 || report.Skipped != 0 {
		t.Fatalf("a sound catalog: %+v", report)
	}
	if report := w.verify(nil, false); !report.OK() || report.Documents != 0 || report.Folds != 0 {
		t.Errorf("without files: %+v", report)
	}

	find := func(kind projections.FindingKind, object *object) {
		t.Helper()
		report := w.verify(s.read, true)
		if report.Count != 1 || report.Findings[0].Kind != kind || report.Findings[0].Object != object.id {
			t.Errorf("found %v, want one %s of %s", report.Findings, kind, object.id)
		}
		if report.Count > 0 && (report.Findings[0].Event.IsNil() || report.Findings[0].Location == "" || report.Findings[0].Detail == "") {
			t.Errorf("the finding says too little: %+v", report.Findings[0])
		}
	}
	good := s.docs[tables[1].pointer]
	s.docs[tables[1].pointer] = []byte(strings.Replace(string(good), `"k"`, `"K"`, 1))
	find(projections.DocumentDiffers, tables[1])
	delete(s.docs, tables[1].pointer)
	find(projections.DocumentUnreadable, tables[1])
	s.docs[tables[1].pointer] = good

	// Without the registered file what follows from it cannot be folded.
	registered := s.docs[registeredAt]
	delete(s.docs, registeredAt)
	if report := w.verify(s.read, true); !report.OK() || report.Skipped != 2 {
		t.Errorf("without the registered document: %+v", report)
	}
	s.docs[registeredAt] = registered
}

func TestVerifyFindsUpdatesThatGiveAnotherDocument(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := &shelf{docs: map[string][]byte{}}
	_, project := w.bootstrap()
	ns := w.newNamespace(w.newWarehouse(project, "demo"), "ns")
	table := w.realTable(s, ns, "a", 2)
	next := commitStep(table, nil, nil)
	committed := next.event.(*catalog.TableCommitted)
	doc := []byte(strings.Replace(string(s.docs[table.pointer]), `"k":"1"`, `"k":"lie"`, 1))
	committed.Updates, committed.MetadataFile = json.RawMessage(`[{"action":"set-properties","updates":{"k":"truth"}}]`), s.put(next.pointer, doc)
	w.must(next)
	w.drain()
	if report := w.verify(s.read, false); !report.OK() {
		t.Errorf("the file is the one that the event names: %v", report.Findings)
	}
	report := w.verify(s.read, true)
	if report.Count != 1 || report.Findings[0].Kind != projections.FoldDiffers || report.Findings[0].Event != table.mark {
		t.Errorf("found %v", report.Findings)
	}
}

func TestVerifyNeedsThePayloads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	w.newWarehouse(project, "demo")
	w.drain()
	super := w.db.Connect(t, pgtest.RoleSuper)
	if _, err := super.Exec(t.Context(), "UPDATE es.event SET data = NULL WHERE type LIKE '%warehouse%'"); err != nil {
		t.Fatal(err)
	}
	_, err := projections.Compare(t.Context(), projections.CheckConfig{Pool: w.db.App, Log: w.store})
	var erased *projections.ErasedError
	if !errors.As(err, &erased) || erased.Position != 3 {
		t.Errorf("an erased payload: %v", err)
	}
	if _, err := super.Exec(t.Context(), "UPDATE es.event SET data = '{}' WHERE type LIKE '%warehouse%'"); err != nil {
		t.Fatal(err)
	}
	_, err = projections.Compare(t.Context(), projections.CheckConfig{Pool: w.db.App, Log: w.store})
	var payload *catalog.PayloadError
	if !errors.As(err, &payload) {
		t.Errorf("a payload of another shape: %v", err)
	}
}

func TestALogThatContradictsItselfIsNotReplayed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	ns := w.newNamespace(w.newWarehouse(project, "demo"), "ns")
	ghost := &object{id: testIDs.New(), warehouse: ns.warehouse, project: ns.project, entity: catalog.EntityTable, uuid: testIDs.New(), pointer: "file:///x"}
	ghost.name = catalog.TableName{NamespaceID: ns.id, Namespace: ns.path, Name: "ghost"}
	s := dropStep(ghost)
	s.event.(*catalog.TableDropped).ClaimsReleased = nil
	w.must(tableStep(ns, "t"))
	// A projector's write that meets no row refuses the commit already.
	if err := w.try(s); err == nil {
		t.Fatal("the drop of a table that is not there is accepted")
	}
	w.drain()
	super := w.db.Connect(t, pgtest.RoleSuper)
	if _, err := super.Exec(t.Context(), `UPDATE es.event SET data = replace(convert_from(data, 'UTF8'), '"namespace":["ns"]', '"namespace":["NS"]')::bytea WHERE type LIKE '%namespace.created'`); err != nil {
		t.Fatal(err)
	}
	report := w.compare(0)
	if report.Count != 1 || report.Findings[0].Table != "rm.namespace" {
		t.Errorf("a tampered payload: %v", report.Findings)
	}
}

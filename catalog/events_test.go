package catalog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/catalog/eventschema"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/schema/events"
)

// addGolden writes samples that have no file yet. Existing files are never
// written: they are payloads that were released.
var addGolden = flag.Bool("add-golden", false, "write the golden payloads of samples that have none")

const testdata = "../schema/events/testdata"

func id(n int) ids.ID {
	return ids.MustParse(fmt.Sprintf("018f3c1e-7b2a-7cde-8f01-%012x", n))
}

func ptr[T any](v T) *T { return &v }

// samples are the events behind the golden payloads of the newest versions.
func samples() map[string]catalog.Event {
	name := catalog.TableName{NamespaceID: id(3), Namespace: catalog.Namespace{"Sales", "münchen"}, Name: "Orders 2024/05"}
	file := catalog.MetadataFile{
		MetadataLocation: "file:///srv/demo/orders/metadata/00001-018f3c1e-7b2a-7cde-8f01-000000000031.metadata.json",
		SHA256:           [32]byte{0xab, 0xcd, 31: 1}, Size: 2048, Format: 2,
	}
	view := catalog.ViewFile{MetadataFile: file, CurrentVersion: 2}
	view.Format = 1
	const claim = "file//srv/demo/orders/"
	destination := catalog.DestinationConfig{
		Name: "Warehouse stream", Settings: json.RawMessage(`{"password-secret":"nats-password","url":"tls://nats.example:4222","user":"icecore"}`), OnRefusal: catalog.OnRefusalHalt,
		Filter: catalog.DestinationFilter{Projects: []ids.ID{}, Warehouses: []ids.ID{}, Entities: []string{}, Types: []string{}},
	}
	narrow := catalog.DestinationConfig{
		Name: "orders", Settings: json.RawMessage(`{}`), OnRefusal: catalog.OnRefusalPark, Filter: catalog.DestinationFilter{
			Projects: []ids.ID{catalog.DefaultProject}, Warehouses: []ids.ID{id(1)}, Entities: []string{"table", "view"}, Types: []string{"dev.icecore.table.committed"},
		},
	}
	tree := catalog.Tree{
		Namespaces: []catalog.TreeNamespace{
			{ID: id(2), Namespace: catalog.Namespace{"Sales"}, Ancestors: []ids.ID{}, Properties: json.RawMessage(`{"owner":"data"}`)},
			{ID: id(3), Namespace: catalog.Namespace{"Sales", "münchen"}, Ancestors: []ids.ID{id(2)}, Properties: json.RawMessage(`{}`)},
		},
		Tabulars: []catalog.TreeTabular{
			{Kind: catalog.EntityTable, ID: id(5), NamespaceID: id(3), Name: "Orders 2024/05", UUID: id(4), MetadataLocation: file.MetadataLocation},
			{Kind: catalog.EntityView, ID: id(6), NamespaceID: id(2), Name: "v", UUID: id(6), MetadataLocation: file.MetadataLocation},
		},
	}
	ended := func(uuid int) catalog.Ended {
		return catalog.Ended{TableName: name, UUID: id(uuid), MetadataLocation: file.MetadataLocation}
	}
	refused := catalog.RefusedEvent{Name: "orders", Position: 4711, Event: id(7)}
	return map[string]catalog.Event{
		"destination.created/all":                &catalog.DestinationCreated{DestinationConfig: destination, Kind: "nats", Start: catalog.DestinationStart{From: catalog.StartBeginning}},
		"destination.created/filtered":           &catalog.DestinationCreated{DestinationConfig: narrow, Kind: "kafka", Paused: true, Start: catalog.DestinationStart{From: catalog.StartNow, After: 1234567, Epoch: 2}},
		"destination.updated/renamed":            &catalog.DestinationUpdated{From: "orders", DestinationConfig: destination},
		"destination.paused/by-hand":             &catalog.DestinationPaused{Name: "orders"},
		"destination.resumed/again":              &catalog.DestinationResumed{Name: "orders"},
		"destination.replayed/by-time":           &catalog.DestinationReplayed{Name: "orders", Start: catalog.DestinationStart{From: catalog.StartTime, TimeMS: ptr[int64](1717000000000), After: 99, Epoch: 1}},
		"destination.replayed/by-position":       &catalog.DestinationReplayed{Name: "orders", Start: catalog.DestinationStart{From: catalog.StartPosition, After: 99, Epoch: 1}},
		"destination.skipped/refused":            &catalog.DestinationSkipped{RefusedEvent: refused, Epoch: 1},
		"destination.retried/parked":             &catalog.DestinationRetried{RefusedEvent: refused},
		"destination.removed/gone":               &catalog.DestinationRemoved{Name: "orders"},
		"server.bootstrapped/first":              &catalog.ServerBootstrapped{TermsAccepted: true, DefaultProject: catalog.DefaultProject},
		"server.bootstrapped/no-project":         &catalog.ServerBootstrapped{TermsAccepted: true},
		"project.created/default":                &catalog.ProjectCreated{Name: "Default Project"},
		"project.created/chosen-id":              &catalog.ProjectCreated{Name: "Sales", Ident: "sales_EU-1"},
		"project.renamed/other":                  &catalog.ProjectRenamed{From: "Sales", To: "Vertrieb"},
		"project.deleted/empty":                  &catalog.ProjectDeleted{Name: "Sales"},
		"warehouse.renamed/other":                &catalog.WarehouseRenamed{From: "demo", To: "Demo 2"},
		"warehouse.activated/again":              &catalog.WarehouseActivated{Name: "demo"},
		"warehouse.deactivated/hidden":           &catalog.WarehouseDeactivated{Name: "demo"},
		"warehouse.delete-profile-updated/soft":  &catalog.WarehouseDeleteProfileUpdated{Name: "demo", ExpirationSeconds: ptr[int64](604800)},
		"warehouse.delete-profile-updated/hard":  &catalog.WarehouseDeleteProfileUpdated{Name: "demo"},
		"warehouse.format-versions-updated/two":  &catalog.WarehouseFormatVersionsUpdated{Name: "demo", DefaultFormat: 3, AllowedFormats: []int{2, 3}},
		"warehouse.protection-updated/protected": &catalog.WarehouseProtectionUpdated{Name: "demo", Protected: true},
		"warehouse.queue-configured/purge":       &catalog.WarehouseQueueConfigured{QueueConfigured: catalog.QueueConfigured{Name: "demo", Queue: catalog.QueuePurge, Queues: json.RawMessage(`{"soft_deletion":{"max-seconds-since-last-heartbeat":120},"tabular_purge":{"max-seconds-since-last-heartbeat":3600,"max-attempts":5,"files-per-second":50}}`)}},
		"project.queue-configured/log":           &catalog.ProjectQueueConfigured{QueueConfigured: catalog.QueueConfigured{Name: "Sales", Queue: catalog.QueueTaskLog, Queues: json.RawMessage(`{"task_log_cleanup":{"cleanup-seconds":86400,"retention-seconds":604800}}`)}},
		"warehouse.undo-window-updated/month":    &catalog.WarehouseUndoWindowUpdated{Name: "demo", UndoWindowSeconds: ptr[int64](2592000)},
		"warehouse.undo-window-updated/default":  &catalog.WarehouseUndoWindowUpdated{Name: "demo"},
		"cleanup.started/both": &catalog.CleanUpStarted{
			CleanUp: catalog.CleanUp{Object: id(4), Kind: catalog.EntityTable, TableName: name}, ObjectVersion: 12, ObjectEvent: id(12), KeptSinceMS: 1716400000000,
			Files: []catalog.CleanedFile{
				{Location: "file:///srv/demo/orders/metadata/00003-018f3c1e-7b2a-8cde-8f01-00000000003a.metadata.json", Size: 2048, ModifiedMS: 1716000000000, Reason: catalog.CleanedSuperseded},
				{Location: "file:///srv/demo/orders/metadata/00004-018f3c1e-7b2a-8cde-8f01-00000000003b.gz.metadata.json", Size: 0, ModifiedMS: 1716000000001, Reason: catalog.CleanedOrphan},
			},
		},
		"cleanup.finished/kept": &catalog.CleanUpFinished{
			CleanUp: catalog.CleanUp{Object: id(6), Kind: catalog.EntityView, TableName: name}, Deleted: 1,
			Kept: []string{"file:///srv/demo/orders/metadata/00003-018f3c1e-7b2a-8cde-8f01-00000000003a.metadata.json"},
		},
		"warehouse.deleted/forced":         &catalog.WarehouseDeleted{Name: "demo", Forced: true},
		"namespace.protection-updated/off": &catalog.NamespaceProtectionUpdated{Namespace: catalog.Namespace{"Sales"}},
		"table.protection-updated/on":      &catalog.TableProtectionUpdated{TabularProtection: catalog.TabularProtection{TableName: name, Protected: true}},
		"view.protection-updated/on":       &catalog.ViewProtectionUpdated{TabularProtection: catalog.TabularProtection{TableName: name, Protected: true}},
		"warehouse.created/local":          &catalog.WarehouseCreated{Project: catalog.DefaultProject, Name: "demo", StorageProfile: json.RawMessage(`{"type":"file","root":"file:///srv/demo"}`), DefaultFormat: 2, AllowedFormats: []int{1, 2, 3}},
		"namespace.created/top":            &catalog.NamespaceCreated{Namespace: catalog.Namespace{"Sales"}, Ancestors: []ids.ID{}, Properties: json.RawMessage(`{"owner":"data","z":"1","a":"2"}`)},
		"namespace.created/nested":         &catalog.NamespaceCreated{Namespace: catalog.Namespace{"Sales", "münchen"}, Ancestors: []ids.ID{id(2)}, Properties: json.RawMessage(`{}`)},
		"namespace.properties-updated/all": &catalog.NamespacePropertiesUpdated{Namespace: catalog.Namespace{"Sales"}, Updated: json.RawMessage(`{"owner":"platform"}`), Removed: []string{"z", ""}, Properties: json.RawMessage(`{"owner":"platform","a":"2"}`)},
		"namespace.dropped/top":            &catalog.NamespaceDropped{Namespace: catalog.Namespace{"Sales"}},
		"namespace.dropped/recursive":      &catalog.NamespaceDropped{Namespace: catalog.Namespace{"Sales"}, Recursive: true},
		"namespace.dropped/soft":           &catalog.NamespaceDropped{Namespace: catalog.Namespace{"Sales"}, Recursive: true, Soft: &catalog.SoftDrop{PurgeRequested: true, ExpiresAtMS: 1717600000000, Tree: tree}},
		"namespace.undropped/renamed":      &catalog.NamespaceUndropped{From: catalog.Namespace{"Sales"}, To: catalog.Namespace{"Sales 2"}, Tree: tree},
		"namespace.expired/kept": &catalog.NamespaceExpired{Namespace: catalog.Namespace{"Sales"}, Namespaces: []ids.ID{id(2), id(3)}, Tabulars: []catalog.ExpiredTabular{
			{TreeTabular: tree.Tabulars[0], ClaimsReleased: []string{claim}},
		}},
		"namespace.expired/purged":   &catalog.NamespaceExpired{Namespace: catalog.Namespace{"Sales"}, PurgeRequested: true, Namespaces: []ids.ID{id(2)}, Tabulars: []catalog.ExpiredTabular{{TreeTabular: tree.Tabulars[1], ClaimsReleased: []string{}}}},
		"table.undropped/same-name":  &catalog.TableUndropped{Undropped: catalog.Undropped{UUID: id(4), MetadataLocation: file.MetadataLocation, From: name, To: name}},
		"view.undropped/other-place": &catalog.ViewUndropped{Undropped: catalog.Undropped{UUID: id(6), MetadataLocation: file.MetadataLocation, From: name, To: catalog.TableName{NamespaceID: id(2), Namespace: catalog.Namespace{"Sales"}, Name: "back"}}},
		"table.expired/purge":        &catalog.TableExpired{Expired: catalog.Expired{Ended: ended(4), PurgeRequested: true, ClaimsReleased: []string{}}},
		"table.expired/kept":         &catalog.TableExpired{Expired: catalog.Expired{Ended: ended(4), ClaimsReleased: []string{claim}}},
		"view.expired/kept":          &catalog.ViewExpired{Expired: catalog.Expired{Ended: ended(6), ClaimsReleased: []string{claim}}},
		"table.created/request": &catalog.TableCreated{
			TableName: name, TableUUID: id(4), Location: "file:///srv/demo/orders", MetadataFile: file, NowMS: 1717000000123,
			Request: json.RawMessage(`{"name":"Orders 2024/05","schema":{"type":"struct","fields":[]},"properties":{"k":"<&>"}}`),
			Claims:  []string{claim}, Vacant: []string{claim}, Snapshots: []catalog.Snapshot{},
		},
		"table.created/updates": &catalog.TableCreated{
			TableName: name, TableUUID: id(4), Location: "file:///srv/demo/orders", MetadataFile: file, NowMS: 1717000000123,
			Updates: json.RawMessage(`[{"action":"assign-uuid","uuid":"018f3c1e-7b2a-7cde-8f01-000000000004"}, {"action":"x","n":3051729675574597004}]`),
			Claims:  []string{claim, "file//srv/elsewhere/"},
			Snapshots: []catalog.Snapshot{{
				ID: 3051729675574597004, SequenceNumber: ptr[int64](1), TimestampMS: 1717000000100,
				Operation: "append", Summary: json.RawMessage(`{"added-records":"3"}`),
			}},
		},
		"table.committed/append": &catalog.TableCommitted{
			TableName: name, TableUUID: id(4), Previous: "file:///srv/demo/orders/metadata/00000-018f3c1e-7b2a-7cde-8f01-000000000030.metadata.json",
			MetadataFile: file, NowMS: 1717000000456,
			Requirements: json.RawMessage(`[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}]`),
			Updates:      json.RawMessage(`[{"action":"add-snapshot","snapshot":{"snapshot-id":3051729675574597004}}]`),
			ClaimsAdded:  []string{}, ClaimsRemoved: []string{},
			Snapshots: []catalog.Snapshot{{ID: 3051729675574597004, ParentID: ptr[int64](17), SequenceNumber: ptr[int64](2), TimestampMS: 1717000000400, Operation: "append", Summary: json.RawMessage(`{"added-records":"3"}`)}},
		},
		"table.committed/moved": &catalog.TableCommitted{
			TableName: name, TableUUID: id(4), Previous: "file:///srv/demo/orders/metadata/0.json", MetadataFile: file, NowMS: 1,
			Requirements: json.RawMessage(`[]`), Updates: json.RawMessage(`[{"action":"set-location","location":"file:///srv/demo/o2"}]`),
			ClaimsAdded: []string{"file//srv/demo/o2/"}, ClaimsRemoved: []string{claim}, Vacant: []string{"file//srv/demo/o2/"}, Snapshots: []catalog.Snapshot{},
		},
		"table.renamed/across": &catalog.TableRenamed{TableUUID: id(4), From: name, To: catalog.TableName{NamespaceID: id(2), Namespace: catalog.Namespace{"Sales"}, Name: "o\"2\"\n"}},
		"table.registered/new": &catalog.TableRegistered{
			TableName: name, TableUUID: id(4), Location: "file:///srv/demo/orders", MetadataFile: file,
			ClaimsAdded: []string{claim}, ClaimsRemoved: []string{},
		},
		"table.registered/overwrite": &catalog.TableRegistered{
			TableName: name, TableUUID: id(5), Location: "file:///srv/demo/o2", Overwrites: true, Previous: file.MetadataLocation, MetadataFile: file,
			ClaimsAdded: []string{"file//srv/demo/o2/"}, ClaimsRemoved: []string{claim},
		},
		"table.dropped/hard":  &catalog.TableDropped{TableName: name, TableUUID: id(4), MetadataLocation: file.MetadataLocation, ClaimsReleased: []string{claim}},
		"table.dropped/soft":  &catalog.TableDropped{TableName: name, TableUUID: id(4), MetadataLocation: file.MetadataLocation, PurgeRequested: true, ExpiresAtMS: ptr[int64](1717600000000), ClaimsReleased: []string{}},
		"table.dropped/purge": &catalog.TableDropped{TableName: name, TableUUID: id(4), MetadataLocation: file.MetadataLocation, PurgeRequested: true, ClaimsReleased: []string{}},
		"table.purge-started/created": &catalog.TablePurgeStarted{PurgeStarted: catalog.PurgeStarted{
			Ended: catalog.Ended{TableName: name, UUID: id(4), MetadataLocation: file.MetadataLocation}, Everything: true, Outside: []string{"file:///srv/else/a b.parquet", "s3://bucket/x"}, OutsideMore: true,
		}},
		"table.purged/resumed": &catalog.TablePurged{Purged: catalog.Purged{
			Ended: catalog.Ended{TableName: name, UUID: id(4), MetadataLocation: file.MetadataLocation}, Deleted: 12, Unreadable: []string{"file:///srv/demo/orders/metadata/m.avro"}, ClaimsReleased: []string{claim},
		}},
		"table.purge-cancelled/started": &catalog.TablePurgeCancelled{PurgeCancelled: catalog.PurgeCancelled{
			Ended: catalog.Ended{TableName: name, UUID: id(4), MetadataLocation: file.MetadataLocation}, Started: true, ClaimsReleased: []string{claim},
		}},
		"view.purge-cancelled/before": &catalog.ViewPurgeCancelled{PurgeCancelled: catalog.PurgeCancelled{
			Ended: catalog.Ended{TableName: name, UUID: id(6), MetadataLocation: file.MetadataLocation}, ClaimsReleased: []string{claim},
		}},
		"table.superseded/by": &catalog.TableSuperseded{Superseded: catalog.Superseded{
			Ended: catalog.Ended{TableName: name, UUID: id(4), MetadataLocation: file.MetadataLocation}, By: id(5), ClaimsReleased: []string{claim},
		}},
		"view.purge-started/created": &catalog.ViewPurgeStarted{PurgeStarted: catalog.PurgeStarted{
			Ended: catalog.Ended{TableName: name, UUID: id(6), MetadataLocation: file.MetadataLocation}, Everything: true, Outside: []string{"file:///srv/else/a b.parquet", "s3://bucket/x"}, OutsideMore: true,
		}},
		"view.purged/resumed": &catalog.ViewPurged{Purged: catalog.Purged{
			Ended: catalog.Ended{TableName: name, UUID: id(6), MetadataLocation: file.MetadataLocation}, Deleted: 12, Unreadable: []string{"file:///srv/demo/orders/metadata/m.avro"}, ClaimsReleased: []string{claim},
		}},
		"view.superseded/by": &catalog.ViewSuperseded{Superseded: catalog.Superseded{
			Ended: catalog.Ended{TableName: name, UUID: id(6), MetadataLocation: file.MetadataLocation}, By: id(5), ClaimsReleased: []string{claim},
		}},
		"table.purge-started/registered": &catalog.TablePurgeStarted{PurgeStarted: catalog.PurgeStarted{
			Ended: catalog.Ended{TableName: name, UUID: id(4), MetadataLocation: file.MetadataLocation}, KeepsData: true, Outside: []string{},
		}},
		"view.created/request": &catalog.ViewCreated{
			ViewName: name, ViewUUID: id(6), Location: "file:///srv/demo/orders", ViewFile: view, NowMS: 1717000000123,
			Request: json.RawMessage(`{"name":"Orders 2024/05","schema":{"type":"struct","fields":[]},"view-version":{"version-id":7},"properties":{"k":"<&>"}}`),
			Claims:  []string{claim}, Vacant: []string{claim},
		},
		"view.committed/replaced": &catalog.ViewCommitted{
			ViewName: name, ViewUUID: id(6), Previous: "file:///srv/demo/orders/metadata/0.json", ViewFile: view, NowMS: 1717000000456,
			Requirements: json.RawMessage(`[{"type":"assert-view-uuid","uuid":"018f3c1e-7b2a-7cde-8f01-000000000006"}]`),
			Updates:      json.RawMessage(`[{"action":"set-current-view-version","view-version-id":-1}]`),
			ClaimsAdded:  []string{"file//srv/demo/v2/"}, ClaimsRemoved: []string{claim}, Vacant: []string{"file//srv/demo/v2/"},
		},
		"view.renamed/across": &catalog.ViewRenamed{ViewUUID: id(6), From: name, To: catalog.ViewName{NamespaceID: id(2), Namespace: catalog.Namespace{"Sales"}, Name: "v\"2\"\n"}},
		"view.registered/new": &catalog.ViewRegistered{ViewName: name, ViewUUID: id(6), Location: "file:///srv/demo/orders", ViewFile: view, Claims: []string{claim}},
		"view.dropped/hard":   &catalog.ViewDropped{ViewName: name, ViewUUID: id(6), MetadataLocation: file.MetadataLocation, ClaimsReleased: []string{claim}},
		"view.dropped/purge":  &catalog.ViewDropped{ViewName: name, ViewUUID: id(6), MetadataLocation: file.MetadataLocation, PurgeRequested: true, ClaimsReleased: []string{}},
		"view.dropped/soft":   &catalog.ViewDropped{ViewName: name, ViewUUID: id(6), MetadataLocation: file.MetadataLocation, ExpiresAtMS: ptr[int64](1717600000000), ClaimsReleased: []string{}},
	}
}

// golden is one payload of testdata.
type golden struct {
	path, typ, schema string
	data              []byte
}

func goldens(t testing.TB) []golden {
	t.Helper()
	var list []golden
	err := filepath.WalkDir(testdata, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(testdata, path)
		parts := strings.Split(filepath.ToSlash(rel), "/")
		if len(parts) != 3 {
			return fmt.Errorf("%s is not <type>/v<version>/<name>.json", rel)
		}
		version, err := strconv.Atoi(strings.TrimPrefix(parts[1], "v"))
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		typ := catalog.TypePrefix + parts[0]
		if catalog.EntityOf(typ) == catalog.EntityLog {
			return err // the log's own events: eventstore reads them
		}
		list = append(list, golden{rel, typ, catalog.DataSchema(typ, version), data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func validator(t testing.TB) *eventschema.Validator {
	t.Helper()
	v, err := eventschema.New()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSamplesAreTheGoldenPayloads(t *testing.T) {
	t.Parallel()
	for name, event := range samples() {
		typ, schema, data, err := catalog.Encode(event)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		event, file, _ := strings.Cut(name, "/")
		path := filepath.Join(testdata, event, "v"+schema[strings.LastIndexByte(schema, 'v')+1:], file+".json")
		if typ != catalog.TypePrefix+event {
			t.Errorf("%s is a %s", name, typ)
		}
		stored, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && *addGolden {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%v (write it with -add-golden)", err)
		}
		if !bytes.Equal(stored, data) {
			t.Errorf("%s: the codec writes\n%s\nbut released was\n%s", path, data, stored)
		}
	}
}

func TestEveryPayloadEverReleasedDecodes(t *testing.T) {
	t.Parallel()
	v := validator(t)
	seen := map[string]bool{}
	for _, g := range goldens(t) {
		seen[g.schema] = true
		event, err := v.Decode(g.typ, g.schema, g.data)
		if err != nil {
			t.Errorf("%s: %v", g.path, err)
			continue
		}
		_, schema, again, err := catalog.Encode(event)
		if err != nil {
			t.Errorf("%s: encode again: %v", g.path, err)
		}
		if schema == g.schema && !bytes.Equal(again, g.data) {
			t.Errorf("%s: decoded and encoded gives\n%s", g.path, again)
		}
	}
	// Each version that has a schema file has a payload and is of a type that is
	// known; the versions of a type leave no gap and end with the one written.
	versions := map[string]int{}
	for _, file := range events.Files() {
		event, rest, _ := strings.Cut(file, ".v")
		typ := catalog.TypePrefix + event
		if catalog.EntityOf(typ) == catalog.EntityLog {
			continue // package eventschema asks for those
		}
		version, err := strconv.Atoi(strings.TrimSuffix(rest, ".schema.json"))
		if err != nil || !slices.Contains(catalog.Types(), typ) {
			t.Errorf("%s is of no event type: %v", file, err)
			continue
		}
		if !seen[catalog.DataSchema(typ, version)] {
			t.Errorf("%s has no golden payload", file)
		}
		versions[typ]++
	}
	written := map[string]string{}
	for _, event := range samples() {
		typ, schema, _, err := catalog.Encode(event)
		if err != nil {
			t.Fatal(err)
		}
		written[typ] = schema
	}
	for _, typ := range catalog.Types() {
		for version := range versions[typ] {
			file, _ := events.FileOf(catalog.DataSchema(typ, version+1))
			if !slices.Contains(events.Files(), file) {
				t.Errorf("%s has %d versions and no schema file %s", typ, versions[typ], file)
			}
		}
		if newest := catalog.DataSchema(typ, versions[typ]); written[typ] != newest {
			t.Errorf("the newest version of %s has the schema %s, but %q is written", typ, newest, written[typ])
		}
	}
}

func TestDecodeGivesBackWhatWasEncoded(t *testing.T) {
	t.Parallel()
	for name, event := range samples() {
		typ, schema, data, err := catalog.Encode(event)
		if err != nil {
			t.Fatal(err)
		}
		back, err := catalog.Decode(typ, schema, data)
		if err != nil || !reflect.DeepEqual(back, event) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", name, err, back, event)
		}
	}
}

func TestCodecRejectsWhatTheSchemaRejects(t *testing.T) {
	t.Parallel()
	v := validator(t)
	cases, refused := 0, 0
	for _, g := range goldens(t) {
		var doc any
		decoder := json.NewDecoder(bytes.NewReader(g.data))
		decoder.UseNumber()
		if err := decoder.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		mutate(doc, func(note string) {
			data, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			cases++
			schemaErr := v.Validate(g.schema, data)
			_, codecErr := catalog.Decode(g.typ, g.schema, data)
			if (schemaErr == nil) != (codecErr == nil) {
				t.Errorf("%s, %s: schema says %v, codec says %v\n%s", g.path, note, schemaErr, codecErr, data)
			}
			if schemaErr != nil {
				refused++
			}
		})
	}
	if cases < 2000 || refused < cases/2 {
		t.Errorf("only %d mutations, %d refused: the test lost its teeth", cases, refused)
	}
}

// mutate calls try with the document changed in every small way, one at a time.
func mutate(doc any, try func(note string)) {
	values := []any{
		nil, true, false, json.Number("0"), json.Number("-1"), json.Number("1"), json.Number("3"), json.Number("10"), json.Number("1.5"),
		json.Number("9223372036854775808"), "", "x", "/", "a/", strings.Repeat("n", 256), strings.Repeat("n", 4097), "00000000-0000-0000-0000-000000000000",
		"018F3C1E-7b2a-7cde-8f01-23456789abcd", "018f3c1e-7b2a-7cde-8f01-23456789abcd", strings.Repeat("0f", 32), strings.Repeat("0F", 32),
		[]any{}, []any{nil}, []any{"a"}, []any{"a/", "a/"}, []any{map[string]any{}}, []any{map[string]any{"action": "x", "type": "y"}},
		map[string]any{}, map[string]any{"type": "x"}, map[string]any{"k": "v"}, map[string]any{"k": json.Number("1")},
		map[string]any{"name": "x", "schema": map[string]any{}},
	}
	var walk func(at string, get func() any, set func(any))
	walk = func(at string, get func() any, set func(any)) {
		old := get()
		for i, value := range values {
			set(value)
			try(fmt.Sprintf("%s = value %d", at, i))
		}
		set(old)
		switch o := old.(type) {
		case map[string]any:
			o["unknown-member"] = "x"
			try(at + " with an unknown member")
			delete(o, "unknown-member")
			keys := make([]string, 0, len(o))
			for k := range o {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				value := o[k]
				delete(o, k)
				try(at + " without " + k)
				o[strings.ToUpper(k)] = value
				try(at + " with " + k + " in capitals")
				delete(o, strings.ToUpper(k))
				o[k] = value
				walk(at+"."+k, func() any { return o[k] }, func(v any) { o[k] = v })
			}
		case []any:
			if len(o) > 0 {
				set(append(slices.Clone(o), o[0]))
				try(at + " with its first element twice")
				set(old)
				walk(at+"[0]", func() any { return o[0] }, func(v any) { o[0] = v })
			}
		}
	}
	top := doc.(map[string]any)
	keys := make([]string, 0, len(top))
	for k := range top {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		value := top[k]
		delete(top, k)
		try("without " + k)
		top[k] = value
		walk(k, func() any { return top[k] }, func(v any) { top[k] = v })
	}
	top["unknown-member"] = json.Number("1")
	try("with an unknown member")
	delete(top, "unknown-member")
}

func TestDecodeIsStrict(t *testing.T) {
	t.Parallel()
	const typ = catalog.TypeProjectCreated
	schema := catalog.DataSchema(typ, 1)
	for name, data := range map[string]string{
		"a member twice":          `{"name":"a","name":"b"}`,
		"another letter case":     `{"Name":"a"}`,
		"text behind the object":  `{"name":"a"} x`,
		"no object":               `[]`,
		"empty":                   ``,
		"not UTF-8":               "{\"name\":\"\xff\"}",
		"a comment":               `{"name":"a"/**/}`,
		"a name of 256 bytes":     `{"name":"` + strings.Repeat("ä", 128) + `"}`,
		"an escaped unknown name": `{"name":"a","\u006eame2":"b"}`,
	} {
		_, err := catalog.Decode(typ, schema, []byte(data))
		var payload *catalog.PayloadError
		if !errors.As(err, &payload) || payload.Type != typ {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if e, err := catalog.Decode(typ, schema, []byte(" {\"n\\u0061me\" : \"a\\\"\" }\n")); err != nil || e.(*catalog.ProjectCreated).Name != `a"` {
		t.Errorf("escapes and space: %v, %v", e, err)
	}
	for _, other := range []string{"", "urn:icecore:events:project.created:v3", "urn:icecore:events:project.created:v0", "urn:icecore:events:project.created:v01", "urn:icecore:events:server.bootstrapped:v1"} {
		if _, err := catalog.Decode(typ, other, []byte(`{"name":"a"}`)); err == nil {
			t.Errorf("dataschema %q is accepted", other)
		}
	}
	if _, err := catalog.Decode("dev.icecore.project.eaten", schema, []byte(`{"name":"a"}`)); err == nil {
		t.Error("an unknown type is accepted")
	}
}

func TestEncodeRejectsWhatDecodeRejects(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]catalog.Event{
		"empty name":               &catalog.ProjectCreated{},
		"name that is no text":     &catalog.ProjectCreated{Name: "\xff"},
		"nil ancestor":             &catalog.NamespaceCreated{Namespace: catalog.Namespace{"a"}, Ancestors: []ids.ID{ids.Nil}, Properties: json.RawMessage(`{}`)},
		"no properties":            &catalog.NamespaceCreated{Namespace: catalog.Namespace{"a"}},
		"properties of numbers":    &catalog.NamespaceCreated{Namespace: catalog.Namespace{"a"}, Properties: json.RawMessage(`{"a":1}`)},
		"raw text that is no JSON": &catalog.NamespaceCreated{Namespace: catalog.Namespace{"a"}, Properties: json.RawMessage(`{"a":"b"`)},
		"project id with a space":  &catalog.ProjectCreated{Name: "p", Ident: "a b"},
		"no format":                &catalog.WarehouseCreated{Project: id(1), Name: "w", StorageProfile: json.RawMessage(`{"type":"file"}`), DefaultFormat: 2},
	} {
		if _, _, data, err := catalog.Encode(e); err == nil {
			t.Errorf("%s: encoded as %s", name, data)
		}
	}
}

func FuzzDecode(f *testing.F) {
	v := validator(f)
	types := catalog.Types()
	for _, g := range goldens(f) {
		f.Add(uint8(slices.Index(types, g.typ)), g.data)
	}
	f.Fuzz(func(t *testing.T, n uint8, data []byte) {
		typ := types[int(n)%len(types)]
		schema := catalog.DataSchema(typ, 1)
		event, err := catalog.Decode(typ, schema, data)
		if err != nil {
			return
		}
		if err := v.Validate(schema, data); err != nil {
			t.Fatalf("the codec accepts what the schema rejects: %v", err)
		}
		_, _, again, err := catalog.Encode(event)
		if err != nil {
			t.Fatalf("encode again: %v", err)
		}
		back, err := catalog.Decode(typ, schema, again)
		if err != nil || !reflect.DeepEqual(back, event) {
			t.Fatalf("decoded, encoded, decoded: %v\n%+v\n%+v", err, back, event)
		}
	})
}

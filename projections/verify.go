package projections

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// ReadDocument reads a metadata document from the store of a warehouse, whose
// profile is given, and returns it uncompressed.
type ReadDocument func(ctx context.Context, warehouse ids.ID, profile []byte, location string) ([]byte, error)

// VerifyConfig is what [Verify] works with.
type VerifyConfig struct {
	CheckConfig
	// Read reads documents; nil skips everything that needs them.
	Read ReadDocument
	// Replay also folds the updates of every living table from its first event
	// and compares each document on the way with its event's hash.
	Replay bool
}

// Verify is [Compare], and holds every living table's metadata document against
// the hash in the event that named it, and each line of the manifests of deletions
// against the history of its object. It does not check the log's own proofs:
// see [eventstore.Store.VerifyLog], which comes first. Like Compare it works in
// short transactions beside a running server.
func Verify(ctx context.Context, c VerifyConfig) (Report, error) {
	c.defaults()
	tables := derivedTables()
	s, err := newShadow(ctx, c.Pool, append(tables, verifyTable), false)
	if err != nil {
		return Report{}, err
	}
	defer s.drop(context.WithoutCancel(ctx))
	r := &replayer{log: c.Log, shadow: s, guards: true, documents: true, pageSize: c.PageSize, progress: c.Progress}
	report, err := compareAll(ctx, c.CheckConfig, r, tables)
	if err != nil {
		return report, err
	}
	v := verifier{VerifyConfig: c, replay: r, report: &report}
	if err := v.documents(ctx); err != nil {
		return report, fmt.Errorf("verify documents: %w", err)
	}
	if err := v.cleanUps(ctx); err != nil {
		return report, fmt.Errorf("verify clean-ups: %w", err)
	}
	report.Position = r.position
	return report, nil
}

//go:embed sql/documents.sql
var documentsSQL string

type verifier struct {
	VerifyConfig
	replay *replayer
	report *Report
}

// namedDocument is a table's document as its last event names it.
type namedDocument struct {
	object, warehouse, event ids.ID
	location, sha256         string
	profile                  []byte
}

// documents looks at every living table, in order of their ids.
func (v *verifier) documents(ctx context.Context) error {
	sql := fmt.Sprintf(documentsSQL, v.replay.shadow.name(verifyTable), v.replay.shadow.name(warehouseTable))
	var total int64
	if err := v.Pool.QueryRow(ctx, "SELECT count(*) FROM "+v.replay.shadow.name(verifyTable)).Scan(&total); err != nil {
		return err
	}
	var last ids.ID
	var done int64
	for {
		rows, err := v.Pool.Query(ctx, sql, [16]byte(last), min(v.PageSize, 1000))
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d namedDocument, err error) {
			err = row.Scan((*[16]byte)(&d.object), (*[16]byte)(&d.warehouse), &d.location, &d.sha256, (*[16]byte)(&d.event), &d.profile)
			return d, err
		})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return nil
		}
		for i := range list {
			if err := v.document(ctx, &list[i]); err != nil {
				return err
			}
			done++
			v.Progress.tell("documents", done, max(total, done))
		}
		last = list[len(list)-1].object
	}
}

// document holds one table's file against its event, and folds its history.
func (v *verifier) document(ctx context.Context, d *namedDocument) error {
	if v.Read != nil {
		if err := v.file(ctx, d); err != nil {
			return err
		}
	}
	if v.Replay {
		return v.fold(ctx, d)
	}
	return nil
}

func (v *verifier) file(ctx context.Context, d *namedDocument) error {
	doc, err := v.Read(ctx, d.warehouse, d.profile, d.location)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	finding := Finding{Kind: DocumentUnreadable, Object: d.object, Event: d.event, Location: d.location}
	if err != nil {
		// A commit since may have moved the table and removed the file.
		if moved, err := v.moved(ctx, d); err != nil || moved {
			return err
		}
		finding.Detail = err.Error()
		v.report.add(v.MaxFindings, finding)
		return nil
	}
	v.report.Documents++
	if sum := sha256.Sum256(doc); hexText(sum[:]) != d.sha256 {
		finding.Kind, finding.Detail = DocumentDiffers, fmt.Sprintf("its SHA-256 is %x, the event says %s", sum, d.sha256)
		v.report.add(v.MaxFindings, finding)
	}
	return nil
}

// moved reports whether a table has ended, or has another document than the one
// looked at.
func (v *verifier) moved(ctx context.Context, d *namedDocument) (bool, error) {
	moved := false
	err := v.history(ctx, d.object, func(e *eventstore.Entry, event catalog.Event) error {
		if file := fileOf(event); file != nil {
			moved = file.MetadataLocation != d.location
		}
		moved = moved || ends(event)
		return nil
	})
	return moved, err
}

// history hands every event of a stream to use, in order.
func (v *verifier) history(ctx context.Context, stream ids.ID, use func(*eventstore.Entry, catalog.Event) error) error {
	const limit = 200
	for version := int64(1); ; {
		entries, err := v.Log.ReadStream(ctx, stream, version, limit)
		if err != nil {
			return err
		}
		for i := range entries {
			e := &entries[i]
			version = e.Version + 1
			if e.Erased {
				if err := use(e, nil); err != nil {
					return err
				}
				continue
			}
			event, err := catalog.Decode(e.Type, e.DataSchema, e.Data)
			if err != nil {
				return err
			}
			if err := use(e, event); err != nil {
				return err
			}
		}
		if len(entries) < limit {
			return nil
		}
	}
}

// fileOf returns the document that an event names, or nil.
func fileOf(event catalog.Event) *catalog.MetadataFile {
	switch e := event.(type) {
	case *catalog.TableCreated:
		return &e.MetadataFile
	case *catalog.TableCommitted:
		return &e.MetadataFile
	case *catalog.TableRegistered:
		return &e.MetadataFile
	case *catalog.ViewCreated:
		return &e.MetadataFile
	case *catalog.ViewCommitted:
		return &e.MetadataFile
	case *catalog.ViewRegistered:
		return &e.MetadataFile
	}
	return nil
}

// opens reports whether an event is the first of a table or view.
func opens(event catalog.Event) bool {
	switch e := event.(type) {
	case *catalog.TableCreated, *catalog.ViewCreated, *catalog.ViewRegistered:
		return true
	case *catalog.TableRegistered:
		return !e.Overwrites
	}
	return false
}

// comesFromElsewhere reports whether an event names a document that this
// server did not build.
func comesFromElsewhere(event catalog.Event) bool {
	switch event.(type) {
	case *catalog.TableRegistered, *catalog.ViewRegistered:
		return true
	}
	return false
}

// evolve builds the document of an event from the one before.
func evolve(base []byte, event catalog.Event) ([]byte, error) {
	switch event.(type) {
	case *catalog.ViewCreated, *catalog.ViewCommitted:
		return catalog.EvolveView(base, event)
	}
	return catalog.EvolveTable(base, event)
}

// fold builds every document of a table or view from the one before. A registered
// document comes from the store. After a finding it goes on from the store's
// document, if that is sound, so that one fault is told once.
func (v *verifier) fold(ctx context.Context, d *namedDocument) error {
	var doc []byte
	lost := false // what doc should be is not known
	return v.history(ctx, d.object, func(e *eventstore.Entry, event catalog.Event) error {
		if event == nil { // erased
			v.report.Skipped++
			lost = true
			return nil
		}
		file := fileOf(event)
		if file == nil {
			return nil
		}
		registered := comesFromElsewhere(event)
		created := opens(event) && !registered
		finding := Finding{Kind: FoldImpossible, Object: d.object, Event: e.ID, Location: file.MetadataLocation}
		var err error
		switch {
		case registered:
			doc, lost = v.stored(ctx, d, file), false
			lost = doc == nil
			if lost {
				v.report.Skipped++
			}
			return ctx.Err()
		case lost && !created:
			v.report.Skipped++
			if doc = v.stored(ctx, d, file); doc != nil {
				lost = false
			}
			return ctx.Err()
		default:
			if created {
				doc = nil
			}
			doc, err = evolve(doc, event)
		}
		v.report.Folds++
		if err == nil {
			sum := sha256.Sum256(doc)
			if bytes.Equal(sum[:], file.SHA256[:]) {
				return nil
			}
			finding.Kind = FoldDiffers
			err = fmt.Errorf("the fold's SHA-256 is %x, the event says %s", sum, hex.EncodeToString(file.SHA256[:]))
		}
		finding.Detail = err.Error()
		v.report.add(v.MaxFindings, finding)
		doc = v.stored(ctx, d, file)
		lost = doc == nil
		return ctx.Err()
	})
}

// stored returns the document of an event from the store if it is the one that
// the event names, else nil.
func (v *verifier) stored(ctx context.Context, d *namedDocument, file *catalog.MetadataFile) []byte {
	if v.Read == nil {
		return nil
	}
	doc, err := v.Read(ctx, d.warehouse, d.profile, file.MetadataLocation)
	if err != nil || sha256.Sum256(doc) != file.SHA256 {
		return nil
	}
	return doc
}

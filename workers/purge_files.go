package workers

import (
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/iceberg/manifest"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/storage"
)

// purgeRun is one run over the files of an object.
type purgeRun struct {
	*commands.Purging
	documents *documents.Library
	pace      *pace // of this process
	slow      *pace // what the warehouse wants; nil if it does not say
	lease     *lease

	reaches reached // nothing, if the metadata file is gone
	blind   bool    // the metadata file was never read: nothing is deleted
	last    string  // the metadata file in canonical spelling: it goes last

	seed       maphash.Seed
	seen       map[uint64]struct{}
	deleted    int64
	unreadable []string
}

// reached is what a metadata document names.
type reached struct {
	Snapshots []struct {
		ManifestList string   `json:"manifest-list"`
		Manifests    []string `json:"manifests"` // format version 1
	} `json:"snapshots"`
	Statistics          []statisticsFile `json:"statistics"`
	PartitionStatistics []statisticsFile `json:"partition-statistics"`
	MetadataLog         []struct {
		File string `json:"metadata-file"`
	} `json:"metadata-log"`
	Properties map[string]string `json:"properties"`
}

type statisticsFile struct {
	Path string `json:"statistics-path"`
}

// open reads the metadata document. That it is gone means, once the purge has
// started, that an earlier run came so far. Before, and where the document cannot
// be read, nobody knows what it reaches and whether gc.enabled=false says that
// others read the data: all is kept, and that is told.
func (r *purgeRun) open(ctx context.Context) error {
	r.seed, r.seen = maphash.MakeSeed(), map[uint64]struct{}{}
	l, err := r.Store.Locate(r.Pointer)
	if err != nil {
		return err
	}
	r.last = l.String()
	if r.Kind != catalog.EntityTable {
		return nil // a view has its metadata file alone
	}
	m, err := r.documents.Read(ctx, r.Store, r.Pointer)
	var broken *iceberg.Error
	switch {
	case err == nil:
	case errors.Is(err, storage.ErrNotFound) && r.Dropped.Purging:
		return nil
	case errors.Is(err, storage.ErrNotFound), errors.As(err, &broken), errors.Is(err, storage.ErrTooLarge):
		r.shut()
		return nil
	default:
		return err
	}
	if err := json.Unmarshal(m.Bytes(), &r.reaches); err != nil {
		r.shut()
		return nil //nolint:nilerr // it is reported
	}
	if value, set := r.reaches.Properties["gc.enabled"]; set && !strings.EqualFold(value, "true") {
		// As Iceberg reads it: all but true is false. Somebody else may read the data.
		r.Announced.KeepsData = true
	}
	return nil
}

// shut gives up on the metadata document.
func (r *purgeRun) shut() {
	r.note(r.Pointer)
	r.reaches, r.blind, r.Announced.KeepsData = reached{}, true, true
}

// note remembers a metadata file that could not be read.
func (r *purgeRun) note(location string) {
	if len(r.unreadable) < catalog.MaxReported && catalog.Reportable(location) && !slices.Contains(r.unreadable, location) {
		r.unreadable = append(r.unreadable, location)
	}
}

// first reports whether a location is met for the first time in this run. It
// forgets all when it is full: then a file is deleted twice, which does no harm.
func (r *purgeRun) first(location string) bool {
	key := maphash.String(r.seed, location)
	if _, met := r.seen[key]; met {
		return false
	}
	if len(r.seen) >= maxSeen {
		clear(r.seen)
	}
	r.seen[key] = struct{}{}
	return true
}

// maxSeen bounds the memory of a run to about ten megabytes.
const maxSeen = 1 << 18

// read returns a list or manifest below the claims. found is false where it is
// gone, lies elsewhere, or cannot be read, which is noted.
func (r *purgeRun) read(ctx context.Context, location string) (data []byte, found bool, err error) {
	data, err = r.Objects.Get(ctx, location, manifest.MaxFile)
	switch {
	case err == nil:
		return data, true, nil
	case errors.Is(err, storage.ErrNotFound), elsewhere(err):
		return nil, false, nil
	case errors.Is(err, storage.ErrTooLarge):
		r.note(location)
		return nil, false, nil
	}
	return nil, false, err
}

// elsewhere reports that a location is not the object's own: outside its claims,
// or in no store that this server can reach.
func elsewhere(err error) bool {
	return errors.Is(err, storage.ErrOutside) || errors.Is(err, storage.ErrInvalid)
}

// manifests visits the manifests that a snapshot names.
func (r *purgeRun) manifests(ctx context.Context, list string, inline []string, visit func(string) error) error {
	for _, path := range inline {
		if err := visit(path); err != nil {
			return err
		}
	}
	if list == "" {
		return nil
	}
	data, found, err := r.read(ctx, list)
	if err != nil || !found {
		return err
	}
	err = manifest.List(ctx, data, visit)
	if errors.Is(err, manifest.ErrInvalid) {
		r.note(list)
		return nil
	}
	return err
}

// files visits the files that a manifest names.
func (r *purgeRun) files(ctx context.Context, path string, visit func(string) error) error {
	data, found, err := r.read(ctx, path)
	if err != nil || !found {
		return err
	}
	err = manifest.Files(ctx, data, visit)
	if errors.Is(err, manifest.ErrInvalid) {
		r.note(path)
		return nil
	}
	return err
}

// others visits what the document names beside its snapshots.
func (r *purgeRun) others(visit func(string) error) error {
	for _, list := range [][]statisticsFile{r.reaches.Statistics, r.reaches.PartitionStatistics} {
		for _, s := range list {
			if err := visit(s.Path); err != nil {
				return err
			}
		}
	}
	for _, entry := range r.reaches.MetadataLog {
		if err := visit(entry.File); err != nil {
			return err
		}
	}
	return nil
}

// errScanned ends a scan that has seen enough.
var errScanned = errors.New("enough was seen")

// scan looks at what the metadata reaches, and deletes nothing. It ends after a
// while: what it has not seen by then counts as more.
func (r *purgeRun) scan(ctx context.Context, limit time.Duration) (catalog.PurgeStarted, error) {
	report := catalog.PurgeStarted{Everything: r.Announced.Everything, KeepsData: r.Announced.KeepsData, Outside: []string{}, OutsideMore: r.blind}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	bytes, files := 0, int64(0)
	look := func(location string) error {
		if bounded.Err() != nil {
			return errScanned
		}
		if location == "" || !r.first(location) {
			return nil
		}
		if r.own(ctx, location) {
			files++
			return nil
		}
		if bytes += len(location); len(report.Outside) == catalog.MaxReported || bytes > maxReport || !catalog.Reportable(location) {
			return errScanned
		}
		report.Outside = append(report.Outside, location)
		return nil
	}
	err := r.others(look)
	if err == nil {
		err = look(r.last)
	}
	for i := range r.reaches.Snapshots {
		if err != nil {
			break
		}
		s := &r.reaches.Snapshots[i]
		if err = look(s.ManifestList); err != nil {
			break
		}
		err = r.manifests(ctx, s.ManifestList, s.Manifests, func(path string) error {
			if !r.first(path + "\x00") { // as a manifest, once
				return nil
			}
			if err := look(path); err != nil {
				return err
			}
			return r.files(ctx, path, look)
		})
	}
	switch {
	case errors.Is(err, errScanned):
		report.OutsideMore, err = true, nil
	case !report.KeepsData:
		expect(ctx, files) // and what lies below the claims beside them
	}
	clear(r.seen)
	return report, err
}

// maxReport bounds the text of the locations in a report.
const maxReport = 128 << 10

// own reports whether a location lies below the claims. A file that is missing
// is its owner's all the same: where it is spelled decides, links followed.
func (r *purgeRun) own(ctx context.Context, location string) bool {
	_, err := r.Objects.Stat(ctx, location)
	return !elsewhere(err)
}

// delete removes what the metadata reaches below the claims, then the rest below
// those that were empty when they were claimed, and the metadata file at the very
// end.
func (r *purgeRun) delete(ctx context.Context) error {
	if r.blind {
		return nil
	}
	for i := range r.reaches.Snapshots {
		s := &r.reaches.Snapshots[i]
		err := r.manifests(ctx, s.ManifestList, s.Manifests, func(path string) error {
			if !r.first(path + "\x00") {
				return nil
			}
			if !r.Announced.KeepsData {
				if err := r.files(ctx, path, func(file string) error { return r.remove(ctx, file) }); err != nil {
					return err
				}
			}
			return r.remove(ctx, path)
		})
		if err != nil {
			return err
		}
		if err := r.remove(ctx, s.ManifestList); err != nil {
			return err
		}
	}
	if err := r.others(func(location string) error { return r.remove(ctx, location) }); err != nil {
		return err
	}
	if !r.Announced.KeepsData {
		if err := r.rest(ctx); err != nil {
			return err
		}
	}
	if err := r.unlink(ctx, r.last); err != nil {
		return err
	}
	for _, folder := range r.Folders {
		if err := r.lease.renew(ctx); err != nil {
			return err
		}
		if err := r.Objects.Prune(ctx, folder); err != nil {
			return err
		}
	}
	return nil
}

// rest removes all that lies below the claims that are cleared, the metadata file apart. The lease
// is renewed between the look and the deletions: what was seen then lay there
// while the place was the object's, so that even a run whose clocks stood still
// deletes nothing by a name that only the place's next owner gave.
func (r *purgeRun) rest(ctx context.Context) error {
	const page = 1000
	for _, folder := range r.Cleared {
		after := ""
		for {
			found, err := r.Objects.List(ctx, folder, after, page)
			if err != nil {
				return err
			}
			if err := r.lease.renew(ctx); err != nil {
				return err
			}
			for _, info := range found {
				after = info.Location
				if info.Location == r.last {
					continue
				}
				if err := r.unlink(ctx, info.Location); err != nil {
					return err
				}
			}
			if len(found) < page {
				break
			}
		}
	}
	return nil
}

// remove deletes a file that is the object's own, once in a run, and never the
// metadata file: what is left is found through it.
func (r *purgeRun) remove(ctx context.Context, location string) error {
	if location == "" || !r.first(location) {
		return nil
	}
	if l, err := r.Store.Locate(location); err != nil || l.String() == r.last {
		return nil //nolint:nilerr // what is nowhere in the store is not deleted
	}
	// What an earlier run deleted costs a look and no time: each run comes
	// further than the last, however many files a manifest names.
	if _, err := r.Objects.Stat(ctx, location); errors.Is(err, storage.ErrNotFound) {
		return ctx.Err()
	}
	return r.unlink(ctx, location)
}

// unlink deletes a file while the lease holds, and else nothing.
func (r *purgeRun) unlink(ctx context.Context, location string) error {
	if r.slow != nil {
		if err := r.slow.wait(ctx); err != nil {
			return err
		}
	}
	if err := r.pace.wait(ctx); err != nil {
		return err
	}
	err := r.lease.unlink(ctx, r.Objects, location)
	switch {
	case err == nil:
		r.deleted++
		advance(ctx, 1)
		return nil
	case elsewhere(err):
		return nil
	}
	return err
}

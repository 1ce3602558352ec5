package catalog

import (
	"errors"
	"fmt"

	"github.com/icecore-catalog/icecore/iceberg"
)

// ErrNotFolded means that an event's document was not built by this server: a
// registered one came from elsewhere, and other events have none.
var ErrNotFolded = errors.New("the event built no document")

// EvolveTable builds the metadata document of an event again, from the
// document before it (nil for a creation) and the facts that the event holds.
// The result is what the server wrote, byte for byte, or the log or the code
// that folds it has changed.
func EvolveTable(base []byte, event Event) ([]byte, error) {
	switch e := event.(type) {
	case *TableCreated:
		return evolveCreated(e)
	case *TableCommitted:
		updates, err := iceberg.DecodeUpdates(e.Updates)
		if err != nil {
			return nil, fmt.Errorf("fold table: %w", err)
		}
		before, err := iceberg.ParseMetadata(base)
		if err != nil {
			return nil, fmt.Errorf("fold table: base: %w", err)
		}
		after, _, err := iceberg.Apply(before, updates, iceberg.BuildContext{
			NowMS: e.NowMS, MetadataLocation: e.Previous, DefaultFormatVersion: e.Format,
		})
		if err != nil {
			return nil, fmt.Errorf("fold table: %w", err)
		}
		return after.Bytes(), nil
	}
	return nil, ErrNotFolded
}

func evolveCreated(e *TableCreated) ([]byte, error) {
	build := iceberg.BuildContext{
		NowMS: e.NowMS, NewUUID: e.TableUUID.String,
		DefaultFormatVersion: e.Format, DefaultLocation: e.Location,
	}
	if len(e.Request) > 0 {
		request, err := iceberg.DecodeCreateRequest(e.Request)
		if err != nil {
			return nil, fmt.Errorf("fold table: %w", err)
		}
		m, err := iceberg.NewTable(request, build)
		if err != nil {
			return nil, fmt.Errorf("fold table: %w", err)
		}
		return m.Bytes(), nil
	}
	updates, err := iceberg.DecodeUpdates(e.Updates)
	if err != nil {
		return nil, fmt.Errorf("fold table: %w", err)
	}
	m, _, err := iceberg.Apply(nil, updates, build)
	if err != nil {
		return nil, fmt.Errorf("fold table: %w", err)
	}
	return m.Bytes(), nil
}

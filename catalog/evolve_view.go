package catalog

import (
	"fmt"

	"github.com/icecore-catalog/icecore/iceberg"
)

// EvolveView is [EvolveTable] for the events of views.
func EvolveView(base []byte, event Event) ([]byte, error) {
	switch e := event.(type) {
	case *ViewCreated:
		request, err := iceberg.DecodeCreateViewRequest(e.Request)
		if err != nil {
			return nil, fmt.Errorf("fold view: %w", err)
		}
		m, err := iceberg.NewView(request, iceberg.BuildContext{
			NowMS: e.NowMS, NewUUID: e.ViewUUID.String, DefaultLocation: e.Location,
		})
		if err != nil {
			return nil, fmt.Errorf("fold view: %w", err)
		}
		return m.Bytes(), nil
	case *ViewCommitted:
		updates, err := iceberg.DecodeViewUpdates(e.Updates)
		if err != nil {
			return nil, fmt.Errorf("fold view: %w", err)
		}
		before, err := iceberg.ParseView(base)
		if err != nil {
			return nil, fmt.Errorf("fold view: base: %w", err)
		}
		after, _, err := iceberg.ApplyView(before, updates, iceberg.BuildContext{NowMS: e.NowMS})
		if err != nil {
			return nil, fmt.Errorf("fold view: %w", err)
		}
		return after.Bytes(), nil
	}
	return nil, ErrNotFolded
}

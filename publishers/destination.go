package publishers

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// Destination is what an operator decreed of a destination.
type Destination struct {
	ID         ids.ID // of its stream
	Name, Kind string
	Settings   map[string]string
	Selection  eventstore.Selection
	// Park says that an event which the destination refuses for good is put
	// aside; otherwise the destination halts there.
	Park bool
	// Source is the CloudEvents source of the log's events.
	Source string
	// Version is that of its stream. Another one is connected to anew.
	Version int64
	// Start is the version of the event that decreed its place last: another one
	// for each replay.
	Start int64
}

// SettingMaxMessageBytes is the setting of any destination that says how large a
// message may be, below what the transport knows ([Limiter]).
const SettingMaxMessageBytes = "max-message-bytes"

// Connector makes the transport of a destination. It does not connect: that is
// [Transport.Prepare]'s.
type Connector func(ctx context.Context, d *Destination) (Transport, error)

// decree reads settings and filter as they are stored.
func (d *Destination) decree(settings, filter, onRefusal string) error {
	if err := json.Unmarshal([]byte(settings), &d.Settings); err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	var f struct {
		Projects, Warehouses []ids.ID
		Entities, Types      []string
	}
	if err := json.Unmarshal([]byte(filter), &f); err != nil {
		return fmt.Errorf("read the filter: %w", err)
	}
	d.Selection = eventstore.Selection{Projects: f.Projects, Warehouses: f.Warehouses, StreamTypes: f.Entities, Types: f.Types}
	d.Park = onRefusal == "park"
	return nil
}

// limit is how large a message may be, 0 for any.
func (d *Destination) limit(t Transport) int {
	own := 0
	if l, ok := t.(Limiter); ok {
		own = l.MaxMessageBytes()
	}
	if n, err := strconv.Atoi(d.Settings[SettingMaxMessageBytes]); err == nil && n > 0 && (own == 0 || n < own) {
		return n
	}
	return own
}

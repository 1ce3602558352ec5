package icebergrest

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/queries"
)

// getConfig is GET /v1/config.
func (a *API) getConfig(w http.ResponseWriter, r *http.Request) error {
	q, err := wire.ParseQuery(r)
	if err != nil {
		return err
	}
	name, err := q.String("warehouse")
	if err != nil {
		return err
	}
	if name == "" {
		name = a.deps.DefaultWarehouse
	}
	if name == "" {
		return &catalog.Error{Kind: catalog.BadRequest, Message: "The parameter warehouse is missing: name one, as in /v1/config?warehouse=demo"}
	}
	config, err := a.find(r, name)
	if err != nil {
		return err
	}
	a.writeConfig(w, config, map[string]string{"prefix": config.Warehouse.ID.String()})
	return nil
}

// writeConfig prints a config answer with the given overrides and those of all
// warehouses.
func (a *API) writeConfig(w http.ResponseWriter, config queries.Config, overrides map[string]string) {
	overrides["namespace-separator"] = wire.Separator
	maps.Copy(overrides, config.Overrides)
	defaults := maps.Clone(config.Defaults)
	if a.deps.DiscardReports {
		defaults["rest-metrics-reporting-enabled"] = "false" // Java's property
	}

	body := append([]byte(`{"defaults":`), wire.AppendMap(nil, defaults)...)
	body = append(body, `,"overrides":`...)
	body = wire.AppendMap(body, overrides)
	body = append(body, a.settled...)
	wire.JSON(w, http.StatusOK, body)
}

func settledConfig(endpoints []string, lifetime time.Duration) []byte {
	body := append([]byte(`,"endpoints":`), wire.AppendStrings(nil, endpoints)...)
	body = append(body, `,"idempotency-key-lifetime":`...)
	body = wire.AppendString(body, isoDuration(lifetime))
	return append(body, '}')
}

// isoDuration prints whole seconds in the part of ISO 8601 that Java's
// Duration.parse reads: no weeks, no days.
func isoDuration(d time.Duration) string {
	seconds := int64(d / time.Second)
	var b strings.Builder
	b.WriteString("PT")
	for _, unit := range []struct {
		seconds int64
		letter  byte
	}{{3600, 'H'}, {60, 'M'}, {1, 'S'}} {
		if n := seconds / unit.seconds; n > 0 {
			fmt.Fprintf(&b, "%d%c", n, unit.letter)
			seconds -= n * unit.seconds
		}
	}
	if b.Len() == 2 {
		b.WriteString("0S")
	}
	return b.String()
}

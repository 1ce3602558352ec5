package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/internal/servicetest"
)

// Destinations are operated where no server runs: the command gives positions to
// what it commits.
func TestDestinationsAreOperatedWithoutAServer(t *testing.T) {
	t.Parallel()
	k := servicetest.New(t, servicetest.Setup{})
	settings := production(k.DB)
	run := func(code int, want string, args ...string) string {
		t.Helper()
		r := icecore(t, settings, append([]string{"destination"}, args...)...)
		if r.code != code || !strings.Contains(r.stdout+r.stderr, want) {
			t.Errorf("destination %s: %d %s%s, want %d %q", strings.Join(args, " "), r.code, r.stdout, r.stderr, code, want)
		}
		return r.stdout
	}
	run(0, "there are no destinations", "list")
	if got := run(0, "", "list", "--json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("list --json: %s", got)
	}
	orders, other := k.Destination("Orders"), k.Destination("other")
	k.Exec("UPDATE publish.destination SET position = 4, epoch = 1, published = 3 WHERE destination_id = $1", [16]byte(other))

	run(0, "Orders: paused at position 0", "pause", "orders")
	run(0, "paused", "list")
	run(0, "Orders: resumed; it goes on after position 0", "resume", orders.String())
	run(0, "Orders: put to another place; it publishes what follows position 1", "replay", "--from", "2", "--to", "Orders")
	run(0, "follows position 0", "replay", "--from", "1970-01-02T00:00:00Z", "--to", "Orders")
	run(exitFailure, "The place to start from is none of", "replay", "--from", "yesterday", "--to", "Orders")
	run(exitFailure, "There is no position 99999", "replay", "--from", "99999", "--to", "Orders")
	run(exitFailure, `there is no destination "nobody"`, "replay", "--from", "now", "--to", "nobody")
	run(exitUsage, "--from", "replay", "--to", "Orders")
	run(exitFailure, "has not halted", "skip", "Orders")
	k.Exec("UPDATE publish.destination SET halted_at = 2, failures = 1, last_error = $2, last_error_at = '2026-01-02 03:04:05Z' WHERE destination_id = $1", [16]byte(orders), "too\x1b[2J large")
	show := run(0, "halted", "show", "orders")
	if strings.Contains(show, "\x1b") || !strings.Contains(show, "too [2J large (2026-01-02 03:04:05 UTC)") || !strings.Contains(show, "position 2: decide") {
		t.Errorf("show %q", show)
	}
	run(exitFailure, "has halted at position 2, not at 3", "skip", "Orders", "--position", "3")
	run(0, "let the event at position 2 pass", "skip", "Orders", "--position", "2")
	run(0, "an operator let it pass", "show", "Orders")
	run(0, "will publish the event at position 2 again", "retry", "Orders", "--position", "2")
	run(0, "is published again", "show", "Orders")

	var d struct {
		Name, Status string
		Position     int64
		Parked       int64
	}
	if err := json.Unmarshal([]byte(run(0, "", "show", "Orders", "--json")), &d); err != nil || d.Name != "Orders" || d.Status != "running" || d.Position != 2 || d.Parked != 1 {
		t.Errorf("show --json: %+v, %v", d, err)
	}
	if err := json.Unmarshal([]byte(run(0, "", "show", "other", "--json")), &d); err != nil || d.Position != 4 {
		t.Errorf("the other one was touched: %+v, %v", d, err)
	}
	run(0, "Orders: removed", "remove", "ORDERS")
	run(exitFailure, "there is no destination", "remove", "ORDERS")
	if got := icecore(t, settings, "log", "list", "--type", "destination"); !strings.Contains(got.stdout, "destination.removed") || !strings.Contains(got.stdout, "the parked event at position 2") {
		t.Errorf("log list: %s%s", got.stdout, got.stderr)
	}
	var positions, events int64
	if err := k.DB.App.QueryRow(t.Context(), "SELECT (SELECT size FROM es.log_head), (SELECT count(*) FROM es.event)").Scan(&positions, &events); err != nil || positions != events {
		t.Errorf("%d positions for %d events, %v", positions, events, err)
	}
}

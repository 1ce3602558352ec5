package main

import (
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// Tasks are shown and controlled from the command line, and watched to their end.
func TestTasksFromTheCommandLine(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Durable())
	root := t.TempDir()
	settings := production(db, "ICECORE_FILE_ROOTS="+root)
	s := start(t, append(settings, "ICECORE_ROLES=api"), "serve") // nobody does them yet
	makeWarehouse(t, s, root)
	home := s.catalogPath(t, "w")
	if status := s.call(t, "POST", home+"/namespaces", `{"namespace":["n"]}`, nil); status != 200 {
		t.Fatal(status)
	}
	for _, name := range []string{"a", "b"} {
		if status := s.call(t, "POST", home+"/namespaces/n/tables", `{"name":"`+name+`","schema":{"type":"struct","fields":[]}}`, nil); status != 200 {
			t.Fatal(status)
		}
		if status := s.call(t, "DELETE", home+"/namespaces/n/tables/"+name+"?purgeRequested=true", "", nil); status != 204 {
			t.Fatal(status)
		}
	}
	const first = "1cec0000-0000-8000-8000-000000000001"
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"list"}, 0, "n.a"},
		{[]string{"list", "--json"}, 0, `"task-id":"` + first + `","queue-name":"tabular_purge","status":"SCHEDULED"`},
		{[]string{"list", "--status", "scheduled,failed", "--queue", "tabular_purge"}, 0, "n.b"},
		{[]string{"list", "--status", "nonsense"}, exitUsage, "nonsense"},
		{[]string{"list", "--warehouse", "nonsense"}, exitFailure, "no id of a warehouse"},
		{[]string{"show", "1"}, 0, first},
		{[]string{"show", first, "--json"}, 0, `"entity-name":["n","a"]`},
		{[]string{"show", "4711"}, exitFailure, "there is no task"},
		{[]string{"show", "x"}, exitFailure, "neither the id of a task"},
		{[]string{"run", "1", "--at", "2126-01-01T00:00:00Z"}, 0, "is scheduled"},
		{[]string{"show", "1"}, 0, "2126-01-01T00:00:00Z"},
		{[]string{"run", "1", "4711"}, exitFailure, "there is no task"},
		{[]string{"run", "1"}, 0, "is scheduled"},
		{[]string{"stop", "1"}, 0, "is scheduled"},
		{[]string{"cancel", "2"}, 0, "is stopping"},
	} {
		r := icecore(t, settings, append([]string{"task"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.stdout+r.stderr, c.want) {
			t.Errorf("task %s: %d %s%s", strings.Join(c.args, " "), r.code, r.stdout, r.stderr)
		}
	}
	start(t, append(settings, "ICECORE_ROLES=worker"), "serve")
	for task, end := range map[string]string{"1": "success", "2": "cancelled"} {
		if r := icecore(t, settings, "task", "show", task, "--watch"); r.code != 0 || !strings.Contains(r.stdout, end) {
			t.Errorf("watch %s: %d %s%s", task, r.code, r.stdout, r.stderr)
		}
	}
	if r := icecore(t, settings, "log", "list", "--type", "table.purge-cancelled"); r.code != 0 || !strings.Contains(r.stdout, "files stay") {
		t.Errorf("%d %s%s", r.code, r.stdout, r.stderr)
	}
}

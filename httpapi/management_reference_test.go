package httpapi_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/httpapi"
)

const managementReference = "../docs/reference/management.md"

// unserved says of operations that are not served whether they will be, and
// why not now. The first rule whose pattern fits counts; each has to be needed.
var unserved = []struct{ pattern, state, why string }{
	{`/permissions/.*/access$`, "refused", "an older form of `authorizer-actions`, deprecated in Lakekeeper itself"},
	{`/managed-by$`, "refused", "there is no second control plane: a warehouse belongs to those who may change it"},
	{`/permissions/`, "planned", "with OpenFGA as second authorizer"},
	{`/actions$|/action/batch-check$`, "planned", "with users and rights"},
	{`/grants(/grantable-privileges)?$`, "planned", "with users and rights"},
	{`/tags(/|$)|/column-tags$|/tag-definition`, "planned", "with tags"},
	{`/role(/|$)|/search/role$`, "planned", "with users and rights"},
	{`/user(/|$)|/search/user$|/whoami$`, "planned", "with authentication: nobody is known by name before"},
	{`/generic-table/`, "planned", "with generic tables"},
	{`/move$`, "planned", "moving a namespace is an event of its own"},
}

// TestManagementReference generates the list of what the management API serves
// from the specification and the route table.
func TestManagementReference(t *testing.T) {
	t.Parallel()
	want := managementPage(t)
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(managementReference, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(managementReference)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the route table and the specification say: run ./task gen", managementReference)
	}
}

func managementPage(t *testing.T) []byte {
	t.Helper()
	operations, _ := managementSpecification(t)
	served := servedManagement()
	rows := map[string][]string{}
	used := make([]bool, len(unserved))
	for _, m := range operations {
		path := strings.TrimPrefix(m.path, managementRoot)
		note := m.summary
		if m.deprecated {
			note += "; deprecated in Lakekeeper"
		}
		if served[m.name()] {
			delete(served, m.name())
			rows["served"] = append(rows["served"], fmt.Sprintf("| %s | `%s` | %s |", m.method, path, note))
			continue
		}
		i := slices.IndexFunc(unserved, func(rule struct{ pattern, state, why string }) bool {
			return regexp.MustCompile(rule.pattern).MatchString(m.path)
		})
		if i < 0 {
			t.Errorf("%s is not served: say in unserved whether it will be", m.name())
			continue
		}
		used[i] = true
		rows[unserved[i].state] = append(rows[unserved[i].state], fmt.Sprintf("| %s | `%s` | %s | %s |", m.method, path, note, unserved[i].why))
	}
	for i, rule := range unserved {
		if !used[i] {
			t.Errorf("no operation needs the rule %s", rule.pattern)
		}
	}
	var own []string
	for _, route := range httpapi.Routes(httpapi.Deps{}) {
		if served[route.Method+" "+route.Template] {
			own = append(own, fmt.Sprintf("| %s | `%s` |", route.Method, strings.TrimPrefix(route.Template, managementRoot)))
		}
	}
	b := bytes.NewBufferString(managementIntroduction)
	table := func(title, text, head string, rows []string) {
		fmt.Fprintf(b, "\n## %s (%d)\n\n%s\n\n%s\n%s\n", title, len(rows), text, head, strings.Join(rows, "\n"))
	}
	const three, four = "| method | path below `/management` | |\n|---|---|---|", "| method | path below `/management` | | |\n|---|---|---|---|"
	table("Served", "A test holds each of these against the specification: a request that it allows, the answer, and a refusal.", three, rows["served"])
	table("Planned", "Answered with 404 in the error form until then; `POST /v1/project/grants` with 405, for its path is also that of a project.", four, rows["planned"])
	table("Refused", "Answered with 404 in the error form.", four, rows["refused"])
	table("Ours", "Served beside the specification.", "| method | path below `/management` |\n|---|---|", own)
	return b.Bytes()
}

const managementIntroduction = `# Management API

<!-- Generated from the route table and schema/openapi/lakekeeper-management.yaml by ./task gen. Do not edit. -->

` + "`/management/v1`" + ` keeps the wire form of Lakekeeper's management API, so that its clients work unchanged. Here is what of it is
served, and where it means something else.

## What to know

- **Storage profile.** ` + "`{\"type\":\"file\",\"root\":\"file:///…\"}`" + ` is ours: a folder below one of the configured roots. It needs no credential, so one
  that is given is refused (406), and so is ` + "`managed-by`" + ` other than ` + "`self-managed`" + `. Updating the storage takes the same root only: another one
  is refused (400), for the files would be lost; the profile is tried out by writing, reading and deleting.
- **Delete profile.** With ` + "`soft`" + ` a dropped table or view can come back for ` + "`expiration-seconds`" + `, which are fixed at its drop; ` + "`force=true`" + ` and an
  unregistration drop for good. So can a namespace that is dropped with ` + "`recursive=true`" + `, as one whole; that is ours, as are the list
  ` + "`deleted-namespaces`" + `, and of a list of dropped tables ` + "`purge-requested`" + ` and ` + "`dropped-with`" + `, the namespace that has to come back first. A dropped
  object is never protected: that takes force, which is for good.
- **Undrop** brings back all targets or none. A target may be ` + "`{\"type\":\"namespace\"}`" + `, and may say another ` + "`name`" + ` and another ` + "`namespace`" + ` to come back to
  (of a namespace its parent, ` + "`[]`" + ` for the top); both are ours. A name that is taken is 409, what expired or came back is 404, as is an object whose
  namespace is gone, unless it says another one.
- **Dry runs** make every check and answer 200 whatever they find. Warehouses may share a location, so ` + "`location-exclusive`" + ` is skipped: tables and views
  claim their locations one by one, over all warehouses.
- **Deactivated warehouses** are hidden from their clients: Iceberg REST, search and protection answer as if there were none (404
  ` + "`NoSuchWarehouseException`" + `). Who manages them sees and changes them.
- **Deleting** needs an empty warehouse (409 ` + "`WarehouseNotEmpty`" + `) whose dropped tables have neither time left to come back nor files to purge (409
  ` + "`WarehouseHasUnfinishedTasks`" + `), and ` + "`force=true`" + ` if it is protected (409 ` + "`WarehouseProtected`" + `). Projects have to be empty too (409
  ` + "`ProjectNotEmpty`" + `); the default project stays. The files in the storage are left as they are.
- **Projects** are named by ` + "`x-project-id`" + `, the path, or the deprecated member and parameter ` + "`project-id`, `projectId`" + `. Ids are up to 128 ASCII letters,
  digits, hyphens and underscores; the default project is the nil UUID. An id is free again when its project is deleted.
- **Objects below a warehouse** are named by their id; of tables and views the table-uuid is as good. ` + "`updated_at`" + ` is when the object was last changed.
- **Search** ranks by trigrams of the dotted path, as Lakekeeper does: the ten nearest that the caller may see, 64 characters of the text. A UUID finds
  what has it, and what stands in the namespace that has it.
- **Statistics.** Those of a warehouse count living tables and views, by the hour of the log's own time. Those of endpoints are counted in memory and
  stored every 15 seconds, so a killed process loses as much; they are kept for 90 days. An answer has up to 10,000 entries; where the window holds
  more, the token that leads on goes on inside it, so that its hour may come in two answers with some entries in each. Search and statistics follow the log by seconds.
- **Idempotency-Key** works on every mutation, as it does for Iceberg REST. A request that changed nothing leaves its key free.
- **Destinations** are ours: where the stream of events is published to. One is named by its id or, in any letter case, its name. A change answers with
  what was decreed, GET also with how it is doing: ` + "`status`" + ` (` + "`running`, `paused`, `backing-off`, `halted`" + `), place, lag in events and seconds, failures and
  the last error. ` + "`start`" + ` and ` + "`from`" + ` of a replay are ` + "`beginning`, `now`" + `, a position, which is the first one published, or a time. Settings hold no secret: they
  name files of them. Unknown members are refused. See the [guide](../guides/consume-events.md).
- **Events** are ours: ` + "`GET /management/v1/events/{event}`" + ` is a CloudEvent in structured mode, and ` + "`…/data`" + ` its data alone, byte for byte. An event that
  is too large for a destination is published without its data, which it refers to there (` + "`dataref`" + `).
- **Tasks** are jobs that somebody may want to see: purges, expiries of dropped objects, and a project's clean-up of its finished tasks. Their ids are UUIDs
  of version 8 that hold the job's number. A run that failed is tried again later each time, after a quarter of an hour at most; after its last attempt a task is ` + "`FAILED`" + `
  and can be run again (` + "`run-now`" + `). Cancelling a purge keeps the files that are left and frees the locations, as an event; it comes about when nothing deletes
  any more, and until then the task is ` + "`STOPPING`" + `. A task that is stopped rests for a minute. What cannot be done with a task as it stands is no error.
- **Queues** take two settings of ours in ` + "`queue-config`" + `: ` + "`max-attempts`" + ` (25), and for ` + "`tabular_purge`" + ` ` + "`files-per-second`" + `, which bounds one run below the server's own
  rate. ` + "`max-seconds-since-last-heartbeat`" + ` makes the wait for a silent process longer than its 30 seconds. A change is an event, and holds for tasks that are made after it.
- **server-id** is the nil UUID before bootstrap.
`

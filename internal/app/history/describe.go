package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// described is an event in words.
type described struct{ object, details string }

// describe puts an event into words for one line of a table.
func describe(e *eventstore.Entry) described {
	if e.Erased {
		return described{e.Stream.String(), "(the payload was erased; its hash stands)"}
	}
	switch e.Type {
	case eventstore.EpochOpenedType:
		var v eventstore.EpochOpened
		if json.Unmarshal(e.Data, &v) == nil {
			return described{"log", fmt.Sprintf("epoch %d begins after position %d: the database's history is another", v.Epoch, v.PreviousSize)}
		}
	case eventstore.RepairedType:
		var v eventstore.Repaired
		if json.Unmarshal(e.Data, &v) == nil {
			return described{"log", fmt.Sprintf("%s commit number %d: %s", small(v.Decision, 20), v.AppendSeq, small(v.Reason, 100))}
		}
	}
	event, err := catalog.Decode(e.Type, e.DataSchema, e.Data)
	if err != nil {
		return described{e.Stream.String(), small(string(e.Data), 120)}
	}
	if d, known := describeManagement(event); known {
		return d
	}
	switch v := event.(type) {
	case *catalog.ServerBootstrapped:
		return described{"server", ""}
	case *catalog.ProjectCreated:
		return described{word(v.Name), v.Ident}
	case *catalog.WarehouseCreated:
		return described{word(v.Name), storageOf(v.StorageProfile)}
	case *catalog.NamespaceCreated:
		return described{levels(v.Namespace), properties(v.Properties, nil)}
	case *catalog.NamespacePropertiesUpdated:
		return described{levels(v.Namespace), properties(v.Updated, v.Removed)}
	case *catalog.NamespaceDropped:
		if v.Soft != nil {
			return described{levels(v.Namespace), join(counts(&v.Soft.Tree), canComeBack(v.Soft.ExpiresAtMS, v.Soft.PurgeRequested))}
		}
		return described{levels(v.Namespace), ""}
	case *catalog.NamespaceUndropped:
		words := counts(&v.Tree)
		if !slices.Equal(v.From, v.To) {
			words = join("was "+levels(v.From), words)
		}
		return described{levels(v.To), words}
	case *catalog.NamespaceExpired:
		return described{levels(v.Namespace), join(fmt.Sprintf("with %d tables and views", len(v.Tabulars)), filesOf(v.PurgeRequested))}
	case *catalog.TableCreated:
		return described{table(v.TableName), join(fmt.Sprintf("format v%d", v.Format), snapshots(v.Snapshots))}
	case *catalog.TableCommitted:
		return described{table(v.TableName), join(snapshots(v.Snapshots), actions(v.Updates))}
	case *catalog.TableRenamed:
		return described{table(v.To), "was " + table(v.From)}
	case *catalog.TableRegistered:
		words := "from " + small(v.MetadataLocation, 100)
		if v.Overwrites {
			words = "over the old one, " + words
		}
		return described{table(v.TableName), words}
	case *catalog.TableDropped:
		if v.ExpiresAtMS != nil {
			return described{table(v.TableName), canComeBack(*v.ExpiresAtMS, v.PurgeRequested)}
		}
		return described{table(v.TableName), filesOf(v.PurgeRequested)}
	case *catalog.TableUndropped:
		return described{table(v.To), "was dropped as " + table(v.From)}
	case *catalog.TableExpired:
		return described{table(v.TableName), filesOf(v.PurgeRequested)}
	case *catalog.TablePurgeStarted:
		return described{table(v.TableName), outside(&v.PurgeStarted)}
	case *catalog.TablePurged:
		return described{table(v.TableName), fmt.Sprintf("%d files deleted", v.Deleted)}
	case *catalog.TableSuperseded:
		return described{table(v.TableName), "its location was registered"}
	case *catalog.ViewPurgeStarted:
		return described{table(v.TableName), outside(&v.PurgeStarted)}
	case *catalog.ViewPurged:
		return described{table(v.TableName), fmt.Sprintf("%d files deleted", v.Deleted)}
	case *catalog.ViewSuperseded:
		return described{table(v.TableName), "its location was registered"}
	case *catalog.ViewCreated:
		return described{table(v.ViewName), ""}
	case *catalog.ViewCommitted:
		return described{table(v.ViewName), join(fmt.Sprintf("version %d", v.CurrentVersion), actions(v.Updates))}
	case *catalog.ViewRenamed:
		return described{table(v.To), "was " + table(v.From)}
	case *catalog.ViewRegistered:
		return described{table(v.ViewName), "from " + small(v.MetadataLocation, 100)}
	case *catalog.ViewDropped:
		if v.ExpiresAtMS != nil {
			return described{table(v.ViewName), canComeBack(*v.ExpiresAtMS, v.PurgeRequested)}
		}
		return described{table(v.ViewName), filesOf(v.PurgeRequested)}
	case *catalog.ViewUndropped:
		return described{table(v.To), "was dropped as " + table(v.From)}
	case *catalog.ViewExpired:
		return described{table(v.TableName), filesOf(v.PurgeRequested)}
	}
	return described{e.Stream.String(), ""}
}

// filesOf says what becomes of the files of what was dropped.
func filesOf(purge bool) string {
	if purge {
		return "purge requested"
	}
	return "files stay"
}

// canComeBack says until when a drop can be undone, and what comes then.
func canComeBack(untilMS int64, purge bool) string {
	return "can come back until " + time.UnixMilli(untilMS).UTC().Format(time.RFC3339) + "; then " + filesOf(purge)
}

// counts says how much a tree holds.
func counts(t *catalog.Tree) string {
	return fmt.Sprintf("%d namespaces, %d tables and views", len(t.Namespaces), len(t.Tabulars))
}

// outside says how many files a purge leaves because they lie elsewhere.
func outside(e *catalog.PurgeStarted) string {
	switch {
	case e.OutsideMore:
		return fmt.Sprintf("over %d files outside stay", len(e.Outside))
	case len(e.Outside) > 0:
		return fmt.Sprintf("%d files outside stay", len(e.Outside))
	}
	return ""
}

// actor is the pseudonym, short enough for a column.
func actor(id ids.ID) string {
	switch id {
	case authz.Anonymous.ID:
		return "anonymous"
	case authz.System.ID:
		return "system"
	case ids.Nil:
		return "-"
	}
	return id.String()[:8]
}

// kind is the type without what all types share.
func kind(typ string) string { return strings.TrimPrefix(typ, catalog.TypePrefix) }

func table(n catalog.TableName) string { return levels(n.Namespace) + "." + word(n.Name) }

func levels(n catalog.Namespace) string {
	words := make([]string, len(n))
	for i, level := range n {
		words[i] = word(level)
	}
	return strings.Join(words, ".")
}

// word quotes a name that could be mistaken for several, or that holds what a
// terminal would obey.
func word(s string) string {
	if s == "" || strings.ContainsAny(s, ". \"'`,;=") || !printable(s) {
		return strconv.Quote(s)
	}
	return s
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) })
}

// small makes text fit into one line of about n characters.
func small(s string, n int) string {
	if !printable(s) {
		quoted := strconv.Quote(s)
		s = quoted[1 : len(quoted)-1]
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// properties says what was set and what was removed; values are not shown, for
// they may be long.
func properties(set json.RawMessage, removed []string) string {
	var values map[string]string
	_ = json.Unmarshal(set, &values) // the codec has checked it
	var parts []string
	if names := sortedKeys(values); len(names) > 0 {
		parts = append(parts, "set "+words(names))
	}
	if len(removed) > 0 {
		parts = append(parts, "removed "+words(removed))
	}
	return small(strings.Join(parts, "; "), 120)
}

func words(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = word(s)
	}
	return strings.Join(out, ", ")
}

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func storageOf(profile json.RawMessage) string {
	var p struct{ Type string }
	_ = json.Unmarshal(profile, &p) // the codec has checked it
	return "on " + word(p.Type)
}

// snapshots says what each snapshot did, from the counts of its summary.
func snapshots(list []catalog.Snapshot) string {
	var parts []string
	for i := range list {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("and %d more snapshots", len(list)-i))
			break
		}
		parts = append(parts, snapshot(&list[i]))
	}
	return strings.Join(parts, "; ")
}

func snapshot(s *catalog.Snapshot) string {
	var summary map[string]string
	_ = json.Unmarshal(s.Summary, &summary) // the codec has checked it
	out := s.Operation
	if out == "" {
		out = "snapshot"
	}
	for _, c := range []struct{ key, sign string }{{"added-records", "+"}, {"deleted-records", "-"}} {
		if n := summary[c.key]; n != "" && n != "0" {
			out += " " + c.sign + small(n, 20) + " rows"
		}
	}
	return out + fmt.Sprintf(" (snapshot %d)", s.ID)
}

// actions names the updates of a commit besides the snapshots, each once.
func actions(updates json.RawMessage) string {
	var list []struct{ Action string }
	if json.Unmarshal(updates, &list) != nil {
		return ""
	}
	var names []string
	for _, u := range list {
		switch u.Action {
		case "add-snapshot", "set-snapshot-ref": // told by the snapshots
			continue
		}
		if name := word(u.Action); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return small(strings.Join(names, ", "), 120)
}

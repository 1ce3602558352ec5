package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
)

// step is a request as a client sends it, and what the client needs of the
// answer. Texts between "@" are variables: @root@ is the warehouse's root,
// others were kept from earlier answers.
type step struct {
	why  string // the rule, where the request does not speak for itself
	send string // e.g. "GET /namespaces/n", below the prefix; an absolute path begins with "/catalog" or "/management"
	body string
	want int
	kind string // of the error
	is   map[string]string
	keep map[string]string // variable → where its value stands; see look
	not  string            // text that must not be in the answer
	more []string          // headers of this request alone
}

// client plays steps as one client: with its headers, below its base.
type client struct {
	*stack
	base   string // e.g. the prefix of the warehouse
	header []string
	vars   map[string]string
}

func (s *stack) client(base string, header ...string) *client {
	return &client{stack: s, base: base, header: header, vars: map[string]string{"root": "file://" + s.root + "/demo"}}
}

func (c *client) fill(text string) string {
	for name, value := range c.vars {
		text = strings.ReplaceAll(text, "@"+name+"@", value)
	}
	return text
}

func (c *client) play(t *testing.T, steps []step) {
	t.Helper()
	for i, step := range steps {
		method, path, _ := strings.Cut(c.fill(step.send), " ")
		if !strings.HasPrefix(path, "/catalog") && !strings.HasPrefix(path, "/management") {
			path = c.base + path
		}
		header := append(append([]string{}, c.header...), step.more...)
		for j := range header {
			header[j] = c.fill(header[j])
		}
		got := c.do(method, path, c.fill(step.body), header...)
		at := fmt.Sprintf("step %d, %s %s (%s): %d %s", i+1, method, path, step.why, got.status, got.body)
		if got.header.Get("Content-Encoding") == "gzip" {
			r, err := gzip.NewReader(strings.NewReader(got.body))
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			plain, err := io.ReadAll(r)
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			got.body = string(plain)
			at = fmt.Sprintf("step %d, %s %s (%s): %d %s", i+1, method, path, step.why, got.status, got.body)
		}
		if got.status != step.want {
			t.Fatalf("%s, want %d", at, step.want)
		}
		if (got.body == "") != (method == "HEAD" || step.want == 204 || step.want == 304) {
			t.Fatalf("%s: a body that should not be there, or none", at)
		}
		if step.want >= 400 && method != "HEAD" {
			if kind, _ := errorOf(t, got); kind != step.kind {
				t.Fatalf("%s, want %s", at, step.kind)
			}
		}
		if step.not != "" && strings.Contains(got.body, c.fill(step.not)) {
			t.Fatalf("%s: holds %q", at, c.fill(step.not))
		}
		for where, want := range step.is {
			if found := look(got, where); found != c.fill(want) {
				t.Fatalf("%s: %s is %s, want %s", at, where, found, c.fill(want))
			}
		}
		for name, where := range step.keep {
			text := look(got, where)
			if text == "" {
				t.Fatalf("%s: no %s", at, where)
			}
			var plain string
			if json.Unmarshal([]byte(text), &plain) == nil {
				text = plain
			}
			c.vars[name] = text
		}
	}
}

// look finds a value in an answer and prints it as compact JSON, "" if it is
// not there. where is a path like "metadata/snapshots/0/summary", "#" after a
// list is its length, and "ETag:" is that header.
func look(a answer, where string) string {
	if name, ok := strings.CutSuffix(where, ":"); ok {
		for key, values := range a.header {
			if key == name && len(values) > 0 { // in this very spelling
				return quoted(values[0])
			}
		}
		return ""
	}
	var doc any
	d := json.NewDecoder(strings.NewReader(a.body))
	d.UseNumber()
	if d.Decode(&doc) != nil {
		return ""
	}
	for part := range strings.SplitSeq(where, "/") {
		switch of := doc.(type) {
		case map[string]any:
			inner, ok := of[part]
			if !ok {
				return ""
			}
			doc = inner
		case []any:
			if part == "#" {
				return strconv.Itoa(len(of))
			}
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(of) {
				return ""
			}
			doc = of[i]
		default:
			return ""
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(doc) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// snapshot is an add-snapshot update; parent as the client prints it, "" for
// no such member; more are further members of the summary.
func snapshot(id int, parent string, sequence int, more ...string) string {
	if parent != "" {
		parent = `"parent-snapshot-id":` + parent + `,`
	}
	return fmt.Sprintf(`{"action":"add-snapshot","snapshot":{"snapshot-id":%d,%s"sequence-number":%d,"timestamp-ms":%d,"manifest-list":"@root@/snap-%d.avro","summary":{"operation":"append"%s},"schema-id":0}}`,
		id, parent, sequence, 1_900_000_000_000+id, id, strings.Join(more, ""))
}

// branch is a set-snapshot-ref update.
func branch(name string, id int) string {
	return fmt.Sprintf(`{"action":"set-snapshot-ref","ref-name":%q,"type":"branch","snapshot-id":%d}`, name, id)
}

// commit is a CommitTableRequest; requirements and updates are separated by
// commas already.
func commit(requirements, updates string) string {
	return `{"requirements":[` + requirements + `],"updates":[` + updates + `]}`
}

const sameUUID = `{"type":"assert-table-uuid","uuid":"@uuid@"}`

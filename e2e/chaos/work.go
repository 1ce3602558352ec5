package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/icecore-catalog/icecore/iceberg/manifest/manifesttest"
	"github.com/icecore-catalog/icecore/internal/ids"
)

const (
	workersCount = 16
	sharedTables = 4
	// expiration is how long a soft drop lasts.
	expiration = 3 * time.Second
)

// works is the load: workers that commit until enough was acknowledged.
type works struct {
	client *client
	homes  []*warehouse
	shared []*table
	target int64
	seed   uint64
	named  int // numbers up to this are in names of an earlier load
}

// setUp makes warehouses, namespaces and the tables that all workers share.
func setUp(ctx context.Context, r *rig, c *client) ([]*warehouse, []*table, error) {
	if err := c.must(ctx, "POST", "/management/v1/bootstrap", map[string]any{"accept-terms-of-use": true}, nil); err != nil {
		return nil, nil, err
	}
	homes := []*warehouse{{name: "hard"}, {name: "soft", soft: true}}
	var shared []*table
	for _, w := range homes {
		root := filepath.Join(r.files, w.name)
		if err := os.MkdirAll(root, 0o755); err != nil {
			return nil, nil, err
		}
		profile := map[string]any{"type": "hard"}
		if w.soft {
			profile = map[string]any{"type": "soft", "expiration-seconds": int(expiration.Seconds())}
		}
		var made struct {
			ID string `json:"warehouse-id"`
		}
		if err := c.must(ctx, "POST", "/management/v1/warehouse", map[string]any{
			"warehouse-name": w.name, "storage-profile": map[string]any{"type": "file", "root": "file://" + root}, "delete-profile": profile,
		}, &made); err != nil {
			return nil, nil, err
		}
		w.id = made.ID
		w.prefix = "/catalog/v1/" + made.ID
		for i := range workersCount {
			if err := c.must(ctx, "POST", w.prefix+"/namespaces", map[string]any{"namespace": []string{home(i)}}, nil); err != nil {
				return nil, nil, err
			}
		}
		if err := c.must(ctx, "POST", w.prefix+"/namespaces", map[string]any{"namespace": []string{"shared"}}, nil); err != nil {
			return nil, nil, err
		}
		for i := range sharedTables / len(homes) {
			t := &table{home: w, namespace: "shared", name: "s" + strconv.Itoa(i)}
			var d document
			if err := c.must(ctx, "POST", w.namespacePath("shared")+"/tables", createBody(t.name, i), &d); err != nil {
				return nil, nil, err
			}
			t.uuid = d.Metadata.UUID
			shared = append(shared, t)
		}
	}
	return homes, shared, nil
}

func home(worker int) string { return "w" + strconv.Itoa(worker) }

// run lets all workers work until the target is reached.
func (w *works) run(ctx context.Context) error {
	var group sync.WaitGroup
	for i := range workersCount {
		group.Go(func() {
			k := &worker{
				works: w, index: i, made: w.named, random: rand.New(rand.NewPCG(w.seed, uint64(i)+1)),
				shared: make([]sharedBook, len(w.shared)),
			}
			for i := range k.shared { // a number that is there already would be no commit
				k.shared[i] = sharedBook{sent: w.named, acked: w.named, doubtful: map[int]bool{}}
			}
			for ctx.Err() == nil && w.client.books.acked.Load() < w.target {
				k.step(ctx)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// sharedBook is what a worker knows of its own property of a shared table.
type sharedBook struct {
	sent, acked int
	doubtful    map[int]bool
}

// worker is one client.
type worker struct {
	*works
	index   int
	random  *rand.Rand
	made    int
	tables  []*table
	dropped []grave
	shared  []sharedBook
	views   []grave
}

// grave is what was dropped softly, and may come back.
type grave struct {
	*table
	kind string // table, view or namespace
	id   ids.ID
	at   time.Time
}

// step does one thing.
func (k *worker) step(ctx context.Context) {
	if len(k.tables) < 3 {
		k.create(ctx)
		return
	}
	t := k.tables[k.random.IntN(len(k.tables))]
	switch n := k.random.IntN(100); {
	case n < 56:
		k.commit(ctx, t)
	case n < 64:
		k.append(ctx, t)
	case n < 76:
		k.contend(ctx, k.random.IntN(len(k.works.shared)))
	case n < 80:
		k.transact(ctx, t)
	case n < 83:
		k.rename(ctx, t)
	case n < 86:
		k.create(ctx)
	case n < 87:
		k.view(ctx)
	case n < 91:
		k.drop(ctx, t)
	case n < 95:
		k.undrop(ctx)
	case n < 96:
		k.tree(ctx)
	default:
		k.look(ctx, t)
	}
}

func (k *worker) forget(t *table) {
	for i, other := range k.tables {
		if other == t {
			k.tables = append(k.tables[:i], k.tables[i+1:]...)
			return
		}
	}
}

func (k *worker) name(kind string) (string, int) {
	k.made++
	return nameOf(kind, k.index, k.made), k.made
}

func (k *worker) create(ctx context.Context) {
	name, n := k.name("t")
	t := &table{home: k.homes[k.random.IntN(len(k.homes))], namespace: home(k.index), name: name, doubtful: map[int]bool{}}
	a, outcome := k.client.change(ctx, entry{Worker: k.index, Kind: "create", Events: 1}, "POST", t.home.namespacePath(t.namespace)+"/tables", nil, createBody(name, n))
	if outcome != acknowledged {
		return // it may be there; nobody will touch it
	}
	d, err := parseDocument(a.body)
	if err != nil {
		k.client.books.complain("create: %v in %.200s", err, a.body)
		return
	}
	t.uuid, t.location = d.Metadata.UUID, d.Metadata.Location
	k.tables = append(k.tables, t)
}

// commit sets the next number, now and then under an idempotency key, and repeats
// it then until its fate is known.
func (k *worker) commit(ctx context.Context, t *table) {
	t.sent++
	k.send(ctx, t, "commit", t.sent, map[string]any{
		"requirements": []any{t.assertUUID()}, "updates": []any{setProperty(seqProperty, t.sent)},
	})
}

// send sends the number of a table's commit and settles its fate as well as a
// client can.
func (k *worker) send(ctx context.Context, t *table, kind string, seq int, body any) outcome {
	e := entry{Worker: k.index, Kind: kind, Events: 1, Object: t.uuid}
	var header map[string]string
	tries := 1
	if k.random.IntN(4) == 0 {
		e.Once = k.client.ids.New()
		header = map[string]string{"Idempotency-Key": e.Once.String()}
		tries = 10
	}
	for {
		a, outcome := k.client.change(ctx, e, "POST", t.path(), header, body)
		switch outcome {
		case acknowledged:
			t.acked = seq
			k.learn(t, seq, a)
			return outcome
		case refused:
			if tries == 1 || a.status != http.StatusServiceUnavailable {
				if tries > 1 {
					t.doubtful[seq] = true // an earlier try of the same key may be under way
				}
				return outcome
			}
		case unknown:
		}
		if tries--; tries <= 0 || ctx.Err() != nil {
			t.doubtful[seq] = true
			return outcome
		}
		pause(ctx, time.Duration(20+k.random.IntN(200))*time.Millisecond)
	}
}

// learn takes what the answer to a commit says, and holds it against what it has
// to say.
func (k *worker) learn(t *table, seq int, a answer) {
	d, err := parseDocument(a.body)
	if err != nil {
		k.client.books.complain("commit %d of %s: %v in %.200s", seq, t.name, err, a.body)
		return
	}
	// The answer of a replayed key shows the table as it is now.
	if got := d.seq(seqProperty); got != seq && !t.doubtful[got] {
		k.client.books.complain("commit %d of %s was acknowledged with %d", seq, t.name, got)
	}
	t.snapshot, t.sequence = max(d.Metadata.Snapshot, 0), d.Metadata.Sequence
}

// append writes files as an engine does, and commits a snapshot of them.
func (k *worker) append(ctx context.Context, t *table) {
	t.sent++
	seq := t.sent
	id := int64(1+seq)<<20 | int64(k.random.IntN(1<<20))
	base := fmt.Sprintf("%s/data/%d", t.location, id)
	data, manifest, list := base+".parquet", fmt.Sprintf("%s/metadata/m-%d.avro", t.location, id), fmt.Sprintf("%s/metadata/snap-%d.avro", t.location, id)
	for location, content := range map[string][]byte{data: []byte("data"), manifest: manifesttest.Manifest(data), list: manifesttest.List(manifest)} {
		file := pathOf(location)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, 0o644)); err != nil {
			k.client.books.complain("write %s: %v", file, err)
			return
		}
	}
	snapshot := map[string]any{
		"snapshot-id": id, "sequence-number": t.sequence + 1, "timestamp-ms": time.Now().UnixMilli(), "manifest-list": list, "schema-id": 0,
		"summary": map[string]string{"operation": "append", "added-data-files": "1"},
	}
	var head any
	if t.snapshot != 0 {
		snapshot["parent-snapshot-id"], head = t.snapshot, t.snapshot
	}
	k.send(ctx, t, "append", seq, map[string]any{
		"requirements": []any{t.assertUUID(), map[string]any{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": head}},
		"updates": []any{
			map[string]any{"action": "add-snapshot", "snapshot": snapshot},
			map[string]any{"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": id},
			setProperty(seqProperty, seq),
		},
	})
}

// contend commits to a table that all others commit to.
func (k *worker) contend(ctx context.Context, i int) {
	t, book := k.works.shared[i], &k.shared[i]
	book.sent++
	property := "chaos.w" + strconv.Itoa(k.index)
	a, outcome := k.client.change(ctx, entry{Worker: k.index, Kind: "contended", Events: 1, Object: t.uuid}, "POST", t.path(), nil, map[string]any{
		"requirements": []any{t.assertUUID()}, "updates": []any{setProperty(property, book.sent)},
	})
	switch outcome {
	case unknown:
		book.doubtful[book.sent] = true
	case acknowledged:
		book.acked = book.sent
		if d, err := parseDocument(a.body); err != nil || d.seq(property) != book.sent && !book.doubtful[d.seq(property)] {
			k.client.books.complain("commit %d of worker %d to %s was acknowledged with %d (%v)", book.sent, k.index, t.name, d.seq(property), err)
		}
	case refused:
	}
}

// transact commits to two tables of a warehouse at once.
func (k *worker) transact(ctx context.Context, t *table) {
	var other *table
	for _, o := range k.tables {
		if o != t && o.home == t.home {
			other = o
		}
	}
	if other == nil {
		k.commit(ctx, t)
		return
	}
	both := []*table{t, other}
	var changes []any
	for _, t := range both {
		t.sent++
		changes = append(changes, map[string]any{
			"identifier": t.identifier(), "requirements": []any{t.assertUUID()}, "updates": []any{setProperty(seqProperty, t.sent)},
		})
	}
	_, outcome := k.client.change(ctx, entry{Worker: k.index, Kind: "transaction", Events: 2}, "POST", t.home.prefix+"/transactions/commit", nil, map[string]any{"table-changes": changes})
	for _, t := range both {
		switch outcome {
		case acknowledged:
			t.acked = t.sent
		case unknown:
			t.doubtful[t.sent] = true
		case refused:
		}
	}
}

func (k *worker) rename(ctx context.Context, t *table) {
	name, _ := k.name("r")
	_, outcome := k.client.change(ctx, entry{Worker: k.index, Kind: "rename", Events: 1, Object: t.uuid}, "POST", t.home.prefix+"/tables/rename", nil, map[string]any{
		"source": t.identifier(), "destination": map[string]any{"namespace": []string{t.namespace}, "name": name},
	})
	switch outcome {
	case acknowledged:
		t.name = name
	case unknown:
		k.forget(t) // under which name it lives, nobody knows
	case refused:
	}
}

// drop drops a table, with purge or without.
func (k *worker) drop(ctx context.Context, t *table) {
	kind, path := "drop", t.path()
	if k.random.IntN(2) == 0 {
		kind, path = "drop to purge", path+"?purgeRequested=true"
	}
	_, outcome := k.client.change(ctx, entry{Worker: k.index, Kind: kind, Events: 1, Object: t.uuid}, "DELETE", path, nil, nil)
	if outcome == refused {
		return
	}
	k.forget(t)
	if t.home.soft && outcome == acknowledged {
		k.dropped = append(k.dropped, grave{t, "table", t.uuid, time.Now()})
	}
}

// undrop brings something back: at once, or at the very moment of its expiry.
func (k *worker) undrop(ctx context.Context) {
	if len(k.dropped) == 0 {
		return
	}
	g := k.dropped[0]
	k.dropped = k.dropped[1:]
	kind := "undrop"
	if k.random.IntN(2) == 0 { // it races with the expiry
		kind = "undrop at expiry"
		pause(ctx, time.Until(g.at.Add(expiration+time.Duration(k.random.IntN(600)-300)*time.Millisecond)))
	}
	_, outcome := k.client.change(ctx, entry{Worker: k.index, Kind: kind, Events: 1, Object: g.id}, "POST", g.home.undropPath(), nil, map[string]any{
		"targets": []any{map[string]any{"type": g.kind, "id": g.id.String()}},
	})
	if outcome == acknowledged && g.kind == "table" {
		k.tables = append(k.tables, g.table)
	}
}

// view makes a view or drops one.
func (k *worker) view(ctx context.Context) {
	if len(k.views) < 2 {
		name, _ := k.name("v")
		t := &table{home: k.homes[k.random.IntN(len(k.homes))], namespace: home(k.index), name: name}
		a, outcome := k.client.change(ctx, entry{Worker: k.index, Kind: "create view", Events: 1}, "POST", t.home.namespacePath(t.namespace)+"/views", nil, viewBody(name))
		if outcome != acknowledged {
			return
		}
		var d struct {
			Metadata struct {
				UUID ids.ID `json:"view-uuid"`
			}
		}
		if err := unmarshal(a.body, &d); err != nil {
			k.client.books.complain("create view: %v", err)
			return
		}
		k.views = append(k.views, grave{t, "view", d.Metadata.UUID, time.Time{}})
		return
	}
	g := k.views[0]
	k.views = k.views[1:]
	_, outcome := k.client.change(ctx, entry{Worker: k.index, Kind: "drop view", Events: 1, Object: g.id}, "DELETE", g.home.namespacePath(g.namespace)+"/views/"+g.name, nil, nil)
	if outcome == acknowledged && g.home.soft {
		g.at = time.Now()
		k.dropped = append(k.dropped, g)
	}
}

// tree makes a namespace with two tables and drops it whole.
func (k *worker) tree(ctx context.Context) {
	name, n := k.name("tree")
	w := k.homes[k.random.IntN(len(k.homes))]
	if _, outcome := k.client.change(ctx, entry{Worker: k.index, Kind: "create namespace", Events: 1}, "POST", w.prefix+"/namespaces", nil, map[string]any{"namespace": []string{name}}); outcome != acknowledged {
		return
	}
	for i := range 2 {
		k.client.change(ctx, entry{Worker: k.index, Kind: "create", Events: 1}, "POST", w.namespacePath(name)+"/tables", nil, createBody("t"+strconv.Itoa(i), n))
	}
	path := w.namespacePath(name) + "?recursive=true"
	if k.random.IntN(2) == 0 {
		path += "&purge=true"
	}
	_, outcome := k.client.change(ctx, entry{Worker: k.index, Kind: "drop tree"}, "DELETE", path, nil, nil)
	if w.soft && outcome == acknowledged {
		if id, found := k.client.droppedTree(ctx, w, name); found {
			k.dropped = append(k.dropped, grave{&table{home: w, namespace: name}, "namespace", id, time.Now()})
		}
	}
}

// look loads a table: it must show the newest acknowledged number, or one whose
// fate is not known, and its file must be there.
func (k *worker) look(ctx context.Context, t *table) {
	a, err := k.client.get(ctx, t.path())
	if err != nil {
		if ctx.Err() == nil {
			k.client.books.complain("load %s: %v", t.name, err)
		}
		return
	}
	if a.status != http.StatusOK {
		k.client.books.complain("load %s: %d %.300s", t.name, a.status, a.body)
		return
	}
	d, err := parseDocument(a.body)
	if err != nil {
		k.client.books.complain("load %s: %v", t.name, err)
		return
	}
	if got := d.seq(seqProperty); got != t.acked && !t.doubtful[got] {
		k.client.books.complain("%s shows commit %d; %d was acknowledged", t.name, got, t.acked)
	}
	t.snapshot, t.sequence = max(d.Metadata.Snapshot, 0), d.Metadata.Sequence
	if _, err := os.Stat(pathOf(d.MetadataLocation)); err != nil {
		// The pointer may have moved on meanwhile only if a doubtful commit was late.
		if len(t.doubtful) == 0 {
			k.client.books.complain("the pointer's file of %s: %v", t.name, err)
		}
	}
}

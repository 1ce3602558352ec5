package eventstore

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"golang.org/x/mod/sumdb/note"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// verifyPage is the number of positions, or numbers, of one short transaction.
const verifyPage = 1000

// maxProblems bounds the problems that a report spells out.
const maxProblems = 100

// Problem is one thing that is not as the log promises.
type Problem struct {
	Position int64 // 0 when it is not about one position
	What     string
}

func (p Problem) String() string {
	if p.Position == 0 {
		return p.What
	}
	return fmt.Sprintf("position %d: %s", p.Position, p.What)
}

// LogReport is the result of [Store.VerifyLog].
type LogReport struct {
	Size        int64    // positions that were verified
	Root        [32]byte // computed from the stored bytes
	Erased      int64    // events whose payload was erased; their leaves stand
	Checkpoints int64    // whose signature and root are right
	Unchecked   int64    // checkpoints whose root is right, but whose signer is not known
	Problems    []Problem
	Count       int64 // of problems, also of those not spelled out
}

// OK reports whether nothing was found.
func (r *LogReport) OK() bool { return r.Count == 0 }

func (r *LogReport) add(position int64, format string, args ...any) {
	r.Count++
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, Problem{Position: position, What: fmt.Sprintf(format, args...)})
	}
}

// VerifyLog reads the whole log as it stands at the call and checks all that
// it promises: dense positions, leaves that are the hashes of the stored
// bytes, whole commits, streams without gaps, logtime and epochs in order, the
// stored tree, the roots of head, epochs and checkpoints, the checkpoints'
// signatures, and that no commit is without a position. It pages in short
// transactions and never holds a snapshot. progress, if set, hears of each
// page. An error means that the log could not be read, not that it is wrong.
func (s *Store) VerifyLog(ctx context.Context, progress func(done, size int64)) (LogReport, error) {
	latest, err := s.LatestCheckpoint(ctx) // before the head, which only grows
	if err != nil {
		return LogReport{}, err
	}
	head, err := s.Head(ctx)
	if err != nil {
		return LogReport{}, err
	}
	v := &verifier{store: s, head: head, report: LogReport{}}
	v.cutOff(latest)
	if err := v.run(ctx, progress); err != nil {
		return LogReport{}, fmt.Errorf("verify the log: %w", err)
	}
	v.report.Size, v.report.Root = v.tree.size, v.tree.root()
	return v.report, nil
}

// verifier walks the log once.
type verifier struct {
	store  *Store
	head   Head
	report LogReport
	epochs []epochRow

	tree    frontier
	logtime time.Time
	epoch   int64
	commit  ids.ID // of the entry before
	next    int    // ordinal that must follow, 0 when the commit is complete
}

type epochRow struct {
	epoch, previousSize int64
	previousRoot        []byte
}

type verifyEntry struct {
	Entry
	eventID, stream ids.ID
	version         int64
	continues       bool
	accepted        bool
}

func (v *verifier) run(ctx context.Context, progress func(done, size int64)) error {
	if err := v.readEpochs(ctx); err != nil {
		return err
	}
	for v.tree.size < v.head.Size {
		before := v.tree.size
		page, err := v.readPage(ctx)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			v.report.add(before+1, "the log ends here, but its head says %d", v.head.Size)
			break
		}
		if err := v.page(ctx, page); err != nil {
			return err
		}
		if v.tree.size <= before {
			break // reported: the positions do not go on
		}
		if progress != nil {
			progress(v.tree.size, v.head.Size)
		}
	}
	if v.next != 0 {
		v.report.add(v.tree.size, "the log ends inside a commit")
	}
	if v.tree.size == v.head.Size && v.tree.root() != v.head.Root {
		v.report.add(0, "the root of the head is not the root of the leaves")
	}
	if v.epoch > v.head.Epoch {
		v.report.add(0, "the head is in epoch %d, the log in %d", v.head.Epoch, v.epoch)
	}
	if v.head.LogTime.Before(v.logtime) {
		v.report.add(0, "the head's logtime is before that of the last entry")
	}
	return v.unnumbered(ctx)
}

// cutOff finds a log that is shorter than what was signed in its epoch.
func (v *verifier) cutOff(latest []byte) {
	body, cut := splitNote(string(latest))
	if !cut {
		return
	}
	c, err := parseCheckpoint(body)
	if err == nil && c.Origin == Origin(v.head.LogID, v.head.Epoch) && c.Size > v.head.Size {
		v.report.add(0, "a checkpoint of size %d was signed in this epoch, but the log has %d positions", c.Size, v.head.Size)
	}
}

func (v *verifier) readEpochs(ctx context.Context) error {
	rows, err := v.store.readPool.Query(ctx, sqlReadEpochs)
	if err != nil {
		return err
	}
	v.epochs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (epochRow, error) {
		var e epochRow
		err := row.Scan(&e.epoch, &e.previousSize, &e.previousRoot, nil, nil)
		return e, err
	})
	return err
}

// readPage reads entries and their events; a missing event is left empty.
func (v *verifier) readPage(ctx context.Context) ([]verifyEntry, error) {
	rows, err := v.store.readPool.Query(ctx, sqlVerifyEntries, v.tree.size, v.head.Size, verifyPage)
	if err != nil {
		return nil, err
	}
	page, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (verifyEntry, error) {
		var e verifyEntry
		var event, stream pgtype.UUID
		var leaf []byte
		err := row.Scan(&e.Position, &e.AppendSeq, &e.CommitIndex, &event, &stream, &e.version, &e.Epoch, &e.LogTime,
			&leaf, &e.continues, &e.accepted)
		e.eventID, e.stream, e.LogTime = event.Bytes, stream.Bytes, e.LogTime.UTC()
		copy(e.Leaf[:], leaf)
		return e, err
	})
	if err != nil || len(page) == 0 {
		return nil, err
	}
	at := make(map[slot]int, len(page))
	seqs := make([]int64, 0, len(page))
	for i := range page {
		at[slot{page[i].AppendSeq, page[i].CommitIndex}] = i
		seqs = append(seqs, page[i].AppendSeq)
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	events, err := v.store.readPool.Query(ctx, sqlReadEvents, seqs[0], seqs[len(seqs)-1], seqs)
	if err != nil {
		return nil, err
	}
	defer events.Close()
	for events.Next() {
		row, err := scanStored(events)
		if err != nil {
			return nil, err
		}
		if i, wanted := at[slot{row.seq, row.CommitIndex}]; wanted {
			page[i].Record, page[i].Erased, page[i].dataSHA256 = row.Record, row.erased, row.hash
		}
	}
	return page, events.Err()
}

// page checks a page of entries and grows the tree by it.
func (v *verifier) page(ctx context.Context, page []verifyEntry) error {
	first := v.tree.size
	roots := map[int64][32]byte{first: v.tree.root()}
	wanted, err := v.signedSizes(ctx, first, first+int64(len(page)))
	if err != nil {
		return err
	}
	var nodes []node
	for i := range page {
		e := &page[i]
		if e.Position != v.tree.size+1 {
			v.report.add(e.Position, "it follows %d", v.tree.size)
			return nil
		}
		v.entry(e)
		nodes = append(nodes, v.tree.add(e.Leaf)...)
		if wanted[v.tree.size] {
			roots[v.tree.size] = v.tree.root()
		}
	}
	if err := v.nodes(ctx, nodes); err != nil {
		return err
	}
	return v.signed(ctx, first, roots)
}

// entry checks one entry against its event and its neighbours.
func (v *verifier) entry(e *verifyEntry) {
	p := e.Position
	switch {
	case e.Record.ID.IsNil():
		v.report.add(p, "its event %s is missing", e.eventID)
		v.next, v.commit = 0, ids.Nil
		return
	case e.Record.ID != e.eventID || e.Stream != e.stream || e.Version != e.version:
		v.report.add(p, "the entry is of event %s, the event table has %s", e.eventID, e.Record.ID)
	case e.Erased:
		v.report.Erased++
	case sha256.Sum256(e.Data) != e.dataSHA256:
		v.report.add(p, "the data of event %s was changed", e.eventID)
	}
	if leafOf(&e.Record, e.dataSHA256) != e.Leaf {
		v.report.add(p, "the leaf is not the hash of event %s", e.eventID)
	}
	if !e.continues && !e.accepted {
		v.report.add(p, "version %d of stream %s does not follow version %d", e.version, e.stream, e.version-1)
	}
	if e.CommitIndex != v.next || (v.next > 0 && e.CommitID != v.commit) {
		v.report.add(p, "event %d of commit %s stands where event %d was due", e.CommitIndex, e.CommitID, v.next)
	}
	v.commit, v.next = e.CommitID, e.CommitIndex+1
	if v.next >= e.CommitSize {
		v.next = 0
	}
	if e.LogTime.Before(v.logtime) {
		v.report.add(p, "its logtime is before that of the position before")
	}
	v.logtime = e.LogTime
	if want := v.epochAt(p); want != 0 && e.Epoch != want {
		v.report.add(p, "it is in epoch %d instead of %d", e.Epoch, want)
	}
	v.epoch = max(v.epoch, e.Epoch)
}

// epochAt is the epoch that a position belongs to.
func (v *verifier) epochAt(position int64) int64 {
	var epoch int64
	for _, e := range v.epochs {
		if position > e.previousSize {
			epoch = e.epoch
		}
	}
	return epoch
}

// nodes compares the stored inner nodes with the computed ones.
func (v *verifier) nodes(ctx context.Context, nodes []node) error {
	if len(nodes) == 0 {
		return nil
	}
	levels, indexes := make([]int16, len(nodes)), make([]int64, len(nodes))
	for i, n := range nodes {
		levels[i], indexes[i] = int16(n.level), n.index
	}
	rows, err := v.store.readPool.Query(ctx, sqlVerifyNodes, levels, indexes)
	if err != nil {
		return err
	}
	defer rows.Close()
	type key struct {
		level int16
		index int64
	}
	kept := map[key][]byte{}
	for rows.Next() {
		var k key
		var hash []byte
		if err := rows.Scan(&k.level, &k.index, &hash); err != nil {
			return err
		}
		kept[k] = hash
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for i, n := range nodes {
		if !slices.Equal(kept[key{levels[i], indexes[i]}], n.hash[:]) {
			v.report.add(0, "node %d of level %d of the stored tree is wrong or missing", n.index, n.level)
		}
	}
	return nil
}

// signedSizes tells at which sizes in a range a root was fixed by a checkpoint
// or by the end of an epoch.
func (v *verifier) signedSizes(ctx context.Context, low, high int64) (map[int64]bool, error) {
	sizes := map[int64]bool{}
	for _, e := range v.epochs {
		sizes[e.previousSize] = true
	}
	rows, err := v.store.readPool.Query(ctx, sqlReadCheckpoints, low, high)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var size int64
		if err := rows.Scan(nil, &size, nil, nil); err != nil {
			return nil, err
		}
		sizes[size] = true
	}
	return sizes, rows.Err()
}

// signed compares the roots that were fixed at sizes in (low, tree size], and
// at 0, with the computed ones.
func (v *verifier) signed(ctx context.Context, low int64, roots map[int64][32]byte) error {
	from := low + 1
	if low == 0 {
		from = 0
	}
	for _, e := range v.epochs {
		if root, known := roots[e.previousSize]; known && e.previousSize >= from && !slices.Equal(root[:], e.previousRoot) {
			v.report.add(0, "epoch %d was opened on another root at size %d", e.epoch, e.previousSize)
		}
	}
	rows, err := v.store.readPool.Query(ctx, sqlReadCheckpoints, from, v.tree.size)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var epoch, size int64
		var root []byte
		var text string
		if err := rows.Scan(&epoch, &size, &root, &text); err != nil {
			return err
		}
		if computed, known := roots[size]; known { // else it was signed after the head was read
			v.checkpoint(epoch, size, root, text, computed)
		}
	}
	return rows.Err()
}

func (v *verifier) checkpoint(epoch, size int64, root []byte, text string, computed [32]byte) {
	c, err := OpenCheckpoint([]byte(text), note.VerifierList(v.store.verifiers...))
	known := err == nil
	if !known {
		// A note whose signers are all unknown is not wrong; any other is.
		body, cut := splitNote(text)
		if !cut || !unknownSigner(err) {
			v.report.add(0, "the checkpoint of size %d in epoch %d is not rightly signed: %v", size, epoch, err)
			return
		}
		if c, err = parseCheckpoint(body); err != nil {
			v.report.add(0, "the checkpoint of size %d in epoch %d: %v", size, epoch, err)
			return
		}
	}
	switch {
	case c.Size != size || !slices.Equal(c.Root[:], root) || c.Origin != Origin(v.head.LogID, epoch):
		v.report.add(0, "the checkpoint of size %d in epoch %d says something else than its row", size, epoch)
	case c.Root != computed:
		v.report.add(0, "the checkpoint of size %d in epoch %d has another root: history was rewritten", size, epoch)
	case known:
		v.report.Checkpoints++
	default:
		v.report.Unchecked++
	}
}

// unnumbered looks for commits that the sequencer passed over.
func (v *verifier) unnumbered(ctx context.Context) error {
	rows, err := v.store.readPool.Query(ctx, sqlVerifyPartitions, v.head.Seen)
	if err != nil {
		return err
	}
	type span struct{ Low, High int64 }
	spans, err := pgx.CollectRows(rows, pgx.RowToStructByPos[span])
	if err != nil {
		return err
	}
	for _, sp := range spans {
		for low := max(1, sp.Low); low < sp.High && low <= v.head.Seen; low += 10 * verifyPage {
			high := min(low+10*verifyPage, sp.High, v.head.Seen+1) - 1
			rows, err := v.store.readPool.Query(ctx, sqlVerifyUnnumbered, low, high, v.head.Holes)
			if err != nil {
				return err
			}
			seqs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
			if err != nil {
				return err
			}
			for _, n := range seqs {
				v.report.add(0, "commit number %d has no position", n)
			}
		}
	}
	return nil
}

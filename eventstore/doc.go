// Package eventstore is the log: the one durable, ordered, provable history of
// everything that the catalog does (design section 3). It knows nothing of
// tables or warehouses; a [Record] is an event of some stream, and the read
// models hang on as [Projector].
//
// # A commit
//
// [Store.Append] is one pipelined batch in one implicit transaction, hence one
// network flight, at READ COMMITTED. Its lock order, the same for all commits
// and over all records of a commit:
//
//  1. commit id (es.commit);
//  2. idempotency key (es.idempotency);
//  3. all streams (es.stream) in one order by id, each in its mode: held or
//     asserted (FOR SHARE, see ADR 0021), advanced or shifted (an UPDATE),
//     created, or any of them exclusive (FOR UPDATE);
//  4. names, by folded key;
//  5. locations, bytewise;
//  6. other read models, by key;
//  7. the seal: draws the commit's number and inserts its events.
//
// Plain commits (one event on one open stream, nothing else) that wait at the
// same moment share a transaction, each with its own id, number and outcome:
// guards first, passing over those that are held, then the ids, then the seal
// (ADR 0009).
//
// A write that must meet a number of rows raises IC004 by itself, in SQL: the
// commit is under way before the client sees a count.
//
// When the answer is lost, the commit's id is burned ([Store.Burn]): a look-up
// that finds nothing proves nothing.
//
// # Order
//
// A commit takes no global lock. The [Sequencer] numbers it afterwards: one
// statement, hence one snapshot, reads the commits above the highest number
// seen and those that appeared in holes. A hole is dropped only by proof. The
// proof rests on three orders: an append owns a transaction id before it draws
// its number (the commit id is inserted first); a round reads the highest
// number, under the lock of the sequence's page (ADR 0015), *before* it locks the
// head, which gives it its own id; and only a later snapshot whose xmin is above
// that id speaks about numbers up to that one.
//
// # Invariants
//
// Each has a test named after it.
//
//   - AtomicUnits: the events of one commit stand at consecutive positions, in
//     their order, all or none.
//   - StreamOrder: the versions of a stream stand in the log as 1, 2, 3…
//   - Causality: whoever saw A when he made B finds A before B.
//   - ExactlyOnce: every committed event has one position, and nothing else has.
//   - Dense: positions are 1, 2, … size.
//   - AppendOnly: the application may neither change nor remove what is in
//     es.event and es.log_entry.
//   - SerialisationOrder (law 9): replaying the log in order of position meets
//     no conflict of any constraint. Hence no single statement that numbers
//     before it waits, no deferrable constraint, no trigger in es and rm.
//
// And of time and proof:
//
//   - LogTimeAscends with the position, whatever the clocks do.
//   - LeavesAreStored: a leaf is the hash of the stored bytes, the root that of
//     the leaves ([Store.VerifyLog]).
//   - EpochsOpenByThemselves: positions of two histories of the database never
//     share an epoch.
//
// # Words
//
// A stream is one life of one object. The guard is its row in es.stream, whose
// version, pointer and mark (the id of its last event) move together. The seal
// is the last statement of an append. To burn is to settle a commit's fate by
// taking its id. A number (append_seq) is drawn by the seal and has gaps; a
// position is given by the sequencer and has none. A hole is a number drawn
// but not yet visible. The head is the sequencer's row. An epoch is one
// unbroken history of positions.
package eventstore

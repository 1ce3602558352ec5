// Package workers holds what the server does later and by itself: River jobs,
// one file a kind. It ends what was dropped softly when its time is over, and
// purges: it deletes the files of tables and views that were dropped so.
//
// A job carries ids, never state, and finds out what there is to do when it runs;
// it may run twice, at the same time too, and be ended at any moment. The truth
// is in the read models: rm.dropped and rm.dropped_namespace say what expires and
// what waits to be purged, a job is only what brings it about, and the sweep makes
// jobs that are missing, after a restore or a rebuild.
//
// Invariants:
//
//   - A job is inserted by the commit that asks for it ([Enqueuer]), neither
//     unique nor with a notice: a commit never waits for another one's job.
//     Workers poll.
//   - What a process ran that was killed goes on elsewhere within a minute: each
//     process says every ten seconds that it lives, and what a silent one ran is
//     taken up ([Workers.rescue]). A job may hence run twice at a time, when a
//     process was only held up.
//   - Periodic work ([Chore], [periodic]) is one job at a time for all instances;
//     the elected one makes it, any one does it.
//   - Nothing is deleted before purge-started has committed, and only below the
//     claims of the object, which nobody else can take until purged has.
//   - A run deletes while it is sure to hold the lease of its drop, and purged is
//     said when nobody can get that any more: what is deleted below a claim is
//     deleted before the claim is free (ADR 0014).
//   - A manifest goes after the files that it names, a manifest list after its
//     manifests, and the metadata file last of all: whenever a run ends, the next
//     one finds what is left.
//   - What metadata names elsewhere is reported and not touched (law 5).
package workers

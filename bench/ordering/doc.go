// Package ordering compares ways to give the events of concurrent commits one
// order that a reader can follow:
//
//   - naive cursor: a bigserial and "WHERE id > cursor". Cheap, and it loses
//     events: a number is drawn before its commit becomes visible.
//   - global lock: every commit moves one counter row, so commits stand in one
//     queue across their fsync. Safe and slow.
//   - sequencer: package eventstore. Commits take no global lock and get their
//     positions afterwards.
//
// Each is run without and with an old snapshot, which keeps dead rows from
// being removed as a long report or a dump would. Two of a hundred commits stay
// open for up to 60 ms after they drew their number, and one in ten of those is
// rolled back. Run it with `./task bench:ordering`; look at ratios, not rates.
package ordering

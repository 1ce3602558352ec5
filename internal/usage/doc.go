// Package usage counts what is asked of the server: by route, status, warehouse
// and project, in memory, for a request pays no more than a look-up and an
// atomic addition. The counters are added to an operational table at intervals,
// hour by hour; queries reads it. What was counted since the last interval is
// lost when a process is killed: these are statistics, and history is in the
// log.
package usage

// Package logfile writes the log as lines, each a CloudEvent in structured mode:
// to the standard output, or to a file below a configured folder, from where a
// shipper takes it elsewhere.
//
// A batch is written at once and synced before it is acknowledged. A file that
// grows beyond max-file-bytes is renamed, to its name with a number behind it, and
// another one begun; what is renamed is never written again. A line that a crash left unfinished is cut off before the
// next one is written.
//
// Each instance writes below its own folder, so that with several instances an
// event stands in the file of the one that published it, and in more than one
// only if an answer was lost. Two processes on one file keep out of each other's
// way by a lock for each batch, and whoever finds the file changed since says so
// ([publishers.ErrMismatch]).
package logfile

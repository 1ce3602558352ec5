// Package reports keeps the metrics reports that engines send after scans and
// commits (Iceberg REST, ReportMetricsRequest): received in memory, written to
// the operational table ops.metrics_report beside the requests, read page by
// page, newest first, and removed when their time is over.
//
// Invariants: a report that was taken is written before an orderly end of the
// process, or said to be lost; the memory for those that wait is bounded, and
// beyond it reports are refused, not dropped; a report is stored as the bytes
// that came; nothing here touches the log.
package reports

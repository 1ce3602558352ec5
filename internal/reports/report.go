package reports

import (
	"errors"
	"time"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// The types of report that the specification names. Others are kept too.
const (
	Scan   = "scan-report"
	Commit = "commit-report"
)

const (
	// MaxReport bounds one report, in bytes. Java's are a few KiB; only a filter
	// of very many values comes near.
	MaxReport = 1 << 20
	// MaxType bounds the name of a report's type, in bytes.
	MaxType = 128
)

// Report is one metrics report.
type Report struct {
	ID         ids.ID // ascends with the time of receipt
	Warehouse  ids.ID
	Table      ids.ID // the object, not the client's table-uuid
	ReceivedAt time.Time
	Actor      ids.ID // who sent it, by pseudonym
	Type       string // [Scan], [Commit] or what a newer client says
	Snapshot   *int64 // the snapshot that was read or made; nil if not told
	Body       []byte // the JSON object, as sent
}

// Filter chooses among the reports of a table.
type Filter struct {
	Table    ids.ID
	Type     string // empty for all
	Snapshot *int64 // nil for all
	// Before continues a list behind the report of this id; Nil begins with the
	// newest.
	Before ids.ID
}

// ErrFull says that too many reports wait to be written: try again soon.
var ErrFull = errors.New("too many metrics reports wait to be stored")

// ErrClosed says that the server is about to end.
var ErrClosed = errors.New("metrics reports are no longer taken")

// ErrRefused says that the database refuses a report for what it holds.
var ErrRefused = errors.New("the database refuses the report")

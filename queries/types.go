package queries

import (
	"encoding/json"
	"time"

	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections/document"
)

// Identifier names a table or view as the client wrote it.
type Identifier struct {
	Namespace []string
	Name      string
}

// LoadOptions are the parameters of a load that change its answer.
type LoadOptions struct {
	IfNoneMatch []string // entity tags as sent, quotes and W/ included; "*" matches any
	Snapshots   string   // "all" (or empty) or "refs"; anything else is 400
	Delegation  []string // items of X-Iceberg-Access-Delegation
	AcceptGzip  bool     // the client takes a gzip answer: the packed form is made ready
}

// Table is the answer to a load: what LoadTableResult is spliced from.
type Table struct {
	ID      ids.ID
	Mark    ids.ID // id of the event that made this state
	Pointer string // metadata location
	ETag    string // quoted entity tag, ready for the header
	// NotModified is true when one of the caller's tags is ETag: answer 304.
	// Document is then empty.
	NotModified bool
	Document    Document
	Config      map[string]string
}

// Document is a metadata document in its stored forms. The bytes are shared
// and must not be changed.
type Document struct {
	plain  []byte
	packed *document.Packed
}

// Plain returns the document, verbatim. It is empty if AcceptGzip was set.
func (d Document) Plain() []byte { return d.plain }

// Packed returns the compressed form, which can be spliced into a gzip member.
// It is nil unless AcceptGzip was set.
func (d Document) Packed() *document.Packed { return d.packed }

// Page asks for a part of a list. A client pages only if it sends pageToken,
// empty or not (iceberg-rest 1.6): Token nil means everything in one answer.
type Page struct {
	Token *string
	Size  *int // nil means the default; below 1 is 400
}

// Tables is one page of tables.
type Tables struct {
	Identifiers []Identifier
	IDs         []ids.ID // of the same places
	Next        string   // next-page-token; empty on the last page and without paging
}

// Namespaces is one page of the direct children of a namespace or warehouse.
type Namespaces struct {
	Namespaces [][]string
	IDs        []ids.ID // of the same places
	Next       string   // next-page-token; empty on the last page and without paging
}

// Namespace is the answer to a load of a namespace.
type Namespace struct {
	ID         ids.ID
	Levels     []string
	Properties json.RawMessage // JSON object of strings
	// Location is where tables without a location of their own go, if the
	// properties do not say: Trino takes a namespace without one for a reason to
	// create tables before it has written them.
	Location  string
	Protected bool
}

// Config is what GET /v1/config says about a warehouse, besides what the
// server adds (endpoints, idempotency-key-lifetime).
type Config struct {
	Warehouse Warehouse
	Defaults  map[string]string
	Overrides map[string]string
}

// ServerInfo is what GET /management/v1/info says about the stored state.
type ServerInfo struct {
	ID             ids.ID // Nil before bootstrap
	Bootstrapped   bool
	DefaultProject ids.ID // Nil before bootstrap
}

// Warehouse is one warehouse as the management API shows it.
type Warehouse struct {
	ID             ids.ID
	Project        string // id by which callers name its project
	Name           string
	Active         bool
	Protected      bool
	StorageProfile json.RawMessage // as stored; holds no secret (law 6)
	DefaultFormat  int
	AllowedFormats []int
	// ExpirationSeconds is how long a dropped object can come back; nil where a
	// drop is for good.
	ExpirationSeconds *int64
	// UndoWindowSeconds is how long the metadata files of former states are kept;
	// nil where the server's setting holds.
	UndoWindowSeconds *int64
	UpdatedAt         time.Time
}

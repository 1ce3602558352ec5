package projections

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections/document"
)

//go:embed sql/resolve.sql
var resolveSQL string

//go:embed sql/resolve_objects.sql
var resolveObjectsSQL string

// errAnswer means that the statement's answer makes no sense; asking again
// would not help.
var errAnswer = errors.New("unexpected answer")

// arguments are the columns of a batch of queries.
type arguments struct {
	warehouse, project  [][16]byte
	warehouseName       []string
	path, parent, name  []string
	hint, warehouseHint [][16]byte
	details             []bool
	object              [][16]byte
	objects             bool              // some query names an object by id
	known               []*WarehouseFacts // what warehouseHint was taken from
	seats               []seat            // by ordinality: whose query it is
}

type seat struct{ call, query int }

func (r *SharedResolver) arguments(calls [][]Query) *arguments {
	n := 0
	for _, queries := range calls {
		n += len(queries)
	}
	a := &arguments{
		warehouse: make([][16]byte, n), project: make([][16]byte, n), warehouseName: make([]string, n),
		path: make([]string, n), parent: make([]string, n), name: make([]string, n),
		hint: make([][16]byte, n), warehouseHint: make([][16]byte, n), details: make([]bool, n),
		object: make([][16]byte, n), known: make([]*WarehouseFacts, n), seats: make([]seat, n),
	}
	i := 0
	for c, queries := range calls {
		for j := range queries {
			a.set(r, i, &queries[j])
			a.seats[i] = seat{c, j}
			i++
		}
	}
	return a
}

// unknown stands for a name that cannot exist: one that cannot even be sent
// would fail the statement of everybody. No folded name holds it.
const unknown = "\x01"

func foldKnown(name string) string {
	if name == "" {
		return ""
	}
	if !catalog.Addressable(name) {
		return unknown
	}
	return catalog.FoldName(name)
}

func (a *arguments) set(r *SharedResolver, i int, q *Query) {
	a.warehouse[i], a.project[i] = q.Warehouse, q.Project
	a.warehouseName[i] = foldKnown(q.WarehouseName)
	a.name[i] = foldKnown(q.Name)
	if len(q.Namespace) > 0 {
		path := catalog.Namespace(q.Namespace)
		if path.Validate() != nil {
			a.path[i] = unknown
		} else {
			a.path[i], a.parent[i] = path.Fold(), path.Parent().Fold()
		}
	}
	a.hint[i] = q.Hint
	if q.WarehouseName == "" {
		if a.known[i] = r.warehouse(q.Warehouse); a.known[i] != nil {
			a.warehouseHint[i] = a.known[i].Mark
		}
	}
	a.details[i] = q.Details || q.Name == "" && q.Object.IsNil()
	a.object[i] = q.Object
	a.objects = a.objects || !q.Object.IsNil()
}

// resolveRow is one row of the answer.
type resolveRow struct {
	ord int64
	now time.Time

	server, project, authzMark pgtype.UUID
	projectName                pgtype.Text

	warehouse        pgtype.UUID
	warehouseVersion pgtype.Int8
	warehouseMark    pgtype.UUID
	warehouseName    pgtype.Text
	active           pgtype.Bool
	wProtected       pgtype.Bool
	profile          []byte
	defaultFormat    pgtype.Int2
	allowedFormats   []int16
	updatedAt        pgtype.Timestamptz

	namespace        pgtype.UUID
	ancestors        [][16]byte
	nProtected       pgtype.Bool
	namespaceVersion pgtype.Int8
	namespaceMark    pgtype.UUID
	levels           []string
	properties       []byte
	parent           pgtype.UUID
	parentAncestors  [][16]byte

	tabular        pgtype.UUID
	kind, name     pgtype.Text
	tableUUID      pgtype.UUID
	tProtected     pgtype.Bool
	tabularVersion pgtype.Int8
	tabularMark    pgtype.UUID
	pointer        pgtype.Text

	form   pgtype.Int2
	crc32  pgtype.Int8
	length pgtype.Int8
	body   []byte
}

func (w *resolveRow) targets() []any {
	return []any{
		&w.ord, &w.now, &w.server, &w.project, &w.authzMark, &w.projectName,
		&w.warehouse, &w.warehouseVersion, &w.warehouseMark, &w.warehouseName, &w.active, &w.wProtected,
		&w.profile, &w.defaultFormat, &w.allowedFormats, &w.updatedAt,
		&w.namespace, &w.ancestors, &w.nProtected, &w.namespaceVersion, &w.namespaceMark, &w.levels, &w.properties,
		&w.parent, &w.parentAncestors,
		&w.tabular, &w.kind, &w.name, &w.tableUUID, &w.tProtected, &w.tabularVersion, &w.tabularMark, &w.pointer,
		&w.form, &w.crc32, &w.length, &w.body,
	}
}

// read runs the statement and seats its rows.
func (a *arguments) read(ctx context.Context, r *SharedResolver, facts [][]Facts) error {
	sql := resolveSQL
	args := []any{
		a.warehouse, a.project, a.warehouseName, a.path, a.parent, a.name, a.hint, a.warehouseHint, a.details,
		[16]byte(catalog.MainBranch),
	}
	if a.objects {
		sql, args = resolveObjectsSQL, append(args, a.object)
	}
	rows, err := r.db.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var w resolveRow
	targets := w.targets()
	n := 0
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return fmt.Errorf("%w: %w", errAnswer, err)
		}
		if w.ord < 1 || int(w.ord) > len(a.seats) {
			return fmt.Errorf("%w: row %d of %d", errAnswer, w.ord, len(a.seats))
		}
		i := int(w.ord) - 1
		f := &facts[a.seats[i].call][a.seats[i].query]
		if err := w.facts(r, f, a.known[i], a.hint[i]); err != nil {
			return err
		}
		n++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if n != len(a.seats) {
		return fmt.Errorf("%w: %d rows for %d queries", errAnswer, n, len(a.seats))
	}
	return nil
}

func (w *resolveRow) facts(r *SharedResolver, f *Facts, known *WarehouseFacts, hint ids.ID) error {
	*f = Facts{Now: w.now.UTC()}
	f.Server = ServerFacts{ID: w.server.Bytes, Bootstrapped: w.server.Valid}
	f.Project = ProjectFacts{Exists: w.project.Valid, ID: w.project.Bytes, Name: w.projectName.String, AuthzMark: w.authzMark.Bytes}
	if w.warehouse.Valid {
		if err := w.warehouseFacts(r, f, known); err != nil {
			return err
		}
	}
	w.namespaceFacts(&f.Namespace)
	if w.tabular.Valid {
		t := TabularFacts{
			Exists: true, ID: w.tabular.Bytes, Kind: w.kind.String, Name: w.name.String, TableUUID: ids.ID(w.tableUUID.Bytes).String(),
			Version: w.tabularVersion.Int64, Mark: w.tabularMark.Bytes, Protected: w.tProtected.Bool,
			Pointer: w.pointer.String,
		}
		t.Fresh = t.Mark != hint
		if w.form.Valid && w.form.Int16 == document.FormDeflate {
			t.Document = &document.Packed{CRC32: uint32(w.crc32.Int64), Length: w.length.Int64, Deflate: w.body}
			w.body = nil // the next row gets bytes of its own
		}
		f.Table = t
	}
	return nil
}

// warehouseFacts takes what the mark fixes from the row, if it is there, or
// from what the instance knew when it asked.
func (w *resolveRow) warehouseFacts(r *SharedResolver, f *Facts, known *WarehouseFacts) error {
	mark := ids.ID(w.warehouseMark.Bytes)
	if !w.active.Valid {
		if known == nil || known.Mark != mark || known.ID != ids.ID(w.warehouse.Bytes) {
			return fmt.Errorf("%w: warehouse %s without its facts", errAnswer, ids.ID(w.warehouse.Bytes))
		}
		f.Warehouse = *known
		return nil
	}
	formats := make([]int, len(w.allowedFormats))
	for i, v := range w.allowedFormats {
		formats[i] = int(v)
	}
	seen := &WarehouseFacts{
		Exists: true, ID: w.warehouse.Bytes, Name: w.warehouseName.String, Active: w.active.Bool,
		Version: w.warehouseVersion.Int64, Mark: mark, StorageProfile: w.profile,
		DefaultFormat: int(w.defaultFormat.Int16), AllowedFormats: formats,
		UpdatedAt: w.updatedAt.Time.UTC(), Protected: w.wProtected.Bool,
	}
	w.profile = nil // the next row gets bytes of its own
	r.warehouses.Store(seen.ID, seen)
	f.Warehouse = *seen
	return nil
}

func (w *resolveRow) namespaceFacts(n *NamespaceFacts) {
	switch {
	case w.namespace.Valid:
		*n = NamespaceFacts{
			Exists: true, ID: w.namespace.Bytes, Levels: w.levels, Ancestors: idsOf(w.ancestors),
			Version: w.namespaceVersion.Int64, Mark: w.namespaceMark.Bytes, Protected: w.nProtected.Bool, Properties: w.properties,
		}
		if len(n.Ancestors) > 0 {
			n.ParentID = n.Ancestors[0]
		}
		w.levels, w.properties = nil, nil
	case w.parent.Valid:
		*n = NamespaceFacts{ParentExists: true, ParentID: w.parent.Bytes, Ancestors: idsOf(w.parentAncestors)}
	}
}

func idsOf(list [][16]byte) []ids.ID {
	if len(list) == 0 {
		return nil
	}
	out := make([]ids.ID, len(list))
	for i, id := range list {
		out[i] = id
	}
	return out
}

package projections

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections/document"
)

//go:embed sql/resolve.sql
var resolveSQL string

//go:embed sql/resolve_lean.sql
var resolveLeanSQL string

//go:embed sql/resolve_one.sql
var resolveOneSQL string

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
	details, spelling   []bool
	object              [][16]byte
	objects             bool              // some query names an object by id
	lean                bool              // every query fits the lean statement
	known               []*knownWarehouse // what warehouseHint was taken from
	seats               []seat            // by ordinality: whose query it is
}

// knownWarehouse is all that a warehouse's mark fixes.
type knownWarehouse struct {
	facts           WarehouseFacts
	project, server ids.ID
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
		hint: make([][16]byte, n), warehouseHint: make([][16]byte, n), details: make([]bool, n), spelling: make([]bool, n),
		object: make([][16]byte, n), known: make([]*knownWarehouse, n), seats: make([]seat, n), lean: true,
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
// would fail the statement of everybody. No name and no path is the bare
// separator.
const unknown = catalog.Separator

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
			a.warehouseHint[i] = a.known[i].facts.Mark
		}
	}
	a.details[i] = q.Details || q.Name == "" && q.Object.IsNil()
	a.spelling[i] = q.Spelling
	a.object[i] = q.Object
	a.objects = a.objects || !q.Object.IsNil()
	a.lean = a.lean && a.known[i] != nil && !a.details[i] && q.Object.IsNil()
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
	expiration       *int64
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
		&w.profile, &w.defaultFormat, &w.allowedFormats, &w.updatedAt, &w.expiration,
		&w.namespace, &w.ancestors, &w.nProtected, &w.namespaceVersion, &w.namespaceMark, &w.levels, &w.properties,
		&w.parent, &w.parentAncestors,
		&w.tabular, &w.kind, &w.name, &w.tableUUID, &w.tProtected, &w.tabularVersion, &w.tabularMark, &w.pointer,
		&w.form, &w.crc32, &w.length, &w.body,
	}
}

// read runs the full statement and seats its rows.
func (a *arguments) read(ctx context.Context, r *SharedResolver, facts [][]Facts) error {
	sql := resolveSQL
	details := make([]bool, len(a.details))
	for i := range details {
		details[i] = a.details[i] || a.spelling[i]
	}
	args := []any{
		a.warehouse, a.project, a.warehouseName, a.path, a.parent, a.name, a.hint, a.warehouseHint, details,
		[16]byte(catalog.MainBranch),
	}
	if a.objects {
		sql, args = resolveObjectsSQL, append(args, a.object)
	}
	var w resolveRow
	return a.rows(ctx, r.db, sql, args, w.targets(), func(i int) error {
		return w.facts(r, a.seat(facts, i), a.known[i], a.hint[i])
	})
}

// readLean runs the lean statement. It returns the calls whose answer has to
// be asked for in full, in order.
func (a *arguments) readLean(ctx context.Context, r *SharedResolver, facts [][]Facts) (again []int, err error) {
	projects := make([][16]byte, len(a.known))
	for i, k := range a.known {
		projects[i] = k.project
	}
	args := []any{a.warehouse, projects, a.path, a.name, a.hint, [16]byte(catalog.MainBranch), a.spelling}
	var w resolveRow
	err = a.rows(ctx, r.db, resolveLeanSQL, args, w.leanTargets(), func(i int) error {
		if !w.leanFacts(a.known[i], a.hint[i], a.seat(facts, i)) {
			if call := a.seats[i].call; !slices.Contains(again, call) {
				again = append(again, call)
			}
		}
		return nil
	})
	slices.Sort(again)
	return again, err
}

// readOne asks for a single query. It reports false if the answer rests on
// something else than what the instance knows, and has to be asked for in full.
func (a *arguments) readOne(ctx context.Context, r *SharedResolver, facts [][]Facts) (bool, error) {
	known := a.known[0]
	rows, err := r.db.Query(ctx, resolveOneSQL, a.warehouse[0], [16]byte(known.project), a.path[0], a.name[0], a.hint[0],
		[16]byte(catalog.MainBranch), a.spelling[0])
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	var w resolveRow
	if err := rows.Scan(w.leanTargets()[1:]...); err != nil {
		return false, fmt.Errorf("%w: %w", errAnswer, err)
	}
	rows.Close()
	if err := rows.Err(); err != nil || !w.leanFacts(known, a.hint[0], a.seat(facts, 0)) {
		return false, err
	}
	return true, nil
}

// leanFacts makes the facts from a row of the lean statements and from what is
// known; it reports false if that is not what the row rests on.
func (w *resolveRow) leanFacts(known *knownWarehouse, hint ids.ID, f *Facts) bool {
	if ids.ID(w.warehouseMark.Bytes) != known.facts.Mark || !w.namespace.Valid {
		return false
	}
	*f = Facts{Now: w.now.UTC(), Warehouse: known.facts}
	f.Server = ServerFacts{ID: known.server, Bootstrapped: true}
	f.Project = ProjectFacts{Exists: w.authzMark.Valid, ID: known.project, AuthzMark: w.authzMark.Bytes}
	w.namespaceFacts(&f.Namespace)
	w.tabularFacts(&f.Table, hint)
	return true
}

func (a *arguments) seat(facts [][]Facts, i int) *Facts {
	return &facts[a.seats[i].call][a.seats[i].query]
}

// rows runs a statement that answers every query with one row, whose first
// column is the query's ordinality, and hands each to use.
func (a *arguments) rows(ctx context.Context, db Querier, sql string, args, targets []any, use func(i int) error) error {
	rows, err := db.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	ord := targets[0].(*int64)
	n := 0
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return fmt.Errorf("%w: %w", errAnswer, err)
		}
		if *ord < 1 || int(*ord) > len(a.seats) {
			return fmt.Errorf("%w: row %d of %d", errAnswer, *ord, len(a.seats))
		}
		if err := use(int(*ord) - 1); err != nil {
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

func (w *resolveRow) leanTargets() []any {
	return []any{
		&w.ord, &w.now, &w.warehouseMark, &w.authzMark, &w.namespace, &w.ancestors, &w.nProtected, &w.levels,
		&w.tabular, &w.kind, &w.name, &w.tableUUID, &w.tProtected, &w.tabularVersion, &w.tabularMark, &w.pointer,
		&w.form, &w.crc32, &w.length, &w.body,
	}
}

func (w *resolveRow) facts(r *SharedResolver, f *Facts, known *knownWarehouse, hint ids.ID) error {
	*f = Facts{Now: w.now.UTC()}
	f.Server = ServerFacts{ID: w.server.Bytes, Bootstrapped: w.server.Valid}
	f.Project = ProjectFacts{Exists: w.project.Valid, ID: w.project.Bytes, Name: w.projectName.String, AuthzMark: w.authzMark.Bytes}
	if w.warehouse.Valid {
		if err := w.warehouseFacts(r, f, known); err != nil {
			return err
		}
	}
	w.namespaceFacts(&f.Namespace)
	w.tabularFacts(&f.Table, hint)
	return nil
}

func (w *resolveRow) tabularFacts(t *TabularFacts, hint ids.ID) {
	if !w.tabular.Valid {
		return
	}
	*t = TabularFacts{
		Exists: true, ID: w.tabular.Bytes, Kind: w.kind.String, Name: w.name.String, TableUUID: ids.ID(w.tableUUID.Bytes).String(),
		Version: w.tabularVersion.Int64, Mark: w.tabularMark.Bytes, Protected: w.tProtected.Bool,
		Pointer: w.pointer.String,
	}
	t.Fresh = t.Mark != hint
	if w.form.Valid && w.form.Int16 == document.FormDeflate {
		t.Document = &document.Packed{CRC32: uint32(w.crc32.Int64), Length: w.length.Int64, Deflate: w.body}
		w.body = nil // the next row gets bytes of its own
	}
}

// warehouseFacts takes what the mark fixes from the row, if it is there, or
// from what the instance knew when it asked.
func (w *resolveRow) warehouseFacts(r *SharedResolver, f *Facts, known *knownWarehouse) error {
	mark := ids.ID(w.warehouseMark.Bytes)
	if !w.active.Valid {
		if known == nil || known.facts.Mark != mark || known.facts.ID != ids.ID(w.warehouse.Bytes) {
			return fmt.Errorf("%w: warehouse %s without its facts", errAnswer, ids.ID(w.warehouse.Bytes))
		}
		f.Warehouse = known.facts
		return nil
	}
	formats := make([]int, len(w.allowedFormats))
	for i, v := range w.allowedFormats {
		formats[i] = int(v)
	}
	f.Warehouse = WarehouseFacts{
		Exists: true, ID: w.warehouse.Bytes, Name: w.warehouseName.String, Active: w.active.Bool,
		Version: w.warehouseVersion.Int64, Mark: mark, StorageProfile: w.profile,
		DefaultFormat: int(w.defaultFormat.Int16), AllowedFormats: formats, ExpirationSeconds: w.expiration,
		UpdatedAt: w.updatedAt.Time.UTC(), Protected: w.wProtected.Bool,
	}
	w.profile = nil // the next row gets bytes of its own
	r.warehouses.Store(f.Warehouse.ID, &knownWarehouse{facts: f.Warehouse, project: f.Project.ID, server: f.Server.ID})
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

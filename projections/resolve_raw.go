package projections

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/catalog"
)

// forRaw returns the pool if its connections are ones for [arguments.readRaw]: not
// of another mode (a pooler stands between), and not traced; else nil.
func forRaw(db Querier) *pgxpool.Pool {
	pool, ok := db.(*pgxpool.Pool)
	if !ok {
		return nil
	}
	if c := pool.Config().ConnConfig; c.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement || c.Tracer != nil {
		return nil
	}
	return pool
}

const (
	oneStatement = "icecore_resolve_one"
	oneColumns   = 19
)

// allBinary: every parameter, or column, is in PostgreSQL's binary format.
var allBinary = []int16{pgtype.BinaryFormatCode}

// readRaw is readOne on a connection's prepared statement, with parameters and
// columns in their binary form: to plan how to encode seven values and to decode
// nineteen, anew for each request, costs a lone one a tenth of its time. done is
// false if this is not the way for the request, or the server refused it, and
// readOne will hear why.
func (a *arguments) readRaw(ctx context.Context, r *SharedResolver, facts [][]Facts) (settled, done bool, err error) {
	if r.raw == nil || a.spelling[0] {
		return false, false, nil
	}
	pooled, err := r.raw.Acquire(ctx)
	if err != nil {
		return false, true, err
	}
	defer pooled.Release()
	conn := pooled.Conn()
	row, err := a.askRaw(ctx, conn)
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused):
		// What it was prepared for may have changed.
		return false, false, conn.Deallocate(ctx, oneStatement)
	case err != nil:
		return false, true, err
	case row == nil:
		return false, true, nil
	}
	return row.leanFacts(a.known[0], a.hint[0], a.seat(facts, 0)), true, nil
}

// askRaw returns the row of the answer, or nil if there is none.
func (a *arguments) askRaw(ctx context.Context, conn *pgx.Conn) (row *resolveRow, err error) {
	statement, err := conn.Prepare(ctx, oneStatement, resolveOneSQL)
	if err != nil {
		return nil, err
	}
	branch, project := catalog.MainBranch, a.known[0].project
	answer := conn.PgConn().ExecStatement(ctx, statement, [][]byte{
		a.warehouse[0][:], project[:], []byte(a.path[0]), []byte(a.name[0]), a.hint[0][:], branch[:], {0},
	}, allBinary, allBinary)
	if answer.NextRow() {
		row = new(resolveRow)
		if err = row.decode(answer.Values()); err != nil {
			err = fmt.Errorf("%w: %w", errAnswer, err)
		}
	}
	if _, closeErr := answer.Close(); closeErr != nil {
		return nil, closeErr
	}
	return row, err
}

// epochOfPostgres is what its timestamps count from, in microseconds.
var epochOfPostgres = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// decode reads the columns of resolve_one.sql. They are gone when it returns.
func (w *resolveRow) decode(columns [][]byte) error {
	if len(columns) != oneColumns {
		return fmt.Errorf("%d columns", len(columns))
	}
	d := rawRow{columns: columns}
	w.now = epochOfPostgres.Add(time.Duration(d.number(8).Int64) * time.Microsecond)
	w.warehouseMark, w.authzMark, w.namespace = d.uuid(), d.uuid(), d.uuid()
	w.ancestors, w.nProtected = d.uuids(), d.boolean()
	if d.next() != nil {
		d.bad = true // levels, which were not asked for
	}
	w.tabular, w.kind, w.name, w.tableUUID, w.tProtected = d.uuid(), d.text(), d.text(), d.uuid(), d.boolean()
	w.tabularVersion, w.tabularMark, w.pointer = d.number(8), d.uuid(), d.text()
	form := d.number(2)
	w.form = pgtype.Int2{Int16: int16(form.Int64), Valid: form.Valid}
	w.crc32, w.length, w.body = d.number(8), d.number(8), bytes.Clone(d.next())
	if d.bad {
		return errors.New("a column of another form")
	}
	return nil
}

// rawRow reads one column after the other.
type rawRow struct {
	columns [][]byte
	bad     bool // some column was not of its form
}

func (d *rawRow) next() []byte {
	column := d.columns[0]
	d.columns = d.columns[1:]
	return column
}

func (d *rawRow) uuid() (u pgtype.UUID) {
	if column := d.next(); column != nil {
		u.Valid = true
		d.bad = d.bad || copy(u.Bytes[:], column) != len(u.Bytes) || len(column) != len(u.Bytes)
	}
	return u
}

func (d *rawRow) text() (t pgtype.Text) {
	if column := d.next(); column != nil {
		t.String, t.Valid = string(column), true
	}
	return t
}

func (d *rawRow) boolean() (b pgtype.Bool) {
	if column := d.next(); column != nil {
		d.bad = d.bad || len(column) != 1
		b.Bool, b.Valid = len(column) == 1 && column[0] != 0, true
	}
	return b
}

// number reads an integer of so many bytes.
func (d *rawRow) number(size int) (n pgtype.Int8) {
	column := d.next()
	switch {
	case column == nil:
		return n
	case len(column) != size:
		d.bad = true
	case size == 2:
		n.Int64 = int64(int16(binary.BigEndian.Uint16(column)))
	default:
		n.Int64 = int64(binary.BigEndian.Uint64(column))
	}
	n.Valid = true
	return n
}

// uuids reads an array of one dimension without nulls: the number of dimensions,
// whether there are nulls, the type; then the length and the first index, and each
// element behind its length.
func (d *rawRow) uuids() [][16]byte {
	const head, bounds, element = 12, 8, 4 + 16
	column := d.next()
	switch {
	case column == nil:
		return nil
	case len(column) == head && binary.BigEndian.Uint32(column) == 0:
		return [][16]byte{}
	case len(column) < head+bounds || binary.BigEndian.Uint32(column) != 1 || (len(column)-head-bounds)%element != 0:
		d.bad = true
		return nil
	}
	list := make([][16]byte, 0, (len(column)-head-bounds)/element)
	for column = column[head+bounds:]; len(column) > 0; column = column[element:] {
		if binary.BigEndian.Uint32(column) != 16 {
			d.bad = true
			return nil
		}
		list = append(list, [16]byte(column[4:element]))
	}
	return list
}

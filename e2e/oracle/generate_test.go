package oracle

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/icecore-catalog/icecore/iceberg"
)

// generator draws updates; most fit the document they are drawn for, some
// don't.
type generator struct {
	*rand.Rand
	now int64
}

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

// mostly is true with 9 of 10.
func (g *generator) mostly() bool { return g.IntN(10) > 0 }

func columnJSON(id int, name, typ string) string {
	return fmt.Sprintf(`{"id":%d,"name":%q,"required":false,"type":%s}`, id, name, typ)
}

// schema draws columns 1 to 3, which specs and orders refer to, and others.
func (g *generator) schema(version int) string {
	cols := []string{columnJSON(1, "id", `"long"`), columnJSON(2, "data", `"string"`), columnJSON(3, "ts", `"timestamp"`)}
	if g.IntN(12) == 0 {
		cols = cols[:g.IntN(3)]
	}
	types := []string{`"int"`, `"decimal(9, 2)"`, `"uuid"`, `"fixed[4]"`, `"date"`,
		`{"type":"list","element-id":%d,"element":"int","element-required":false}`,
		`{"type":"struct","fields":[{"id":%d,"name":"x","required":true,"type":"double"}]}`}
	if version == 3 || g.IntN(20) == 0 {
		types = append(types, `"timestamp_ns"`, `"variant"`)
	}
	for i := range g.IntN(3) {
		typ := types[g.IntN(len(types))]
		if strings.Contains(typ, "%d") {
			typ = fmt.Sprintf(typ, 60+i)
		}
		cols = append(cols, columnJSON(10+2*g.IntN(6)+20*i, fmt.Sprintf("c%d_%d", i, g.IntN(3)), typ))
	}
	return fmt.Sprintf(`{"type":"struct","schema-id":%d,"fields":[%s]}`, g.IntN(4), strings.Join(cols, ","))
}

func (g *generator) spec() string {
	fields := []string{
		fmt.Sprintf(`{"source-id":3,"field-id":%d,"transform":%q,"name":"ts_part"}`, 1000+g.IntN(2), g.pick("day", "month", "hour")),
		fmt.Sprintf(`{"source-id":1,"field-id":%d,"transform":"bucket[%d]","name":"id_bucket"}`, 1002+g.IntN(2), 2+g.IntN(2)),
		fmt.Sprintf(`{"source-id":2,"field-id":%d,"transform":%q,"name":"data"}`, 1004+g.IntN(2), g.pick("identity", "identity", "truncate[3]", "day")),
	}
	g.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return `{"spec-id":0,"fields":[` + strings.Join(fields[:g.IntN(3)], ",") + `]}`
}

func (g *generator) order() string {
	var fields []string
	for range g.IntN(3) {
		fields = append(fields, fmt.Sprintf(`{"source-id":%d,"transform":%q,"direction":%q,"null-order":"nulls-first"}`,
			1+g.IntN(3), g.pick("identity", "bucket[4]"), g.pick("asc", "desc")))
	}
	id := min(len(fields), 1)
	if g.IntN(20) == 0 {
		id = 1
	}
	return fmt.Sprintf(`{"order-id":%d,"fields":[%s]}`, id, strings.Join(fields, ","))
}

// create draws a create by commit in the Java client's order.
func (g *generator) create(version int) string {
	return fmt.Sprintf(`[{"action":"assign-uuid","uuid":"11111111-2222-4333-8444-555555555555"},{"action":"upgrade-format-version","format-version":%d},`+
		`{"action":"add-schema","schema":{"type":"struct","schema-id":0,"fields":[%s,%s,%s]}},{"action":"set-current-schema","schema-id":-1},`+
		`{"action":"add-spec","spec":{"spec-id":0,"fields":[]}},{"action":"set-default-spec","spec-id":-1},`+
		`{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},{"action":"set-default-sort-order","sort-order-id":-1},`+
		`{"action":"set-location","location":"s3://bucket/ns/t"},{"action":"set-properties","updates":{"a":"b"}}]`,
		version, columnJSON(1, "id", `"long"`), columnJSON(2, "data", `"string"`), columnJSON(3, "ts", `"timestamp"`))
}

func (g *generator) snapshotOf(m *iceberg.Metadata) int64 {
	if n := m.SnapshotCount(); n > 0 && g.mostly() {
		return m.SnapshotAt(g.IntN(n)).ID
	}
	return int64(1 + g.IntN(50))
}

func setRef(name, kind string, id int64) string {
	return fmt.Sprintf(`{"action":"set-snapshot-ref","ref-name":%q,"type":%q,"snapshot-id":%d}`, name, kind, id)
}

// append draws a snapshot on main, and sometimes not on it.
func (g *generator) append(m *iceberg.Metadata) string {
	id := int64(1 + g.IntN(1000))
	seq := int64(0)
	if m.FormatVersion() > 1 {
		seq = m.LastSequenceNumber() + 1
		if !g.mostly() {
			seq -= int64(g.IntN(3))
		}
	}
	s := fmt.Sprintf(`{"snapshot-id":%d,"timestamp-ms":%d,"summary":{"operation":%q,"added-records":"%d"},"manifest-list":"s3://bucket/m%d.avro"`,
		id, g.now+int64(g.IntN(40)), g.pick("append", "overwrite", "delete", "replace"), g.IntN(100), id)
	if m.FormatVersion() > 1 {
		s += fmt.Sprintf(`,"sequence-number":%d`, seq)
	}
	if parent, ok := m.CurrentSnapshotID(); ok && g.mostly() {
		s += fmt.Sprintf(`,"parent-snapshot-id":%d`, parent)
	}
	if g.mostly() {
		s += fmt.Sprintf(`,"schema-id":%d`, m.CurrentSchemaID())
	}
	if m.FormatVersion() == 3 && g.mostly() {
		first := m.NextRowID()
		if !g.mostly() {
			first += int64(g.IntN(3)) - 1
		}
		s += fmt.Sprintf(`,"first-row-id":%d,"added-rows":%d`, max(0, first), g.IntN(10))
	}
	out := `{"action":"add-snapshot","snapshot":` + s + `}}`
	if g.IntN(5) > 0 {
		out += "," + setRef("main", "branch", id)
	}
	return out
}

// updates draws the updates of one commit.
func (g *generator) updates(m *iceberg.Metadata) string {
	var list []string
	for range 1 + g.IntN(3) {
		list = append(list, g.update(m))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func (g *generator) update(m *iceberg.Metadata) string {
	switch g.IntN(20) {
	case 0, 1, 2, 3, 4:
		return g.append(m)
	case 5:
		return setRef(g.pick("dev", "audit"), "branch", g.snapshotOf(m))
	case 6:
		return setRef(g.pick("v1", "v2"), "tag", g.snapshotOf(m))
	case 7:
		return setRef("main", "branch", g.snapshotOf(m))
	case 8:
		return fmt.Sprintf(`{"action":"remove-snapshots","snapshot-ids":[%d]}`, g.snapshotOf(m))
	case 9:
		return fmt.Sprintf(`{"action":"remove-snapshot-ref","ref-name":%q}`, g.pick("dev", "v1", "v2", "main"))
	case 10:
		return fmt.Sprintf(`{"action":"set-properties","updates":{"p%d":"%d"}}`, g.IntN(4), g.IntN(4))
	case 11:
		return fmt.Sprintf(`{"action":"set-properties","updates":{"write.metadata.previous-versions-max":"%d"}}`, g.IntN(6))
	case 12:
		return fmt.Sprintf(`{"action":"remove-properties","removals":["p%d"]}`, g.IntN(4))
	case 13, 14:
		out := `{"action":"add-schema","schema":` + g.schema(m.FormatVersion()) + `}`
		if g.IntN(3) > 0 {
			out += `,{"action":"set-current-schema","schema-id":-1}`
		}
		return out
	case 15:
		out := `{"action":"add-spec","spec":` + g.spec() + `}`
		if g.IntN(3) > 0 {
			out += `,{"action":"set-default-spec","spec-id":-1}`
		}
		return out
	case 16:
		out := `{"action":"add-sort-order","sort-order":` + g.order() + `}`
		if g.IntN(3) > 0 {
			out += `,{"action":"set-default-sort-order","sort-order-id":-1}`
		}
		return out
	case 17:
		return g.pick(
			fmt.Sprintf(`{"action":"set-current-schema","schema-id":%d}`, g.IntN(3)),
			fmt.Sprintf(`{"action":"set-default-spec","spec-id":%d}`, g.IntN(3)),
			fmt.Sprintf(`{"action":"set-default-sort-order","sort-order-id":%d}`, g.IntN(3)),
			fmt.Sprintf(`{"action":"remove-partition-specs","spec-ids":[%d]}`, g.IntN(3)),
			fmt.Sprintf(`{"action":"remove-schemas","schema-ids":[%d]}`, g.IntN(3)))
	case 18:
		id := g.snapshotOf(m)
		return g.pick(
			fmt.Sprintf(`{"action":"set-statistics","statistics":{"snapshot-id":%d,"statistics-path":"s%d","file-size-in-bytes":1,"file-footer-size-in-bytes":1,"blob-metadata":[]}}`, id, g.IntN(3)),
			fmt.Sprintf(`{"action":"remove-statistics","snapshot-id":%d}`, id),
			fmt.Sprintf(`{"action":"set-partition-statistics","partition-statistics":{"snapshot-id":%d,"statistics-path":"p%d","file-size-in-bytes":1}}`, id, g.IntN(3)),
			fmt.Sprintf(`{"action":"remove-partition-statistics","snapshot-id":%d}`, id))
	default:
		return g.pick(
			fmt.Sprintf(`{"action":"set-location","location":"s3://bucket/ns/t%d"}`, g.IntN(3)),
			fmt.Sprintf(`{"action":"upgrade-format-version","format-version":%d}`, 1+g.IntN(3)),
			g.key(m),
			fmt.Sprintf(`{"action":"remove-encryption-key","key-id":"k%d"}`, g.IntN(3)))
	}
}

// key draws an encryption key for v3 only: below, iceberg-go could not read
// the document any more, and the history would end.
func (g *generator) key(m *iceberg.Metadata) string {
	if m.FormatVersion() < 3 {
		return `{"action":"remove-encryption-key","key-id":"none"}`
	}
	return fmt.Sprintf(`{"action":"add-encryption-key","encryption-key":{"key-id":"k%d","encrypted-key-metadata":"YWJj"}}`, g.IntN(3))
}

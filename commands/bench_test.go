package commands_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/queries"
)

// grown is a catalog with a table db.t of so many snapshots, added in commits
// of a thousand.
func grown(b *testing.B, snapshots int64) *kit.Kit {
	b.Helper()
	k := kit.New(b, kit.Setup{Conns: 16, NoSaver: true})
	k.Namespace("db")
	k.Table("db", "t")
	for done := int64(0); done < snapshots; {
		n := min(snapshots-done, 1_000)
		updates := "["
		for i := done + 1; i <= done+n; i++ {
			parent := ""
			if i > 1 {
				parent = fmt.Sprintf(`"parent-snapshot-id":%d,`, i-1)
			}
			updates += fmt.Sprintf(`{"action":"add-snapshot","snapshot":{"snapshot-id":%d,%s"sequence-number":%d,"timestamp-ms":%d,`+
				`"manifest-list":"file:///somewhere/data/snap-%d.avro","summary":{"operation":"append","added-records":"%d","total-records":"%d"},"schema-id":0}},`,
				i, parent, i, kit.Now.UnixMilli()+i, i, i, i*i)
		}
		done += n
		updates += fmt.Sprintf(`{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":%d}]`, done)
		if _, err := k.Commit(kit.At("db", "t"), "", updates); err != nil {
			b.Fatal(err)
		}
	}
	return k
}

func BenchmarkCommit(b *testing.B) {
	for _, snapshots := range []int64{1, 1_000, 20_000} {
		b.Run(fmt.Sprint("snapshots=", snapshots), func(b *testing.B) {
			k := grown(b, snapshots)
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				if _, err := k.Commit(kit.At("db", "t"), kit.Head(snapshots), fmt.Sprintf(`[{"action":"set-properties","updates":{"n":"%d"}}]`, n)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCommits has every goroutine commit to a table of its own.
func BenchmarkCommits(b *testing.B) {
	k := kit.New(b, kit.Setup{Conns: 16, NoSaver: true})
	k.Namespace("db")
	var next atomic.Int64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		name := fmt.Sprint("t", next.Add(1))
		k.Table("db", name)
		for i := int64(1); pb.Next(); i++ {
			if _, err := k.Commit(kit.At("db", name), "", fmt.Sprintf(`[{"action":"set-properties","updates":{"n":"%d"}}]`, i)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	for _, snapshots := range []int64{1, 20_000} {
		k := grown(b, snapshots)
		table, err := k.Load(kit.At("db", "t"), queries.LoadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for name, options := range map[string]queries.LoadOptions{
			"identity": {}, "gzip": {AcceptGzip: true}, "304": {IfNoneMatch: []string{table.ETag}},
		} {
			b.Run(fmt.Sprintf("snapshots=%d/%s", snapshots, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := k.Load(kit.At("db", "t"), options); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("snapshots=%d/32 clients", snapshots), func(b *testing.B) {
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := k.Load(kit.At("db", "t"), queries.LoadOptions{}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

package storage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/icecore-catalog/icecore/storage"
)

// BenchmarkPut measures a commit's object against the least that durability
// costs on the same disk: one file written, synced, renamed, and its folder
// synced, by path.
func BenchmarkPut(b *testing.B) {
	data := make([]byte, 8<<10)
	var n atomic.Int64
	put := func(b *testing.B, store storage.Store, dir string) func() {
		return func() {
			if err := store.Put(b.Context(), fmt.Sprintf("%s/ns/t/metadata/%d", dir, n.Add(1)), data); err != nil {
				b.Error(err)
			}
		}
	}
	for _, sub := range []struct {
		name  string
		write func(b *testing.B) func()
	}{
		{"bare", func(b *testing.B) func() {
			dir := b.TempDir()
			return func() { barePut(b, fmt.Sprintf("%s/%d", dir, n.Add(1)), data) }
		}},
		{"store", func(b *testing.B) func() {
			dir := b.TempDir()
			return put(b, openIn(b, dir, dir), dir)
		}},
		{"store without sync", func(b *testing.B) func() {
			dir := b.TempDir()
			return put(b, watched(b, dir, func(string, func() error) error { return nil }), dir+"/wh")
		}},
	} {
		b.Run(sub.name+"/one", func(b *testing.B) {
			write := sub.write(b)
			b.ReportAllocs()
			for b.Loop() {
				write()
			}
		})
		b.Run(sub.name+"/parallel", func(b *testing.B) {
			write := sub.write(b)
			b.SetParallelism(16)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					write()
				}
			})
		})
	}
}

func barePut(b *testing.B, path string, data []byte) {
	b.Helper()
	f, err := os.Create(path + ".tmp")
	if err != nil {
		b.Fatal(err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		b.Fatal(err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		b.Fatal(err)
	}
	if err := dir.Sync(); err != nil {
		b.Fatal(err)
	}
	_ = dir.Close()
}

func BenchmarkGet(b *testing.B) {
	dir := b.TempDir()
	store := openIn(b, dir, dir)
	location := dir + "/ns/t/metadata/object"
	if err := store.Put(b.Context(), location, make([]byte, 8<<10)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := store.Get(b.Context(), location, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}

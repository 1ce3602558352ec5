package manifest

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

func collect(read func(context.Context, []byte, func(string) error) error, data []byte) ([]string, error) {
	var paths []string
	err := read(context.Background(), data, func(p string) error {
		paths = append(paths, p)
		return nil
	})
	return paths, err
}

// Files that PyIceberg 0.12 wrote: partitioned, with statistics, entries of all
// three states, under three codecs.
func TestFilesOfPyIceberg(t *testing.T) {
	t.Parallel()
	for _, codec := range []string{"null", "deflate", "zstd"} {
		list, err := os.ReadFile(filepath.Join("testdata", "v2-"+codec+"-l.avro"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := collect(List, list)
		if err != nil || len(got) != 2 || !strings.HasSuffix(got[0], "-m.avro") || got[1] != "file:///wh/t/metadata/other-m0.avro" {
			t.Errorf("%s: list %q, %v", codec, got, err)
		}
		manifest, err := os.ReadFile(filepath.Join("testdata", "v2-"+codec+"-m.avro"))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"file:///wh/t/data/s=ä b/00000.parquet", "file:///wh/t/data/s=ä b/00001.parquet", "file:///wh/t/data/s=ä b/00002.parquet"}
		if got, err := collect(Files, manifest); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: manifest %q, %v", codec, got, err)
		}
		// One is not the other.
		if _, err := collect(Files, list); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: a list read as a manifest: %v", codec, err)
		}
		if _, err := collect(List, manifest); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: a manifest read as a list: %v", codec, err)
		}
		// Cut anywhere, it is refused or ends early at a block; it never panics.
		for n := range manifest {
			if _, err := collect(Files, manifest[:n]); err != nil && !errors.Is(err, ErrInvalid) {
				t.Fatalf("%s: cut at %d: %v", codec, n, err)
			}
		}
	}
}

// long encodes a number as Avro does.
func long(n int64) []byte {
	return binary.AppendUvarint(nil, uint64(n<<1)^uint64(n>>63))
}

func text(s string) []byte { return append(long(int64(len(s))), s...) }

// file makes a container file of one block.
func file(schema, codec string, count int64, block []byte) []byte {
	b := []byte(magic)
	b = append(b, long(2)...)
	b = append(append(b, text("avro.schema")...), text(schema)...)
	b = append(append(b, text("avro.codec")...), text(codec)...)
	b = append(b, 0)
	sync := strings.Repeat("s", syncLength)
	b = append(b, sync...)
	b = append(b, long(count)...)
	b = append(b, long(int64(len(block)))...)
	return append(append(b, block...), sync...)
}

func record(fields string) string {
	return `{"type":"record","name":"manifest_file","fields":[` + fields + `]}`
}

const pathField = `{"name":"manifest_path","type":"string"}`

func deflated(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, 9)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func snapped(data []byte) []byte {
	return binary.BigEndian.AppendUint32(snappy.Encode(nil, data), crc32.ChecksumIEEE(data))
}

func TestSchemasOfManyShapes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema string
		entry  []byte
	}{
		"a plain string":       {record(pathField), text("p")},
		"an optional string":   {record(`{"name":"manifest_path","type":["null","string"]}`), append(long(1), text("p")...)},
		"spelled as an object": {record(`{"name":"manifest_path","type":{"type":"string","avro.java.string":"String"}}`), text("p")},
		"behind everything else": {
			record(`{"name":"a","type":"boolean"},{"name":"b","type":"int"},{"name":"c","type":"double"},{"name":"d","type":{"type":"fixed","name":"f","size":3}},` +
				`{"name":"e","type":{"type":"enum","name":"g","symbols":["x","y"]}},{"name":"h","type":{"type":"map","values":"long"}},` +
				`{"name":"i","type":{"type":"array","items":{"type":"record","name":"r","namespace":"n.s","fields":[{"name":"manifest_path","type":"string"}]}}},` +
				`{"name":"j","type":["null","n.s.r"]},` + pathField),
			slices.Concat([]byte{1}, long(-7), make([]byte, 8), []byte("abc"), long(1),
				long(1), text("k"), long(9), long(0),
				long(-2), long(4), text("x"), text("y"), long(0), // a block with its bytes before it
				long(1), text("z"), text("p")),
		},
	} {
		for codec, pack := range map[string]func([]byte) []byte{
			"null": func(b []byte) []byte { return b }, "deflate": func(b []byte) []byte { return deflated(t, b) }, "snappy": snapped,
		} {
			got, err := collect(List, file(c.schema, codec, 1, pack(c.entry)))
			if err != nil || !slices.Equal(got, []string{"p"}) {
				t.Errorf("%s, %s: %q, %v", name, codec, got, err)
			}
		}
	}
}

// What a hostile tenant may put where a manifest is expected costs little and
// ends in ErrInvalid.
func TestHostileFilesAreRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"array","items":`, 5000) + `"null"` + strings.Repeat("}", 5000)
	exponential := `{"name":"l0","type":{"type":"record","name":"l0","fields":[{"name":"n","type":"null"}]}}`
	for i := 1; i < 60; i++ {
		prev, this := "l"+strings.Repeat("i", i-1), "l"+strings.Repeat("i", i)
		if i == 1 {
			prev = "l0"
		}
		exponential += `,{"name":"` + this + `","type":{"type":"record","name":"` + this + `","fields":[{"name":"a","type":"` + prev + `"},{"name":"b","type":"` + prev + `"}]}}`
	}
	for name, data := range map[string][]byte{
		"nothing":                   nil,
		"no container":              []byte("PAR1 and more of it"),
		"a header without end":      append([]byte(magic), long(1<<40)...),
		"a header of least count":   append([]byte(magic), long(-1<<63)...),
		"no schema":                 file("", "null", 1, text("p")),
		"a schema that is no JSON":  file("{", "null", 1, text("p")),
		"a schema of no type":       file(`{}`, "null", 1, text("p")),
		"a deep schema":             file(record(pathField+`,{"name":"x","type":`+deep+`}`), "null", 1, text("p")),
		"a type within itself":      file(record(pathField+`,{"name":"x","type":["null","manifest_file"]}`), "null", 1, append(text("p"), bytes.Repeat([]byte{2}, 1<<20)...)),
		"a type only of itself":     file(record(pathField+`,{"name":"x","type":"manifest_file"}`), "null", 1, text("p")),
		"types that double":         file(record(pathField+","+exponential), "null", 1, text("p")),
		"more entries than bytes":   file(record(pathField+`,{"name":"x","type":{"type":"array","items":"null"}}`), "null", 1, append(text("p"), long(1<<50)...)),
		"entries without bytes":     file(`{"type":"record","name":"e","fields":[{"name":"manifest_path","type":["null","string"]}]}`, "null", 1<<40, nil),
		"a negative count":          file(record(pathField), "null", -1, text("p")),
		"a string beyond the block": file(record(pathField), "null", 1, long(1<<40)),
		"a negative string":         file(record(pathField), "null", 1, long(-4)),
		"bytes left over":           file(record(pathField), "null", 1, append(text("p"), 7)),
		"an endless number":         file(record(pathField), "null", 1, bytes.Repeat([]byte{0xff}, 20)),
		"a fixed of negative size":  file(record(pathField+`,{"name":"x","type":{"type":"fixed","name":"f","size":-1}}`), "null", 1, text("p")),
		"an unknown codec":          file(record(pathField), "lzma", 1, text("p")),
		"a deflate bomb":            file(record(pathField), "deflate", 1, deflated(t, make([]byte, maxBlock+1))),
		"a snappy bomb":             file(record(pathField), "snappy", 1, append(binary.AppendUvarint(nil, maxBlock+1), 0, 0, 0, 0)),
		"snappy's sum":              file(record(pathField), "snappy", 1, append(snapped(text("p")), 1)),
		"zstandard of nothing":      file(record(pathField), "zstandard", 1, []byte("nothing")),
		"too large a file":          make([]byte, MaxFile+1),
	} {
		if _, err := collect(List, data); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file of 64 MiB may hold many blocks that are each small when packed: what all
// of them unpack to is bounded, in time and memory.
func TestManyBlocksThatUnpackToTooMuchAreRefused(t *testing.T) {
	t.Parallel()
	const each = 32 << 20
	plain := append(long(each), make([]byte, each)...)
	for codec, packed := range map[string][]byte{"deflate": deflated(t, plain), "snappy": snapped(plain), "zstandard": zipped(t, plain)} {
		one := file(record(pathField), codec, 1, packed)
		head := len(file(record(pathField), codec, 1, nil)) - len(block(1, nil))
		var data []byte
		data = append(data, one[:head]...)
		for range maxTotal / each {
			data = append(data, block(1, packed)...)
		}
		if len(data) > MaxFile {
			t.Fatalf("%s: %d bytes", codec, len(data))
		}
		seen := 0
		err := List(t.Context(), data, func(string) error { seen++; return nil })
		if !errors.Is(err, ErrInvalid) || seen != maxTotal/each-1 {
			t.Errorf("%s: %v after %d blocks", codec, err, seen)
		}
	}
}

// block is a further block of a container file.
func block(count int64, packed []byte) []byte {
	return slices.Concat(long(count), long(int64(len(packed))), packed, []byte(strings.Repeat("s", syncLength)))
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

// A walk ends with its context: between blocks, and within one of many values.
func TestTheContextEndsTheWalk(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	two := append(file(record(pathField), "null", 1, text("a")), block(1, text("b"))...)
	calls := 0
	err := List(ctx, two, func(string) error { calls++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%v after %d blocks", err, calls)
	}
	ctx, cancel = context.WithCancel(t.Context())
	calls = 0
	many := file(record(pathField), "null", 200_000, bytes.Repeat(text("a"), 200_000))
	err = List(ctx, many, func(string) error { calls++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || calls > 100_000 {
		t.Errorf("%v after %d values", err, calls)
	}
}

func TestVisitEndsTheWalk(t *testing.T) {
	t.Parallel()
	stop := errors.New("enough")
	calls := 0
	err := List(t.Context(), file(record(pathField), "null", 2, append(text("a"), text("b")...)), func(string) error { calls++; return stop })
	if !errors.Is(err, stop) || errors.Is(err, ErrInvalid) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func FuzzManifest(f *testing.F) {
	for _, codec := range []string{"null", "deflate", "zstd"} {
		for _, kind := range []string{"l", "m"} {
			data, err := os.ReadFile(filepath.Join("testdata", "v2-"+codec+"-"+kind+".avro"))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add(file(record(pathField+`,{"name":"x","type":{"type":"map","values":["null","long"]}}`), "null", 1, slices.Concat(text("p"), long(1), text("k"), long(0), long(0))))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []func(context.Context, []byte, func(string) error) error{List, Files} {
			if _, err := collect(read, data); err != nil && !errors.Is(err, ErrInvalid) {
				t.Errorf("%v", err)
			}
		}
	})
}

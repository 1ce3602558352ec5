package document_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	kgzip "github.com/klauspost/compress/gzip"
	"pgregory.net/rapid"

	"github.com/icecore-catalog/icecore/projections/document"
)

func pack(t testing.TB, doc []byte) *document.Packed {
	t.Helper()
	p, err := document.Pack(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

// gunzip reads exactly one gzip member and insists that nothing follows.
func gunzip(t testing.TB, member []byte) []byte {
	t.Helper()
	source := bytes.NewReader(member)
	r, err := gzip.NewReader(source)
	if err != nil {
		t.Fatal(err)
	}
	r.Multistream(false)
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%d bytes read, then %v", len(out), err)
	}
	if source.Len() != 0 {
		t.Fatalf("%d bytes behind the member", source.Len())
	}
	return out
}

func checkSplice(t testing.TB, prefix, doc, suffix []byte) {
	t.Helper()
	p := pack(t, doc)
	member := p.AppendGzip(nil, prefix, suffix)
	if got, want := gunzip(t, member), bytes.Join([][]byte{prefix, doc, suffix}, nil); !bytes.Equal(got, want) {
		t.Fatalf("read %q, want %q", got, want)
	}
	// A second implementation agrees.
	other, err := kgzip.NewReader(bytes.NewReader(member))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(other); err != nil || !bytes.Equal(got, bytes.Join([][]byte{prefix, doc, suffix}, nil)) {
		t.Fatalf("the other reader: %v", err)
	}
	if int64(len(member)) != p.GzipSize(prefix, suffix) {
		t.Fatalf("member of %d bytes, announced %d", len(member), p.GzipSize(prefix, suffix))
	}
	back, err := p.Unpack()
	if err != nil || !bytes.Equal(back, doc) {
		t.Fatalf("unpack: %v", err)
	}
}

func TestSplicedAnswerIsOneGzipMember(t *testing.T) {
	t.Parallel()
	long := []byte(strings.Repeat(`{"snapshot-id":3051729675574597004,"summary":{}},`, 5000))
	for _, c := range []struct{ prefix, doc, suffix []byte }{
		{nil, nil, nil},
		{[]byte(`{"metadata":`), []byte(`{}`), []byte(`}`)},
		{nil, long, nil},
		{[]byte("x"), long, nil},
		{nil, long, []byte("y")},
		{long[:65535], long, long[:65535]},
		{long[:65536], long, long[:131071]},
	} {
		checkSplice(t, c.prefix, c.doc, c.suffix)
	}
}

func TestSplicedAnswerProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SliceOfN(rapid.Byte(), 0, 4096)
		prefix, doc, suffix := part.Draw(t, "prefix"), part.Draw(t, "doc"), part.Draw(t, "suffix")
		doc = bytes.Repeat(doc, rapid.IntRange(0, 40).Draw(t, "times"))
		p, err := document.Pack(doc)
		if err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(bytes.NewReader(p.AppendGzip(nil, prefix, suffix)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, bytes.Join([][]byte{prefix, doc, suffix}, nil)) {
			t.Fatalf("read back: %v", err)
		}
	})
}

func TestCombineCRC32IsTheChecksumOfTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOf(rapid.Byte()).Draw(t, "a")
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		got := document.CombineCRC32(crc32.ChecksumIEEE(a), crc32.ChecksumIEEE(b), int64(len(b)))
		if want := crc32.ChecksumIEEE(append(a, b...)); got != want {
			t.Fatalf("%08x, want %08x", got, want)
		}
	})
}

func TestUnpackRefusesWhatIsCorrupt(t *testing.T) {
	t.Parallel()
	good := pack(t, []byte(strings.Repeat("metadata ", 100)))
	for name, spoil := range map[string]func(*document.Packed){
		"checksum":   func(p *document.Packed) { p.CRC32++ },
		"too short":  func(p *document.Packed) { p.Length-- },
		"too long":   func(p *document.Packed) { p.Length++ },
		"huge":       func(p *document.Packed) { p.Length = 1 << 60 },
		"negative":   func(p *document.Packed) { p.Length = -1 },
		"torn":       func(p *document.Packed) { p.Deflate = p.Deflate[:len(p.Deflate)/2] },
		"not empty":  func(p *document.Packed) { p.Length = 0 },
		"other bits": func(p *document.Packed) { p.Deflate = bytes.Repeat([]byte{0xff}, len(p.Deflate)) },
	} {
		p := *good
		spoil(&p)
		if _, err := p.Unpack(); !errors.Is(err, document.ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func FuzzSplice(f *testing.F) {
	f.Add([]byte(`{"metadata":`), []byte(`{"a":1}`), []byte(`}`), 3)
	f.Fuzz(func(t *testing.T, prefix, doc, suffix []byte, times int) {
		checkSplice(t, prefix, bytes.Repeat(doc, times&63), suffix)
	})
}

func FuzzUnpack(f *testing.F) {
	p := pack(f, []byte("some document"))
	f.Add(p.Deflate, p.CRC32, p.Length)
	f.Fuzz(func(t *testing.T, deflate []byte, sum uint32, length int64) {
		if length > 1<<20 {
			length &= 1<<20 - 1
		}
		p := document.Packed{CRC32: sum, Length: length, Deflate: deflate}
		doc, err := p.Unpack()
		if err == nil && (int64(len(doc)) != length || crc32.ChecksumIEEE(doc) != sum) {
			t.Fatal("unpacked something else than promised")
		}
	})
}

func BenchmarkWriteGzip(b *testing.B) {
	doc := []byte(strings.Repeat(`{"snapshot-id":3051729675574597004,"summary":{"operation":"append"}},`, 5000))
	p := pack(b, doc)
	prefix, suffix := []byte(`{"metadata-location":"file:///a","metadata":`), []byte(`,"config":{}}`)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, err := p.WriteGzip(io.Discard, prefix, suffix); err != nil {
			b.Fatal(err)
		}
	}
}

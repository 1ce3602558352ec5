package httpapi_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// wild is a request as it goes over the wire.
type wild struct {
	op     operation
	target string
	header []string // lines
	body   string
	text   string // the body before it was packed
	frame  framing
}

// framing is how the end of a body is told.
type framing int

const (
	plainly framing = iota
	chunked
	expected // sent together with Expect: 100-continue
	both     // a length beside chunks, as request smugglers do
	badChunk
	twoLengths
	short // the body ends before its length
	long  // the body goes on after its length
	framings
)

func (w wild) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q", w.op.method, w.target)
	for _, line := range w.header {
		fmt.Fprintf(&b, "\n  %q", line)
	}
	fmt.Fprintf(&b, "\n  framing %d, body of %d bytes %.2000q", w.frame, len(w.body), w.body)
	return b.String()
}

// bytes renders the request. Whether the connection can be used again is false
// where the framing is broken.
func (w wild) bytes() (raw []byte, again bool) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: x\r\n", w.op.method, w.target)
	for _, line := range w.header {
		b.WriteString(line + "\r\n")
	}
	chunks := func() {
		b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		for rest := w.body; rest != ""; {
			n := min(len(rest), 1000)
			fmt.Fprintf(&b, "%x\r\n%s\r\n", n, rest[:n])
			rest = rest[n:]
		}
		b.WriteString("0\r\n\r\n")
	}
	length := func(n int) { fmt.Fprintf(&b, "Content-Length: %d\r\n", n) }
	switch w.frame {
	case chunked:
		chunks()
	case both:
		length(len(w.body) + 7)
		chunks()
	case badChunk:
		b.WriteString("Transfer-Encoding: chunked\r\n\r\nzz\r\n" + w.body)
	case twoLengths:
		length(len(w.body))
		length(len(w.body) + 1)
		b.WriteString("\r\n" + w.body)
	case short:
		length(len(w.body) + 10)
		b.WriteString("\r\n" + w.body)
	case long:
		length(len(w.body) / 2)
		b.WriteString("\r\n" + w.body)
	case expected:
		b.WriteString("Expect: 100-continue\r\n")
		length(len(w.body))
		b.WriteString("\r\n" + w.body)
	default:
		if w.body != "" || w.op.method == "POST" {
			length(len(w.body))
		}
		b.WriteString("\r\n" + w.body)
	}
	return b.Bytes(), w.frame == plainly || w.frame == chunked
}

// connection is one to a server that is opened again when it was closed.
type connection struct {
	addr string
	conn *net.TCPConn
	in   *bufio.Reader
}

func (c *connection) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// send sends a request and reads its answer.
func (c *connection) send(w wild) (answer, error) {
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.addr)
		if err != nil {
			return answer{}, err
		}
		c.conn, c.in = conn.(*net.TCPConn), bufio.NewReader(conn)
	}
	raw, again := w.bytes()
	if err := c.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return answer{}, err
	}
	// A server may refuse before it has read all: then the write fails, and the
	// answer is there to be read.
	_, writeErr := c.conn.Write(raw)
	if w.frame == short {
		_ = c.conn.CloseWrite() // no more will come
	}
	request := &http.Request{Method: w.op.method}
	response, err := http.ReadResponse(c.in, request)
	for err == nil && response.StatusCode == http.StatusContinue {
		response, err = http.ReadResponse(c.in, request)
	}
	if err != nil {
		return answer{}, fmt.Errorf("no answer: %w\n%v", errors.Join(err, writeErr), w)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("half an answer: %w\n%v", err, w)
	}
	_ = response.Body.Close()
	if response.Close || !again || writeErr != nil {
		c.close()
	}
	return answer{response.StatusCode, response.Header, string(body)}, nil
}

// parsed makes a value of a JSON text.
func parsed(t testing.TB, text string) *value {
	t.Helper()
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return from(doc)
}

func from(doc any) *value {
	switch doc := doc.(type) {
	case map[string]any:
		v := &value{object: true}
		for _, name := range sortedKeys(doc) {
			v.names = append(v.names, quoted(name))
			v.list = append(v.list, from(doc[name]))
		}
		return v
	case []any:
		v := &value{array: true}
		for _, element := range doc {
			v.list = append(v.list, from(element))
		}
		return v
	}
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return scalar(string(text))
}

// oddSegments are path segments that name nothing, or not what they seem to.
var oddSegments = []string{
	"", "%", "%zz", "%2", "%00", "%ff", "%C3", "%ED%A0%80", "\xff", "é", ".", "..", "%2e%2e", "%2F", "n%2Ft", "%252F", "+", "%20", "%1F", "n%1F", "%1Fn", "n%1fm%1f", "%0d%0aX:%20y", "%0A", "%E2%80%A8",
	"'", "%22", ";", "$1", "--", "*", "%25", "{namespace}", "n%1Ft", "T", "N", "%7F", "n?", "n#t", "n%23", "%EF%BB%BF", "0", "null", strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("x", 5000), strings.Repeat("a%1F", 200) + "a",
}

var oddValues = []string{
	"", "%", "%zz", "%00", "%ff", "0", "-1", "1", "2", "1e9", "99999999999999999999", "abc", "true", "True", "maybe", "n", "n%1Fm", "n%251Fm", "%1F", "all", "refs", "demo", "+", "a&b", ";", "%E2%80%A8", strings.Repeat("y", 5000),
}

var oddHeaders = []string{
	"Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded", "Content-Type: application/json; charset=utf-16", "Content-Type: ;;", "Content-Type: multipart/form-data; boundary=x",
	"Accept-Encoding: gzip", "Accept-Encoding: zstd, xz;q=nonsense", "Accept: text/html", "Authorization: Bearer None", "Authorization: Basic eDp5", "Authorization: \xff",
	"X-Request-Id: ../../x", "X-Request-Id: 018f3c1e-7b2a-7cde-8f01-000000000001", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Traceparent: zz", "Tracestate: \xff=",
	"If-None-Match: *", "If-None-Match: W/\"x\", \"", "If-Match: \"x\"", "Range: bytes=0-1", "Origin: https://evil.example", "Origin: null", "Cookie: a=b", "Content-Encoding: br", "Content-Encoding: gzip", "Content-Encoding: gzip, gzip", "Connection: close",
	"Idempotency-Key: nonsense", "Idempotency-Key: 00000000-0000-0000-0000-000000000000", "X-Iceberg-Access-Delegation: vended-credentials", "X-Iceberg-Access-Delegation: ,,remote-signing,\xff", "X-Http-Method-Override: DELETE", "X-Forwarded-Prefix: /x", "X-Project-Id: nonsense",
}

// readHeaders are the headers that the server reads.
var readHeaders = []string{
	"X-Project-Id", "X-Project-Ident", "X-Request-Id", "Idempotency-Key", "If-None-Match", "Accept-Encoding", "X-Iceberg-Access-Delegation", "Traceparent",
	"Content-Type", "Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers",
}

// oddHeaderValues are values that a header may have on the wire, and one that
// it may not.
var oddHeaderValues = []string{
	"", " ", "\xff", "\xed\xa0\x80", "é", "\xc3", "a\tb", "\x00", "'", "\"", "%", "%00", "*", ",", ",,;q=", "0", "-1", "99999999999999999999", "null", "p", "nobody", "018f3c1e-7b2a-7cde-8f01-000000000001",
	"00000000-0000-0000-0000-000000000000", "018F3C1E7B2A7CDE8F01000000000001", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-\xff", strings.Repeat("z", 129), strings.Repeat("\xff", 5000), strings.Repeat("a,", 10_000),
}

// request makes a request for an operation: usable, broken in one place, or
// broken in many. seeds are bodies that are known to be accepted.
func (m *maker) request(t testing.TB, op operation, seeds []string) wild {
	w := wild{op: op, header: []string{}}
	wildness := m.IntN(4) // 0 nothing is broken on purpose
	w.target = m.root + op.path
	if rest, ok := strings.CutPrefix(op.path, "/v1/{prefix}"); ok {
		base := m.base
		if m.chance(4) {
			base = "/catalog/w/demo/v1"
		} else if wildness > 1 && m.chance(20) {
			base = strings.Replace(base, base[len(base)-36:], pick(m.Rand, append(oddSegments, "018f3c1e-7b2a-7cde-8f01-0000000000ff")), 1)
		}
		w.target = base + rest
	}
	w.target = placeholder.ReplaceAllStringFunc(w.target, func(name string) string {
		if known := m.places[name]; known != nil && (wildness < 2 || !m.chance(5)) {
			return pick(m.Rand, known)
		}
		return pick(m.Rand, oddSegments)
	})
	if raw := m.query(op, wildness); raw != "" {
		w.target += "?" + raw
	}
	for _, p := range op.header {
		if m.chance(3) {
			w.header = append(w.header, p.Name+": "+m.headerValue(p.Name))
		}
	}
	for wildness > 1 && m.chance(3) {
		w.header = append(w.header, pick(m.Rand, oddHeaders))
	}
	for wildness > 0 && m.chance(3) {
		w.header = append(w.header, pick(m.Rand, readHeaders)+": "+pick(m.Rand, oddHeaderValues))
	}
	if op.body == nil {
		if wildness == 3 && m.chance(4) {
			w.body = pick(m.Rand, []string{"{}", "x", `{"a":1}`})
		}
		return w
	}
	v := m.value(op.body, "", 0)
	if len(seeds) > 0 && !m.chance(3) {
		v = parsed(t, pick(m.Rand, seeds))
	}
	if wildness > 0 {
		for range 1 + m.IntN(wildness) {
			m.breakValue(v)
		}
	}
	w.body = v.String()
	if wildness == 3 && m.chance(2) {
		w.body = m.breakText(w.body)
	}
	if wildness > 1 && m.chance(4) {
		w.frame = framing(m.IntN(int(framings)))
	}
	w.text = w.body
	if wildness > 1 && m.chance(8) {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = io.WriteString(z, w.body) // into memory
		_ = z.Close()
		w.body = packed.String()
		if m.chance(3) {
			w.body = m.breakText(w.body)
		}
		w.header = append(w.header, "Content-Encoding: gzip")
	}
	if m.chance(2) {
		w.header = append(w.header, "Content-Type: application/json")
	}
	return w
}

func (m *maker) query(op operation, wildness int) string {
	var pairs []string
	for _, p := range op.query {
		if !p.Required && !m.chance(3) {
			continue
		}
		name, text := p.Name, strings.Trim(m.value(p.Schema, p.Name, 0).String(), `"`)
		text = url.QueryEscape(text)
		if wildness > 1 && m.chance(2) {
			text = pick(m.Rand, oddValues)
		}
		if wildness > 1 && m.chance(6) {
			name = strings.ToUpper(name)
		}
		pairs = append(pairs, name+"="+text)
		if wildness > 1 && m.chance(10) {
			pairs = append(pairs, name+"="+pick(m.Rand, oddValues))
		}
	}
	if op.method == "DELETE" && m.chance(3) { // Lakekeeper's parameters
		pairs = append(pairs, pick(m.Rand, []string{"recursive=true", "recursive=true&force=true&purge=true", "force=true", "purgeRequested=true"}))
	}
	for wildness > 1 && m.chance(6) {
		pairs = append(pairs, pick(m.Rand, []string{"x=y", "=", "&&", "%zz=1", "force=maybe", "recursive=1", "purgeRequested=x", "a%00=b", "snapshots", "\xff=1"}))
	}
	return strings.Join(pairs, "&")
}

func (m *maker) headerValue(name string) string {
	switch name {
	case "Idempotency-Key": // from few, so that keys meet other requests
		return fmt.Sprintf("018f3c1e-7b2a-7cde-8f01-%012x", m.IntN(40))
	case "X-Iceberg-Access-Delegation":
		return "vended-credentials"
	case "If-None-Match":
		return pick(m.Rand, []string{`"x"`, "*", `W/"y"`})
	}
	return "x"
}

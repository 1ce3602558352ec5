package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/httpapi"
)

// zeros is a body of n bytes that costs no memory.
func zeros(n int64) io.Reader { return io.LimitReader(endless{}, n) }

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// No body is read beyond 64 MiB, however its length is told or hidden.
func TestBodiesEndAtTheirLimit(t *testing.T) {
	t.Parallel()
	h, _ := lonely(t, unreachable)
	const limit = 64 << 20
	post := func(body io.Reader, length int64, header ...string) answer {
		r := httptest.NewRequest(http.MethodPost, prefix+"/namespaces", body)
		r.ContentLength = length
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return answer{w.Code, w.Header(), w.Body.String()}
	}
	bomb := gzipped(t, []byte(strings.Repeat(" ", limit+1)))
	for name, c := range map[string]struct {
		got    answer
		status int
	}{
		"announced":                 {post(http.NoBody, limit+1), 413},
		"announced beyond reason":   {post(http.NoBody, 1<<62), 413},
		"not announced":             {post(zeros(limit+1), -1), 413},
		"packed":                    {post(strings.NewReader(string(bomb)), int64(len(bomb)), "Content-Encoding", "gzip"), 413},
		"at the limit, but blank":   {post(zeros(limit), limit), 400},
		"packed twice":              {post(strings.NewReader(string(gzipped(t, bomb))), -1, "Content-Encoding", "gzip"), 400},
		"packed, and says so twice": {post(strings.NewReader(string(bomb)), -1, "Content-Encoding", "gzip, gzip"), 400},
	} {
		refused(t, c.got, c.status, "BadRequestException")
		if t.Failed() {
			t.Fatal(name)
		}
	}
	// A client that waits to be asked for its body is not asked for it.
	raw := rawAnswer(t, h, fmt.Sprintf("POST %s/namespaces HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", prefix, limit+1))
	if !strings.HasPrefix(raw, "HTTP/1.1 413 ") {
		t.Errorf("%.200q", raw)
	}
}

// bodies are texts that are no JSON object, or one that says something twice,
// and what every route that takes a body says to them.
var bodies = map[string]string{
	"nothing": "", "blank": " \t\r\n", "NUL": "\x00", "null": "null", "true": "true", "number": "7", "string": `"x"`, "array": `[]`, "form": "a=b&c=d", "XML": "<a/>", "YAML": "a: b",
	"byte order mark": "\ufeff{}", "UTF-16": "\xff\xfe{\x00}\x00", "UTF-32": "{\x00\x00\x00}\x00\x00\x00", "overlong": "{\"\xc0\xaf\":1}", "surrogate in UTF-8": "{\"\xed\xa0\x80\":1}", "half a character": "{\"\xc3\":1}", "raw NUL in a string": "{\"a\x00\":1}", "raw newline in a string": "{\"a\n\":1}",
	"open": "{", "half": `{"a"`, "no value": `{"a":}`, "trailing comma": `{"a":1,}`, "two objects": "{}{}", "something after": `{} x`, "NUL after": "{}\x00", "comment": "{/**/}", "single quotes": "{'a':1}", "bare name": "{a:1}",
	"name twice": `{"namespace":["a"],"namespace":["b"]}`, "name twice, once in escapes": `{"a":1,"\u0061":2}`, "inner name twice": `{"x":{"a":1,"a":2}}`,
	"NaN": `{"a":NaN}`, "Infinity": `{"a":-Infinity}`, "hexadecimal": `{"a":0x1}`, "leading zero": `{"a":01}`, "plus sign": `{"a":+1}`, "bare dot": `{"a":.5}`, "no exponent": `{"a":1e}`, "bad escape": `{"a":"\x"}`, "short escape": `{"a":"\u12"}`,
	"deep arrays": `{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}", "deep objects": strings.Repeat(`{"a":`, 1001) + "1" + strings.Repeat("}", 1001), "deep and open": strings.Repeat("[", 1<<18), "deep and open objects": strings.Repeat(`{"a":`, 1<<17),
}

// Every route that takes a body reads it by one rule, before it does anything.
func TestBodiesThatAreNoJSONAreRefusedEverywhere(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/views", createView("v")), 200)
	before := s.state(t)
	for name, body := range bodies {
		for _, path := range []string{
			"/namespaces", "/namespaces/n/properties", "/namespaces/n/tables", "/namespaces/n/tables/t", "/namespaces/n/tables/t/metrics", "/namespaces/n/register", "/namespaces/n/views", "/namespaces/n/views/v", "/namespaces/n/register-view", "/tables/rename", "/views/rename", "/transactions/commit",
		} {
			got := s.do("POST", s.prefix+path, body, "Content-Type", "application/json")
			kind, message := errorOf(t, got)
			if got.status != 400 || kind != "BadRequestException" || !strings.HasPrefix(message, "Malformed request: ") || internals.MatchString(message) {
				t.Errorf("%s %s: %d %s %q", path, name, got.status, kind, message)
			}
		}
	}
	if after := s.state(t); after != before {
		t.Errorf("changed\n%s\nwas\n%s", after, before)
	}
}

// What kind of text a client says it sends does not matter: some say nothing,
// some say something else.
func TestContentTypeIsNotAsked(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for i, kind := range []string{"", "application/json", "application/json; charset=UTF-8", "text/plain", "application/x-www-form-urlencoded", "application/octet-stream", ";;"} {
		expect(t, s.do("POST", s.prefix+"/namespaces", fmt.Sprintf(`{"namespace":["n%d"]}`, i), "Content-Type", kind), 200)
	}
}

// How the end of a body is told makes no difference, and where it is told in
// two ways nothing is read twice as another request.
func TestFramingOfBodies(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	body := `{"namespace":["framed"]}`
	smuggled := "DELETE " + s.prefix + "/namespaces/victim HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	chunk := func(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
	head := "POST " + s.prefix + "/namespaces HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	for name, c := range map[string]struct {
		request string
		status  string
		made    bool
	}{
		"counted":                     {head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body), "200", true},
		"chunks":                      {head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(body[:5]) + chunk(body[5:]) + "0\r\n\r\n", "200", true},
		"chunks and a trailer":        {head + "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n" + chunk(body) + "0\r\nX: y\r\n\r\n", "200", true},
		"expects to be asked":         {head + fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n\r\n%s", len(body), body), "100", true},
		"two lengths":                 {head + fmt.Sprintf("Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s%s", len(body), len(body)+len(smuggled), body, smuggled), "400", false},
		"the same length twice":       {head + fmt.Sprintf("Content-Length: %d\r\nContent-Length: %[1]d\r\n\r\n%s", len(body), body), "200", true},
		"a length below nothing":      {head + "Content-Length: -1\r\n\r\n" + body, "400", false},
		"a length beyond all":         {head + "Content-Length: 99999999999999999999\r\n\r\n" + body, "400", false},
		"a length in words":           {head + "Content-Length: many\r\n\r\n" + body, "400", false},
		"broken chunks":               {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + body + "\r\n0\r\n\r\n", "400", false},
		"chunks beyond all":           {head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + body + "\r\n0\r\n\r\n", "400", false},
		"an encoding nobody knows":    {head + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunk(body) + "0\r\n\r\n", "501", false},
		"expects what nobody can":     {head + fmt.Sprintf("Expect: miracles\r\nContent-Length: %d\r\n\r\n%s", len(body), body), "417", false},
		"a length beside the chunks":  {head + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n", len(body)) + chunk(body) + "0\r\n\r\n", "200", true},
		"a request behind the length": {head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s%s", len(body), body, smuggled), "200", true},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			// One after another: all make the same namespace.
			s.do("POST", s.prefix+"/namespaces", `{"namespace":["victim"]}`)
			raw := rawAnswer(t, s.handler, c.request)
			if !strings.HasPrefix(raw, "HTTP/1.1 "+c.status+" ") {
				t.Fatalf("%.300q, want %s", raw, c.status)
			}
			if c.status >= "4" {
				_, text, _ := strings.Cut(raw, "\r\n\r\n")
				if !strings.HasPrefix(text, `{"error":{"message":`) {
					t.Errorf("not the error model: %q", raw)
				}
			}
			if got := s.do("HEAD", s.prefix+"/namespaces/framed", ""); (got.status == 204) != c.made {
				t.Errorf("made %v, want %v", got.status == 204, c.made)
			}
			s.do("DELETE", s.prefix+"/namespaces/framed", "")
			expect(t, s.do("HEAD", s.prefix+"/namespaces/victim", ""), 204)
		})
	}
}

// A body that ends before its announced length, because its client died, does
// nothing at all.
func TestHalfABodyDoesNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(s.handler)
	server.Listener = httpapi.Listener(listener)
	server.Start()
	t.Cleanup(server.Close)
	before := s.state(t)
	for _, framed := range []string{"Content-Length: 100\r\n\r\n{\"namespace\":[\"n\"]}", "Transfer-Encoding: chunked\r\n\r\n13\r\n{\"namespace\":[\"n\"]}\r\n"} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "POST "+s.prefix+"/namespaces HTTP/1.1\r\nHost: x\r\n"+framed); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		refused(t, answer{response.StatusCode, response.Header, string(text)}, 400, "BadRequestException")
		_ = response.Body.Close()
		_ = conn.Close()
	}
	if after := s.state(t); after != before {
		t.Errorf("changed\n%s\nwas\n%s", after, before)
	}
}

// Numbers at and beyond every edge are kept exactly or refused, never rounded.
func TestNumbersAreKeptExactlyOrRefused(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	for i, number := range []string{
		"9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "9007199254740993", "1e18", "1e999", "-1e999", "1.5", "1.0", "-0", "0", "123456789012345678901234567890", strings.Repeat("9", 5000), "true", `"7"`, "null", "[]",
	} {
		table := fmt.Sprint("t", i)
		expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create(table)), 200)
		path := s.prefix + "/namespaces/n/tables/" + table
		for _, updates := range []string{
			`{"action":"add-snapshot","snapshot":{"snapshot-id":%s,"sequence-number":1,"timestamp-ms":1900000000000,"manifest-list":"m","summary":{"operation":"append"}}}`,
			`{"action":"add-snapshot","snapshot":{"snapshot-id":1,"sequence-number":%s,"timestamp-ms":1900000000000,"manifest-list":"m","summary":{"operation":"append"}}}`,
			`{"action":"add-snapshot","snapshot":{"snapshot-id":2,"sequence-number":1,"timestamp-ms":%s,"manifest-list":"m","summary":{"operation":"append"}}}`,
			`{"action":"add-snapshot","snapshot":{"snapshot-id":3,"parent-snapshot-id":%s,"sequence-number":1,"timestamp-ms":1900000000000,"manifest-list":"m","summary":{"operation":"append"}}}`,
			`{"action":"set-current-schema","schema-id":%s}`, `{"action":"upgrade-format-version","format-version":%s}`, `{"action":"remove-snapshots","snapshot-ids":[%s]}`,
			`{"action":"set-snapshot-ref","ref-name":"b","type":"branch","snapshot-id":1,"max-ref-age-ms":%s}`, `{"action":"remove-statistics","snapshot-id":%s}`,
			`{"action":"add-schema","last-column-id":%s,"schema":{"type":"struct","fields":[{"id":1,"name":"id","required":false,"type":"long"}]}}`, `{"action":"add-schema","schema":{"type":"struct","fields":[{"id":%s,"name":"x","required":false,"type":"long"}]}}`,
		} {
			got := s.do("POST", path, commit("", fmt.Sprintf(updates, number)))
			if got.status >= 500 {
				t.Errorf("%s: %d %s", fmt.Sprintf(updates, number), got.status, got.body)
			}
			if got.status == 200 && strings.Contains(updates, `"snapshot-id":%s,"seq`) && !strings.Contains(got.body, `"snapshot-id":`+number+",") {
				t.Errorf("%s became another id: %s", number, got.body)
			}
			expect(t, s.do("GET", path, ""), 200)
		}
		for _, requirement := range []string{`{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":%s}`, `{"type":"assert-last-assigned-field-id","last-assigned-field-id":%s}`} {
			if got := s.do("POST", path, commit(fmt.Sprintf(requirement, number), "")); got.status != 200 && got.status != 400 && got.status != 409 {
				t.Errorf("%s: %d %s", fmt.Sprintf(requirement, number), got.status, got.body)
			}
		}
	}
	if entries, err := os.ReadDir(s.root); err != nil || len(entries) != 1 {
		t.Errorf("files beside the warehouse: %v, %v", entries, err)
	}
}

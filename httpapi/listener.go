package httpapi

import (
	"bytes"
	"fmt"
	"net"
	"strconv"

	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// MaxHeaders is how many bytes the request line and the headers of a request
// may have, give or take what net/http buffers (4 KiB): a long token or page
// token has room, and no caller may claim more before it is known. Beyond it
// the answer is 431.
const MaxHeaders = 64 << 10

// Listener wraps the listener of the server so that requests which net/http
// refuses by itself, before any handler runs (an invalid escape or a raw
// control character in the path, headers that are too large, no Host), are
// answered in the error model too. net/http writes those refusals as fixed
// plain text straight to the connection and then closes it; no handler of this
// server writes plain text.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept wraps the connection.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return refusals{c}, nil
}

type refusals struct{ net.Conn }

var (
	refusalStart = []byte("HTTP/1.1 ")
	// An expectation other than 100-continue is refused without a word.
	expectation    = []byte("HTTP/1.1 417 ")
	expectationEnd = []byte("\r\nContent-Length: 0\r\n\r\n")
	refusalMark    = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
)

// CloseWrite ends our half of the connection: net/http does so to let a refused
// client read its answer before the connection is reset.
func (c refusals) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Write passes p on, unless it is one of net/http's own refusals.
func (c refusals) Write(p []byte) (int, error) {
	if len(p) < 512 && bytes.HasPrefix(p, refusalStart) {
		if answer := refusal(p); answer != nil {
			if _, err := c.Conn.Write(answer); err != nil {
				return 0, err
			}
			return len(p), nil
		}
	}
	return c.Conn.Write(p)
}

// refusal translates "HTTP/1.1 400 Bad Request…" with the headers of
// refusalMark, or a bare 417, nil if p is something else.
func refusal(p []byte) []byte {
	line, _, ok := bytes.Cut(p, refusalMark)
	if !ok && bytes.HasPrefix(p, expectation) && bytes.HasSuffix(p, expectationEnd) {
		line, _, ok = bytes.Cut(p, []byte("\r\n"))
	}
	if !ok || bytes.IndexByte(line, '\r') >= 0 || len(line) < 12 {
		return nil
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil || status < 400 {
		return nil
	}
	name := "BadRequestException"
	if status >= 500 {
		name = "UnsupportedOperationException"
	}
	body := append([]byte(`{"error":{"message":`), wire.AppendString(nil, "Malformed request: "+string(bytes.TrimSpace(line[12:])))...)
	body = fmt.Appendf(body, `,"type":%q,"code":%d}}`, name, status)
	return fmt.Appendf(nil, "%s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", line, len(body), body)
}

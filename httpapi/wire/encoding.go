package wire

import (
	"net/http"
	"strconv"
	"strings"
)

// AcceptsGzip reports whether gzip is the best answer to Accept-Encoding
// (RFC 9110 12.5.3) among gzip and identity: it is named (or covered by "*")
// with a weight above 0 and not below the one that identity was given by name.
// Encodings that the server does not speak are passed over.
func AcceptsGzip(h http.Header) bool {
	gzip, star, identity := -1.0, -1.0, -1.0
	for _, line := range h.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(item, ";")
			q := weight(params)
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip", "x-gzip":
				gzip = max(gzip, q)
			case "*":
				star = q
			case "identity":
				identity = q
			}
		}
	}
	if gzip < 0 {
		gzip = star
	}
	return gzip > 0 && gzip >= identity
}

// weight reads ";q=": 1 if absent, 0 if it is no number between 0 and 1.
func weight(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, ok := strings.Cut(param, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(q >= 0 && q <= 1) {
			return 0
		}
		return q
	}
	return 1
}

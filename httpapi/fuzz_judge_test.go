package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// internals are texts that no client may read.
var internals = regexp.MustCompile(`(?i)SQLSTATE|\bpgx\b|\bpq:|\bSELECT .* FROM\b|\bINSERT INTO\b|\bUPDATE \w+\.\w+ SET\b|duplicate key value|violates|relation "|syntax error at|goroutine \d|\.go:\d|panic|runtime error|nil pointer|index out of range|0x[0-9a-f]{8}|no such file|permission denied|not a directory|file name too long|\blstat\b|\bmkdir\b|\bopen /|json: (?:cannot unmarshal|unsupported|invalid)|strconv\.|invalid character|unexpected end of JSON|gzip: |yaml:|context deadline|context canceled|connection refused|%!`)

// wrong says what no client could live with in an answer, "" for nothing.
func (f *target) wrong(w wild, got answer) string {
	if log := f.errors.String(); strings.Contains(log, "panic") {
		return "the server panicked: " + log
	}
	if got.status >= 500 {
		return "an error of the server"
	}
	if got.status < 400 {
		return wrongSuccess(w, got)
	}
	if w.op.method == "HEAD" {
		if got.body != "" {
			return "a body"
		}
		return ""
	}
	if strings.HasSuffix(strings.SplitN(w.target, "?", 2)[0], "/oauth/tokens") && got.status == 400 && strings.Contains(got.body, `"error_description"`) {
		return "" // the error form of OAuth
	}
	var model struct {
		Error struct {
			Message, Type string
			Code          int
		}
	}
	d := json.NewDecoder(strings.NewReader(got.body))
	d.DisallowUnknownFields()
	err := d.Decode(&model)
	e := model.Error
	if err != nil || e.Message == "" || e.Type == "" || e.Code != got.status || got.header.Get("Content-Type") != "application/json" || !utf8.ValidString(got.body) {
		return fmt.Sprintf("not the error model: %v", err)
	}
	return f.leak(w, e.Message)
}

func wrongSuccess(w wild, got answer) string {
	empty := got.status == http.StatusNoContent || got.status == http.StatusNotModified || w.op.method == "HEAD"
	switch {
	case !slices.Contains(w.op.successes, strconv.Itoa(got.status)) && got.status != http.StatusNotModified:
		return "not a documented success"
	case empty && got.body != "", !empty && got.body == "" && strings.HasPrefix(w.op.path, "/v1/"): // Lakekeeper has empty successes
		return "a body that should not be there, or none"
	case got.body != "" && got.header.Get("Content-Encoding") == "" && !json.Valid([]byte(got.body)):
		return "not JSON"
	}
	return ""
}

// leak says what a message tells that is none of a client's business.
func (f *target) leak(w wild, message string) string {
	// Clients know their warehouse; long texts of theirs are cut short.
	own := regexp.MustCompile(regexp.QuoteMeta(f.root)+`(/demo|/?d?e?m?…)`).ReplaceAllString(message, "")
	for _, place := range regexp.MustCompile(regexp.QuoteMeta(f.root)+`[^"\s]*`).FindAllString(own, -1) {
		if strings.Contains(w.text, place) {
			own = strings.ReplaceAll(own, place, "")
		}
	}
	if strings.Contains(own, f.root) {
		return "a path outside of the warehouse is told"
	}
	if strings.HasPrefix(own, "The storage profile does not work: ") {
		return "" // what the operator's own store says is told to whoever sets it up
	}
	for _, leak := range internals.FindAllString(own, -1) {
		if !strings.Contains(w.text+w.target, leak) {
			return "internals are told: " + leak
		}
	}
	return ""
}

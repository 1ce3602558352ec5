package eventstore

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// guardedTexts keeps the wrapped form of each statement: projectors queue the
// same few constants for ever, and a text that stays the same stays prepared.
var guardedTexts sync.Map // guardKey -> string

type guardKey struct {
	sql  string
	rows int
}

var (
	startsWrite  = regexp.MustCompile(`(?i)^(?:--[^\n]*\n|\s)*(INSERT|UPDATE|DELETE|WITH)\b`)
	hasReturning = regexp.MustCompile(`(?i)\bRETURNING\b`)
)

// guarded wraps a projector's statement so that another number of rows than
// expected raises IC004 inside the pipeline. The client cannot look at a count
// and decide: the batch with its commit is under way before the first answer
// comes back.
func guarded(sql string, rows int) (string, error) {
	if rows < 0 {
		return sql, nil
	}
	key := guardKey{sql, rows}
	if text, ok := guardedTexts.Load(key); ok {
		return text.(string), nil
	}
	body := strings.TrimRight(sql, "; \t\r\n")
	if !startsWrite.MatchString(body) || hasReturning.MatchString(body) {
		return "", fmt.Errorf("%w: a write that counts its rows must be one INSERT, UPDATE or DELETE without RETURNING: %s", ErrInvalidCommit, sql)
	}
	text := fmt.Sprintf("WITH w AS (\n%s\nRETURNING 1\n) SELECT es.expect_rows((SELECT count(*) FROM w), %d, 'IC004')", body, rows)
	guardedTexts.Store(key, text)
	return text, nil
}

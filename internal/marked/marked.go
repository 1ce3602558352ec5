// Package marked rewrites the part of a document that a program measures: what
// stands between two comments that bear its name.
package marked

import (
	"fmt"
	"os"
	"strings"
)

// Write puts the text between the markers of a name in a file, which must hold
// both: "<!-- name begin -->" and "<!-- name end -->". The text ends in a new
// line.
func Write(path, name, text string) error {
	begin, end := "<!-- "+name+" begin -->", "<!-- "+name+" end -->"
	old, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("rewrite a part: %w", err)
	}
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s lacks the markers %s and %s", path, begin, end)
	}
	if err := os.WriteFile(path, []byte(before+begin+"\n"+text+end+after), 0o644); err != nil { //nolint:gosec // a document for everybody
		return fmt.Errorf("rewrite a part: %w", err)
	}
	return nil
}

package config

import (
	"fmt"
	"strings"
)

// parseFile reads the form that systemd's EnvironmentFile and docker's
// --env-file share: NAME=value a line, blank lines and lines that begin with #
// are skipped, a value may stand in single or double quotes, nothing is
// expanded.
func parseFile(text string) (map[string]string, error) {
	values := map[string]string{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name, " \t\"'") {
			return nil, fmt.Errorf("line %d is not NAME=value", i+1)
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("line %d gives %s a second time", i+1, name)
		}
		values[name] = value
	}
	return values, nil
}

// hint names the setting that a wrong name may have meant, or is empty.
func hint(name string) string {
	best, least := "", 4
	for _, s := range Settings() {
		if d := distance(name, s.Variable); d < least {
			best, least = s.Variable, d
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + best + "?)"
}

// distance is the number of single-byte edits between two names
// (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}

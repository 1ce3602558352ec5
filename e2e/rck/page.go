package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/icecore-catalog/icecore/internal/marked"
)

// writePage puts the results between the markers of the file. Nothing of the
// machine or the moment is in them, so that the page changes only if a result
// does.
func writePage(path string, results []result, skips skipReasons) error {
	return marked.Write(path, "e2e:rck", page(results, skips))
}

func page(results []result, skips skipReasons) string {
	var b strings.Builder
	b.WriteString("| run | passed | failed | skipped |\n| --- | ---: | ---: | ---: |\n")
	for _, r := range results {
		n := count(r.cases)
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", r.spec.title, n[passed], n[failedState], n[skipped])
	}
	b.WriteString("\n### Skipped\n\n| test | why |\n| --- | --- |\n")
	for _, id := range slices.Sorted(maps.Keys(skips)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", id, skips[id])
	}

	// One row a test, one column a run. The subclass repeats the tests of its
	// parent: both stand in one row.
	rows := map[string][]string{}
	for i, r := range results {
		for _, c := range r.cases {
			kind := "tables"
			if strings.Contains(c.class, "View") {
				kind = "views"
			}
			row := kind + " | `" + c.name + "`"
			if rows[row] == nil {
				rows[row] = make([]string, len(results))
			}
			rows[row][i] = string(c.state)
			if c.state == failedState {
				rows[row][i] = "**failed**"
			}
		}
	}
	b.WriteString("\n### Test by test\n\n| of | test |")
	for _, r := range results {
		b.WriteString(" " + r.spec.title + " |")
	}
	b.WriteString("\n| --- | --- |" + strings.Repeat(" --- |", len(results)) + "\n")
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		b.WriteString("| " + row + " |")
		for _, cell := range rows[row] {
			if cell == "" {
				cell = "–"
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

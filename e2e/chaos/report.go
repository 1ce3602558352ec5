package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/internal/marked"
)

// print writes the table.
func (r *result) print(w io.Writer) { _, _ = io.WriteString(w, r.page()) }

func (r *result) page() string {
	var b strings.Builder
	faults := 0
	for _, n := range r.struck {
		faults += n
	}
	if faults > 0 {
		fmt.Fprintf(&b, "%d commits by %d workers over two instances under %d faults, in %s; all that was under way ended %s later (seed %d).\n\n",
			r.commits, workersCount, faults, r.took.Round(time.Second), r.settled.Round(time.Second), r.seed)
	} else {
		fmt.Fprintf(&b, "%d commits by %d workers over two instances, in %s (seed %d).\n\n", r.commits, workersCount, r.took.Round(time.Second), r.seed)
	}
	b.WriteString("| what | figures | |\n| --- | --- | --- |\n")
	for _, line := range r.rows {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", line.what, line.figure, line.verdict)
	}
	if faults == 0 {
		return b.String()
	}
	b.WriteString("\n| fault | times |\n| --- | ---: |\n")
	for _, name := range slices.Sorted(maps.Keys(r.struck)) {
		fmt.Fprintf(&b, "| %s | %d |\n", name, r.struck[name])
	}
	return b.String()
}

// write puts the table between the markers of the mode in the file.
func (r *result) write(path string) error {
	return marked.Write(path, "chaos:"+r.mode, r.page())
}

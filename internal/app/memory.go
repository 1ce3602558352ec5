package app

import (
	"os"
	"runtime/debug"
)

const (
	// gcPercent lets the heap grow to five times what is alive before it is
	// collected: a catalog's live heap is a few megabytes, and collecting it at
	// every doubling cost a tenth of a load.
	gcPercent = 400
	// memoryLimit is where collecting becomes eager again, in bytes: documents
	// of many snapshots are large.
	memoryLimit = 1 << 30
)

// tuneMemory sets the collector, except for what the operator set himself by
// Go's own variables.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

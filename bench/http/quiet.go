package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// quiet waits until the machine has next to nothing to do: what a measurement
// leaves behind (documents that are folded, read models that follow, autovacuum)
// is not the business of the next one. It gives up after a minute, and where the
// system does not tell.
func quiet(ctx context.Context) {
	const look, enough, patience = 500 * time.Millisecond, 3, 120
	idle := 0
	before, ok := readCPU()
	for range patience {
		if !ok || idle == enough {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(look):
		}
		var now cpu
		if now, ok = readCPU(); now.idle-before.idle >= 9*(now.all-before.all)/10 {
			idle++
		} else {
			idle = 0
		}
		before = now
	}
}

// cpu is how much time all processors have had, and how much of it they idled.
type cpu struct{ idle, all int64 }

func readCPU() (c cpu, ok bool) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpu{}, false
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal …
	if len(fields) < 6 || fields[0] != "cpu" {
		return cpu{}, false
	}
	for i, field := range fields[1:min(len(fields), 9)] {
		var n int64
		if _, err := fmt.Sscan(field, &n); err != nil {
			return cpu{}, false
		}
		c.all += n
		if i == 3 || i == 4 {
			c.idle += n
		}
	}
	return c, true
}

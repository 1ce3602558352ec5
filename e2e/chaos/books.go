package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// outcome is what a client knows of its request.
type outcome string

const (
	acknowledged outcome = "acknowledged"
	refused      outcome = "refused" // a clean failure: it did not happen and never will
	unknown      outcome = "unknown" // CommitStateUnknown, a broken connection, no answer
)

// setUpKind is what is done before the workers begin.
const setUpKind = "set-up"

// entry is one request that may change something.
type entry struct {
	Request ids.ID // its X-Request-Id, which its events carry
	// Once groups the requests of one Idempotency-Key; else it is Request.
	Once    ids.ID
	Worker  int
	Kind    string
	Events  int // how many events it makes; 0: any number
	Outcome outcome
	Status  int
	Object  ids.ID    `json:",omitzero"` // the table's uuid, where it is known
	At      time.Time // when its outcome was known
}

// books are what the clients were told, kept in a file: an entry is in it before
// the next request is sent.
type books struct {
	mu    sync.Mutex
	file  *os.File
	out   *bufio.Writer
	list  []entry
	acked atomic.Int64
	wrong []string // answers that cannot be right
}

func openBooks(path string) (*books, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &books{file: file, out: bufio.NewWriter(file)}, nil
}

func (b *books) note(e entry) {
	e.At = time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, e)
	if e.Outcome == acknowledged && e.Kind != setUpKind {
		b.acked.Add(1)
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = b.out.Write(append(line, '\n'))
	}
	if err == nil {
		err = b.out.Flush()
	}
	if err != nil {
		b.complainLocked("the books: %v", err)
	}
}

// complain keeps what no retry can make right.
func (b *books) complain(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complainLocked(format, args...)
}

func (b *books) complainLocked(format string, args ...any) {
	if len(b.wrong) < 50 {
		b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
	}
}

func (b *books) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out.Flush(); err != nil {
		return err
	}
	if err := b.file.Sync(); err != nil {
		return err
	}
	return b.file.Close()
}

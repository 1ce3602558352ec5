package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// record is what a consumer met, in the order in which it met it first. It is
// written down before the next one is asked for.
type record struct {
	name     string
	byStream bool // order is a stream's only

	mu       sync.Mutex
	file     *os.File
	out      *bufio.Writer
	first    []seen
	digests  map[place]string
	repeated int
	last     time.Time // when something new came
	wrong    problems
}

// place tells events apart: one that is numbered anew after a fail-over comes
// again under another epoch.
type place struct {
	id    ids.ID
	epoch int64
}

func newRecord(name, path string, byStream bool) (*record, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &record{name: name, byStream: byStream, file: file, out: bufio.NewWriter(file), digests: map[place]string{}, last: time.Now()}, nil
}

// take notes an event; attribute returns a CloudEvents attribute of it.
func (r *record) take(attribute func(name string) string, data []byte) {
	s, err := parseSeen(attribute, data)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.wrong.add("%s: %v", r.name, err)
		return
	}
	if digest, again := r.digests[place{s.ID, s.Epoch}]; again {
		// With a reference in place of its data, it says nothing of them.
		if r.repeated++; digest != s.Digest && digest != "" && s.Digest != "" {
			r.wrong.add("%s: %s came again with other data", r.name, s.ID)
		}
		return
	}
	r.digests[place{s.ID, s.Epoch}] = s.Digest
	r.first = append(r.first, s)
	r.last = time.Now()
	line, err := json.Marshal(s)
	if err == nil {
		_, err = r.out.Write(append(line, '\n'))
	}
	if err == nil {
		err = r.out.Flush()
	}
	if err != nil {
		r.wrong.add("%s: %v", r.name, err)
	}
}

func parseSeen(attribute func(name string) string, data []byte) (s seen, err error) {
	id := func(name string) ids.ID {
		parsed, parseErr := ids.Parse(attribute(name))
		err = errors.Join(err, parseErr)
		return parsed
	}
	number := func(name string) int64 {
		n, parseErr := strconv.ParseInt(attribute(name), 10, 64)
		err = errors.Join(err, parseErr)
		return n
	}
	s = seen{Position: number("sequence"), Epoch: number("epoch"), ID: id("id"), Stream: id("partitionkey"), Version: number("streamversion"), Type: attribute("type")}
	if attribute("dataref") == "" {
		sum := sha256.Sum256(data)
		s.Digest = hex.EncodeToString(sum[:])
	}
	if err != nil {
		return s, fmt.Errorf("a message that is no event: %w", err)
	}
	return s, nil
}

// await waits until every event of the log was met; it gives up when nothing new
// came for long.
func (r *record) await(ctx context.Context, log []logged) error {
	next, began := 0, time.Now()
	for {
		r.mu.Lock()
		for next < len(log) {
			if _, met := r.digests[place{log[next].ID, log[next].Epoch}]; !met {
				break
			}
			next++
		}
		met, last := len(r.first), r.last
		r.mu.Unlock()
		if next == len(log) {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if time.Since(last) > patience && time.Since(began) > patience {
			return fmt.Errorf("%s met %d events, not that of position %d, and nothing new for %s", r.name, met, log[next].Position, patience)
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// patience is how long nothing may come although there is something: more than
// the longest pause of a destination that failed often.
const patience = 2 * time.Minute

func (r *record) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.out.Flush(), r.file.Sync(), r.file.Close())
}

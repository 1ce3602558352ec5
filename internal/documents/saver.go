package documents

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections/document"
)

const (
	// maxPlain is the size above which nobody tries: metadata shrinks to a tenth.
	maxPlain = 2 << 20
	// maxWaiting bounds the documents that wait to be saved; more are let go.
	maxWaiting = 256
	saveTime   = 5 * time.Second
	// rest is how long the saver lets documents gather between two rounds. What
	// it saves helps other instances' first loads; under a stream of commits
	// only the state that a table rests in is worth a transaction.
	rest = 5 * time.Second
)

// Saver writes documents to the database's document cache, beside the commits
// and never inside them. It keeps at most one waiting document for each object:
// of a hot table only the latest is worth saving.
type Saver struct {
	save   func(ctx context.Context, object, mark ids.ID, p *document.Packed) error
	logger *slog.Logger

	mu      sync.Mutex
	waiting map[ids.ID]*Document
	order   []ids.ID
	closed  bool
	wake    chan struct{}
	closing chan struct{}
	done    chan struct{}
}

// NewSaver starts a saver on what writes one document. Close ends it.
func NewSaver(save func(ctx context.Context, object, mark ids.ID, p *document.Packed) error, logger *slog.Logger) *Saver {
	s := &Saver{
		save: save, logger: logger,
		waiting: map[ids.ID]*Document{}, wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}),
	}
	go s.run()
	return s
}

// Add hands over a document and returns at once. A nil saver saves nothing.
func (s *Saver) Add(d *Document) {
	if s == nil || d.size > maxPlain {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if _, ok := s.waiting[d.Object]; !ok {
		if len(s.order) >= maxWaiting {
			return
		}
		s.order = append(s.order, d.Object)
	}
	s.waiting[d.Object] = d
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close saves what waits, as far as the context allows, and ends the saver.
func (s *Saver) Close(ctx context.Context) {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
		close(s.wake)
	}
	s.mu.Unlock()
	select {
	case <-s.done:
	case <-ctx.Done():
	}
}

func (s *Saver) next() *Document {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == 0 {
		return nil
	}
	object := s.order[0]
	s.order = s.order[1:]
	d := s.waiting[object]
	delete(s.waiting, object)
	return d
}

func (s *Saver) run() {
	defer close(s.done)
	pause := time.NewTimer(rest)
	defer pause.Stop()
	for range s.wake {
		pause.Reset(rest)
		select {
		case <-pause.C:
		case <-s.closing:
		}
		s.drain()
	}
	s.drain()
}

func (s *Saver) drain() {
	for d := s.next(); d != nil; d = s.next() {
		if err := s.one(d); err != nil {
			s.logger.Debug("a document was not cached", "object", d.Object.String(), "error", err)
		}
	}
}

func (s *Saver) one(d *Document) error {
	p, err := d.Packed()
	if err != nil || len(p.Deflate) > document.MaxCached {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	return s.save(ctx, d.Object, d.Mark, p)
}

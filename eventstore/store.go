package eventstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/mod/sumdb/note"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// Config of a [Store]. Pool is required; zero values of the rest are replaced
// by what their comments say.
type Config struct {
	// Pool serves appends; it works as the application role.
	Pool *pgxpool.Pool
	// ReadPool serves reads, so that appends that wait for locks can't starve
	// them. Pool if nil.
	ReadPool *pgxpool.Pool
	// Conn is how the sequencer, the burner and the listener connect, each by a
	// connection of its own. That of Pool if nil.
	Conn *pgx.ConnConfig

	Clock      clock.Clock // clock.System
	IDs        ids.Source  // ids.NewV7(Clock)
	Projectors []Projector
	Observer   Observer
	Logger     *slog.Logger // discards

	// OnBatch may queue statements that are written with a batch of the
	// sequencer, behind it, in its transaction and its flight: for jobs that say
	// "look" (kicks). A statement that fails undoes the batch. One sequencer
	// calls it from one goroutine, and waits.
	OnBatch func(b Batch, writes *pgx.Batch)

	// SigningKey signs checkpoints ([NewSigningKey]); empty makes none.
	// VerifierKeys check kept ones: those of earlier signing keys; the own is
	// always among them.
	SigningKey   string
	VerifierKeys []string

	// SharedFlights is how many transactions the plain commits of this instance
	// may share at once: 2. Negative: each commit has a transaction of its own.
	SharedFlights int

	LockTimeout   time.Duration // wait for one lock of an append: 2 s
	AppendTimeout time.Duration // wait for the answer to an append before its id is burned: 10 s
	BurnTimeout   time.Duration // time to settle a fate before it is unknown: 5 s
	PollInterval  time.Duration // sequencer and waiters look without being told: 25 ms
	BatchSize     int           // events in one round of the sequencer: 2,000, at least MaxRecords+1
	PartitionSize int64         // numbers in one partition of es.event: DefaultPartitionSize
}

// Store is the log on PostgreSQL. It is safe for concurrent use.
type Store struct {
	pool, readPool *pgxpool.Pool
	conn           *pgx.ConnConfig
	clock          clock.Clock
	ids            ids.Source
	projectors     []Projector
	observer       Observer
	logger         *slog.Logger
	onBatch        func(Batch, *pgx.Batch)
	signer         note.Signer
	verifiers      []note.Verifier

	lockTimeout   string // as PostgreSQL reads it
	appendTimeout time.Duration
	burnTimeout   time.Duration
	pollInterval  time.Duration
	batchSize     int
	partitionSize int64

	sharing *sharing // nil: each commit has a transaction of its own

	logID ids.ID
	nudge chan struct{} // a local commit happened: holds at most one

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when the head moved
}

var _ Log = (*Store)(nil)

// New opens the log of a migrated database, makes the partitions that are
// missing and mends a sequence that is behind the log (after a restore by
// logical replication). It starts nothing: see [Store.Sequencer].
func New(ctx context.Context, c Config) (*Store, error) {
	if c.Pool == nil {
		return nil, errors.New("open the log: no pool")
	}
	s := &Store{
		pool: c.Pool, readPool: c.ReadPool, conn: c.Conn, clock: c.Clock, ids: c.IDs, projectors: c.Projectors,
		observer: c.Observer, logger: c.Logger, onBatch: c.OnBatch,
		lockTimeout:   milliseconds(c.LockTimeout, 2*time.Second),
		appendTimeout: c.AppendTimeout, burnTimeout: c.BurnTimeout, pollInterval: c.PollInterval,
		batchSize: c.BatchSize, partitionSize: c.PartitionSize,
		nudge: make(chan struct{}, 1), changed: make(chan struct{}),
	}
	if s.readPool == nil {
		s.readPool = s.pool
	}
	if s.conn == nil {
		s.conn = s.pool.Config().ConnConfig
	}
	if s.clock == nil {
		s.clock = clock.System{}
	}
	if s.ids == nil {
		s.ids = ids.NewV7(s.clock)
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if c.SharedFlights >= 0 {
		s.sharing = &sharing{store: s, flights: cmp.Or(c.SharedFlights, 2)}
	}
	s.appendTimeout = orDuration(s.appendTimeout, 10*time.Second)
	s.burnTimeout = orDuration(s.burnTimeout, 5*time.Second)
	s.pollInterval = orDuration(s.pollInterval, 25*time.Millisecond)
	if s.batchSize == 0 {
		s.batchSize = 2 * MaxRecords
	}
	s.batchSize = max(s.batchSize, MaxRecords+1)
	if s.partitionSize == 0 {
		s.partitionSize = DefaultPartitionSize
	}
	if err := s.readKeys(c.SigningKey, c.VerifierKeys); err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}

	if err := s.EnsurePartitions(ctx, 1); err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	head, err := s.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	s.logID = head.LogID
	return s, nil
}

func (s *Store) readKeys(signing string, verifying []string) error {
	if signing != "" {
		signer, own, err := signerOf(signing)
		if err != nil {
			return err
		}
		s.signer, s.verifiers = signer, append(s.verifiers, own)
	}
	for i, key := range verifying {
		verifier, err := note.NewVerifier(key)
		if err != nil {
			return fmt.Errorf("%w: number %d", ErrVerifierKey, i+1) // it may be a private one
		}
		s.verifiers = append(s.verifiers, verifier)
	}
	return nil
}

func orDuration(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

func milliseconds(d, fallback time.Duration) string {
	return strconv.FormatInt(orDuration(d, fallback).Milliseconds(), 10) + "ms"
}

// LogID identifies this log among all logs; it is made with the database.
func (s *Store) LogID() ids.ID { return s.logID }

// connect opens a connection outside the pools.
func (s *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	config := s.conn.Copy()
	if before := s.pool.Config().BeforeConnect; before != nil {
		if err := before(ctx, config); err != nil {
			return nil, err
		}
	}
	return pgx.ConnectConfig(ctx, config)
}

// Head is the sequencer's row: how far the log reaches.
type Head struct {
	LogID     ids.ID
	Size      int64 // positions 1 to Size exist
	Seen      int64 // highest commit number met
	Holes     []int64
	Epoch     int64
	Root      [32]byte
	LogTime   time.Time
	Halted    *HaltedError // nil while running
	LastDrawn int64        // highest commit number drawn by anyone
}

// Head reads the head of the log from the primary.
func (s *Store) Head(ctx context.Context) (Head, error) {
	var (
		h             Head
		root          []byte
		state, reason string
		haltedAt      int64
		logID         pgtype.UUID
	)
	err := s.readPool.QueryRow(ctx, sqlHead).Scan(&logID, &h.Size, &h.Seen, &h.Holes, &h.Epoch, &root, &h.LogTime,
		&state, &reason, &haltedAt, &h.LastDrawn)
	if errors.Is(err, pgx.ErrNoRows) {
		return Head{}, errNoHead
	}
	if err != nil {
		return Head{}, fmt.Errorf("read the head of the log: %w", err)
	}
	h.LogID = logID.Bytes
	h.LogTime = h.LogTime.UTC()
	copy(h.Root[:], root)
	if state == stateHalted {
		h.Halted = &HaltedError{AppendSeq: haltedAt, Reason: reason}
	}
	return h, nil
}

var errNoHead = errors.New("the head row of the log is missing: migrate the database")

// Ready reports, as [NotReadyError] or a database error, why the log cannot
// take commits for long: no spare partition of the event table, a sequence
// behind the log. A halted feed does not make it unready, for commits go on.
func (s *Store) Ready(ctx context.Context) error {
	head, err := s.Head(ctx)
	if err != nil {
		return err
	}
	if head.LastDrawn < head.Seen {
		return &NotReadyError{Reason: fmt.Sprintf("the sequence es.append_seq is at %d, behind the log at %d: restart or migrate", head.LastDrawn, head.Seen)}
	}
	p, err := readPartitions(ctx, s.readPool)
	if err != nil {
		return err
	}
	if !p.current || p.spare < 1 {
		return &NotReadyError{Reason: "the event table has no spare partition"}
	}
	return nil
}

// Nudge tells the local sequencer that there is something to do.
func (s *Store) Nudge() {
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}

// Changed returns a channel that is closed when this instance learns that the
// log grew. Get it before reading, or a change in between is missed; other
// instances' batches are seen only while [Store.Listen] runs.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *Store) broadcast() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

package eventstore

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/internal/faultproxy"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// behindProxy opens a store whose appends go through a fault proxy. Burns go
// straight to the server, as they would over a new connection.
func behindProxy(t *testing.T, options ...func(*Config)) (*bundle, *faultproxy.Proxy) {
	t.Helper()
	db := pgtest.New(t)
	proxy, err := faultproxy.Start(context.WithoutCancel(t.Context()), db.Addr())
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgxpool.ParseConfig(db.URL(pgtest.RoleApp))
	if err != nil {
		t.Fatal(err)
	}
	direct := config.ConnConfig.Copy()
	host, port, err := net.SplitHostPort(proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.Host, config.ConnConfig.Port, config.ConnConfig.Fallbacks = host, uint16(number), nil
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = proxy.Close()
		pool.Close()
	})
	b := open(t, db, append([]func(*Config){func(c *Config) {
		c.Pool, c.ReadPool, c.Conn = pool, db.App, direct
		c.AppendTimeout, c.BurnTimeout = 300*time.Millisecond, 2*time.Second
	}}, options...)...)
	return b, proxy
}

// onAppend applies a fate to the next flight that seals a commit.
func onAppend(proxy *faultproxy.Proxy, fate faultproxy.Fate) {
	armed := make(chan struct{}, 1)
	armed <- struct{}{}
	proxy.SetPlan(func(f faultproxy.Flight) faultproxy.Fate {
		if slices.ContainsFunc(f.SQL, func(sql string) bool { return sql == sqlSeal || sql == sqlSealOne || sql == sqlAppendShared }) {
			select {
			case <-armed:
				return fate
			default:
			}
		}
		return faultproxy.Pass
	})
}

func events(t *testing.T, b *bundle, stream ids.ID) int {
	t.Helper()
	return value[int](t, b.db, "SELECT count(*) FROM es.event WHERE stream_id = $1", pgID(stream))
}

// A commit, whatever it touches, is one network flight.
func TestAppendIsOneFlight(t *testing.T) {
	t.Parallel()
	b, proxy := behindProxy(t, func(c *Config) { c.AppendTimeout = 10 * time.Second })
	streams := []ids.ID{testIDs.New(), testIDs.New(), testIDs.New()}
	for _, s := range streams {
		b.append(t, creation(s))
	}
	commit := func(version int64) *Commit {
		c := change(streams[0], version)
		c.Streams = append(c.Streams, change(streams[1], version).Streams[0], Stream{ID: streams[2], Mode: Held})
		c.Records = append(c.Records, record(streams[1], "committed"))
		c.ResolvedAt = time.Now()
		c.Idempotency = &Idempotency{Principal: testIDs.New(), Key: testIDs.New(), Operation: "commitTransaction", Status: 204, ExpiresAt: time.Now().Add(time.Hour)}
		return c
	}
	// The pool may open several connections; each prepares the statements once.
	conns := b.pool.AcquireAllIdle(t.Context())
	for _, c := range conns[1:] {
		c.Conn().Close(t.Context())
	}
	for _, c := range conns {
		c.Release()
	}
	b.append(t, commit(1))
	for version := int64(2); version < 6; version++ {
		before := proxy.Flights()
		b.append(t, commit(version))
		if n := proxy.Flights() - before; n != 1 {
			t.Errorf("a commit took %d flights", n)
		}
	}
}

// Law 3: whatever happens to the bytes, the answer is the truth.
func TestLostAnswersAreSettled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fate     faultproxy.Fate
		release  bool // let the held bytes go while the append waits
		happened bool
	}{
		{fate: faultproxy.CutBefore, happened: false},
		{fate: faultproxy.CutAfter, happened: true},
		{fate: faultproxy.HoldAnswer, happened: true},
		{fate: faultproxy.HoldFlight, happened: false},
		{fate: faultproxy.HoldSync, release: true, happened: true},
	} {
		inBothWays(t, test.fate.String(), func(t *testing.T, way func(*Config)) {
			b, proxy := behindProxy(t, way)
			stream := testIDs.New()
			b.append(t, creation(stream))
			onAppend(proxy, test.fate)
			c := change(stream, 1)
			done := make(chan error, 1)
			go func() {
				_, err := b.Append(t.Context(), c)
				done <- err
			}()
			if got := <-proxy.Hits(); got != test.fate {
				t.Fatalf("the proxy did %s", got)
			}
			if test.release {
				super := b.db.Connect(t, pgtest.RoleSuper)
				// The burn stands in the queue behind the transaction in doubt.
				until(t, "the burn waits for its twin", func(ctx context.Context) (bool, error) {
					var waits bool
					err := super.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity
						WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%''aborted''%')`).Scan(&waits)
					return waits, err
				})
				select {
				case err := <-done:
					t.Fatalf("answered %v while the commit was in doubt", err)
				default:
				}
				proxy.Release()
			}
			err := <-done
			proxy.Release()
			var busy *BusyError
			switch {
			case test.happened && err != nil:
				t.Fatalf("got %v for a commit that happened", err)
			case !test.happened && (!errors.As(err, &busy) || !errors.Is(err, ErrBurned)):
				t.Fatalf("got %v for a commit that was burned", err)
			}
			want, count := Aborted, 1
			if test.happened {
				want, count = Committed, 2
			}
			if got, err := b.Outcome(t.Context(), c.ID); err != nil || got != want {
				t.Errorf("outcome %q, %v, want %q", got, err, want)
			}
			if n := events(t, b, stream); n != count {
				t.Errorf("%d events, want %d", n, count)
			}
			// The same commit again: the same answer, and nothing twice.
			_, err = b.Append(t.Context(), c)
			if test.happened != (err == nil) || (err != nil && !errors.Is(err, ErrBurned)) {
				t.Errorf("again: %v", err)
			}
			if n := events(t, b, stream); n != count {
				t.Errorf("%d events after a second try, want %d", n, count)
			}
		})
	}
}

// A burned id stays burned when the delayed commit arrives at last.
func TestBurnedCommitArrivesLate(t *testing.T) {
	t.Parallel()
	inBothWays(t, "", func(t *testing.T, way func(*Config)) {
		b, proxy := behindProxy(t, way)
		stream := testIDs.New()
		b.append(t, creation(stream))
		onAppend(proxy, faultproxy.HoldFlight)
		c := change(stream, 1)
		if _, err := b.Append(t.Context(), c); !errors.Is(err, ErrBurned) {
			t.Fatalf("got %v", err)
		}
		proxy.Release() // now the server gets the whole batch
		b.append(t, change(stream, 1))
		if n := events(t, b, stream); n != 2 {
			t.Errorf("%d events, want 2: the creation and the second change", n)
		}
		if got, err := b.Outcome(t.Context(), c.ID); err != nil || got != Aborted {
			t.Errorf("outcome %q, %v", got, err)
		}
	})
}

// A fate that can't be learnt in time is unknown, and not guessed.
func TestUnknownFateIsSaidSo(t *testing.T) {
	t.Parallel()
	inBothWays(t, "", func(t *testing.T, way func(*Config)) {
		b, proxy := behindProxy(t, way, func(c *Config) { c.BurnTimeout = 300 * time.Millisecond })
		stream := testIDs.New()
		b.append(t, creation(stream))
		onAppend(proxy, faultproxy.HoldSync)
		c := change(stream, 1)
		_, err := b.Append(t.Context(), c)
		var unknown *UnknownError
		if !errors.As(err, &unknown) || unknown.CommitID != c.ID {
			t.Fatalf("got %v", err)
		}
		// A look-up that reads says "not there", and a moment later it happened.
		if got, err := b.Outcome(t.Context(), c.ID); err != nil || got != Absent {
			t.Fatalf("outcome %q, %v", got, err)
		}
		proxy.Release()
		until(t, "the commit happened", func(ctx context.Context) (bool, error) {
			got, err := b.Outcome(ctx, c.ID)
			return got == Committed, err
		})
		receipt := b.append(t, c)
		if events(t, b, stream) != 2 || receipt.AppendSeq == 0 {
			t.Errorf("receipt %+v", receipt)
		}
	})
}

// A client that hangs up gets no say in what happened.
func TestCancelledClientDoesNotChangeTheAnswer(t *testing.T) {
	t.Parallel()
	inBothWays(t, "", func(t *testing.T, way func(*Config)) {
		b, proxy := behindProxy(t, way, func(c *Config) { c.AppendTimeout = 10 * time.Second })
		stream := testIDs.New()
		b.append(t, creation(stream))
		onAppend(proxy, faultproxy.HoldSync)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := b.Append(ctx, change(stream, 1))
			done <- err
		}()
		<-proxy.Hits()
		cancel()
		proxy.Release()
		if err := <-done; err != nil {
			t.Errorf("got %v for a commit that happened", err)
		}
		if n := events(t, b, stream); n != 2 {
			t.Errorf("%d events", n)
		}
		var busy *BusyError
		if _, err := b.Append(ctx, change(stream, 2)); !errors.As(err, &busy) {
			t.Errorf("a request that was cancelled before: %v", err)
		}
	})
}

// The database away: clear errors, and work again without a restart.
func TestDatabaseAwayAndBack(t *testing.T) {
	t.Parallel()
	inBothWays(t, "", func(t *testing.T, way func(*Config)) {
		b, proxy := behindProxy(t, way)
		stream := testIDs.New()
		b.append(t, creation(stream))
		proxy.SetDown(true)
		var busy *BusyError
		if _, err := b.Append(t.Context(), change(stream, 1)); !errors.As(err, &busy) {
			t.Errorf("got %v", err)
		}
		proxy.SetDown(false)
		b.append(t, change(stream, 1))
	})
}

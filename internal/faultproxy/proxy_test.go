package faultproxy_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/internal/faultproxy"
	"github.com/icecore-catalog/icecore/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// bench is a table behind a proxy, with a direct connection beside it.
type bench struct {
	proxy   *faultproxy.Proxy
	db      *pgtest.DB
	direct  *pgx.Conn
	proxied *pgx.Conn
}

func setup(t *testing.T) *bench {
	t.Helper()
	db := pgtest.New(t)
	proxy, err := faultproxy.Start(t.Context(), db.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	b := &bench{proxy: proxy, db: db, direct: db.Connect(t, pgtest.RoleOwner)}
	if _, err := b.direct.Exec(t.Context(), "CREATE TABLE public_row (n int PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	b.proxied = b.connect(t)
	proxy.SetPlan(func(faultproxy.Flight) faultproxy.Fate { return faultproxy.Pass })
	return b
}

func (b *bench) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), strings.Replace(b.db.URL(pgtest.RoleOwner), b.db.Addr(), b.proxy.Addr(), 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func (b *bench) plan(fate faultproxy.Fate) {
	b.proxy.SetPlan(func(f faultproxy.Flight) faultproxy.Fate {
		if slices.ContainsFunc(f.SQL, func(sql string) bool { return strings.Contains(sql, "INSERT INTO public_row") }) {
			return fate
		}
		return faultproxy.Pass
	})
}

func (b *bench) insert(ctx context.Context) error {
	batch := &pgx.Batch{}
	batch.Queue("INSERT INTO public_row VALUES ($1)", 1)
	batch.Queue("SELECT $1::int", 2)
	return b.proxied.SendBatch(ctx, batch).Close()
}

func (b *bench) rows(t *testing.T) (n int) {
	t.Helper()
	if err := b.direct.QueryRow(t.Context(), "SELECT count(*) FROM public_row").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fate      faultproxy.Fate
		hears     bool // the client hears of success
		committed bool // the row is there afterwards
	}{
		{faultproxy.Pass, true, true},
		{faultproxy.CutBefore, false, false},
		{faultproxy.CutAfter, false, true},
	} {
		t.Run(test.fate.String(), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.plan(test.fate)
			err := b.insert(t.Context())
			if (err == nil) != test.hears {
				t.Errorf("the client hears %v", err)
			}
			if got := b.rows(t) == 1; got != test.committed {
				t.Errorf("committed: %v, want %v", got, test.committed)
			}
		})
	}
}

func TestHeldFlightsTakeEffectWhenTheClientHasGone(t *testing.T) {
	t.Parallel()
	for _, fate := range []faultproxy.Fate{faultproxy.HoldFlight, faultproxy.HoldSync} {
		t.Run(fate.String(), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.plan(fate)
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error, 1)
			go func() { failed <- b.insert(ctx) }()
			<-b.proxy.Hits()
			cancel()
			if err := <-failed; err == nil {
				t.Fatal("the client heard of success while the flight was held")
			}
			if b.rows(t) != 0 {
				t.Fatal("a held flight took effect")
			}
			b.proxy.Release()
			// The server works on it now, with nobody waiting for the answer.
			for deadline := time.Now().Add(10 * time.Second); b.rows(t) != 1; {
				if time.Now().After(deadline) {
					t.Fatal("the released flight never took effect")
				}
			}
		})
	}
}

func TestHeldAnswerArrivesAfterRelease(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.plan(faultproxy.HoldAnswer)
	done := make(chan error, 1)
	go func() { done <- b.insert(t.Context()) }()
	<-b.proxy.Hits()
	for b.rows(t) != 1 { // executed, and the client does not know
		if t.Context().Err() != nil {
			t.Fatal("never executed")
		}
	}
	select {
	case err := <-done:
		t.Fatalf("the answer came before the release: %v", err)
	default:
	}
	b.proxy.Release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestDownCutsAndRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.proxy.SetDown(true)
	if err := b.insert(t.Context()); err == nil {
		t.Fatal("a cut connection works")
	}
	if _, err := pgx.Connect(t.Context(), strings.Replace(b.db.URL(pgtest.RoleOwner), b.db.Addr(), b.proxy.Addr(), 1)); err == nil {
		t.Fatal("a connection was made while the proxy is down")
	}
	b.proxy.SetDown(false)
	b.proxied = b.connect(t)
	if err := b.insert(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestFlightsAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.insert(t.Context()); err != nil { // prepares its statements first
		t.Fatal(err)
	}
	before := b.proxy.Flights()
	if _, err := b.direct.Exec(t.Context(), "DELETE FROM public_row"); err != nil {
		t.Fatal(err)
	}
	if err := b.insert(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.proxy.Flights() - before; got != 1 {
		t.Errorf("a pipelined batch of prepared statements took %d flights", got)
	}
}

func TestThePlanSeesArguments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	seen := make(chan [][][]byte, 16)
	b.proxy.SetPlan(func(f faultproxy.Flight) faultproxy.Fate {
		if len(f.Arguments) != len(f.SQL) {
			t.Errorf("%d lists of arguments for %q", len(f.Arguments), f.SQL)
		}
		if slices.ContainsFunc(f.SQL, func(sql string) bool { return strings.Contains(sql, "coalesce($1::bytea") }) {
			seen <- f.Arguments
		}
		return faultproxy.Pass
	})
	var got []byte
	for _, given := range [][]byte{[]byte("a b"), {}, nil} {
		if err := b.proxied.QueryRow(t.Context(), "SELECT coalesce($1::bytea, $2::bytea)", given, []byte("else")).Scan(&got); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"a b", "", "nil"} {
		var arguments [][][]byte
		for len(arguments) == 0 || arguments[0] == nil { // the flight that prepares has none
			arguments = <-seen
		}
		first := "nil"
		if a := arguments[0][0]; a != nil {
			first = string(a)
		}
		if first != want || string(arguments[0][1]) != "else" {
			t.Errorf("arguments %q, want %q first", arguments, want)
		}
	}
}

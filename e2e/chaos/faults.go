package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/icecore-catalog/icecore/internal/faultproxy"
)

// faults strikes the rig while the workers work.
type faults struct {
	rig    *rig
	client *client
	books  *books
	random *rand.Rand
	target int64
	count  int
	log    io.Writer

	mu     sync.Mutex
	struck map[string]int
	errs   []error
	group  sync.WaitGroup
	busy   map[string]*sync.Mutex // one fault at a time strikes a target
}

func newFaults(r *rig, c *client, o options, log io.Writer) *faults {
	count := o.faults
	if count == 0 {
		count = min(max(o.commits/100, 10), 2000)
	}
	return &faults{
		rig: r, client: c, books: c.books, random: rand.New(rand.NewPCG(o.seed, 0)), target: int64(o.commits), count: count, log: log,
		struck: map[string]int{}, busy: map[string]*sync.Mutex{},
	}
}

// fault is one kind, with its share.
type fault struct {
	name   string
	weight int
	strike func(ctx context.Context, random *rand.Rand) error
}

// kinds are the faults that this rig can suffer.
func (f *faults) kinds() []fault {
	list := []fault{
		{"a server is killed", 14, f.killServer},
		{"a server is frozen", 10, f.freezeServer},
		{"a server is cut off from PostgreSQL", 6, f.cutOff},
		{"PostgreSQL is restarted", 3, func(ctx context.Context, _ *rand.Rand) error { return f.rig.database.Restart(ctx) }},
		{"PostgreSQL is killed", 3, func(ctx context.Context, _ *rand.Rand) error {
			if err := f.rig.database.Kill9(); err != nil {
				return err
			}
			return f.rig.database.Restart(ctx)
		}},
		{"a COMMIT is lost before PostgreSQL", 10, f.fate(faultproxy.CutBefore)},
		{"the answer to a COMMIT is lost", 14, f.fate(faultproxy.CutAfter)},
		{"a commit is late", 8, f.fate(faultproxy.HoldFlight)},
		{"a COMMIT is late", 8, f.fate(faultproxy.HoldSync)},
		{"the answer to a COMMIT is late", 8, f.fate(faultproxy.HoldAnswer)},
	}
	if b := f.rig.nats; b != nil {
		list = append(list, fault{"NATS is killed", 8, killBroker(b)}, fault{"NATS is frozen", 6, freezeBroker(b)},
			fault{"NATS refuses messages", 3, func(ctx context.Context, random *rand.Rand) error {
				return f.rig.refuse(ctx, f.client, int32(600+random.IntN(2400)), time.Duration(200+random.IntN(1500))*time.Millisecond)
			}})
	}
	if b := f.rig.kafka; b != nil {
		list = append(list, fault{"Kafka is killed", 2, killBroker(b)}, fault{"Kafka is frozen", 5, freezeBroker(b)},
			fault{"Kafka refuses messages", 3, func(ctx context.Context, random *rand.Rand) error {
				return f.rig.refuseKafka(ctx, f.client, 1100+random.IntN(2400), time.Duration(200+random.IntN(1500))*time.Millisecond)
			}})
	}
	return list
}

// lock is that of a target: one fault at a time strikes it.
func (f *faults) lock(name string) *sync.Mutex {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[name] == nil {
		f.busy[name] = new(sync.Mutex)
	}
	return f.busy[name]
}

// run strikes until ctx ends, faults spread over the commits, and returns when
// everything that it broke is whole again.
func (f *faults) run(ctx context.Context) error {
	kinds := f.kinds()
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	heal := context.WithoutCancel(ctx)
	for n := 1; n <= f.count && ctx.Err() == nil; n++ {
		f.await(ctx, f.target*int64(n)/int64(f.count+1))
		if ctx.Err() != nil {
			break
		}
		draw := f.random.IntN(total)
		random := rand.New(rand.NewPCG(f.random.Uint64(), 7))
		for _, k := range kinds {
			if draw -= k.weight; draw >= 0 {
				continue
			}
			f.group.Go(func() {
				place := f.lock(targetOf(k.name))
				if !place.TryLock() {
					return // it suffers already
				}
				defer place.Unlock()
				fmt.Fprintf(f.log, "%s %s\n", time.Now().Format("15:04:05.000"), k.name)
				err := k.strike(heal, random)
				f.mu.Lock()
				defer f.mu.Unlock()
				f.struck[k.name]++
				if err != nil {
					f.errs = append(f.errs, fmt.Errorf("%s: %w", k.name, err))
				}
			})
			break
		}
	}
	f.group.Wait()
	for _, s := range f.rig.servers {
		s.proxy.SetPlan(func(faultproxy.Flight) faultproxy.Fate { return faultproxy.Pass })
		s.proxy.Release()
	}
	return errors.Join(f.errs...)
}

func targetOf(name string) string {
	switch {
	case strings.Contains(name, "NATS"):
		return "nats"
	case strings.Contains(name, "Kafka"):
		return "kafka"
	case strings.HasPrefix(name, "PostgreSQL"):
		return "postgres"
	}
	return name // servers are told apart by their own locks
}

// await waits for the workers to come so far, or for two seconds: they may stand
// still because of a fault.
func (f *faults) await(ctx context.Context, acked int64) {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end) && f.books.acked.Load() < acked && ctx.Err() == nil; {
		pause(ctx, 2*time.Millisecond)
	}
	pause(ctx, time.Duration(f.random.IntN(30))*time.Millisecond)
}

func (f *faults) any(random *rand.Rand) *server {
	return f.rig.servers[random.IntN(len(f.rig.servers))]
}

func (f *faults) killServer(ctx context.Context, random *rand.Rand) error {
	s := f.any(random)
	place := f.lock(s.name)
	place.Lock()
	defer place.Unlock()
	s.kill()
	pause(ctx, time.Duration(random.IntN(400))*time.Millisecond)
	return s.start()
}

func (f *faults) freezeServer(ctx context.Context, random *rand.Rand) error {
	s := f.any(random)
	place := f.lock(s.name)
	place.Lock()
	defer place.Unlock()
	if err := s.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	most := 1500
	if random.IntN(6) == 0 {
		most = 7000
	}
	pause(ctx, time.Duration(100+random.IntN(most))*time.Millisecond)
	if random.IntN(4) == 0 { // killed while frozen
		s.kill()
		return s.start()
	}
	return s.signal(syscall.SIGCONT)
}

func (f *faults) cutOff(ctx context.Context, random *rand.Rand) error {
	p := f.any(random).proxy
	p.SetDown(true)
	pause(ctx, time.Duration(50+random.IntN(1500))*time.Millisecond)
	p.SetDown(false)
	return nil
}

// fate gives the next append that passes a server's proxy its fate.
func (f *faults) fate(fate faultproxy.Fate) func(context.Context, *rand.Rand) error {
	return func(ctx context.Context, random *rand.Rand) error {
		p := f.rig.servers[random.IntN(min(2, len(f.rig.servers)))].proxy
		var done atomic.Bool
		hit := make(chan struct{})
		p.SetPlan(func(flight faultproxy.Flight) faultproxy.Fate {
			if isAppend(flight) && done.CompareAndSwap(false, true) {
				close(hit)
				return fate
			}
			return faultproxy.Pass
		})
		select {
		case <-hit:
		case <-time.After(3 * time.Second): // nothing came by
			return nil
		}
		if fate == faultproxy.HoldFlight || fate == faultproxy.HoldSync || fate == faultproxy.HoldAnswer {
			most := 800
			if random.IntN(5) == 0 {
				most = 6000 // past every time-out
			}
			pause(ctx, time.Duration(random.IntN(most))*time.Millisecond)
			p.Release()
		}
		return nil
	}
}

// isAppend tells the flights that append to the log, by their seal, from all
// others.
func isAppend(f faultproxy.Flight) bool {
	for _, sql := range f.SQL {
		if strings.Contains(sql, "INSERT INTO es.event (") || strings.Contains(sql, "es.append_shared(") {
			return true
		}
	}
	return false
}

func killBroker(b broker) func(context.Context, *rand.Rand) error {
	return func(ctx context.Context, random *rand.Rand) error {
		if err := b.Kill(); err != nil {
			return err
		}
		pause(ctx, time.Duration(random.IntN(1500))*time.Millisecond)
		return b.Restart(ctx)
	}
}

func freezeBroker(b broker) func(context.Context, *rand.Rand) error {
	return func(ctx context.Context, random *rand.Rand) error {
		if err := b.Freeze(); err != nil {
			return err
		}
		pause(ctx, time.Duration(100+random.IntN(4000))*time.Millisecond)
		return b.Thaw()
	}
}

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// stand starts servers, brokers, destinations and consumers, and makes what the
// workers work on.
func (r *rig) stand(ctx context.Context) (*client, []*warehouse, []*table, error) {
	b, err := openBooks(filepath.Join(r.folder, "books.jsonl"))
	if err != nil {
		return nil, nil, nil, err
	}
	for _, s := range []struct {
		name  string
		extra []string
	}{
		{"one", nil}, {"two", []string{"ICECORE_SHARED_COMMITS=off"}}, {"worker", []string{"ICECORE_ROLES=worker"}},
	} {
		if _, err := r.serve(ctx, s.name, s.extra...); err != nil {
			return nil, nil, nil, err
		}
	}
	c := newClient([]string{r.servers[0].addr, r.servers[1].addr}, b)
	homes, shared, err := setUp(ctx, r, c)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("set up: %w", err)
	}
	return c, homes, shared, r.publish(ctx, c)
}

// arrive waits until every consumer has met the whole log, and returns that.
func (r *rig) arrive(ctx context.Context, res *result) ([]logged, error) {
	log, err := readLog(ctx, r.database)
	if err != nil {
		return nil, err
	}
	for _, one := range r.records {
		if err := one.await(ctx, log); err != nil {
			p := &problems{}
			p.add("%v", err)
			res.add(one.name+" gets to the end", "", p)
		}
	}
	return log, nil
}

// consume follows a broker until the run ends.
func (r *rig) consume(ctx context.Context, name, file string, byStream bool, follow func(context.Context, *record) error) error {
	one, err := newRecord(name, filepath.Join(r.folder, file), byStream)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := follow(ctx, one); err != nil && ctx.Err() == nil {
			one.mu.Lock()
			one.wrong.add("%s: %v", name, err)
			one.mu.Unlock()
		}
	}()
	r.defer_(func() {
		stop()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
		}
		_ = one.close()
	})
	r.records = append(r.records, one)
	return nil
}

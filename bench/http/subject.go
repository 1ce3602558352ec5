package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/icecore-catalog/icecore/bench/wire"
)

// subject is the running Icecore under measurement, spoken to over plain
// sockets.
type subject struct {
	addr   string // host:port
	prefix string // path up to and with the warehouse's prefix
}

const manifestPadding = "/metadata/snap-0000000000000000000-1-00000000-0000-0000-0000-000000000000.avro"

// prepare bootstraps the server and makes the warehouse and the namespace.
func prepare(ctx context.Context, addr, root string) (*subject, error) {
	s := &subject{addr: addr}
	if _, err := s.call(ctx, "POST", "/management/v1/bootstrap", map[string]any{"accept-terms-of-use": true}); err != nil {
		return nil, err
	}
	if _, err := s.call(ctx, "POST", "/management/v1/warehouse", map[string]any{
		"warehouse-name": "bench", "storage-profile": map[string]any{"type": "file", "root": root},
	}); err != nil {
		return nil, err
	}
	body, err := s.call(ctx, "GET", "/catalog/v1/config?warehouse=bench", nil)
	if err != nil {
		return nil, err
	}
	var config struct{ Defaults, Overrides map[string]string }
	if err := json.Unmarshal(body, &config); err != nil {
		return nil, err
	}
	prefix := config.Overrides["prefix"]
	if prefix == "" {
		prefix = config.Defaults["prefix"]
	}
	s.prefix = "/catalog/v1/" + prefix
	return s, nil
}

// call does one request on a connection of its own and returns the body.
func (s *subject) call(ctx context.Context, method, path string, body any) ([]byte, error) {
	c, err := wire.Dial(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	request := wire.Request{Method: method, Path: path}
	if body != nil {
		if request.Body, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	a, err := c.Do(request, true)
	if err != nil {
		return nil, err
	}
	if a.Status >= 300 {
		return nil, fmt.Errorf("%s %s: %d %s", method, path, a.Status, a.Body)
	}
	return a.Body, nil
}

func (s *subject) namespacePath(namespace string) string {
	return s.prefix + "/namespaces/" + namespace
}

func (s *subject) tablePath(namespace string, i int) string {
	return fmt.Sprintf("%s/namespaces/%s/tables/t%06d", s.prefix, namespace, i)
}

func (s *subject) createNamespace(ctx context.Context, name string) error {
	_, err := s.call(ctx, "POST", s.prefix+"/namespaces", map[string]any{"namespace": []string{name}})
	return err
}

// createRequest is a table of ten columns, as in the peers' measurements.
func (s *subject) createRequest(namespace string, i int) wire.Request {
	var fields []string
	for f := 1; f <= 10; f++ {
		fields = append(fields, fmt.Sprintf(`{"id":%d,"name":"column_%d","required":false,"type":"string"}`, f, f))
	}
	body := fmt.Sprintf(`{"name":"t%06d","schema":{"type":"struct","schema-id":0,"fields":[%s]}}`, i, strings.Join(fields, ","))
	return wire.Request{Method: "POST", Path: s.namespacePath(namespace) + "/tables", Body: []byte(body)}
}

func (s *subject) commitRequest(namespace string, table, value int) wire.Request {
	body := fmt.Sprintf(`{"requirements":[],"updates":[{"action":"set-properties","updates":{"bench.value":"%d"}}]}`, value)
	return wire.Request{Method: "POST", Path: s.tablePath(namespace, table), Body: []byte(body)}
}

// grow gives a table the number of snapshots, 500 in a commit, each with a
// summary of the size that Spark writes.
func (s *subject) grow(ctx context.Context, namespace string, table, snapshots int) error {
	c, err := wire.Dial(ctx, s.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	a, err := c.Do(wire.Request{Method: "GET", Path: s.tablePath(namespace, table)}, true)
	if err != nil {
		return err
	}
	var state struct {
		Metadata struct {
			Location string `json:"location"`
			Updated  int64  `json:"last-updated-ms"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(a.Body, &state); err != nil {
		return err
	}
	for done := 0; done < snapshots; {
		var updates []string
		for range min(500, snapshots-done) {
			done++
			parent := ""
			if done > 1 {
				parent = fmt.Sprintf(`"parent-snapshot-id":%d,`, 1_000_000_000_000+done-1)
			}
			updates = append(updates, fmt.Sprintf(`{"action":"add-snapshot","snapshot":{"snapshot-id":%d,%s"sequence-number":%d,"timestamp-ms":%d,"manifest-list":"%s%s",`+
				`"schema-id":0,"summary":{"operation":"append","spark.app.id":"local-1700000000000","added-data-files":"1","added-records":"1000","added-files-size":"123456",`+
				`"changed-partition-count":"1","total-records":"%d","total-files-size":"123456789","total-data-files":"%d","total-delete-files":"0","total-position-deletes":"0","total-equality-deletes":"0",`+
				`"engine-version":"4.1.4","app-id":"local-1700000000000","engine-name":"spark","iceberg-version":"Apache Iceberg 1.12.0"}}}`,
				1_000_000_000_000+done, parent, done, state.Metadata.Updated, state.Metadata.Location, manifestPadding, done*1000, done))
		}
		updates = append(updates, fmt.Sprintf(`{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":%d}`, 1_000_000_000_000+done))
		a, err := c.Do(wire.Request{
			Method: "POST", Path: s.tablePath(namespace, table),
			Body: []byte(`{"requirements":[],"updates":[` + strings.Join(updates, ",") + `]}`),
		}, true)
		if err != nil {
			return err
		}
		if a.Status != http.StatusOK {
			return fmt.Errorf("growing to %d snapshots: %d %.300s", done, a.Status, a.Body)
		}
	}
	return nil
}

// expect turns an answer with another status into an error.
func expect(a wire.Answer, err error, status int) error {
	if err != nil {
		return err
	}
	if a.Status != status {
		return errors.New("status " + fmt.Sprint(a.Status))
	}
	return nil
}

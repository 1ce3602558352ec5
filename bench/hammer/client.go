package hammer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// client speaks just enough Iceberg REST.
type client struct {
	http  *http.Client
	base  string // up to and with the prefix
	token string
}

// connect asks for the configuration and keeps the prefix.
func connect(ctx context.Context, o Options) (*client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxConnsPerHost = o.Workers, o.Workers
	// Compression would measure the hammer's own inflating.
	transport.DisableCompression = true
	c := &client{http: &http.Client{Transport: transport}, base: strings.TrimRight(o.URI, "/") + "/v1", token: o.Token}
	path := "/config"
	if o.Warehouse != "" {
		path += "?warehouse=" + url.QueryEscape(o.Warehouse)
	}
	_, body, err := c.do(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return nil, err
	}
	var config struct {
		Defaults, Overrides map[string]string
	}
	if err := json.Unmarshal(body, &config); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	prefix := config.Overrides["prefix"]
	if prefix == "" {
		prefix = config.Defaults["prefix"]
	}
	if prefix != "" {
		c.base += "/" + prefix
	}
	return c, nil
}

// do sends one request; any status but 200, 204 and 304 is an error.
func (c *client) do(ctx context.Context, method, path string, header map[string]string, body any) (*http.Response, []byte, error) {
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, nil, err
		}
		reader = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, reader)
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return response, nil, err
	}
	switch response.StatusCode {
	case http.StatusOK, http.StatusNoContent, http.StatusNotModified:
		return response, answer, nil
	}
	return response, answer, fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, bytes.TrimSpace(answer[:min(len(answer), 300)]))
}

type loaded struct {
	seq         int64
	etag        string
	notModified bool
}

func (c *client) load(ctx context.Context, namespace, table string, etag *string) (loaded, error) {
	var header map[string]string
	if etag != nil {
		header = map[string]string{"If-None-Match": *etag}
	}
	response, body, err := c.do(ctx, http.MethodGet, tablePath(namespace, table), header, nil)
	if err != nil {
		return loaded{}, err
	}
	got := loaded{etag: response.Header.Get("ETag"), notModified: response.StatusCode == http.StatusNotModified}
	if got.notModified {
		return got, nil
	}
	got.seq, err = sequence(body)
	return got, err
}

func (c *client) commit(ctx context.Context, namespace, table string, seq int64) (int64, error) {
	response, body, err := c.do(ctx, http.MethodPost, tablePath(namespace, table), nil, map[string]any{
		"requirements": []any{},
		"updates":      []any{map[string]any{"action": "set-properties", "updates": map[string]string{property: strconv.FormatInt(seq, 10)}}},
	})
	if err != nil {
		// A broken connection, also in the midst of a success, a time-out and a
		// 5xx leave the fate open, as they do for every Iceberg client.
		if response == nil || response.StatusCode < 400 || response.StatusCode == http.StatusRequestTimeout || response.StatusCode >= 500 {
			return 0, &unknownError{err}
		}
		return 0, err // refused: it did not happen
	}
	return sequence(body)
}

func (c *client) list(ctx context.Context, namespace string) (int, error) {
	_, body, err := c.do(ctx, http.MethodGet, "/namespaces/"+url.PathEscape(namespace)+"/tables", nil, nil)
	if err != nil {
		return 0, err
	}
	var answer struct{ Identifiers []json.RawMessage }
	err = json.Unmarshal(body, &answer)
	return len(answer.Identifiers), err
}

func (c *client) createNamespace(ctx context.Context, name string) error {
	_, _, err := c.do(ctx, http.MethodPost, "/namespaces", nil, map[string]any{"namespace": []string{name}})
	return err
}

func (c *client) createTable(ctx context.Context, namespace, name string) error {
	_, _, err := c.do(ctx, http.MethodPost, "/namespaces/"+url.PathEscape(namespace)+"/tables", nil, map[string]any{
		"name": name,
		"schema": map[string]any{"type": "struct", "schema-id": 0, "fields": []any{
			map[string]any{"id": 1, "name": "id", "required": false, "type": "long"},
			map[string]any{"id": 2, "name": "at", "required": false, "type": "timestamptz"},
			map[string]any{"id": 3, "name": "text", "required": false, "type": "string"},
		}},
		"properties": map[string]string{property: "0"},
	})
	return err
}

func (c *client) dropTable(ctx context.Context, namespace, name string) error {
	_, _, err := c.do(ctx, http.MethodDelete, tablePath(namespace, name), nil, nil)
	return err
}

func (c *client) dropNamespace(ctx context.Context, name string) error {
	_, _, err := c.do(ctx, http.MethodDelete, "/namespaces/"+url.PathEscape(name), nil, nil)
	return err
}

func tablePath(namespace, table string) string {
	return "/namespaces/" + url.PathEscape(namespace) + "/tables/" + url.PathEscape(table)
}

// property is the table property that carries the number of the newest commit.
const property = "hammer.seq"

// sequence finds the property in an answer without parsing all of it: the
// hammer shares its machine with the server that it measures.
func sequence(body []byte) (int64, error) {
	i := bytes.Index(body, []byte(`"`+property+`"`))
	if i < 0 {
		return 0, &wrongError{"the answer lacks the table property " + property}
	}
	rest := body[i+len(property)+2:]
	start := bytes.IndexByte(rest, '"')
	if start < 0 {
		return 0, &wrongError{"the table property " + property + " is no string"}
	}
	end := bytes.IndexByte(rest[start+1:], '"')
	if end < 0 {
		return 0, &wrongError{"the table property " + property + " is no string"}
	}
	seq, err := strconv.ParseInt(string(rest[start+1:start+1+end]), 10, 64)
	if err != nil {
		return 0, &wrongError{"the table property " + property + " is no number"}
	}
	return seq, nil
}

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/mux"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// The ceiling's own tables: what the least possible catalog would keep.
const ceilingSchema = `
CREATE TABLE bare (id int PRIMARY KEY, version bigint NOT NULL, pointer text NOT NULL, body bytea NOT NULL) WITH (fillfactor = 70);
CREATE TABLE bare_event (id int NOT NULL, version bigint NOT NULL, data bytea NOT NULL, PRIMARY KEY (id, version));
INSERT INTO bare SELECT i, 0, '', convert_to(repeat('x', 2048), 'UTF8') FROM generate_series(0, 9999) i;
ANALYZE bare;`

const ceilingCommit = `
WITH moved AS (UPDATE bare SET version = version + 1, pointer = $2 WHERE id = $1 RETURNING id, version)
INSERT INTO bare_event SELECT id, version, $3 FROM moved`

// ceiling is the server with the handlers to compare with.
type ceiling struct {
	pool   *pgxpool.Pool
	folder string
	ids    ids.Source
	ready  map[string][]byte // "<snapshots>" and "<snapshots>.gz"
}

// runCeiling serves until ctx ends. It is a process of its own, so that both
// sides share the machine in the same way.
func runCeiling(ctx context.Context, listen, databaseURL, folder string, conns int) error {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return err
	}
	config.MaxConns = int32(conns)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	c := &ceiling{pool: pool, folder: folder, ids: ids.NewV7(clock.System{}), ready: map[string][]byte{}}
	router := mux.NewRouter().UseEncodedPath().SkipClean(true)
	router.HandleFunc("/select/{id}", c.selectRow).Methods(http.MethodGet)
	router.HandleFunc("/commit/{id}/{bytes}", c.commit).Methods(http.MethodPost)
	router.HandleFunc("/commit-many/{first}/{count}/{bytes}", c.commitMany).Methods(http.MethodPost)
	router.HandleFunc("/read-commit/{id}", c.readCommit).Methods(http.MethodPost)
	router.HandleFunc("/bytes/{name}", c.writeBytes).Methods(http.MethodGet)
	router.HandleFunc("/bytes/{name}", c.keepBytes).Methods(http.MethodPut)
	router.HandleFunc("/not-modified/{id}", c.notModified).Methods(http.MethodGet)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: router, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

func (c *ceiling) row(ctx context.Context, id string) (body []byte, err error) {
	n, err := strconv.Atoi(id)
	if err != nil {
		return nil, err
	}
	err = c.pool.QueryRow(ctx, `SELECT body FROM bare WHERE id = $1`, n).Scan(&body)
	return body, err
}

func (c *ceiling) selectRow(w http.ResponseWriter, r *http.Request) {
	body, err := c.row(r.Context(), mux.Vars(r)["id"])
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, body, "")
}

func (c *ceiling) notModified(w http.ResponseWriter, r *http.Request) {
	if _, err := c.row(r.Context(), mux.Vars(r)["id"]); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNotModified)
}

// commit writes a file of the given size, makes it durable, and moves the
// pointer in one statement.
func (c *ceiling) commit(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(mux.Vars(r)["id"])
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	size, err := strconv.Atoi(mux.Vars(r)["bytes"])
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	document := bytes.Repeat([]byte{'x'}, size)
	pointer := filepath.Join(c.folder, strconv.Itoa(id%256), c.ids.New().String())
	if err := writeSynced(pointer, document); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := c.pool.Exec(r.Context(), ceilingCommit, id, pointer, document[:min(len(document), 500)]); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, document, "")
}

const ceilingCommitMany = `
WITH moved AS (UPDATE bare b SET version = version + 1, pointer = u.pointer FROM unnest($1::int[], $2::text[]) AS u (id, pointer) WHERE b.id = u.id RETURNING b.id, b.version)
INSERT INTO bare_event SELECT id, version, $3 FROM moved`

// commitMany writes several files one after another and moves their pointers
// in one statement.
func (c *ceiling) commitMany(w http.ResponseWriter, r *http.Request) {
	var numbers [3]int
	for i, name := range []string{"first", "count", "bytes"} {
		n, err := strconv.Atoi(mux.Vars(r)[name])
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		numbers[i] = n
	}
	first, count, size := numbers[0], numbers[1], numbers[2]
	document := bytes.Repeat([]byte{'x'}, size)
	rows, pointers := make([]int, count), make([]string, count)
	for i := range rows {
		rows[i] = first + i
		pointers[i] = filepath.Join(c.folder, strconv.Itoa(rows[i]%256), c.ids.New().String())
		if err := writeSynced(pointers[i], document); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	if _, err := c.pool.Exec(r.Context(), ceilingCommitMany, rows, pointers, document[:min(size, 500)]); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// readCommit reads the file that the body names and runs the one statement.
func (c *ceiling) readCommit(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(mux.Vars(r)["id"])
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	document, err := os.ReadFile(string(path))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := c.pool.Exec(r.Context(), ceilingCommit, id, string(path), document[:min(len(document), 500)]); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, document, "")
}

func writeSynced(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := file.Write(data); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// keepBytes takes an answer of the real server, to write it again and again.
func (c *ceiling) keepBytes(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name := mux.Vars(r)["name"]
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if err := zip.Close(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	c.ready[name], c.ready[name+".gz"] = body, packed.Bytes()
	w.WriteHeader(http.StatusNoContent)
}

func (c *ceiling) writeBytes(w http.ResponseWriter, r *http.Request) {
	name := mux.Vars(r)["name"]
	if strings.HasSuffix(name, ".gz") {
		answer(w, c.ready[name], "gzip")
		return
	}
	answer(w, c.ready[name], "")
}

func answer(w http.ResponseWriter, body []byte, encoding string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if encoding != "" {
		w.Header().Set("Content-Encoding", encoding)
	}
	_, _ = w.Write(body)
}

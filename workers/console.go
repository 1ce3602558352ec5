package workers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"riverqueue.com/riverui"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// console is River's own pages for jobs, below a path.
type console struct {
	pages  http.Handler
	tasks  *Tasks
	cancel string // path of the route that cancels jobs
	ids    ids.Source
	actor  func(*http.Request) authz.Actor
}

// NewConsole returns River's console of jobs below a path, in which the server's
// own jobs can be seen, too. Whoever serves it asks for the right to: it knows of
// none. Its background counts are not started, so that it costs nothing while
// nobody looks; they are counted when somebody does.
//
// What it cancels is called off as a task is, so that a purge ends with its event
// and not behind it. What it deletes and is still to be done is made again.
func NewConsole(
	pool *pgxpool.Pool, prefix string, source ids.Source, actor func(*http.Request) authz.Actor, logger *slog.Logger,
) (http.Handler, error) {
	logger = slog.New(warnings{logger.Handler()})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		ID: source.New().String(), Schema: schemaName, PollOnly: true, Logger: logger,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the console of jobs: %w", err)
	}
	pages, err := riverui.NewHandler(&riverui.HandlerOpts{Endpoints: riverui.NewEndpoints(client, nil), Prefix: prefix, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("set up the console of jobs: %w", err)
	}
	return &console{pages: pages, tasks: NewTasks(pool), cancel: prefix + "/api/jobs/cancel", ids: source, actor: actor}, nil
}

// maxConsoleBody bounds what the console is sent.
const maxConsoleBody = 1 << 20

// ServeHTTP implements [http.Handler].
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != c.cancel || r.Method != http.MethodPost {
		c.pages.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxConsoleBody))
	if err == nil {
		err = c.callOff(r, body)
	}
	var wrong *consoleError
	switch {
	case errors.As(err, &wrong):
		refuse(w, http.StatusBadRequest, "BadRequestException", wrong.text)
	case err != nil:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "ServiceUnavailableException", "The jobs are not available")
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"ok"}`))
	}
}

// refuse answers in the error model, with words of ours.
func refuse(w http.ResponseWriter, status int, name, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"type":%q,"code":%d}}`, message, name, status)
}

type consoleError struct{ text string }

func (e *consoleError) Error() string { return e.text }

// callOff reads which jobs are to be cancelled and does it as for a task.
func (c *console) callOff(r *http.Request, body []byte) error {
	var request struct {
		IDs []json.RawMessage `json:"ids"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&request); err != nil || len(request.IDs) == 0 || len(request.IDs) > 1000 {
		return &consoleError{"ids must be the numbers of 1 to 1000 jobs"}
	}
	tasks := make([]ids.ID, len(request.IDs))
	for i, text := range request.IDs {
		job, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
		if err != nil || job < 1 {
			return &consoleError{"ids must be the numbers of jobs"}
		}
		tasks[i] = TaskID(job)
	}
	return c.tasks.Cancel(r.Context(), commands.Call{Actor: c.actor(r), RequestID: c.ids.New()}, tasks)
}

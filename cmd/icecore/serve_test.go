package main

import (
	"bufio"
	"cmp"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/config"
	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// production are the settings of a server on a test database.
func production(db *pgtest.DB, more ...string) []string {
	return append([]string{
		"ICECORE_AUTH=disabled", "ICECORE_LISTEN=127.0.0.1:0", "ICECORE_DATABASE_URL=" + db.URL(pgtest.RoleApp),
	}, more...)
}

func TestServeRefusesInPlainWords(t *testing.T) {
	t.Parallel()
	migrated := pgtest.New(t, pgtest.Durable())
	empty := pgtest.New(t, pgtest.Durable(), pgtest.Empty())
	loses := pgtest.New(t) // fsync is off
	for _, c := range []struct {
		name     string
		settings []string
		code     int
		want     string
	}{
		{"no authentication", []string{"ICECORE_DATABASE_URL=" + migrated.URL(pgtest.RoleApp)}, exitUsage, "ICECORE_AUTH: is not set"},
		{"no database", []string{"ICECORE_AUTH=disabled"}, exitUsage, "ICECORE_DATABASE_URL: is not set"},
		{"no URL", []string{"ICECORE_AUTH=disabled", "ICECORE_DATABASE_URL=postgres://u:hunter2@h:port/db"}, exitUsage, "ICECORE_DATABASE_URL: is no PostgreSQL URL"},
		{"nobody there", []string{"ICECORE_AUTH=disabled", "ICECORE_DATABASE_URL=postgres://u:hunter2@127.0.0.1:1/db"}, exitFailure, "ICECORE_DATABASE_URL: "},
		{"not migrated", production(empty), exitFailure, "run icecore migrate first"},
		{"loses data", production(loses), exitFailure, "fsync = off"},
		{"origin with a path", production(migrated, "ICECORE_CORS_ORIGINS=https://a.example/x"), exitUsage, "ICECORE_CORS_ORIGINS: "},
		{"missing root", production(migrated, "ICECORE_FILE_ROOTS=/does/not/exist"), exitUsage, "ICECORE_FILE_ROOTS: "},
		{"taken port", production(migrated, "ICECORE_LISTEN=256.0.0.1:1"), exitFailure, "ICECORE_LISTEN: "},
		{"port without an address", production(migrated, "ICECORE_LISTEN=8181"), exitUsage, "ICECORE_LISTEN: "},
		{"no signing key", production(migrated, "ICECORE_CHECKPOINT_KEY=PRIVATE+KEY+hunter2"), exitUsage, "ICECORE_CHECKPOINT_KEY: "},
		{"no verifier key", production(migrated, "ICECORE_CHECKPOINT_VERIFIERS=PRIVATE+KEY+hunter2"), exitUsage, "ICECORE_CHECKPOINT_VERIFIERS: "},
		{"no collector", production(migrated, "ICECORE_OTLP_ENDPOINT=hunter2:4318"), exitUsage, "ICECORE_OTLP_ENDPOINT: "},
		{"no cache", production(migrated, "ICECORE_DOCUMENT_CACHE=0"), exitUsage, "ICECORE_DOCUMENT_CACHE: 0 is less than 1MiB"},
		{"unknown role", production(migrated, "ICECORE_ROLES=api,cook"), exitUsage, "ICECORE_ROLES: "},
		{"wrong value", production(migrated, "ICECORE_MAX_BODY=much"), exitUsage, "ICECORE_MAX_BODY: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := icecore(t, c.settings, "serve")
			if r.code != c.code || !strings.Contains(r.stderr, c.want) {
				t.Errorf("exit code %d: %s", r.code, r.stderr)
			}
			if strings.Contains(r.stderr, "hunter2") {
				t.Errorf("it shows the password: %s", r.stderr)
			}
		})
	}
}

// Each setting that can be wrong at all is refused by serve, or by the command
// that reads it, as a usage error that begins with its variable.
func TestEveryWrongSettingNamesItsVariable(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Durable())
	free := map[string]string{ // and why every text is right
		"ICECORE_DEFAULT_WAREHOUSE": "a name, of a warehouse that may come later",
		"ICECORE_TOKEN_SECRET":      "any bytes",
	}
	texts := map[string]string{
		"ICECORE_DATABASE_URL": "nonsense", "ICECORE_DATABASE_OWNER_URL": "nonsense", "ICECORE_CORS_ORIGINS": "nonsense",
		"ICECORE_FILE_ROOTS": "/does/not/exist", "ICECORE_ROLES": "cook", "ICECORE_SECRETS_DIR": "/does/not/exist", "ICECORE_DESTINATION_FOLDER": "/does/not/exist",
		"ICECORE_CHECKPOINT_KEY": "nonsense", "ICECORE_CHECKPOINT_VERIFIERS": "nonsense",
	}
	commands := map[string]string{"ICECORE_DATABASE_OWNER_URL": "migrate"}
	for _, s := range config.Settings() {
		if free[s.Variable] != "" {
			continue
		}
		value, special := texts[s.Variable]
		switch {
		case special:
		case s.Type == "number" || s.Type == "size" || s.Type == "duration":
			value = "-1"
			if s.Type == "duration" {
				value = "-1s"
			}
		case len(s.Words) > 0 || s.Form != "":
			value = "nonsense"
		default:
			t.Errorf("%s: which value is wrong?", s.Variable)
			continue
		}
		t.Run(s.Variable, func(t *testing.T) {
			t.Parallel()
			r := icecore(t, production(db, s.Variable+"="+value), cmp.Or(commands[s.Variable], "serve"))
			if r.code != exitUsage || !strings.HasPrefix(r.stderr, "icecore: "+s.Variable+": ") {
				t.Errorf("%s: exit code %d: %s", value, r.code, r.stderr)
			}
		})
	}
}

func TestHealthcheckNamesTheVariableOfAnAddressThatIsNone(t *testing.T) {
	t.Parallel()
	r := icecore(t, []string{"ICECORE_LISTEN=8181"}, "healthcheck")
	if r.code != exitUsage || !strings.Contains(r.stderr, "ICECORE_LISTEN: ") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}

func TestMigrateThenServe(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Durable(), pgtest.Empty())
	settings := production(db)
	if r := icecore(t, settings, "migrate", "--status"); r.code != exitFailure || !strings.Contains(r.stdout, "missing 0001_") {
		t.Errorf("status before: %d %s%s", r.code, r.stdout, r.stderr)
	}
	if r := icecore(t, settings, "migrate"); r.code != exitUsage || !strings.Contains(r.stderr, "ICECORE_DATABASE_OWNER_URL: is needed") {
		t.Errorf("migrate without the owner: %d %s", r.code, r.stderr)
	}
	owner := append(settings, "ICECORE_DATABASE_OWNER_URL="+db.URL(pgtest.RoleOwner))
	if r := icecore(t, owner, "migrate"); r.code != 0 || !strings.Contains(r.stdout, "applied 0001_") {
		t.Fatalf("migrate: %d %s%s", r.code, r.stdout, r.stderr)
	}
	if r := icecore(t, settings, "migrate", "--status"); r.code != 0 {
		t.Errorf("status after: %d %s%s", r.code, r.stdout, r.stderr)
	}

	s := start(t, settings, "serve")
	for path, want := range map[string]int{"/health": http.StatusOK, "/ready": http.StatusOK, "/nothing": http.StatusNotFound} {
		if status := s.call(t, http.MethodGet, path, "", nil); status != want {
			t.Errorf("%s: %d", path, status)
		}
	}
	if r := icecore(t, settings, "healthcheck", "--url", s.url); r.code != 0 {
		t.Errorf("healthcheck: %d %s", r.code, r.stderr)
	}
	if code := s.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.output())
	}
	if r := icecore(t, settings, "healthcheck", "--url", s.url); r.code != exitFailure {
		t.Errorf("healthcheck of a stopped server: %d", r.code)
	}
}

// TestServeStartsFastAndStaysSmall prints what the start takes; the limits
// here are those of a busy machine.
func TestServeStartsFastAndStaysSmall(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Durable())
	s := start(t, production(db), "serve")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("memory is measured in CI: %v", err)
		}
		t.Skip("no /proc on this machine: memory is measured on Linux")
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	kb, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %s, %d MB resident", s.took, kb/1024)
	if kb > 60<<10 {
		t.Errorf("%d kB resident", kb)
	}
	if s.took > 5*time.Second {
		t.Errorf("ready after %s", s.took)
	}
}

func TestShutdownFinishesARunningRequest(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Durable())
	s := start(t, production(db), "serve")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	const body = `{"accept-terms-of-use":true}`
	// The first half of the request is there when the signal comes.
	_, err = fmt.Fprintf(conn, "POST /management/v1/bootstrap HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	if err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	line, err := answers.ReadString('\n') // 100 Continue: a handler waits for the body
	if err != nil || !strings.Contains(line, " 100 ") {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := answers.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(deadline); !strings.Contains(s.output(), "running requests are finished"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not stop: %s", s.output())
		}
	}
	if _, err := conn.Write([]byte(body)); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatalf("the request was broken off: %v\n%s", err, s.output())
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Errorf("status %d", response.StatusCode)
	}
	s.wait(t)
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestUsageErrorsHaveTheirOwnExitCode(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"nonsense"}, {"log", "list", "--limit", "0"}, {"log", "list"}, {"log", "repair", "--skip", "3"}, {"hammer", "--mix", "x"}} {
		if r := icecore(t, nil, args...); r.code != exitUsage {
			t.Errorf("%q: exit code %d, %s", args, r.code, r.stderr)
		}
	}
	if r := icecore(t, nil, "--help"); r.code != 0 || !strings.Contains(r.stdout, "dev") {
		t.Errorf("--help: %d %s", r.code, r.stdout)
	}
}

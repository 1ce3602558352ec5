package config

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite docs/reference/config.md")

func TestReference(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "docs", "reference", "config.md")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(Reference()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Reference() {
		t.Errorf("%s is not what internal/config says: run ./task gen", file)
	}
}

func TestEverySettingIsDescribed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range Settings() {
		if s.Variable == Prefix || s.Doc == "" || s.Type == "" || groupTitles[s.Group] == "" {
			t.Errorf("incomplete: %+v", s)
		}
		if seen[s.Variable] {
			t.Errorf("%s is there twice", s.Variable)
		}
		seen[s.Variable] = true
		if err := s.set(new(Config), nil); err != nil {
			t.Errorf("the default is wrong: %v", err)
		}
	}
}

func TestDefaultsHold(t *testing.T) {
	t.Parallel()
	c, warnings, err := Load(nil, "")
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if c.HTTP.Listen != "127.0.0.1:8181" || c.HTTP.MaxBody != 64<<20 || c.HTTP.RequestTimeout != 55*time.Second || c.Auth.Mode != "" {
		t.Errorf("unexpected defaults: %+v", c)
	}
}

func TestWrongValueNamesItsVariable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ variable, value, problem string }{
		{"ICECORE_AUTH", "off", `"off" is not one of disabled`},
		{"ICECORE_MAX_BODY", "64 MB", "is not a size"},
		{"ICECORE_MAX_BODY", "9223372036854775807GiB", "is not a size"},
		{"ICECORE_MAX_BODY", "1", "less than 1KiB"},
		{"ICECORE_REQUEST_TIMEOUT", "60", "is not a duration"},
		{"ICECORE_REQUEST_TIMEOUT", "1ms", "less than 1s"},
		{"ICECORE_READ_POOL", "many", "is not a whole number"},
		{"ICECORE_READ_POOL", "0", "0 is less than 1"},
		{"ICECORE_APPEND_POOL", "10001", "10001 is more than 10000"},
		{"ICECORE_DOCUMENT_CACHE", "0", "0 is less than 1MiB"},
		{"ICECORE_LISTEN", "8181", "is not an address and a port"},
		{"ICECORE_LISTEN", "127.0.0.1", "is not an address and a port"},
		{"ICECORE_LISTEN", "127.0.0.1:99999", "is not an address and a port"},
		{"ICECORE_LISTEN", "127.0.0.1:", "is not an address and a port"},
		{"ICECORE_OTLP_ENDPOINT", "localhost:4318", "is not a URL"},
		{"ICECORE_OTLP_ENDPOINT", "http://", "is not a URL"},
		{"ICECORE_OTLP_ENDPOINT", "://", "is not a URL"},
		{"ICECORE_LOG_LEVEL", "INFO", "is not one of debug, info, warn, error"},
		{"ICECORE_DATABASE_URL_FILE", "/does/not/exist", "no such file"},
	} {
		t.Run(c.variable+"="+c.value, func(t *testing.T) {
			t.Parallel()
			_, _, err := Load([]string{c.variable + "=" + c.value}, "")
			var v *ValueError
			if !errors.As(err, &v) || v.Variable != c.variable || !strings.Contains(v.Problem, c.problem) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAllWrongValuesAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, _, err := Load([]string{"ICECORE_READ_POOL=x", "ICECORE_MAX_BODY=y"}, "")
	if err == nil || !strings.Contains(err.Error(), "ICECORE_READ_POOL") || !strings.Contains(err.Error(), "ICECORE_MAX_BODY") {
		t.Errorf("got %v", err)
	}
}

func TestUnknownNameWarnsInTheEnvironmentAndFailsInTheFile(t *testing.T) {
	t.Parallel()
	_, warnings, err := Load([]string{"ICECORE_LISTN=x", "ICECORE_PORT_8181_TCP=tcp://10.0.0.1:8181", "PATH=/bin"}, "")
	if err != nil || len(warnings) != 2 || !strings.Contains(warnings[0], "did you mean ICECORE_LISTEN?") {
		t.Errorf("got %q, %v", warnings, err)
	}
	file := write(t, "ICECORE_LISTN=x\n")
	if _, _, err := Load(nil, file); err == nil || !strings.Contains(err.Error(), "did you mean ICECORE_LISTEN?") {
		t.Errorf("got %v", err)
	}
}

func TestEnvironmentWinsOverTheFile(t *testing.T) {
	t.Parallel()
	file := write(t, "# settings\n\nICECORE_LISTEN = \"0.0.0.0:1\"\nICECORE_FILE_ROOTS='/a, /b'\nICECORE_READ_POOL=3\n")
	c, _, err := Load([]string{"ICECORE_CONFIG_FILE=" + file, "ICECORE_READ_POOL=4"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if c.HTTP.Listen != "0.0.0.0:1" || c.Database.ReadPool != 4 || strings.Join(c.Catalog.FileRoots, "|") != "/a|/b" {
		t.Errorf("got %+v", c)
	}
}

func TestMalformedFileNamesItsLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ICECORE_LISTEN=a\nnonsense\n":           "line 2 is not NAME=value",
		"export ICECORE_LISTEN=a\n":              "line 1 is not NAME=value",
		"ICECORE_LISTEN=a\n\nICECORE_LISTEN=b\n": "line 3 gives ICECORE_LISTEN a second time",
	} {
		if _, _, err := Load(nil, write(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", text, err)
		}
	}
	if _, _, err := Load([]string{"ICECORE_CONFIG_FILE=/does/not/exist"}, ""); err == nil || !strings.Contains(err.Error(), "ICECORE_CONFIG_FILE") {
		t.Errorf("got %v", err)
	}
}

func TestSecretIsNeverShown(t *testing.T) {
	t.Parallel()
	const word = "hunter2"
	c, _, err := Load([]string{"ICECORE_DATABASE_URL=postgres://u:" + word + "@h/db"}, "")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "c", c, "u", c.Database.URL)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "c", c, "u", c.Database.URL)
	if text := fmt.Sprintf("%v %+v %#v %s", c, c, c, c.Database.URL) + log.String(); strings.Contains(text, word) {
		t.Errorf("the secret is shown: %s", text)
	}
	if !strings.Contains(c.Database.URL.Reveal(), word) {
		t.Error("the secret is lost")
	}
}

func TestSecretComesFromAFile(t *testing.T) {
	t.Parallel()
	file := write(t, "postgres://secret\n")
	c, _, err := Load([]string{"ICECORE_DATABASE_URL_FILE=" + file}, "")
	if err != nil || c.Database.URL.Reveal() != "postgres://secret" {
		t.Fatal(c.Database.URL.Reveal(), err)
	}
	if _, _, err := Load([]string{"ICECORE_DATABASE_URL_FILE=" + file, "ICECORE_DATABASE_URL=x"}, ""); err == nil {
		t.Error("given twice, and accepted")
	}
}

func FuzzFile(f *testing.F) {
	f.Add("A=b\n# c\nD=\"e\"\n")
	f.Add("=\n")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := parseFile(text)
		if err != nil && values != nil {
			t.Error("values beside an error")
		}
		for k := range values {
			if k == "" {
				t.Error("an empty name")
			}
		}
	})
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "icecore.env")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

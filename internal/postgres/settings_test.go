package postgres

import (
	"strings"
	"testing"
)

// sound is what PostgreSQL says by default.
func sound() settings {
	return settings{version: 150000, fsync: "on", fullPageWrites: "on", synchronousCommit: "on", isolation: "read committed",
		readOnly: "off", serverEncoding: "UTF8", standardConformingStrings: "on"}
}

func TestSettingsThatLoseDataAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		change         func(*settings)
		faults, warned string // the settings named, joined by a space
	}{
		{"PostgreSQL's defaults", func(*settings) {}, "", ""},
		{"an old server", func(s *settings) { s.version = 140011 }, "server_version_num", ""},
		{"no fsync", func(s *settings) { s.fsync = "off" }, "fsync", ""},
		{"torn pages", func(s *settings) { s.fullPageWrites = "off" }, "", "full_page_writes"},
		{"commits not awaited", func(s *settings) { s.synchronousCommit = "off" }, "synchronous_commit", ""},
		{"local without standbys", func(s *settings) { s.synchronousCommit = "local" }, "", ""},
		{"local with standbys", func(s *settings) { s.synchronousCommit, s.synchronousStandbyNames = "local", "*" }, "synchronous_commit", ""},
		{"remote_write with standbys", func(s *settings) { s.synchronousCommit, s.synchronousStandbyNames = "remote_write", "a" }, "", "synchronous_commit"},
		{"remote_apply with standbys", func(s *settings) { s.synchronousCommit, s.synchronousStandbyNames = "remote_apply", "a" }, "", ""},
		{"serializable", func(s *settings) { s.isolation = "serializable" }, "default_transaction_isolation", ""},
		{"repeatable read", func(s *settings) { s.isolation = "repeatable read" }, "default_transaction_isolation", ""},
		{"read only", func(s *settings) { s.readOnly = "on" }, "default_transaction_read_only", ""},
		{"a standby", func(s *settings) { s.inRecovery, s.readOnly = true, "on" }, "pg_is_in_recovery", ""},
		{"Latin", func(s *settings) { s.serverEncoding = "SQL_ASCII" }, "server_encoding", ""},
		{"old strings", func(s *settings) { s.standardConformingStrings = "off" }, "standard_conforming_strings", ""},
		{"a superuser", func(s *settings) { s.superuser = true }, "", "current_user"},
		{"several", func(s *settings) { s.fsync, s.synchronousCommit = "off", "off" }, "fsync synchronous_commit", ""},
	} {
		s := sound()
		c.change(&s)
		faults, warnings := s.judge()
		var named []string
		for _, f := range faults {
			named = append(named, f.Setting)
		}
		if got := strings.Join(named, " "); got != c.faults {
			t.Errorf("%s: refused for %q, not %q", c.name, got, c.faults)
		}
		for i, w := range warnings {
			warnings[i], _, _ = strings.Cut(w, " ")
		}
		if got := strings.Join(warnings, " "); got != c.warned {
			t.Errorf("%s: warned of %q, not %q", c.name, got, c.warned)
		}
	}
}

package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A Fault is one setting of a server that icecore can't work with.
type Fault struct {
	// Setting is PostgreSQL's name for it, Value what it is now.
	Setting, Value string
	// Why tells what would go wrong, and what to do.
	Why string
}

func (f Fault) String() string { return f.Setting + " = " + f.Value + ": " + f.Why }

// SettingsError lists all that must be changed before icecore works on a
// server.
type SettingsError struct{ Faults []Fault }

func (e *SettingsError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return "this PostgreSQL would lose or refuse data:\n  " + strings.Join(lines, "\n  ")
}

// A Querier is a connection, a pool or a transaction.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// settings is what CheckSettings looks at.
type settings struct {
	version                   int
	inRecovery, superuser     bool
	fsync, fullPageWrites     string
	synchronousCommit         string
	synchronousStandbyNames   string
	isolation, readOnly       string
	serverEncoding            string
	standardConformingStrings string
}

// readSettings asks in one round trip what SHOW would answer, by the settings
// of this very session: a role or a database may override the server's.
const readSettings = `
SELECT current_setting('server_version_num')::int,
       pg_is_in_recovery(),
       (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user),
       current_setting('fsync'),
       current_setting('full_page_writes'),
       current_setting('synchronous_commit'),
       COALESCE(current_setting('synchronous_standby_names', true), ''),
       current_setting('default_transaction_isolation'),
       current_setting('default_transaction_read_only'),
       current_setting('server_encoding'),
       current_setting('standard_conforming_strings')`

// CheckSettings reads the settings of a session as icecore will use it and
// returns a [SettingsError] if the server would lose acknowledged commits or
// break the log's order (design section 3.2). The warnings are for the
// operator: what weakens a promise without breaking it.
func CheckSettings(ctx context.Context, q Querier) (warnings []string, err error) {
	var s settings
	err = q.QueryRow(ctx, readSettings, pgx.QueryExecModeExec).Scan(&s.version, &s.inRecovery, &s.superuser, &s.fsync, &s.fullPageWrites,
		&s.synchronousCommit, &s.synchronousStandbyNames, &s.isolation, &s.readOnly, &s.serverEncoding, &s.standardConformingStrings)
	if err != nil {
		return nil, fmt.Errorf("read the server's settings: %w", err)
	}
	faults, warnings := s.judge()
	if len(faults) > 0 {
		return warnings, &SettingsError{Faults: faults}
	}
	return warnings, nil
}

func (s settings) judge() (faults []Fault, warnings []string) {
	refuse := func(setting, value, why string) { faults = append(faults, Fault{setting, value, why}) }
	warn := func(setting, value, why string) { warnings = append(warnings, Fault{setting, value, why}.String()) }
	if s.version < MinimumMajor*10000 {
		refuse("server_version_num", fmt.Sprint(s.version), fmt.Sprintf("PostgreSQL %d or newer is needed", MinimumMajor))
	}
	if s.inRecovery {
		refuse("pg_is_in_recovery", "true", "this is a standby; connect to the primary (target_session_attrs=read-write)")
	} else if s.readOnly == "on" {
		refuse("default_transaction_read_only", s.readOnly, "nothing could be written; set it to off for this role")
	}
	if s.fsync == "off" {
		refuse("fsync", s.fsync, "a crash of the machine would lose or corrupt commits; set it to on")
	}
	if s.fullPageWrites == "off" {
		warn("full_page_writes", s.fullPageWrites, "only a file system that never tears a page survives a crash with this")
	}
	switch s.synchronousCommit {
	case "off":
		refuse("synchronous_commit", s.synchronousCommit, "a crash would lose commits that were acknowledged; set it to on")
	case "local", "remote_write":
		if s.synchronousStandbyNames == "" {
			break // nobody to wait for: the same as on
		}
		if s.synchronousCommit == "local" {
			refuse("synchronous_commit", s.synchronousCommit, "there are synchronous standbys, and a fail-over to one would lose commits that were acknowledged; set it to on")
		} else {
			warn("synchronous_commit", s.synchronousCommit, "a standby whose machine crashes together with the primary may lack acknowledged commits")
		}
	}
	if s.isolation != "read committed" {
		refuse("default_transaction_isolation", "'"+s.isolation+"'", "the append waits for others and must then see what they wrote; set it to 'read committed' for this role")
	}
	if s.serverEncoding != "UTF8" {
		refuse("server_encoding", s.serverEncoding, "names are Unicode; make the database with ENCODING 'UTF8'")
	}
	if s.standardConformingStrings != "on" {
		refuse("standard_conforming_strings", s.standardConformingStrings, "it changes the meaning of SQL text; set it to on")
	}
	if s.superuser {
		warn("current_user", "a superuser", "nothing then keeps the server from changing the log; use the application role (icecore migrate names it)")
	}
	return faults, warnings
}

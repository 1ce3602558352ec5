package postgres

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// StartStandby takes a base backup of a running server into a new data folder
// and starts a hot standby there, which streams from it. It does by SQL and a
// copy of the files what pg_basebackup does, since downloaded binaries lack that
// program. The standby has the primary's roles and passwords; settings are
// added to the primary's.
func StartStandby(ctx context.Context, primary *Server, dir string, settings map[string]string) (*Server, error) {
	o := Options{Binaries: primary.o.Binaries, Dir: dir, Settings: map[string]string{}, NoSync: true}
	for _, from := range []map[string]string{primary.o.Settings, settings} {
		for key, value := range from {
			o.Settings[key] = value
		}
	}
	s, err := claim(o)
	if err != nil {
		return nil, err
	}
	if err := s.baseBackup(ctx, primary); err != nil {
		s.release()
		return nil, fmt.Errorf("copy the primary: %w", err)
	}
	if err := s.launch(ctx); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

// baseBackup uses PostgreSQL's low-level backup functions.
func (s *Server) baseBackup(ctx context.Context, primary *Server) error {
	if major, err := DataMajor(s.dir); err != nil || major != 0 {
		return errors.Join(err, errors.New("the data folder is not empty"))
	}
	var err error
	if s.password, err = primary.password.save(s.dir); err != nil {
		return err
	}
	for _, dir := range []string{s.socketDir(), s.pgdata()} {
		if err := s.ownedDir(dir); err != nil {
			return err
		}
	}
	// The backup ends when its connection does, so an error needs no clean-up.
	conn, err := primary.Connect(ctx, SuperRole, "postgres")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	slot := "standby_" + shortHash(s.dir)
	if err := ensureSlot(ctx, conn, slot); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "SELECT pg_backup_start('standby', true)"); err != nil {
		return err
	}
	if err := copyTree(primary.pgdata(), s.pgdata(), s.account, emptyInBackup, notInBackup); err != nil {
		return err
	}
	var label string
	if err := conn.QueryRow(ctx, "SELECT labelfile FROM pg_backup_stop(false)").Scan(&label); err != nil {
		return err
	}
	conninfo := "application_name=" + slot + " user=" + SuperRole + " password=" + s.password[SuperRole]
	if dir := primary.usableSocketDir(); dir != "" {
		conninfo += " host=''" + strings.ReplaceAll(dir, "'", "") + "''"
	} else {
		conninfo += " host=127.0.0.1"
	}
	conninfo += fmt.Sprintf(" port=%d", primary.Port())
	for name, text := range map[string]string{
		"backup_label":         label,
		"standby.signal":       "",
		"postgresql.auto.conf": "primary_conninfo = '" + conninfo + "'\nprimary_slot_name = '" + slot + "'\n",
	} {
		path := filepath.Join(s.pgdata(), name)
		if err := writeWhole(path, []byte(text), 0o600); err != nil {
			return err
		}
		if err := s.account.own(path); err != nil {
			return err
		}
	}
	return nil
}

func ensureSlot(ctx context.Context, conn *pgx.Conn, slot string) error {
	_, err := conn.Exec(ctx, "SELECT pg_create_physical_replication_slot($1, true)", slot)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "42710" { // duplicate_object
		return nil
	}
	return err
}

// emptyInBackup tells the folders whose content does not belong to a base
// backup (PostgreSQL's manual, "Making a Base Backup Using the Low Level API").
func emptyInBackup(dir string) bool {
	switch dir {
	case "pg_wal", "pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans":
		return true
	}
	return false
}

func notInBackup(file string) bool {
	switch base := filepath.Base(file); base {
	case "postmaster.pid", "postmaster.opts", "pg_internal.init", "postgresql.auto.conf", "backup_label", "standby.signal":
		return true
	default:
		return strings.HasPrefix(base, "pgsql_tmp")
	}
}

// CatchUp waits until a standby has replayed all that the primary had written
// when it was called.
func (s *Server) CatchUp(ctx context.Context, primary *Server) error {
	from, err := primary.Connect(ctx, SuperRole, "postgres")
	if err != nil {
		return err
	}
	defer func() { _ = from.Close(context.WithoutCancel(ctx)) }()
	var lsn string
	if err := from.QueryRow(ctx, "SELECT pg_current_wal_flush_lsn()::text").Scan(&lsn); err != nil {
		return fmt.Errorf("ask the primary for its position: %w", err)
	}
	conn, err := s.Connect(ctx, SuperRole, "postgres")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var failed error
	err = poll(ctx, func() bool {
		var there bool
		failed = conn.QueryRow(ctx, "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn", lsn).Scan(&there)
		return there || failed != nil
	})
	if err := errors.Join(failed, err); err != nil {
		return fmt.Errorf("wait for the standby: %w", err)
	}
	return nil
}

// Promote makes a standby a primary, on a new timeline, and returns when it
// takes writes. It does not stop the old primary.
func (s *Server) Promote(ctx context.Context) error {
	conn, err := s.Connect(ctx, SuperRole, "postgres")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var done bool
	if err := conn.QueryRow(ctx, "SELECT pg_promote(true, 60)").Scan(&done); err != nil {
		return fmt.Errorf("promote the standby: %w", err)
	}
	if !done {
		return errors.New("promote the standby: it took longer than 60 s")
	}
	return nil
}

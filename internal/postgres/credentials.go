package postgres

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The roles of a private cluster.
const (
	// SuperRole owns the cluster; only the launcher and tests use it.
	SuperRole = "postgres"
	// OwnerRole owns the database and migrates it.
	OwnerRole = "icecore_owner"
	// AppRole is what the server works as: it has what the migrations grant.
	AppRole = "icecore_app"
	// DefaultDatabase is the database of a private cluster.
	DefaultDatabase = "icecore"
)

// passwords holds one password per role.
type passwords map[string]string

func (passwords) String() string   { return "passwords" }
func (passwords) GoString() string { return "passwords" }

// loadPasswords reads the passwords of a data folder, or makes them.
func loadPasswords(dir string) (passwords, error) {
	path := filepath.Join(dir, "credentials")
	data, err := os.ReadFile(path)
	if err == nil {
		p := passwords{}
		if err := json.Unmarshal(data, &p); err != nil || p[SuperRole] == "" || p[OwnerRole] == "" || p[AppRole] == "" {
			return nil, fmt.Errorf("%s is damaged", path)
		}
		return p, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the credentials: %w", err)
	}
	return passwords{SuperRole: rand.Text(), OwnerRole: rand.Text(), AppRole: rand.Text()}.save(dir)
}

// save writes the passwords into a data folder, for nobody else to read.
func (p passwords) save(dir string) (passwords, error) {
	data, err := json.Marshal(map[string]string(p))
	if err != nil {
		return nil, fmt.Errorf("write the credentials: %w", err)
	}
	if err := writeWhole(filepath.Join(dir, "credentials"), data, 0o600); err != nil {
		return nil, fmt.Errorf("write the credentials: %w", err)
	}
	return p, nil
}

// writeWhole replaces a file by one rename.
func writeWhole(path string, data []byte, mode os.FileMode) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if _, err := file.Write(data); err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Chmod(mode); err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Sync(); err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

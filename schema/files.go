package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A Migration is one file.
type Migration struct {
	// Version is the file's number, from 1.
	Version int
	// Name is the file's name between number and ending.
	Name string
	// SHA256 is the digest of the file as it stands, in hexadecimal.
	SHA256 string

	sql string
}

// String is the file's name without its ending.
func (m Migration) String() string { return fmt.Sprintf("%04d_%s", m.Version, m.Name) }

var fileName = regexp.MustCompile(`^([0-9]{4})_([a-z0-9]+(?:_[a-z0-9]+)*)\.sql$`)

// load reads the files in order. Every file must be named NNNN_name.sql, and no
// number may come twice. Numbers may be left out: parallel work reserves them.
func load(files fs.FS) ([]Migration, error) {
	entries, err := fs.ReadDir(files, ".") // sorted by name, hence by number
	if err != nil {
		return nil, fmt.Errorf("list the migrations: %w", err)
	}
	var list []Migration
	for _, entry := range entries {
		parts := fileName.FindStringSubmatch(entry.Name())
		if parts == nil || entry.IsDir() {
			return nil, fmt.Errorf("migration %q is not named NNNN_name.sql", entry.Name())
		}
		version, err := strconv.Atoi(parts[1])
		if err != nil || version == 0 {
			return nil, fmt.Errorf("migration %q has no number from 1 on", entry.Name())
		}
		if n := len(list); n > 0 && list[n-1].Version == version {
			return nil, fmt.Errorf("migrations %s and %q have the same number", list[n-1], entry.Name())
		}
		data, err := fs.ReadFile(files, entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read migration %q: %w", entry.Name(), err)
		}
		sum := sha256.Sum256(data)
		list = append(list, Migration{Version: version, Name: parts[2], SHA256: hex.EncodeToString(sum[:]), sql: string(data)})
	}
	return list, nil
}

// placeholder is `:app` as a word of its own and not part of a cast.
var placeholder = regexp.MustCompile(`(^|[^:0-9A-Za-z_"]):app\b`)

// render puts the application role in its places.
func (m Migration) render(appRole string) string {
	return placeholder.ReplaceAllStringFunc(m.sql, func(match string) string {
		return strings.TrimSuffix(match, ":app") + pgx.Identifier{appRole}.Sanitize()
	})
}

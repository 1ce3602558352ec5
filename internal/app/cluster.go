package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/icecore-catalog/icecore/internal/postgres"
)

// DefaultData is the data folder of icecore dev, where none is named.
const DefaultData = "icecore-data"

// dataFolder is the layout of a dev server's folder.
type dataFolder struct{ root string }

func openDataFolder(path string) (dataFolder, error) {
	root, err := filepath.Abs(path)
	if err != nil {
		return dataFolder{}, fmt.Errorf("find the data folder: %w", err)
	}
	return dataFolder{root}, nil
}

// warehouse is where the tables of the warehouse demo lie.
func (d dataFolder) warehouse() string { return filepath.Join(d.root, "warehouse") }

// cluster is where PostgreSQL lives: below the folder, or elsewhere if we are
// root and its unprivileged user can't get there.
func (d dataFolder) cluster() (string, error) {
	return postgres.Home(filepath.Join(d.root, "postgres"))
}

// options finds the PostgreSQL for the folder's cluster, on this machine or by
// fetching it. announce hears of a download before it begins.
func (d dataFolder) options(ctx context.Context, noDownload bool, mirror string, announce func(string)) (postgres.Options, error) {
	dir, err := d.cluster()
	if err != nil {
		return postgres.Options{}, err
	}
	major, err := postgres.DataMajor(dir)
	if err != nil {
		return postgres.Options{}, err
	}
	wish := ""
	if major != 0 {
		wish = strconv.Itoa(major) // only the version that made the data can read it
	}
	binaries, err := postgres.Find(ctx, postgres.FindOptions{Major: wish, NoDownload: noDownload, Mirror: mirror, Announce: announce})
	if err != nil {
		return postgres.Options{}, err
	}
	return postgres.Options{Binaries: binaries, Dir: dir}, nil
}

// open returns the folder's PostgreSQL for an operating command: that of the
// dev server which is running on it, or one that is started for as long as the
// command takes. The caller stops what it gets; that ends the second kind
// alone.
func (d dataFolder) open(ctx context.Context) (*postgres.Server, error) {
	dir, err := d.cluster()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "pgdata", "PG_VERSION")); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is no data folder of icecore dev", d.root)
	}
	options, err := d.options(ctx, false, os.Getenv("ICECORE_PG_MIRROR"), nil)
	if err != nil {
		return nil, err
	}
	return postgres.Open(ctx, options)
}

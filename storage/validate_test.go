package storage_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/icecore-catalog/icecore/storage"
)

func TestValidateReportsEachStepAndLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stores, err := storage.NewStores(storage.Config{FileRoots: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/wh/table/data", "x")
	for _, root := range []string{dir + "/wh", dir + "/new/warehouse"} {
		report := stores.Validate(t.Context(), profile(t, root))
		if err := report.Err(); err != nil {
			t.Errorf("%s: %v", root, report)
		}
		if len(report.Checks) != 8 || !strings.Contains(report.String(), "ok       delete it") {
			t.Errorf("%s: %v", root, report)
		}
	}
	if got, want := strings.Join(tree(t, dir), " "), "new new/warehouse wh wh/table wh/table/data"; got != want {
		t.Errorf("left behind: %s, want %s", got, want)
	}
}

func TestValidateStopsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stores, err := storage.NewStores(storage.Config{FileRoots: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	stores.WatchSync(func(string, func() error) error { return syscall.ENOSPC })
	report := stores.Validate(t.Context(), profile(t, dir))
	if err := report.Err(); !errors.Is(err, storage.ErrNoSpace) || !strings.Contains(err.Error(), "to write an object failed") {
		t.Errorf("error %v", err)
	}
	if len(report.Checks) != 2 || !strings.Contains(report.String(), "FAILED   write an object: ") {
		t.Errorf("%v", report)
	}
	if names := tree(t, dir); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
	write(t, dir+"/object", "in the way")
	if report := stores.Validate(t.Context(), profile(t, dir+"/object")); !errors.Is(report.Err(), storage.ErrInvalid) {
		t.Errorf("an object as root: %v", report)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if report := stores.Validate(ctx, profile(t, dir)); !errors.Is(report.Err(), context.Canceled) {
		t.Errorf("cancelled: %v", report)
	}
}

package logfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/publishers"
)

// file is the file that is written to, as this process knows it.
type file struct {
	root *os.Root
	name string
	f    *os.File
	size int64
	last publishers.Place // of its last line, or of the last file that was renamed
}

// openFile opens a file below a folder, or makes it, and finds its last line.
func openFile(ctx context.Context, folder, name string) (_ *file, err error) {
	if folder == "" {
		return nil, errors.New("no folder is configured for the files of destinations")
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the folder of destinations: %w", errors.Unwrap(err))
	}
	f := &file{root: root, name: name}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if err := f.open(); err != nil {
		return nil, err
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return f, f.settle()
}

func (f *file) close() {
	if f.f != nil {
		_ = f.f.Close()
	}
	_ = f.root.Close()
}

// open opens the file of the name, and syncs the folder that it stands in.
func (f *file) open() error {
	handle, err := f.root.OpenFile(f.name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return fmt.Errorf("open %s: %w", f.name, errors.Unwrap(err))
	}
	if f.f != nil {
		_ = f.f.Close()
	}
	f.f = handle
	return f.syncFolder()
}

func (f *file) syncFolder() error {
	folder, err := f.root.Open(".")
	if err != nil {
		return fmt.Errorf("open the folder of destinations: %w", errors.Unwrap(err))
	}
	defer func() { _ = folder.Close() }()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("sync the folder of destinations: %w", err)
	}
	return nil
}

// lockPause lies between two tries for the lock.
const lockPause = 5 * time.Millisecond

// lock keeps other processes from writing, until the function is called or this
// process ends.
func (f *file) lock(ctx context.Context) (unlock func(), err error) {
	handle := f.f
	for {
		locked, err := tryLock(handle)
		switch {
		case err != nil:
			return nil, fmt.Errorf("lock %s: %w", f.name, err)
		case locked:
			return func() { unlockFile(handle) }, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %s, which another process writes to: %w", f.name, ctx.Err())
		case <-time.After(lockPause):
		}
	}
}

// settle cuts off an unfinished line and finds the last event.
func (f *file) settle() error {
	info, err := f.f.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", f.name, err)
	}
	line, end, err := lastLine(f.f, info.Size())
	if err != nil {
		return fmt.Errorf("read %s: %w", f.name, err)
	}
	if end < info.Size() {
		if err := errors.Join(f.f.Truncate(end), f.f.Sync()); err != nil {
			return fmt.Errorf("cut off an unfinished line of %s: %w", f.name, err)
		}
	}
	f.size = end
	if line == nil {
		return f.lastRenamed()
	}
	f.last, err = placeOfLine(line)
	if err != nil {
		return fmt.Errorf("the last line of %s is no event of a log: %w", f.name, err)
	}
	return nil
}

// lastRenamed finds the last event of the files before this one.
func (f *file) lastRenamed() error {
	number, err := f.renamed()
	if err != nil || number == 0 {
		return err
	}
	name := f.numbered(number)
	before, err := f.root.Open(name)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, errors.Unwrap(err))
	}
	defer func() { _ = before.Close() }()
	info, err := before.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", name, err)
	}
	line, _, err := lastLine(before, info.Size())
	if err == nil && line != nil {
		f.last, err = placeOfLine(line)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// renamed returns the number of the last file that was renamed, 0 for none.
func (f *file) renamed() (last int64, err error) {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return 0, fmt.Errorf("read the folder of destinations: %w", err)
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), f.name+".")
		if n, err := strconv.ParseInt(number, 10, 64); ok && err == nil && f.numbered(n) == e.Name() {
			last = max(last, n)
		}
	}
	return last, nil
}

// numbered is the name of a file that was renamed: they sort as they were written.
func (f *file) numbered(n int64) string { return fmt.Sprintf("%s.%08d", f.name, n) }

// append writes lines whose last event stands at a place. A file that would
// become too large is renamed first.
func (f *file) append(ctx context.Context, lines []byte, last publishers.Place, most int64) error {
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { unlock() }()
	if err := f.unchanged(); err != nil {
		return err
	}
	if f.size > 0 && f.size+int64(len(lines)) > most {
		number, err := f.renamed()
		if err != nil {
			return err
		}
		if err := f.root.Rename(f.name, f.numbered(number+1)); err != nil {
			return fmt.Errorf("rename %s: %w", f.name, errors.Unwrap(err))
		}
		// Another process that waits for the lock of the old one sees that it was
		// renamed.
		if err := f.open(); err != nil {
			return err
		}
		unlock = func() {} // it went with the old handle
		if unlock, err = f.lock(ctx); err != nil {
			unlock = func() {}
			return err
		}
		f.size = 0
		if err := f.unchanged(); err != nil {
			return err
		}
	}
	if _, err := f.f.Write(lines); err != nil {
		// Half of it is worse than nothing; if even this fails, the next opening
		// cuts off what is unfinished.
		return errors.Join(fmt.Errorf("write %s: %w", f.name, err), f.f.Truncate(f.size))
	}
	if err := f.f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", f.name, err)
	}
	f.size += int64(len(lines))
	f.last = last
	return nil
}

// unchanged reports as a mismatch that somebody else wrote, renamed or removed
// the file.
func (f *file) unchanged() error {
	ours, err := f.f.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", f.name, err)
	}
	there, err := f.root.Stat(f.name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look at %s: %w", f.name, errors.Unwrap(err))
	}
	if err != nil || !os.SameFile(ours, there) || ours.Size() != f.size {
		return fmt.Errorf("%s was changed by somebody else: %w", f.name, publishers.ErrMismatch)
	}
	return nil
}

// lastLine returns the last whole line, nil for none, and where it ends.
func lastLine(r io.ReaderAt, size int64) (line []byte, end int64, err error) {
	const step = 64 << 10
	var tail []byte // from start to size
	start := size
	for {
		n := bytes.LastIndexByte(tail, '\n')
		if n >= 0 {
			if m := bytes.LastIndexByte(tail[:n], '\n'); m >= 0 || start == 0 {
				return tail[m+1 : n], start + int64(n) + 1, nil
			}
		}
		if start == 0 {
			return nil, 0, nil
		}
		more := min(step+int64(len(tail)), start) // doubles: a line may be large
		block := make([]byte, more, more+int64(len(tail)))
		if _, err := r.ReadAt(block, start-more); err != nil {
			return nil, 0, err
		}
		start -= more
		tail = append(block, tail...)
	}
}

func placeOfLine(line []byte) (publishers.Place, error) {
	var event cloudevents.Event
	if err := event.UnmarshalJSON(line); err != nil {
		return publishers.Place{}, err
	}
	return placeOf(&event)
}

func placeOf(event *cloudevents.Event) (publishers.Place, error) {
	entry, err := eventstore.FromCloudEvent(*event)
	if err != nil {
		return publishers.Place{}, err
	}
	return publishers.Place{Epoch: entry.Epoch, Position: entry.Position, Event: entry.ID}, nil
}

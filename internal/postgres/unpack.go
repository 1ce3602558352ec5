package postgres

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ulikunitz/xz"
)

// maxTree bounds what an archive may unpack to; the largest pinned one makes
// 250 MB.
const maxTree = 2 << 30

// unpackJar unpacks the .txz member of a jar into dest, which it creates.
func unpackJar(ctx context.Context, jar, dest string) error {
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return fmt.Errorf("open the archive: %w", err)
	}
	defer func() { _ = archive.Close() }()
	for _, member := range archive.File {
		if !strings.HasSuffix(member.Name, ".txz") {
			continue
		}
		packed, err := member.Open()
		if err != nil {
			return fmt.Errorf("open %s: %w", member.Name, err)
		}
		defer func() { _ = packed.Close() }()
		plain, err := xz.NewReader(bufio.NewReaderSize(packed, 1<<20))
		if err != nil {
			return fmt.Errorf("unpack %s: %w", member.Name, err)
		}
		if err := untar(ctx, plain, dest); err != nil {
			return fmt.Errorf("unpack %s: %w", member.Name, err)
		}
		return nil
	}
	return errors.New("the archive holds no .txz")
}

// untar writes folders, files and symbolic links below dest and nothing
// elsewhere: names must be local, links must point inside, and no entry is
// written through a link.
func untar(ctx context.Context, r io.Reader, dest string) error {
	if err := os.Mkdir(dest, 0o755); err != nil { //nolint:gosec // the server's user must enter it
		return err
	}
	if err := os.Chmod(dest, 0o755); err != nil { //nolint:gosec // as above, whatever the umask says
		return err
	}
	// An os.Root refuses every path that leaves it, links included.
	root, err := os.OpenRoot(dest)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	left := int64(maxTree)
	archive := tar.NewReader(r)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean(header.Name)
		if !filepath.IsLocal(name) {
			return fmt.Errorf("the entry %q leads outside", header.Name)
		}
		if left -= header.Size; left < 0 {
			return fmt.Errorf("it unpacks to more than %d bytes", maxTree)
		}
		if err := writeEntry(root, archive, header, name); err != nil {
			return fmt.Errorf("the entry %q: %w", header.Name, err)
		}
	}
}

func writeEntry(root *os.Root, r io.Reader, header *tar.Header, name string) error {
	if err := makeDirs(root, path.Dir(name)); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return makeDirs(root, name)
	case tar.TypeReg:
		mode := os.FileMode(0o644)
		if header.FileInfo().Mode()&0o111 != 0 {
			mode = 0o755
		}
		file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil {
			return err
		}
		if _, err := io.Copy(file, r); err != nil {
			_ = file.Close()
			return err
		}
		if err := file.Chmod(mode); err != nil {
			_ = file.Close()
			return err
		}
		return file.Close()
	case tar.TypeSymlink:
		//nolint:gosec // the joined path is looked at, not used
		if path.IsAbs(header.Linkname) || !filepath.IsLocal(path.Join(path.Dir(name), header.Linkname)) {
			return fmt.Errorf("the link to %q leads outside", header.Linkname)
		}
		return root.Symlink(header.Linkname, name)
	default:
		return fmt.Errorf("an entry of type %q is not expected", header.Typeflag)
	}
}

// makeDirs makes folders that all may read, whatever the umask says: when root
// unpacks, another user runs what is in them.
func makeDirs(root *os.Root, name string) error {
	if name == "." {
		return nil
	}
	if err := makeDirs(root, path.Dir(name)); err != nil {
		return err
	}
	if err := root.Mkdir(name, 0o755); err != nil {
		if info, statErr := root.Lstat(name); statErr == nil && info.IsDir() {
			return nil
		}
		return err
	}
	return root.Chmod(name, 0o755)
}

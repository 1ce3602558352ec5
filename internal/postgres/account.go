package postgres

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
)

// An account is an operating system user.
type account struct {
	name     string
	uid, gid int
}

// serverUser is the account that the server runs as, or nil for that of this
// process, which is right unless it is root.
func serverUser() *account {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil && uid != 0 {
			return &account{name: name, uid: uid, gid: gid}
		}
	}
	// initdb needs an entry in the user database; without any, it says so.
	return &account{name: "nobody", uid: 65534, gid: 65534}
}

// own gives a file to the account; a nil account has it already.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	if err := os.Chown(path, a.uid, a.gid); err != nil {
		return fmt.Errorf("hand %s to the user %s: %w", path, a.name, err)
	}
	return nil
}

// UnreachableError says that the server's unprivileged user can't enter a
// folder on the way to the one it needs.
type UnreachableError struct {
	// Dir is the folder that is needed, Barrier the one that can't be entered.
	Dir, Barrier string
	// User is the server's user.
	User string
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("PostgreSQL refuses to run as root, so it runs as the user %s, who can't enter %s and so can't reach %s; "+
		"choose a folder that everybody may enter, such as one below /var/lib, or do not run as root", e.User, e.Barrier, e.Dir)
}

// reachable returns an [UnreachableError] if the account can't enter a parent
// of dir. Parents that do not exist yet will be made by this process. A nil
// account is this process's own.
func reachable(dir string, acc *account) error {
	if acc == nil {
		return nil
	}
	for parent := filepath.Dir(dir); ; parent = filepath.Dir(parent) {
		info, err := os.Stat(parent)
		if err == nil && !acc.mayEnter(info) {
			return &UnreachableError{Dir: dir, Barrier: parent, User: acc.name}
		}
		if parent == filepath.Dir(parent) {
			return nil
		}
	}
}

// Home returns where the cluster of a data folder lives: the folder itself, or,
// for root and a folder that the server's unprivileged user can't reach (one
// below /root), a folder below /var/lib/icecore whose name is derived from it.
func Home(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the data folder: %w", err)
	}
	if reachable(dir, serverUser()) == nil {
		return dir, nil
	}
	return filepath.Join("/var/lib/icecore", filepath.Base(dir)+"-"+shortHash(dir)), nil
}

// Unprivileged makes a command run as the user that a server would run as, and,
// where the kernel can, die with this process. It is for tests that run other
// programs beside the server.
func Unprivileged(cmd *exec.Cmd) {
	runAs(cmd, serverUser())
	dieWithParent(cmd)
}

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"brig/internal/owned"
	"brig/internal/sys"
)

// RootDir is where brig keeps what is root's: an environment may be an ordinary user's. Tests set another.
var RootDir = "/var/lib/brig"

// tempDirs are where an ordinary user's state is kept if no home can be written: file-hierarchy(7). Tests set others.
var tempDirs = []string{"/var/tmp", "/tmp"}

// StateDir returns where brig keeps this user's notes and change sets: RootDir for root. For others it is
// $XDG_STATE_HOME/brig, or else ~/.local/state/brig where that can be written. Where it cannot (HOME is /nonexistent,
// or another user's), it is brig-UID in /var/tmp or /tmp, a directory of this user alone. It is "" if XDG_STATE_HOME
// and HOME are no absolute paths and nothing can be written.
func StateDir() string {
	own := ownDir("XDG_STATE_HOME", ".local/state")
	if os.Geteuid() == 0 || filepath.IsAbs(os.Getenv("XDG_STATE_HOME")) || mayWrite(own) {
		return own
	}
	if temp := tempState(); mayWrite(temp) {
		return temp
	}
	return own
}

// tempState returns the directory for an ordinary user's state if HOME cannot be written, or "".
func tempState() string {
	for _, tmp := range tempDirs {
		if dir := ownTemp(tmp); os.Geteuid() != 0 && checkTemp(dir) == nil {
			return dir
		}
	}
	return ""
}

// DataDir returns where brig keeps this user's images: RootDir for root, and $XDG_DATA_HOME/brig or
// ~/.local/share/brig for others, or "" if neither XDG_DATA_HOME nor HOME is an absolute path.
func DataDir() string { return ownDir("XDG_DATA_HOME", ".local/share") }

func ownDir(variable, below string) string {
	if os.Geteuid() == 0 {
		return RootDir
	}
	if dir := sys.UserDir(variable, below); dir != "" {
		return filepath.Join(dir, "brig")
	}
	return ""
}

// mayWrite reports whether a directory, or the nearest one above it that exists, may be written by this process:
// access(2), with the effective ids.
func mayWrite(dir string) bool {
	for ; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
		if err != unix.ENOENT {
			return err == nil
		}
	}
	return false
}

func ownTemp(tmp string) string { return tmp + "/brig-" + strconv.Itoa(os.Geteuid()) }

// checkTemp returns an error if a directory below one of tempDirs is not this user's alone, or could be renamed by
// others. It may be absent.
func checkTemp(dir string) error {
	var st unix.Stat_t
	tmp := filepath.Dir(dir)
	err := unix.Lstat(tmp, &st)
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() && st.Uid != 0 ||
		st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0) {
		return fmt.Errorf("%s: others may rename what is in it", tmp)
	}
	if err == nil {
		if err = unix.Lstat(dir, &st); err == unix.ENOENT {
			return nil
		}
	}
	if err != nil {
		return &os.PathError{Op: "lstat", Path: dir, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || Check(&st, Writing) != nil {
		return fmt.Errorf("%s is of uid %d and mode %#o: it must be a directory of yours that nobody else may write to",
			dir, st.Uid, st.Mode)
	}
	return nil
}

// ParentMode is the mode of the directories above brig's own: root's payloads may have to pass through them.
func ParentMode() os.FileMode {
	if os.Geteuid() == 0 {
		return 0o711
	}
	return 0o700
}

// Make makes a directory of brig's own with a mode, and those above it with ParentMode. It fails where StateDir is
// in a directory for everybody and another user was faster.
func Make(dir string, mode os.FileMode) error {
	if err := makeAll(dir, mode); err != nil {
		return err
	}
	for _, tmp := range tempDirs {
		if own := ownTemp(tmp); sys.Under(dir, own) && os.Geteuid() != 0 {
			return checkTemp(own)
		}
	}
	return nil
}

// makeAll makes a directory and those above it, each such that this process can use it whatever umask(2) it was started
// with. The mask is the whole process's: it is not touched, since others make files meanwhile.
func makeAll(dir string, mode os.FileMode) error {
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		if err = makeAll(filepath.Dir(dir), ParentMode()); err == nil {
			err = os.Mkdir(dir, mode)
		}
	}
	if err == nil {
		return lendAll(dir)
	}
	if info, _ := os.Stat(dir); info != nil && info.IsDir() { // its mode is somebody's choice
		return nil
	}
	return err
}

// lendAll adds what a umask has taken from the owner of a new directory.
func lendAll(dir string) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	_, err = owned.Lend(fd, 0o700)
	return err
}

// added are the directories of Protect.
var added struct {
	sync.Mutex
	dirs []string
}

// Protect adds a directory to Places for the rest of the process; "" adds none. A relative one is in the working
// directory of now.
func Protect(dir string) error {
	if dir == "" {
		return nil
	}
	dir, err := sys.Abs(dir)
	added.Lock()
	defer added.Unlock()
	if err == nil && !slices.Contains(added.dirs, dir) {
		added.dirs = append(added.dirs, dir)
	}
	return err
}

// Places returns the directories in which brig keeps this user's notes, change sets and images by default, or would
// keep them with another environment, the one of BRIG_CHANGES, and those of Protect.
func Places() (list []string) {
	dirs := []string{StateDir(), DataDir(), tempState()}
	if changes := os.Getenv("BRIG_CHANGES"); changes != "" {
		dirs = append(dirs, changes)
	}
	added.Lock()
	defer added.Unlock()
	for _, dir := range append(dirs, added.dirs...) {
		if dir == "" {
			continue // there is neither a home nor another place
		}
		if dir, err := sys.Abs(dir); err == nil && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

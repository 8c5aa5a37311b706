package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"brig/internal/owned"

	"golang.org/x/sys/unix"
)

// Kept is a store that stays until somebody removes it: see Store.Keep.
type Kept struct {
	Name  string    // in the directory of all stores; the operand of `brig discard`
	Upper string    // the path of what was changed, as overlayfs writes it
	Since time.Time // when the payload's run was over
}

// KeptStores lists the stores below a directory that stay.
func KeptStores(below string) (list []Kept, err error) {
	places, err := os.OpenFile(below, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer places.Close()
	names, err := owned.Names(int(places.Fd()))
	for _, name := range names {
		var st unix.Stat_t
		if !strings.HasPrefix(name, keptPrefix) ||
			unix.Fstatat(int(places.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			continue
		}
		list = append(list, Kept{name, filepath.Join(below, name, "upper"), time.Unix(st.Ctim.Unix())}) // of the rename
	}
	return list, err
}

// RemoveKept removes a store that stays.
func RemoveKept(below, name string) error {
	if !strings.HasPrefix(name, keptPrefix) || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q is not the name of changes that were kept", name)
	}
	places, err := os.OpenFile(below, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer places.Close()
	var st unix.Stat_t
	if err := unix.Fstatat(int(places.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "stat", Path: filepath.Join(below, name), Err: err}
	}
	return owned.Remove(int(places.Fd()), name)
}

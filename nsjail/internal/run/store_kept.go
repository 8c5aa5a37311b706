package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	places, err := openStores(below)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer places.Close()
	names, err := places.Names(kept)
	for _, name := range names {
		if st, err := places.Stat(name); err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			list = append(list, Kept{name, filepath.Join(below, name, "upper"), time.Unix(st.Ctim.Unix())}) // of the rename
		}
	}
	return list, err
}

// RemoveKept removes a store that stays.
func RemoveKept(below, name string) error {
	if !kept(name) || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q is not the name of changes that were kept", name)
	}
	places, err := openStores(below)
	if err != nil {
		return err
	}
	defer places.Close()
	if _, err := places.Stat(name); err != nil {
		return err
	}
	return places.Drop(name)
}

func kept(name string) bool { return strings.HasPrefix(name, keptPrefix) }

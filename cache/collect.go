package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"brig/internal/store"
)

// gonePrefix begins the name of a cache that is being removed.
const gonePrefix = ".gone-"

// Collect removes the caches of this user that no run uses, and that none has used for some time. It returns their
// directories, and the number of those in use.
func Collect(older time.Duration) (gone []string, busy int, err error) {
	dir, err := DefaultDir()
	if err != nil {
		return nil, 0, nil // nor has this user caches
	}
	s, err := open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer s.Close()
	names, err := s.dir.Names(func(string) bool { return true })
	errs := []error{err}
	for _, name := range names {
		switch did, err := s.collect(name, older); {
		case errors.Is(err, store.ErrBusy):
			busy++
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		case did:
			gone = append(gone, filepath.Join(dir, name))
		}
	}
	return gone, busy, errors.Join(errs...)
}

// collect removes one cache, or what a process that was killed has left of one. It has another name first, so that no
// run finds a part of one.
func (s *Store) collect(name string, older time.Duration) (did bool, err error) {
	if strings.HasPrefix(name, gonePrefix) {
		return false, s.dir.Drop(name)
	}
	st, err := s.dir.Stat(name) // each run changes the directory when it begins and when it ends
	if err != nil || time.Since(time.Unix(st.Mtim.Unix())) < older {
		return false, err
	}
	err = s.dir.Evict(name, gonePrefix+strconv.Itoa(os.Getpid())+"-"+name)
	return err == nil, err
}

package ghost

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// sweep removes the ghosts of dead runs. It returns the ghosts of living runs, and the paths that it has removed.
func sweep(store string) (live map[key]entry, removed []string, err error) {
	dead := map[string][]entry{}
	live, err = notes(store, func(f *os.File, list []entry) error {
		dead[f.Name()] = list
		return nil
	}, "")
	errs := []error{err}
	for note, list := range dead {
		if err := removeAll(list, live); errors.Is(err, unix.EACCES) {
			continue // a payload has taken the permission away (chmod(2)), which must not keep other runs from starting
		} else if err != nil {
			errs = append(errs, err)
			continue
		}
		var st unix.Stat_t
		for _, e := range list {
			if name := filepath.Join(e.Dir, e.Name); unix.Lstat(name, &st) != nil {
				removed = append(removed, name)
			}
		}
		errs = append(errs, os.Remove(note))
	}
	return live, removed, errors.Join(errs...)
}

// notes reads the notes except one. It returns the ghosts of living runs, and calls visit for each note of a dead one,
// that is, each note without a lock.
func notes(store string, visit func(*os.File, []entry) error, except string) (live map[key]entry, err error) {
	names, err := filepath.Glob(store + "/run-*")
	live = map[key]entry{}
	errs := []error{err}
	for _, name := range names {
		if name == except {
			continue
		}
		f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		text, err := io.ReadAll(io.LimitReader(f, maxNote))
		list := slices.DeleteFunc(decode(bytes.NewReader(text)), func(e entry) bool { return !e.plausible() })
		errs = append(errs, err)
		if sys.Flock(f, unix.LOCK_EX|unix.LOCK_NB) == nil {
			errs = append(errs, visit(f, list))
		} else {
			for _, e := range list {
				live[e.key()] = e
			}
		}
		errs = append(errs, f.Close())
	}
	return live, errors.Join(errs...)
}

// maxNote bounds the bytes that are read of a note. Three lists of spec.MaxProtected long paths are less.
const maxNote = 32 << 20

// encode returns a list as JSON. Dir and Name of an entry that is not UTF-8 are literals of Go and begin with a quote.
func encode(list []entry) ([]byte, error) {
	list = slices.Clone(list)
	for i := range list {
		if e := &list[i]; !utf8.ValidString(e.Dir + "/" + e.Name) {
			e.Dir, e.Name = strconv.Quote(e.Dir), strconv.Quote(e.Name)
		}
	}
	return json.Marshal(list)
}

// decode returns the last complete list of a note. If a note has none, its run has made no ghost.
func decode(note io.Reader) (list []entry) {
	for d := json.NewDecoder(note); ; {
		var next []entry
		err := d.Decode(&next)
		for i := range next {
			if e := &next[i]; err == nil && strings.HasPrefix(e.Dir, `"`) {
				var nameErr error
				e.Dir, err = strconv.Unquote(e.Dir)
				e.Name, nameErr = strconv.Unquote(e.Name)
				err = errors.Join(err, nameErr)
			}
		}
		if err != nil {
			return list
		}
		list = next
	}
}

// lock waits for the lock on the notes: flock(2).
func lock(store string) (unlock func(), err error) {
	f, err := os.OpenFile(store+"/lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := sys.Flock(f, unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { f.Close() }, nil
}

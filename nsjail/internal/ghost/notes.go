package ghost

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"brig/internal/store"
	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// notePrefix begins the name of a note. The rest is a number.
const notePrefix = "run-"

func isNote(name string) bool { return strings.HasPrefix(name, notePrefix) }

// sweep removes the ghosts of dead runs. It returns the ghosts of living runs, and the paths that it has removed.
func sweep(d *store.Dir) (live map[key]entry, removed []string, err error) {
	dead := map[string][]entry{}
	live, err = notes(d, func(note string, list []entry) { dead[note] = list }, "")
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
		errs = append(errs, d.Drop(note))
	}
	return live, removed, errors.Join(errs...)
}

// notes reads the notes except one. It returns the ghosts of living runs, and calls visit for each note of a dead one,
// that is, each note without a lock.
func notes(d *store.Dir, visit func(note string, list []entry), except string) (live map[key]entry, err error) {
	names, err := d.Names(isNote)
	live = map[key]entry{}
	errs := []error{err}
	for _, name := range names {
		if name == except {
			continue
		}
		list, alive, err := read(d, name)
		switch {
		case errors.Is(err, unix.ENOENT):
		case err != nil:
			errs = append(errs, err)
		case alive:
			for _, e := range list {
				live[e.key()] = e
			}
		default:
			visit(name, list)
		}
	}
	return live, errors.Join(errs...)
}

// read reads a note. Its run is alive if it has the lock.
func read(d *store.Dir, name string) (list []entry, alive bool, err error) {
	f, err := d.Open(name, unix.O_RDONLY)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxNote))
	list = slices.DeleteFunc(decode(bytes.NewReader(text)), func(e entry) bool { return !e.plausible() })
	return list, sys.Flock(f, unix.LOCK_EX|unix.LOCK_NB) != nil, err
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
func lock(d *store.Dir) (unlock func(), err error) {
	f, err := d.Hold("lock", unix.O_RDWR|unix.O_CREAT, unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}

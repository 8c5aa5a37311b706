// Package ghost holds the places of absent files of the host while jails protect them. A mount needs something to be
// mounted on: a ghost is an empty socket (unix(7)) at the place, which git(1) and most programs pass over, or a small
// file. Each run notes its ghosts in a file of its own, locked by flock(2) while the run lasts, so that runs can share
// ghosts, and what a killed run has left is removed by the next one.
package ghost

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"brig/internal/store"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Place is a path of the host that a jail protects. A ghost is made there only if the path does not exist.
type Place struct {
	Dir, Name string
	Text      string // "" for a socket
	// Root is an open directory, and Below the path of Dir in it: a path from / may lead elsewhere by now.
	Root  int
	Below string
}

// Set are the ghosts of one run.
type Set struct {
	notes   *store.Dir
	note    *os.File // open and locked
	name    string   // of note
	entries []entry
}

// notesDir returns the directory of the notes.
func notesDir() (string, error) {
	dir := store.StateDir()
	if dir == "" {
		return "", noStore("neither XDG_STATE_HOME nor HOME is an absolute path")
	}
	return filepath.Join(dir, "ghosts"), nil
}

func noStore(why string) error {
	return spec.HostError("protect", "what stands for absent paths cannot be noted: "+why,
		"set XDG_STATE_HOME to a directory of yours, name the paths that exist only, or use "+spec.Unprotected())
}

// openNotes opens the directory of the notes. It returns nil if there is none.
func openNotes(dir string) (*store.Dir, error) {
	d, err := store.Open(dir, 0, store.Writing)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	return d, err
}

// Hold makes a ghost at each absent place, or shares that of another run. It removes the ghosts of dead runs.
func Hold(places []Place) (*Set, error) {
	dir, err := notesDir()
	if err != nil {
		return nil, err
	}
	notes, err := openNotes(dir)
	if err == nil && !needed(notes, places) {
		return nil, closeNotes(notes)
	}
	if err == nil {
		err = store.Make(dir, 0o700)
	}
	if err == nil && notes == nil {
		notes, err = store.Open(dir, 0, store.Writing)
	}
	if err != nil {
		return nil, errors.Join(noStore(err.Error()), closeNotes(notes))
	}
	s := &Set{notes: notes}
	if err = s.hold(places); err != nil || len(s.entries) == 0 {
		return nil, errors.Join(err, notes.Close())
	}
	return s, nil
}

func closeNotes(d *store.Dir) error {
	if d == nil {
		return nil
	}
	return d.Close()
}

func (s *Set) hold(places []Place) error {
	unlock, err := lock(s.notes)
	if err != nil {
		return noStore(err.Error())
	}
	defer unlock()
	live, _, err := sweep(s.notes)
	if err != nil {
		return err
	}
	if err := s.make(places, live); err != nil {
		return errors.Join(err, s.drop(live))
	}
	return nil
}

// make notes the ghosts, and makes them.
func (s *Set) make(places []Place, live map[key]entry) error {
	dirs := dirs{}
	defer dirs.close()
	for _, p := range places {
		if err := s.add(p, dirs, live); err != nil {
			return err
		}
	}
	if len(s.entries) == 0 {
		return nil
	}
	if err := s.write(); err != nil { // before they are made, so that a kill in between leaves nothing unknown
		return err
	}
	first := map[string]*entry{} // the sockets of a directory are one, with many names: link(2) takes a tenth of mknod(2)
	for i := range s.entries {
		e := &s.entries[i]
		if e.Ino != 0 {
			continue
		}
		if err := e.make(dirs[e.Dir].fd, first[e.Dir]); err != nil {
			return failure(e, err)
		}
		if e.Text == "" {
			first[e.Dir] = e
		}
	}
	return s.write()
}

// needed reports whether a place is absent, or there are notes of other runs.
func needed(notes *store.Dir, places []Place) bool {
	if notes != nil {
		if names, err := notes.Names(isNote); err != nil || len(names) > 0 {
			return true
		}
	}
	var st unix.Stat_t
	for _, p := range places {
		if unix.Lstat(filepath.Join(p.Dir, p.Name), &st) != nil {
			return true
		}
	}
	return false
}

// write adds the entries to the note. A kill can cut off the last list, and leaves the one before (write(2)).
func (s *Set) write() (err error) {
	if s.note == nil {
		if s.name, s.note, err = s.notes.Create(notePrefix); err != nil {
			return err
		}
	}
	text, err := encode(s.entries)
	if err == nil {
		_, err = s.note.Write(text)
	}
	return err
}

// Made reports whether this run has made a ghost at a path, or shares that of another.
func (s *Set) Made(dir, name string) bool {
	return s != nil && slices.ContainsFunc(s.entries, func(e entry) bool { return e.Dir == dir && e.Name == name })
}

// Release removes the ghosts that no other run has.
func (s *Set) Release() error {
	if s == nil {
		return nil
	}
	unlock, err := lock(s.notes)
	if err != nil {
		return err
	}
	defer unlock()
	live, err := notes(s.notes, func(string, []entry) {}, s.name)
	return errors.Join(err, s.drop(live), s.notes.Close())
}

// drop removes the ghosts that are not live, and then the note.
func (s *Set) drop(live map[key]entry) error {
	errs := []error{removeAll(s.entries, live)}
	if s.note != nil && errs[0] == nil { // else the next run tries again
		errs = append(errs, s.notes.Drop(s.name))
	}
	if s.note != nil {
		errs = append(errs, s.note.Close())
	}
	return errors.Join(errs...)
}

func removeAll(list []entry, live map[key]entry) error {
	var errs []error
	open, uid := dirs{}, os.Geteuid()
	defer open.close()
	for i := range list {
		if _, ok := live[list[i].key()]; !ok {
			errs = append(errs, list[i].remove(open, uid))
		}
	}
	return errors.Join(errs...)
}

// Collect removes the ghosts of dead runs, and returns their paths.
func Collect() (removed []string, err error) {
	dir, err := notesDir()
	if err != nil {
		return nil, nil // then no run has noted any
	}
	notes, err := openNotes(dir)
	if notes == nil {
		return nil, err
	}
	defer notes.Close()
	unlock, err := lock(notes)
	if err != nil {
		return nil, err
	}
	defer unlock()
	_, removed, err = sweep(notes)
	slices.Sort(removed)
	return slices.Compact(removed), err
}

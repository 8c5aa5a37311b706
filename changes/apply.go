package changes

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ApplyOptions are for Set.Apply.
type ApplyOptions struct {
	Paths []string // the changes at and below these; empty means all
	// Force applies changes of files that the host has changed since, or that it has changed while the payload ran. It
	// does not remove a directory that the host has put in a file's place, or files that the run has not seen.
	Force bool
	// Allow are protected paths of the set (Run.Protect) that may change. "." accepts another directory at the path of
	// Header.Dir.
	Allow  []string
	DryRun bool // change nothing

	rest bool         // finish an interrupted Apply and do nothing else
	step func(string) // called between the steps, by tests
}

// Applied is what Apply has done.
type Applied struct {
	Files   []*File // what was changed, or would be
	Done    int     // changes that the directory had already
	Removed bool    // the set was removed, since the directory has all of its changes
	Resumed bool    // an interrupted Apply was finished
}

// ConflictError lists the changes that Apply refuses. Apply has then changed nothing, except for what it finished of an
// interrupted Apply.
type ConflictError struct{ List []Refused }

// Error names every path.
func (e *ConflictError) Error() string {
	lines := make([]string, 0, len(e.List))
	for _, c := range e.List {
		lines = append(lines, GitQuote(string(c.Path))+": "+c.Reason)
	}
	return strings.Join(lines, "\n")
}

// Apply repeats the changes of the set in its directory, and removes the set if the directory then has all of them. If
// a file is not as the set has recorded it, nothing is changed and the error is a *ConflictError. Each file is replaced
// at once, or not at all: rename(2).
//
// An interrupted Apply is finished first, with the options that it had. If the caller may give files away, a replaced
// file keeps its owner, and a new one gets its directory's. Times of modification are those of the Apply.
func (s *Set) Apply(o *ApplyOptions) (*Applied, error) {
	lock, err := s.store.lock(s.ID)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	j, err := s.readJournal()
	done := new(Applied)
	if j != nil && o.DryRun {
		err = errors.New("an apply of this set was interrupted; finish it first, without --dry-run")
	} else if j != nil {
		done, err = s.apply(j.options(o), j.Token)
	}
	if err != nil || done.Removed || o.rest {
		return done, err
	}
	more, err := s.apply(o, "")
	if more != nil {
		more.Files = append(done.Files, more.Files...)
		more.Resumed = done.Resumed
	}
	return more, err
}

// Resume finishes an Apply that was interrupted, and does nothing if none was.
func (s *Set) Resume() (*Applied, error) { return s.Apply(&ApplyOptions{rest: true}) }

// apply is Apply of a locked set. token is that of an Apply that was interrupted, or "".
func (s *Set) apply(o *ApplyOptions, token string) (done *Applied, err error) {
	all, err := s.Files()
	if err != nil {
		return nil, err
	}
	chosen, err := choose(all, o.Paths)
	if err != nil {
		return nil, err
	}
	a := &applier{set: s, options: o, token: token, resumed: token != "", parent: -1,
		files: make(map[string]*File, len(all)), dirs: map[string]inode{}}
	for _, f := range all {
		a.files[string(f.Path)] = f
	}
	if a.dir, err = s.Dir.open(slices.Contains(o.Allow, ".")); err != nil {
		return nil, err
	}
	defer unix.Close(a.dir)
	if a.layer, err = s.open(); err != nil {
		return nil, err
	}
	defer a.layer.layer.Close()
	defer a.close()
	if err = a.run(chosen); err != nil {
		return nil, err
	}
	done = &Applied{Done: a.done, Resumed: a.resumed}
	for _, t := range a.tasks {
		done.Files = append(done.Files, t.file)
	}
	if !o.DryRun {
		done.Removed, err = a.finish(all, chosen)
	}
	return done, err
}

// run checks everything, and then performs it. An Apply that finishes another one uses new temporary names, since
// somebody else may have taken the old ones.
func (a *applier) run(chosen []*File) error {
	if a.resumed {
		if err := a.clean(chosen); err != nil {
			return err
		}
	}
	if err := a.plan(chosen); err != nil || a.options.DryRun {
		return err
	}
	a.reached("journal")
	token, err := a.set.begin(a.options)
	if err != nil {
		return err
	}
	a.token = token
	a.reached("begin")
	return a.perform()
}

// finish ends the journal, and removes a set of which the directory has everything.
func (a *applier) finish(all, chosen []*File) (removed bool, err error) {
	fd, err := open(a.dir, ".", read|unix.O_DIRECTORY) // syncfs(2) rejects O_PATH
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	if err := unix.Syncfs(fd); err != nil {
		return false, err
	}
	a.reached("synced")
	for _, f := range all { // chosen has the same files in the same order
		if len(chosen) > 0 && chosen[0] == f {
			chosen = chosen[1:]
			continue
		}
		if t, reason, err := a.check(f); err != nil || reason != "" || t != nil {
			a.set.Interrupted = false
			return false, errors.Join(err, a.set.store.root.Remove(a.set.ID+"/"+journalFile))
		}
	}
	return true, a.set.store.drop(a.set.ID)
}

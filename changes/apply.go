package changes

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"brig/internal/words"
)

// Applied is what Apply has done.
type Applied struct {
	Files   []*File // what was changed, or would be
	Done    int     // changes that the directory had already
	Removed bool    // the set was removed, since the directory has all of its changes
	Resumed bool    // an interrupted Apply was taken back, or finished
	// Left are the attributes that ApplyOptions.Force has left out, and what somebody has put at a temporary name.
	Left []Refused
	// Stayed is what has not come to git directories.
	Stayed []Stayed

	moved map[string]inode
}

// Count returns how many files and directories were changed; a moved file is one.
func (d *Applied) Count() (files, dirs int) { return CountOf(withRenames(d.Files)) }

// Apply repeats the changes of the set in its directory, and removes the set if the directory then has all of them. If
// a file is not as the set has recorded it, nothing is changed and the error is a *ConflictError. Everything is
// prepared before the first file gets its name, each file is replaced at once, or not at all (rename(2)), and after an
// error the directory is as it was, unless the set is Interrupted.
//
// An Apply that was killed is first taken back. Without Paths it is then repeated with the options that it had. If the
// caller may give files away, a replaced file keeps its owner, and a new one gets its directory's. Times of
// modification are those of the Apply.
func (s *Set) Apply(o *ApplyOptions) (*Applied, error) {
	lock, err := s.store.lock(s.ID)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	j, err := s.readJournal()
	if err != nil {
		return nil, err
	}
	if j == nil && o.undo {
		return nil, errors.New("no apply of this set was interrupted: there is nothing to undo")
	}
	if j == nil && o.rest {
		return &Applied{}, nil
	}
	if j == nil {
		return s.apply(o, &Applied{})
	}
	if o.DryRun {
		return nil, words.Error("an apply of this set was interrupted; finish it first, without " + words.Field("dry_run") +
			words.Clause(", or "+words.Field("undo")+" it"))
	}
	back, err := s.takeBack(j, o)
	if err != nil || back.Removed || o.undo {
		return back, err
	}
	if len(o.Paths) > 0 && !o.rest {
		return s.apply(o, back)
	}
	first, err := s.apply(j.options(o), back)
	if err != nil || first.Removed || o.rest || len(j.Paths) == 0 {
		return first, err
	}
	return s.apply(o, first)
}

// Resume finishes an Apply that was interrupted, and does nothing if none was.
func (s *Set) Resume() (*Applied, error) { return s.Apply(&ApplyOptions{rest: true}) }

// Undo takes back an Apply that was interrupted. What the host has written since stays.
func (s *Set) Undo() (*Applied, error) { return s.Apply(&ApplyOptions{undo: true}) }

// applier is one Apply of a locked set.
type applier struct {
	set     *Set
	options *ApplyOptions
	site    *site
	all     []*File // of the set
	git     *gitSort
}

func (s *Set) applier(o *ApplyOptions) (*applier, error) {
	all, err := s.Files()
	if err != nil {
		return nil, err
	}
	dir, err := s.Dir.open(slices.Contains(o.Allow, "."))
	if err != nil {
		return nil, err
	}
	return &applier{set: s, options: o, site: newSite(dir, o), all: all}, nil
}

// sortGit decides about the changes in git directories.
func (a *applier) sortGit(layer *contents) (err error) {
	a.git, err = a.set.sortGit(a.all, a.site.dir, a.set.free(a.options), layer)
	return err
}

func (a *applier) remover() *remover { return &remover{site: a.site, all: a.all} }

func (a *applier) undoer() *undoer { return &undoer{a.remover(), map[string]inode{}} }

// takeBack takes back an Apply that was killed. One that was done, but for the removal of what it has replaced, is
// finished.
func (s *Set) takeBack(j *journal, o *ApplyOptions) (*Applied, error) {
	back := j.options(o)
	a, err := s.applier(back)
	if err != nil {
		return nil, err
	}
	defer a.site.end()
	a.site.token = j.Token
	u := a.undoer()
	p, phase, err := u.recover(s)
	if err != nil {
		return nil, err
	}
	if phase == done && o.undo {
		return nil, words.Error("all of its changes were made before it was interrupted, and cannot be undone" +
			words.Clause("; without "+words.Field("undo")+", what they have replaced is removed"))
	}
	if phase == done {
		return a.finish(p)
	}
	if err = u.undo(p); err == nil {
		err = s.end()
	}
	return &Applied{Resumed: true, Left: a.site.left, moved: u.moved}, err
}

// finish ends an Apply of which every file has its name.
func (a *applier) finish(p *parts) (*Applied, error) {
	chosen, err := choose(a.all, a.options.Paths)
	if err == nil {
		err = a.sortGit(nil)
	}
	if err == nil {
		err = a.site.lend(p.places)
	}
	if err == nil {
		err = a.remover().finish(p)
	}
	if err != nil {
		return nil, err
	}
	d := &Applied{Resumed: true, Left: a.site.left, Stayed: a.git.stayed(chosen)}
	d.Removed, err = a.last(chosen)
	return d, err
}

// apply is Apply of a locked set of which no Apply is interrupted any more. before is what was done for that.
func (s *Set) apply(o *ApplyOptions, before *Applied) (*Applied, error) {
	a, err := s.applier(o)
	if err != nil {
		return nil, err
	}
	defer a.site.end()
	maps.Copy(a.site.dirs, before.moved)
	chosen, err := choose(a.all, o.Paths)
	if err != nil {
		return nil, err
	}
	layer, err := s.open()
	if err != nil {
		return nil, err
	}
	defer layer.layer.Close()
	if err = a.sortGit(layer); err != nil {
		return nil, err
	}
	tasks, made, err := newPlanner(a.site, s, a.git, o.Allow).plan(a.git.coming(chosen))
	if err != nil {
		return nil, err
	}
	p, err := divide(tasks, func(f *File) int { return a.git.of(f).turn(f.New == nil) })
	if err == nil {
		err = a.perform(p, layer)
	}
	if err != nil {
		return nil, err
	}
	d := &Applied{Files: before.Files, Done: made, Resumed: before.Resumed, Left: append(before.Left, a.site.left...),
		Stayed: a.git.stayed(chosen)}
	for _, t := range tasks {
		d.Files = append(d.Files, t.file)
	}
	if !o.DryRun {
		d.Removed, err = a.last(chosen)
	}
	return d, err
}

// perform prepares the changes and makes them, or takes all back.
func (a *applier) perform(p *parts, layer *contents) (err error) {
	if err = a.site.reached("journal"); err != nil {
		return err
	}
	if a.site.token, err = a.set.begin(a.options); err != nil {
		return err
	}
	notes, err := a.set.openNotes()
	if err == nil {
		defer notes.file.Close() // the phases are synchronised
		err = (&stager{site: a.site, notes: notes, layer: layer}).prepare(p)
	}
	if err == nil && !a.options.DryRun {
		err = (&committer{a.site, notes}).commit(p.units)
	}
	if err == nil && !a.options.DryRun {
		if err = a.remover().finish(p); err != nil {
			err = fmt.Errorf("the changes are made, and brig apply %s ends it: %w", a.set.store.Short(a.set.ID), err)
		}
		return err
	}
	back := a.undoer().undo(p)
	if back == nil {
		back = a.set.end()
	}
	if back != nil {
		back = fmt.Errorf("it could not be taken back: %w", back)
	}
	return errors.Join(err, back)
}

// last ends the journal, and removes a set of which the directory has everything.
func (a *applier) last(chosen []*File) (removed bool, err error) {
	a.site.dirs = map[string]inode{}
	p := newPlanner(a.site, a.set, a.git, a.options.Allow)
	for _, f := range a.all { // chosen has the same files in the same order
		in, done := a.git.sorted[f], len(chosen) > 0 && chosen[0] == f
		if done {
			chosen = chosen[1:]
		}
		if in != nil && in.file != nil {
			f = in.file
		}
		if in.stays() || !done && (in == nil || in.file != nil) {
			if t, reason, err := p.check(f); err != nil || reason != "" || t != nil {
				return false, a.set.end()
			}
		}
	}
	a.set.Interrupted = false
	return true, a.set.store.drop(a.set.ID)
}

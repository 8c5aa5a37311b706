package changes

import (
	"os"
	"path"

	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// planner compares a directory with the changes of a set.
type planner struct {
	site  *site
	git   *gitSort
	read  reader
	files map[string]*File // those that come, by their paths

	protected []Name   // Run.Protect
	allow     []string // ApplyOptions.Allow
}

func newPlanner(s *site, set *Set, git *gitSort, allow []string) *planner {
	p := &planner{site: s, git: git, protected: set.Run.Protect, allow: allow}
	list := git.coming(git.files)
	p.files = make(map[string]*File, len(list))
	for _, f := range list {
		p.files[string(f.Path)] = f
	}
	return p
}

// plan returns the tasks, in the order of their paths, and how many changes the directory has already; or a
// *ConflictError with every change that is refused.
func (p *planner) plan(chosen []*File) (tasks []task, done int, err error) {
	var refused []Refused
	for _, f := range chosen {
		t, reason, err := p.check(f)
		if err != nil {
			return nil, 0, at(string(f.Path), err)
		}
		if by := protects(p.protected, f, p.allow); by != "" && t != nil {
			reason = "it is protected" + words.Clause("; "+words.Set("force", GitQuote(by))+" permits the change")
		}
		if reason != "" && p.git.of(f) != nil && path.Base(string(f.Path)) == "index" {
			reason += " (git status alone writes it, too)"
		}
		switch {
		case reason != "":
			refused = append(refused, Refused{f.Path, reason})
		case t == nil:
			done++
		default:
			tasks = append(tasks, *t)
		}
	}
	if refused = append(refused, unseen(tasks, p.site.dir)...); len(refused) > 0 {
		return nil, 0, &ConflictError{refused}
	}
	return tasks, done, nil
}

// check is like look, and also decides for a file whose directory the set makes or removes.
func (p *planner) check(f *File) (t *task, reason words.Text, err error) {
	t, reason, err = p.look(f)
	if !missing(err) {
		return t, reason, err
	}
	switch makes, removed := lost(f, p.files); {
	case makes:
		return &task{file: f}, "", nil
	case removed:
		return nil, "", nil
	case err == unix.ENOENT:
		return nil, "its directory is gone", nil
	}
	return nil, "a parent of this path is no longer a directory", nil
}

// look compares a file of the directory with a change. It returns no task if the directory has the change already, and
// the reason if it must not be made. The error is ENOENT, ENOTDIR or ELOOP if the file's directory does not exist.
func (p *planner) look(f *File) (t *task, reason words.Text, err error) {
	dir, name, err := p.site.enter(f.Path)
	if err == unix.EXDEV {
		return nil, "something is mounted above it", nil
	}
	if err != nil {
		return nil, "", err
	}
	p.read.like = f
	now, err := p.read.state(dir, name)
	if err == unix.EXDEV {
		return nil, "something is mounted there", nil
	}
	if err != nil {
		return nil, "", err
	}
	if f.Path == itself && now != nil {
		now.XAttrs = nil // an overlay does not show them
	}
	if kindIs(now, Directory) {
		if err := p.site.known(now.stat, string(f.Path)); err != nil {
			return nil, "", err
		}
	}
	reason, made := decide(f, now, p.site.force, os.Geteuid())
	if made || reason != "" {
		return nil, reason, nil
	}
	return &task{file: f, now: now}, "", nil
}

// unseen refuses to remove directories in which the host has files that the tasks do not delete.
func unseen(tasks []task, dir int) (refused []Refused) {
	deleted := map[Name]bool{}
	for _, t := range tasks {
		deleted[t.file.Path] = !kindIs(t.file.New, Directory)
	}
	for _, t := range tasks {
		if !kindIs(t.now, Directory) || kindIs(t.file.New, Directory) {
			continue
		}
		list, err := namesIn(dir, string(t.file.Path))
		if err != nil {
			refused = append(refused, Refused{t.file.Path, "its files cannot be listed: " + words.Message(err)})
		}
		for _, name := range list {
			if path := Name(join(string(t.file.Path), name)); !deleted[path] {
				refused = append(refused, Refused{path, "the run has not seen it, and its directory is to be removed"})
			}
		}
	}
	return refused
}

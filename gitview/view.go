// Package gitview shows the git directories of a jail's writable binds copy-on-write, and brings back to the host what
// a run has written there, as far as it is data: package gitdata has the list.
//
// A payload that may write to a git directory makes git(1) of the host execute what it likes, by hooks and settings,
// and write to any file of the caller's, by symbolic links at the names that git writes to. So it writes to an overlay.
// When its last process is gone, BringBack copies regular files to the directory that was opened before the payload
// existed, each by a temporary name and rename(2), and follows no link of either side. Nothing that the host has
// changed meanwhile is overwritten. A keeper that is killed brings back nothing.
package gitview

import (
	"context"
	"errors"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"brig/internal/repository"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// View is what Prepare has made of the git directories of a Spec.
type View struct {
	// Spec is the caller's, with a mount for each view.
	Spec nsjail.Spec

	plain   nsjail.Spec // without views
	views   []view
	without []*Report // of git directories that are read-only
	beyond  []string  // git directories that are read-only since there are too many
	started int64
	step    func(string)
}

// view is one mount.
type view struct {
	dir, target string
	prefix      string // in the git directory, if a part of one is shown
	name        string // of the git directory below the bind, for "!PATH" of Spec.Protect
	file        *os.File
	index       *os.File // as it was before the run; nil if there is none
}

// area is a directory or file of the host that the payload may write to, or to a copy of it.
type area struct {
	mount int
	views bool   // git directories in it get views
	real  string // without symbolic links
	fd    int
}

// Prepare adds a view of each git directory that a writable bind of the Spec shows, if the Spec protects what git acts
// on (spec.ProtectGit) and leaves git's data to the payload (spec.GitData, the default). Else it returns nil. The
// caller starts a jail with View.Spec, and then calls BringBack or Close. A file system that does not answer is an
// error: nsjail.Answer.
func Prepare(ctx context.Context, s *nsjail.Spec) (v *View, err error) {
	if s.Tier != "" || s.Git != "" && s.Git != spec.GitData || !slices.Contains(s.Protect, spec.ProtectGit) ||
		!slices.ContainsFunc(s.Mounts, func(m nsjail.Mount) bool { return m.Writes() }) {
		return nil, nil
	}
	if err := nsjail.Answer(ctx, s); err != nil {
		return nil, err
	}
	v = &View{Spec: *s.Clone(), plain: *s, started: time.Now().UnixNano()}
	v.Spec.Git = spec.GitData
	areas := areasOf(s)
	defer func() {
		for _, a := range areas {
			_ = unix.Close(a.fd) // O_PATH: nothing was written
		}
	}()
	var dirs []string
	for _, a := range areas {
		dirs = append(dirs, a.real)
	}
	if len(dirs) > 0 {
		found := repository.Find(repository.Query{Dirs: dirs, Env: os.Getenv, UID: os.Geteuid()})
		v.Spec.Repositories, v.plain.Repositories = found, found
		for _, a := range areas {
			if a.views && err == nil {
				err = v.area(s, a, found.GitDirs)
			}
		}
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// areasOf opens what the writable binds and the cows show.
func areasOf(s *nsjail.Spec) (list []area) {
	for i, m := range s.Mounts {
		if !m.Writes() || m.Type == nsjail.MountVolume || m.Internal() {
			continue
		}
		fd, err := source(&m)
		if err != nil { // the start will name it
			continue
		}
		real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err != nil {
			_ = unix.Close(fd)
			continue
		}
		list = append(list, area{i, m.Type == nsjail.MountBind && isDirectory(fd), real, fd})
	}
	return list
}

// source opens what a mount shows.
func source(m *nsjail.Mount) (fd int, err error) {
	if m.Held == nil {
		return sys.Retry(func() (int, error) { return unix.Open(m.Source, unix.O_PATH|unix.O_CLOEXEC, 0) })
	}
	return unix.FcntlInt(m.Held.File.Fd(), unix.F_DUPFD_CLOEXEC, 0)
}

func isDirectory(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// area adds the views of one bind: the bind itself, if it is a git directory or a part of one, or else those in it.
func (v *View) area(s *nsjail.Spec, a area, list []repository.GitDir) error {
	m := s.Mounts[a.mount]
	if in := repository.Within(a.real, list); in != "" {
		if s.TakesBack(".", m.Target) {
			return nil
		}
		f, err := sys.Open(a.fd, ".", a.real, unix.O_RDONLY|unix.O_DIRECTORY, func(*unix.Stat_t) error { return nil })
		if err == nil {
			prefix := strings.TrimPrefix(strings.TrimPrefix(a.real, in), "/")
			at := v.index(m.Target)
			v.Spec.Mounts[at] = v.cow(a.real, m.Target, f, m.Held)
			v.views = append(v.views, view{m.Source, m.Target, prefix, path.Base(in), f, openIndex(f)})
		}
		return err
	}
	for _, g := range repository.Outer(list) {
		rel, below := strings.CutPrefix(g.Path, strings.TrimSuffix(a.real, "/")+"/")
		target := path.Join(m.Target, rel)
		if !below || s.Below(target) != a.mount || s.TakesBack(rel, target) {
			continue
		}
		if len(v.views) >= maxViews || len(v.Spec.Mounts) >= spec.MaxMounts {
			v.beyond = append(v.beyond, path.Join(m.Source, rel)) // read-only, as every git directory without a view
			continue
		}
		f, err := sys.Open(unix.AT_FDCWD, g.Path, g.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW,
			func(st *unix.Stat_t) error {
				if uint64(st.Dev) != g.Dev || st.Ino != g.Ino {
					return unix.ESTALE
				}
				return nil
			})
		if errors.Is(err, unix.EACCES) {
			continue // nobody can show it writable
		}
		if err != nil {
			return err
		}
		if name, owner := foreign(f); name != "" {
			v.without = append(v.without, &Report{Dir: path.Join(m.Source, rel), Target: target,
				ReadOnly: words.Quote(name) + " is of " + owner + ", whom the jail does not know"})
			if err := f.Close(); err != nil {
				return err
			}
			continue
		}
		v.add(target, v.cow(g.Path, target, f, m.Held))
		v.views = append(v.views, view{path.Join(m.Source, rel), target, "", rel, f, openIndex(f)})
	}
	return nil
}

// maxViews bounds the views of a jail: each is a mount of its own, and a payload may make any number of repositories.
const maxViews = 64

// The bounds of a view. On disk there is none but the file system's, as for the bind that it is in.
const (
	memorySize   = nsjail.Bytes(4 << 30)
	memoryInodes = 1 << 20
)

// cow returns the mount of a view. Its changes are kept in memory, which costs a start the least. They are kept on disk
// if the jail's memory is bounded, of which they would be a part, and if it has a network, by which much can come.
func (v *View) cow(source, target string, f *os.File, held *spec.Held) nsjail.Mount {
	m := nsjail.Mount{Type: nsjail.MountCOW, Source: source, Target: target, Size: memorySize, Inodes: memoryInodes,
		Held: &spec.Held{Name: source, File: f}}
	if held != nil {
		m.Held.Name = held.Name
	}
	if v.Spec.Limits.Memory > 0 || v.Spec.Net == nsjail.NetEgress || v.Spec.Net == nsjail.NetHost {
		m.Store, m.Size, m.Inodes = spec.StoreDisk, math.MaxInt64, math.MaxInt64
	}
	return m
}

// add adds a mount: at the end, or before the first one that is in it.
func (v *View) add(target string, m nsjail.Mount) {
	at := slices.IndexFunc(v.Spec.Mounts, func(o nsjail.Mount) bool { return strings.HasPrefix(o.Target, target+"/") })
	if at < 0 {
		at = len(v.Spec.Mounts)
	}
	v.Spec.Mounts = slices.Insert(v.Spec.Mounts, at, m)
}

func (v *View) index(target string) int {
	return slices.IndexFunc(v.Spec.Mounts, func(m nsjail.Mount) bool { return m.Target == target })
}

// Fallback removes the views if err is why an overlay could not be made, and reports whether it has: a start with the
// Spec then shows the git directories read-only. It returns what the user has to know.
func (v *View) Fallback(err error) (note words.Text, ok bool) {
	var e *nsjail.Error
	if v == nil || len(v.views) == 0 || !errors.As(err, &e) {
		return "", false
	}
	named := e.Op == "cow"
	for _, w := range v.views {
		named = named || strings.HasPrefix(e.Op, "mounts["+strconv.Itoa(v.index(w.target))+"]")
	}
	if !named || v.Close() != nil {
		return "", false
	}
	v.Spec, v.views = *v.plain.Clone(), nil
	return "git directories are read-only, since no overlay can be made of them: " +
		words.Plain(words.Printable(e.Detail.String())) + "; " + words.Set("git", spec.GitRW) + " shows them writable", true
}

// Close closes the directories that Prepare has opened. It is for a jail that has not started.
func (v *View) Close() (err error) {
	if v != nil {
		for _, w := range v.views {
			err = errors.Join(err, w.file.Close())
			if w.index != nil {
				err = errors.Join(err, w.index.Close())
			}
		}
	}
	return err
}

// BringBack brings the data of the views to the host, and removes their entries from Result.Changes. It returns a
// Report for each view in which something was written. The caller shows Lines of each, and fails if one has an Error.
func (v *View) BringBack(r *nsjail.Result) (list []*Report) {
	if v == nil || r == nil {
		return nil
	}
	list = v.without
	rest := r.Changes[:0:0]
	for i := range r.Changes {
		ch := &r.Changes[i]
		at := slices.IndexFunc(v.views, func(w view) bool { return w.target == ch.Target })
		if at < 0 || ch.Mount < 0 {
			if ch.Mount >= 0 { // views are before it
				ch.Mount = slices.IndexFunc(v.plain.Mounts, func(m nsjail.Mount) bool { return m.Target == ch.Target })
			}
			rest = append(rest, *ch)
			continue
		}
		w := &v.views[at]
		report := &Report{Dir: w.dir, Target: w.target}
		c := &comparer{report: report, prefix: w.prefix, started: v.started, index: w.index, known: map[string]bool{},
			takesBack: func(p string) bool { return v.plain.TakesBack(path.Join(w.name, p), path.Join(w.target, p)) }}
		err := c.bring(ch.Base, ch.Upper, v.step)
		if err = errors.Join(err, ch.Close()); err != nil {
			report.Error = err.Error()
		}
		if !report.empty() {
			list = append(list, report)
		}
	}
	r.Changes = rest
	return list
}

package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// layout is this process's own, for tests that need nothing else; it skips where no group can be made.
func layout(t testing.TB) *Layout {
	t.Helper()
	l := must.Get(Detect(""))(t)
	if !l.Delegated {
		t.Skip("no group can be made here: " + l.Why)
	}
	return l
}

// yard is a group of the test's own in every hierarchy that can be written, so that nobody else's is swept: the name is
// none that brig takes for its own. It returns the layout for making groups below it.
func yard(t testing.TB) (*Layout, string) {
	t.Helper()
	own := layout(t)
	l := *own
	l.Controllers = map[string]string{}
	name := "yard-" + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(int(yards.next()))
	if own.Dir != "" && own.Denied[""] == "" {
		l.Dir = fence(t, own.Dir, name)
		for _, c := range own.Enabled {
			must.Do(t, enableAt(own.Dir, "+"+c))
		}
	}
	for c, dir := range own.Controllers {
		if own.Denied[c] == "" && !strings.HasPrefix(c, "name=") {
			l.Controllers[c] = fence(t, dir, name)
		}
	}
	must.Do(t, l.look("", nil))
	if !l.Delegated {
		t.Fatalf("%+v", l)
	}
	return &l, name
}

func enableAt(dir, word string) error {
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return enableController(fd, word)
}

// yards numbers the groups of yard.
var yards counter

type counter struct{ n int64 }

func (c *counter) next() int64 { c.n++; return c.n }

// fence makes one directory of a yard, and removes it with everything in it when the test ends.
func fence(t testing.TB, base, name string) string {
	t.Helper()
	dir := path.Join(base, name)
	if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	} else if err != nil {
		return dir // controllers that share a hierarchy
	}
	for _, f := range []string{"cpuset.cpus", "cpuset.mems"} {
		if text, err := os.ReadFile(path.Join(base, f)); err == nil && unix.Access(path.Join(base, "tasks"), unix.F_OK) == nil {
			must.Do(t, os.WriteFile(path.Join(dir, f), text, 0))
		}
	}
	t.Cleanup(func() {
		left := groupsBelow(t, dir)
		for _, g := range left {
			var err error
			eventually(t, g+" is empty", func() bool { err = unix.Rmdir(g); return err != unix.EBUSY })
			if err != nil && err != unix.ENOENT {
				t.Errorf("%s: %v", g, err)
			}
		}
	})
	return dir
}

// groupsBelow are a directory and all groups in it, deepest first.
func groupsBelow(t testing.TB, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil && d.IsDir() {
			list = append(list, p)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

// contents are the groups in all directories of a layout, without those directories.
func contents(t testing.TB, l *Layout) (list []string) {
	t.Helper()
	for _, base := range l.bases() {
		for _, g := range groupsBelow(t, base) {
			if g != base && path.Base(g) != leafName {
				list = append(list, g)
			}
		}
	}
	return list
}

// make makes a group that is removed with the test.
func makeGroup(t testing.TB, l *Layout, want *Limits) *Group {
	t.Helper()
	p := Resolve(want, l)
	if len(p.Missing) > 0 {
		t.Skipf("not to be had here: %v", p.Missing)
	}
	g, err := p.Create()
	if s, ok := errors.AsType[*StepError](err); ok && s.Mechanism == "memory_zswap" && errors.Is(err, unix.ENOENT) {
		t.Skip("this kernel has no zswap: ", err)
	}
	must.Do(t, err)
	t.Cleanup(func() {
		if err := g.Kill(); err != nil {
			t.Error(err)
		}
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// value is a file of a group, in whatever hierarchy has it.
func value(t testing.TB, g *Group, name string) string {
	t.Helper()
	for _, d := range g.dirs {
		if text, err := d.read(name); err == nil {
			return strings.TrimSpace(text)
		}
	}
	return "no such file"
}

// put in puts a process into all directories of a group.
func putIn(t testing.TB, g *Group, pid int) {
	t.Helper()
	for _, d := range g.dirs {
		if err := d.put("cgroup.procs", strconv.Itoa(pid)); err != nil {
			t.Fatalf("%s: %v", d.path(), err)
		}
	}
}

// Populated reports whether a process is in the group or, in version 2, in a group inside it.
func (g *Group) Populated() (bool, error) {
	for d := range g.made() {
		text, err := d.read(d.pick("cgroup.events", "cgroup.procs"))
		if err != nil && !removed(err) {
			return false, err
		}
		if keyed(text)["populated"] > 0 || d.Version == 1 && strings.TrimSpace(text) != "" {
			return true, nil
		}
	}
	return false, nil
}

// Kill ends all processes of the group: by cgroup.kill (≥ 5.14), or one by one while they are frozen.
func (g *Group) Kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.kill()
}

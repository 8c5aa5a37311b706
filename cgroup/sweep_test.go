package cgroup

import (
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

func TestOurs(t *testing.T) {
	for name, want := range map[string]bool{"brig-1-1": true, "brig-4242-4294967295": true, newName(): true, leafName: false, nameInSteps: false, "": false,
		"brig-": false, "brig-1": false, "brig-1-": false, "brig--1": false, "brig-1-2-3": false, "brig-x-1": false, "brig-1-x": false,
		"xbrig-1-1": false, "brig-1-1 ": false, "brig-+1-1": false, "brig-1-1.scope": false, "brig-\u0661-1": false, "BRIG-1-1": false} {
		if got := ours(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// abandon makes a group as a process does that is then killed, in all directories of a layout.
func abandon(t *testing.T, l *Layout) (dirs []string) {
	t.Helper()
	c := spawn(t, -1, "create", text(t, order{Layout: l, Limits: *all(l)}))
	m := c.made(t)
	if m.Err != "" {
		t.Fatal(m.Err)
	}
	if removed, busy, err := l.Sweep(0); len(removed) > 0 || busy != len(m.Dirs) || err != nil {
		t.Fatalf("a group in use: %q %d %v", removed, busy, err)
	}
	c.kill()
	return m.Dirs
}

// TestSweep: what a killed maker has left is removed, with the processes in it and in groups inside it.
func TestSweep(t *testing.T) {
	for _, variant := range []string{"empty", "with a process", "with groups inside", "frozen"} {
		t.Run(variant, func(t *testing.T) {
			l, _ := yard(t)
			dirs := abandon(t, l)
			inside := func(dir string) string { return dir }
			if variant == "with groups inside" {
				inside = func(dir string) string { return dir + "/a/b" }
				for _, d := range dirs {
					must.Do(t, os.MkdirAll(d+"/a/b/c", 0o700))
					fill(t, d+"/a")
					fill(t, d+"/a/b")
				}
			}
			var c *child
			if variant != "empty" {
				c = spawn(t, -1, "wait", "")
				c.line(t)
				for _, d := range dirs {
					must.Do(t, os.WriteFile(inside(d)+"/cgroup.procs", []byte(strconv.Itoa(c.Process.Pid)), 0))
				}
			}
			if variant == "frozen" {
				stop(t, l, dirs, c)
			}
			removed, busy, err := l.Sweep(0)
			slices.Sort(removed)
			slices.Sort(dirs)
			if err != nil || busy != 0 || !slices.Equal(removed, dirs) && variant != "frozen" {
				t.Errorf("removed %q of %q, busy %d, %v", removed, dirs, busy, err)
			}
			if left := contents(t, l); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			if c != nil {
				if err := c.finish(); err == nil || !strings.Contains(err.Error(), "killed") {
					t.Errorf("the process: %v", err)
				}
			}
		})
	}
}

// fill makes a version 1 cpuset one that can be joined.
func fill(t *testing.T, dir string) {
	t.Helper()
	for _, f := range []string{"cpuset.cpus", "cpuset.mems"} {
		if b, err := os.ReadFile(path.Join(path.Dir(dir), f)); err == nil && unix.Access(dir+"/tasks", unix.F_OK) == nil {
			must.Do(t, os.WriteFile(path.Join(dir, f), b, 0))
		}
	}
}

// stop freezes an abandoned group, in version 1 too, where a frozen process does not die.
func stop(t *testing.T, l *Layout, dirs []string, c *child) {
	t.Helper()
	if f := l.Controllers["freezer"]; f != "" {
		f = path.Join(f, path.Base(dirs[0]))
		if err := errors.Join(os.MkdirAll(f, 0o700), os.WriteFile(f+"/cgroup.procs", []byte(strconv.Itoa(c.Process.Pid)), 0),
			os.WriteFile(f+"/freezer.state", []byte("FROZEN"), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if unix.Access(dirs[0]+"/cgroup.freeze", unix.F_OK) == nil {
		must.Do(t, os.WriteFile(dirs[0]+"/cgroup.freeze", []byte("1"), 0))
	}
}

// TestSweepLeavesOthers: only groups with brig's names, of this user, are touched.
func TestSweepLeavesOthers(t *testing.T) {
	l, _ := yard(t)
	c := spawn(t, -1, "wait", "")
	c.line(t)
	var stay, go_ []string
	for _, base := range l.bases() {
		for _, name := range []string{"brig-1-2-3", "brig-x-1", "other", "brig-1-"} {
			stay = append(stay, path.Join(base, name))
		}
		if os.Geteuid() == 0 {
			stay = append(stay, path.Join(base, "brig-7-7"))
		}
		go_ = append(go_, path.Join(base, "brig-8-8"))
	}
	for _, d := range append(slices.Clone(stay), go_...) {
		must.Do(t, os.Mkdir(d, 0o755))
		if path.Base(d) == "brig-7-7" {
			must.Do(t, os.Chown(d, asuser.UID, asuser.UID))
		}
	}
	removed, busy, err := l.Sweep(0)
	slices.Sort(removed)
	slices.Sort(go_)
	if err != nil || busy != 0 || !slices.Equal(removed, go_) {
		t.Errorf("removed %q, want %q; busy %d, %v", removed, go_, busy, err)
	}
	left := contents(t, l)
	slices.Sort(left)
	slices.Sort(stay)
	if !slices.Equal(left, stay) {
		t.Errorf("left %q, want %q", left, stay)
	}
}

// TestSweepMost: a start looks at some only.
func TestSweepMost(t *testing.T) {
	l, _ := yard(t)
	bases := l.bases()
	for _, base := range bases {
		for n := range 5 {
			must.Do(t, os.Mkdir(path.Join(base, "brig-9-"+strconv.Itoa(n)), 0o700))
		}
	}
	for _, want := range []int{2, 2, 1, 0} {
		if removed, _, err := l.Sweep(2); err != nil || len(removed) != want*len(bases) {
			t.Errorf("%q, %v", removed, err)
		}
	}
}

// TestSweepBounds: somebody inside has made more groups than a sweep deals with; it reports that, and does not hang.
func TestSweepBounds(t *testing.T) {
	l, _ := yard(t)
	use := *l
	use.Dir, use.Controllers = l.bases()[0], nil
	dir := path.Join(use.Dir, "brig-9-9")
	deep := dir + strings.Repeat("/d", maxDepth+1)
	must.Do(t, os.MkdirAll(deep, 0o700))
	if removed, _, err := use.Sweep(0); !errors.Is(err, errTooMany) || len(removed) > 0 {
		t.Errorf("%q %v", removed, err)
	}
	must.Do(t, unix.Rmdir(deep))
	if removed, _, err := use.Sweep(0); err != nil || len(removed) != 1 {
		t.Errorf("%q %v", removed, err)
	}
}

// TestSweepPlaces: what is no group, whatever its name, is not touched.
func TestSweepPlaces(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"brig-1-1", "real"} {
		must.Do(t, os.Mkdir(path.Join(dir, name), 0o700))
	}
	if err := errors.Join(os.Symlink("real", path.Join(dir, "brig-1-2")), os.WriteFile(path.Join(dir, "brig-1-3"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	l := &Layout{Mode: V2, Dir: dir}
	if removed, busy, err := l.Sweep(0); len(removed) > 0 || busy > 0 || err != nil {
		t.Errorf("%q %d %v", removed, busy, err)
	}
	fd := must.Get(unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	for _, name := range []string{"brig-1-2", "brig-1-3", "brig-1-4"} {
		s := sweeper{}
		do := func(*directory) error { return errors.New("it is taken for a group") }
		if err := s.one(fd, dir, name, do); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := hold(fd, name); err == nil {
			t.Errorf("%s is held", name)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 4 {
		t.Errorf("%v %v", left, err)
	}
	gone := &Layout{Mode: V2, Dir: dir + "/none"}
	if _, _, err := gone.Sweep(0); err != nil {
		t.Error(err)
	}
}

// TestNeedsSweep: a start looks for abandoned groups where each has its first directory, and changes nothing there.
func TestNeedsSweep(t *testing.T) {
	l, _ := yard(t)
	g := makeGroup(t, l, all(l))
	if _, err := os.Stat(path.Join(l.bases()[0], g.dirs[0].name)); err != nil {
		t.Error(err)
	}
	if l.NeedsSweep(9) {
		t.Error("a group in use is taken for an abandoned one")
	}
	first := path.Join(l.bases()[0], "brig-9-1")
	must.Do(t, os.Mkdir(first, 0o700))
	for range 2 {
		if !l.NeedsSweep(9) {
			t.Error("it is not found")
		}
	}
	if _, _, err := l.Sweep(9); err != nil || l.NeedsSweep(9) {
		t.Error(err, contents(t, l))
	}
}

// TestNeedsSweepEverywhere: where the groups have no common first directory, a start has to look at all.
func TestNeedsSweepEverywhere(t *testing.T) {
	dir := t.TempDir()
	memory := map[string]string{"memory": dir}
	both := map[string]string{"memory": dir, "freezer": dir}
	for _, tt := range []struct {
		name string
		l    Layout
		want bool
	}{
		{"no freezer", Layout{Mode: V1, Controllers: memory}, true},
		{"a denied freezer", Layout{Mode: V1, Controllers: both, Denied: map[string]string{"freezer": "no"}}, true},
		{"all denied", Layout{Mode: Hybrid, Dir: dir, Controllers: both, Denied: map[string]string{"freezer": "no", "": "no"}}, true},
		{"a freezer", Layout{Mode: Hybrid, Dir: dir, Controllers: both, Denied: map[string]string{"": "no"}}, false},
		{"version 2 beside", Layout{Mode: Hybrid, Dir: dir, Controllers: memory}, false},
		{"version 2", Layout{Mode: V2, Dir: dir}, false},
	} {
		if got := tt.l.NeedsSweep(9); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	for name, l := range layouts() { // and otherwise each group has one in the freezer or in version 2
		for _, want := range []*Limits{everything(), {CPUTime: true}, {Memory: 1 << 20}} {
			first := []string{l.Controllers["freezer"], l.Dir}
			if p := Resolve(want, &l); len(p.Branches) > 0 && !l.NeedsSweep(9) && !slices.Contains(first, p.Branches[0].Base) {
				t.Errorf("%s: %+v", name, p.Branches)
			}
		}
	}
}

// TestSweepIsRepeated: a sweep that cannot take all of a group leaves its first directory, by which the next finds it.
func TestSweepIsRepeated(t *testing.T) {
	l, _ := yard(t)
	bases := l.bases()
	for _, base := range bases {
		for _, name := range []string{"brig-9-1", "brig-9-2", "brig-9-3"} {
			must.Do(t, os.Mkdir(path.Join(base, name), 0o700))
		}
	}
	stuck := path.Join(bases[len(bases)-1], "brig-9-1")
	deep := stuck + strings.Repeat("/d", maxDepth+1)
	must.Do(t, os.MkdirAll(deep, 0o700))
	if _, _, err := l.Sweep(9); !errors.Is(err, errTooMany) || !l.NeedsSweep(9) {
		t.Errorf("%v, left %q", err, contents(t, l))
	}
	if _, err := os.Stat(path.Join(bases[0], "brig-9-1")); err != nil {
		t.Error(err)
	}
	must.Do(t, unix.Rmdir(deep))
	for n := 0; l.NeedsSweep(9) && n < 5; n++ {
		if _, _, err := l.Sweep(1); err != nil {
			t.Error(err)
		}
	}
	if left := contents(t, l); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

package cgroup

import (
	"encoding/json"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// domestic is a limit of version 2 that this machine can hold, and its controller. Some controllers are refused over
// processes, and some make a root of threads of the group.
func domestic(t testing.TB, l *Layout) map[string]Limits {
	t.Helper()
	if l.Dir == "" || l.Denied[""] != "" {
		t.Skip("there is no version 2 tree that can be divided")
	}
	list := map[string]Limits{}
	for c, w := range map[string]Limits{"hugetlb": {HugeTLB: map[string]int64{"2MB": 0}}, "memory": {Memory: 1 << 30}, "pids": {Processes: 900},
		"cpu": {CPUQuota: DefaultPeriod}, "io": {Files: []File{{"io.max", "9999:1"}}}} {
		if slices.Contains(l.Enabled, c) && c != "io" {
			list[c] = w
		}
	}
	if len(list) == 0 {
		t.Skip("the version 2 tree has no controller")
	}
	return list
}

// home makes a version 2 group for a test's processes, without controllers for its children.
func home(t testing.TB, l *Layout, name string) (dir string, fd int) {
	t.Helper()
	for _, c := range l.Enabled {
		must.Do(t, enableAt(l.Dir, "+"+c))
	}
	dir = path.Join(l.Dir, name)
	must.Do(t, os.Mkdir(dir, 0o755))
	fd = must.Get(unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0))(t)
	t.Cleanup(func() { unix.Close(fd) })
	return dir, fd
}

func text(t testing.TB, o order) string {
	t.Helper()
	b := must.Get(json.Marshal(o))(t)
	return string(b)
}

// made waits for the line of a part "create".
func (c *child) made(t testing.TB) (m made) {
	t.Helper()
	must.Do(t, json.Unmarshal([]byte(c.line(t)), &m))
	return m
}

func procs(t testing.TB, dir string) []string {
	t.Helper()
	b := must.Get(os.ReadFile(path.Join(dir, "cgroup.procs")))(t)
	return strings.Fields(string(b))
}

// TestMoveToLeaf: a process whose own group has other processes, one of which makes more all the time, moves all of
// them to the leaf, and makes its group beside the leaf. The next process starts inside the leaf.
func TestMoveToLeaf(t *testing.T) {
	l, _ := yard(t)
	for controller, want := range domestic(t, l) {
		t.Run(controller, func(t *testing.T) {
			dir, fd := home(t, l, "home-"+controller)
			var list []*child
			for _, part := range []string{"wait", "fork", "spin", "wait"} {
				c := spawn(t, fd, part, "")
				c.line(t)
				list = append(list, c)
			}
			first := spawn(t, fd, "create", text(t, order{Limits: want}))
			m := first.made(t)
			if m.Err != "" || len(m.Dirs) != 1 || path.Dir(m.Dirs[0]) != dir || path.Base(m.Group) != leafName {
				t.Fatalf("%+v", m)
			}
			if left := procs(t, dir); len(left) > 0 {
				t.Errorf("still in the group: %q", left)
			}
			moved := procs(t, path.Join(dir, leafName))
			for _, c := range append(list, first) {
				if !slices.Contains(moved, strconv.Itoa(c.Process.Pid)) {
					t.Errorf("%d is not in the leaf: %q", c.Process.Pid, moved)
				}
			}
			for _, d := range []string{dir, m.Dirs[0]} {
				if kind, err := os.ReadFile(d + "/cgroup.type"); err != nil || string(kind) != "domain\n" {
					t.Errorf("%s is %q, %v", d, kind, err)
				}
			}
			leaf, err := unix.Open(path.Join(dir, leafName), unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			must.Do(t, err)
			defer unix.Close(leaf)
			second := spawn(t, leaf, "create", text(t, order{Limits: want}))
			if m := second.made(t); m.Err != "" || len(m.Dirs) != 1 || path.Dir(m.Dirs[0]) != dir || path.Base(m.Group) != leafName {
				t.Errorf("from inside the leaf: %+v", m)
			}
			jailed := spawnIn(t, m.Dirs[0])
			if err := jailed.finish(); err != nil {
				t.Error(err)
			}
			for _, c := range append(list, second, first) {
				if err := c.finish(); err != nil {
					t.Error(err, c.errs.String())
				}
			}
			sub := *l
			sub.Dir, sub.Controllers = dir, nil
			removed, busy, err := sub.Sweep(0)
			if err != nil || busy != 0 || len(removed) != 0 {
				t.Errorf("%q %d %v", removed, busy, err)
			}
			if left := groupsBelow(t, dir); len(left) != 1 {
				t.Errorf("the sweep of all has left %q", left)
			}
		})
	}
}

// spawnIn checks that a process can be started in a group.
func spawnIn(t *testing.T, dir string) *child {
	t.Helper()
	fd := must.Get(unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	c := spawn(t, fd, "wait", "")
	c.line(t)
	return c
}

// TestMoveToLeafTogether: several processes of one group divide it at the same time, while others remove the leaf
// whenever it is empty.
func TestMoveToLeafTogether(t *testing.T) {
	l, _ := yard(t)
	for controller, want := range domestic(t, l) {
		t.Run(controller, func(t *testing.T) {
			dir, fd := home(t, l, "together-"+controller)
			var list []*child
			for range 5 {
				list = append(list, spawn(t, fd, "create", text(t, order{Limits: want, Rounds: 20, Wait: true})))
			}
			for _, c := range list {
				c.tell(t)
			}
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				for {
					select {
					case <-stop:
						return
					default:
						_ = removeLeaf(fd) // it is empty, or it is not
					}
				}
			}()
			for _, c := range list {
				if m := c.made(t); m.Err != "" || path.Base(m.Group) != leafName {
					t.Errorf("%+v", m)
				}
			}
			close(stop)
			<-done
			if left := procs(t, dir); len(left) > 0 {
				t.Errorf("still in the group: %q", left)
			}
			for _, c := range list {
				if err := c.finish(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

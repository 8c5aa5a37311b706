package monitor_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"brig/cgroup/monitor"

	"golang.org/x/sys/unix"
)

// testGroup is a control group that a test has made and will remove.
type testGroup struct {
	monitor.Group
	t testing.TB
}

// pure says that the groups are version 2 with controllers, and names of settings are version 2's.
func (g *testGroup) pure() bool { return len(g.V1) == 0 }

func (g *testGroup) dirs() (list []string) {
	if g.V2 != "" {
		list = append(list, g.V2)
	}
	for _, d := range g.V1 {
		list = append(list, d)
	}
	return list
}

// set writes a setting; on a hybrid machine the version 1 one.
func (g *testGroup) set(v2file, v2value, controller, v1file, v1value string) {
	g.t.Helper()
	dir, file, value := g.V2, v2file, v2value
	if !g.pure() {
		dir, file, value = g.V1[controller], v1file, v1value
	}
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(value)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// join puts a process into the group.
func (g *testGroup) join(pid int) {
	g.t.Helper()
	for _, d := range g.dirs() {
		if err := os.WriteFile(filepath.Join(d, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			g.t.Fatal(err)
		}
	}
}

// remove removes the group. A process that was waited for may still be leaving it, which nothing tells of in version 1.
func (g *testGroup) remove() {
	for _, d := range g.dirs() {
		var err error
		for range 500 {
			if err = unix.Rmdir(d); err != unix.EBUSY {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
		if err != nil && err != unix.ENOENT {
			g.t.Errorf("rmdir %s: %v", d, err)
		}
	}
}

// newGroup makes a group below the test's own, or skips.
func newGroup(t testing.TB) *testGroup {
	t.Helper()
	if place.why != nil {
		t.Skip("no control group to make groups in: ", place.why)
	}
	name := fmt.Sprintf("brig-test-monitor-%d-%d", os.Getpid(), made.Add(1))
	g := &testGroup{monitor.Group{V1: map[string]string{}}, t}
	t.Cleanup(g.remove)
	if place.group.V2 != "" {
		g.V2 = filepath.Join(place.group.V2, name)
	}
	for c, d := range place.group.V1 {
		g.V1[c] = filepath.Join(d, name)
	}
	for _, d := range g.dirs() {
		if err := os.Mkdir(d, 0o755); err != nil && !(errors.Is(err, os.ErrExist) && !g.pure()) { // cpu and cpuacct may be one
			t.Fatal(err)
		}
	}
	return g
}

// open is newGroup with a Monitor.
func open(t testing.TB) (*testGroup, *monitor.Monitor) {
	t.Helper()
	g := newGroup(t)
	m, err := monitor.Open(g.Group)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return g, m
}

// exampleGroup makes a group that has events of its processes, outside a test.
func exampleGroup() (g monitor.Group, cleanup func(), err error) {
	if place.why != nil || place.group.V2 == "" {
		return g, nil, errors.Join(place.why, errors.New("no version 2"))
	}
	name := fmt.Sprintf("brig-test-example-%d", os.Getpid())
	g = monitor.Group{V2: filepath.Join(place.group.V2, name), V1: map[string]string{}}
	made := []string{g.V2}
	if d := place.group.V1["pids"]; d != "" {
		g.V1["pids"] = filepath.Join(d, name)
		made = append(made, g.V1["pids"])
	}
	for _, d := range made {
		err = errors.Join(err, os.Mkdir(d, 0o755))
	}
	return g, func() {
		for _, d := range made {
			complain(os.Remove(d))
		}
	}, err
}

// exampleJail runs a process in a group.
func exampleJail(g monitor.Group) error {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{childVar + "=nothing"}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	dirs := []string{g.V2}
	if d := g.V1["pids"]; d != "" {
		dirs = append(dirs, d)
	}
	for _, d := range dirs {
		err = errors.Join(err, os.WriteFile(filepath.Join(d, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0))
	}
	return errors.Join(err, in.Close(), cmd.Wait())
}

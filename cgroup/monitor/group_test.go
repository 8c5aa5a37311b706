package monitor_test

import (
	"errors"
	"fmt"
	"os"
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

// pure reports whether all controllers are on version 2. The names of settings are then those of version 2.
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
		// cpu and cpuacct may be one
		if err := os.Mkdir(d, 0o755); err != nil && !(errors.Is(err, os.ErrExist) && !g.pure()) {
			t.Fatal(err)
		}
	}
	return g
}

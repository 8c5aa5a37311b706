package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
)

// all is a group that exists in every hierarchy that can be used here.
func all(l *Layout) *Limits {
	w := &Limits{CPUTime: true}
	may := func(v2, v1 string) bool {
		return slices.Contains(l.Enabled, v2) || l.Controllers[v1] != "" && l.Denied[v1] == ""
	}
	if may("memory", "memory") {
		w.Memory = 256 << 20
	}
	if may("pids", "pids") {
		w.Processes = 100
	}
	if may("cpu", "cpu") {
		w.CPUWeight = 100
	}
	return w
}

// TestJoin: a process is born into the version 2 group (clone3(2) CLONE_INTO_CGROUP), and joins those of version 1 by
// files that were opened before.
func TestJoin(t *testing.T) {
	l, _ := yard(t)
	g := makeGroup(t, l, all(l))
	fds := must.Get(g.Tasks())(t)
	c := spawn(t, g.Into(), "join", strconv.Itoa(len(fds)), func(cmd *exec.Cmd) {
		for _, fd := range fds {
			cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(fd), "tasks"))
		}
	})
	c.line(t)
	for _, f := range c.ExtraFiles {
		f.Close()
	}
	for i, d := range g.dirs {
		if g.plan.Branches[i].Version == 2 && g.Into() < 0 {
			t.Error("no descriptor")
		}
		if text, err := d.read("cgroup.procs"); err != nil || strings.TrimSpace(text) != strconv.Itoa(c.Process.Pid) {
			t.Errorf("%s has %q, want %d (%v)", d.path(), text, c.Process.Pid, err)
		}
	}
	if in, err := g.Populated(); !in || err != nil {
		t.Errorf("populated %v, %v", in, err)
	}
	if err := c.finish(); err != nil {
		t.Error(err, c.errs.String())
	}
	if in, err := g.Populated(); in || err != nil {
		t.Errorf("populated %v, %v", in, err)
	}
	v2, v1 := g.Dirs()
	if (v2 != "") != (g.Into() >= 0) || l.Controllers["memory"] != "" && v1["memory"] == "" && l.Denied["memory"] == "" {
		t.Errorf("%q %q", v2, v1)
	}
}

// TestFreezeWaitsForVfork: a process that waits for its child in vfork(2) is no reason for version 1 to wait for ever.
func TestFreezeWaitsForVfork(t *testing.T) {
	l, _ := yard(t)
	if l.Controllers["freezer"] == "" {
		t.Skip("there is no freezer of version 1")
	}
	use := *l
	use.Dir, use.Enabled = "", nil
	g := makeGroup(t, &use, all(&use))
	c := exec.Command("/bin/sh", "-c", "while :; do /bin/true; done")
	must.Do(t, c.Start())
	putIn(t, g, c.Process.Pid)
	for range 60 {
		must.Do(t, g.Freeze(true))
		must.Do(t, g.Freeze(false))
	}
	must.Do(t, c.Process.Kill())
	_ = c.Wait() // it was killed
}

// TestFreeze sees that a spinning process uses no processor while it is stopped.
func TestFreeze(t *testing.T) {
	l, _ := yard(t)
	for _, only := range []string{"", "freezer"} {
		t.Run("by "+only, func(t *testing.T) {
			use := *l
			if only != "" {
				if use.Dir, use.Enabled = "", nil; l.Controllers["freezer"] == "" {
					t.Skip("there is no freezer of version 1")
				}
			}
			g := makeGroup(t, &use, all(&use))
			c := spawn(t, -1, "spin", "")
			c.line(t)
			putIn(t, g, c.Process.Pid)
			used := func() (ticks int) { // utime and stime of proc_pid_stat(5)
				b := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid)))(t)
				_, rest, _ := strings.Cut(string(b), ") ")
				for _, f := range strings.Fields(rest)[11:13] {
					ticks += must.Get(strconv.Atoi(f))(t)
				}
				return ticks
			}
			must.Do(t, g.Freeze(true))
			stopped := used()
			other := spawn(t, -1, "spin", "") // until it has had ten ticks, another would have had some, too
			other.line(t)
			eventually(t, "the other process runs", func() bool {
				b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", other.Process.Pid))
				_, rest, _ := strings.Cut(string(b), ") ")
				n, _ := strconv.Atoi(strings.Fields(rest)[11])
				return err == nil && n > 10
			})
			other.kill()
			if now := used(); now > stopped+1 { // the tick in which it was stopped is counted as a whole
				t.Errorf("a frozen process has used %d ticks, had %d", now, stopped)
			}
			must.Do(t, g.Freeze(false))
			eventually(t, "it goes on", func() bool { return used() > stopped+1 })
			if err := g.Freeze(true); err != nil { // and Kill ends a frozen one
				t.Fatal(err)
			}
			must.Do(t, g.Kill())
			if err := c.finish(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Error(err)
			}
			if err := g.Freeze(true); only == "" && err != nil {
				t.Error(err)
			}
		})
	}
	if l.Mode == V2 {
		return
	}
	none := *l
	none.Dir, none.Enabled, none.Controllers = "", nil, map[string]string{"pids": l.Controllers["pids"]}
	if err := makeGroup(t, &none, &Limits{Processes: 9}).Freeze(true); err != errNoFreezer {
		t.Error(err)
	}
}

// TestKill ends many processes, by whichever way there is, while one of them makes more.
func TestKill(t *testing.T) {
	l, _ := yard(t)
	only := map[string]func(*Layout){
		"all":     func(*Layout) {},
		"freezer": func(l *Layout) { l.Dir, l.Enabled = "", nil },
		"sweep": func(l *Layout) {
			l.Dir, l.Enabled, l.Controllers = "", nil, map[string]string{"pids": l.Controllers["pids"]}
		},
	}
	for name, change := range only {
		t.Run(name, func(t *testing.T) {
			use := *l
			if change(&use); use.Dir == "" && l.Mode == V2 {
				t.Skip("there is version 2 only")
			}
			w := all(&use)
			w.CPUTime = use.Dir != ""
			g := makeGroup(t, &use, w)
			var list []*child
			for i := range 5 {
				c := spawn(t, -1, []string{"wait", "spin", "fork"}[i%3], "")
				c.line(t)
				putIn(t, g, c.Process.Pid)
				list = append(list, c)
			}
			bystander := spawn(t, -1, "wait", "")
			bystander.line(t)
			must.Do(t, g.Kill())
			for _, c := range list {
				if err := c.finish(); err == nil || !strings.Contains(err.Error(), "killed") {
					t.Errorf("%v", err)
				}
			}
			if err := g.Remove(); err != nil { // waits for the last child of the forking one
				t.Error(err)
			}
			if state(t, bystander.Process.Pid) == "Z" {
				t.Error("a process of no group was hit")
			}
			if err := bystander.finish(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRemoveWaits: a process on its way out does not make a removal fail; one that stays does, and nothing leaks.
func TestRemoveWaits(t *testing.T) {
	l, _ := yard(t)
	g := makeGroup(t, l, all(l))
	c := spawn(t, g.Into(), "wait", "")
	c.line(t)
	putIn(t, g, c.Process.Pid)
	fds := openFiles(t)
	gone := make(chan error)
	go func() {
		time.Sleep(30 * time.Millisecond) // Remove is to have begun; it is right in any order
		gone <- c.finish()
	}()
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	if err := <-gone; err != nil {
		t.Error(err)
	}
	if now := openFiles(t); now >= fds {
		t.Errorf("%d open files, had %d", now, fds)
	}
	if g.Into() != -1 {
		t.Error("a removed group has a descriptor")
	}
	if err := g.Remove(); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestRemoveOfAGroupInUse(t *testing.T) {
	l, _ := yard(t)
	g, err := Resolve(all(l), l).Create()
	must.Do(t, err)
	c := spawn(t, -1, "wait", "")
	c.line(t)
	putIn(t, g, c.Process.Pid)
	err = g.Remove()
	if err == nil || !strings.Contains(err.Error(), "device or resource busy; remove it with brig gc") {
		t.Fatal(err)
	}
	t.Log(err)
	if removed, busy, err := l.Sweep(0); err != nil || busy != 0 || len(removed) == 0 {
		t.Errorf("%q %d %v", removed, busy, err)
	}
	if err := c.finish(); err == nil {
		t.Error("the process lives")
	}
	if left := contents(t, l); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestInner: groups that somebody has made inside are removed with it.
func TestInner(t *testing.T) {
	l, _ := yard(t)
	g := must.Get(Resolve(all(l), l).Create())(t)
	for _, d := range g.dirs {
		for _, name := range []string{"/a", "/a/b", "/a/b/c", "/a/d", "/e"} {
			must.Do(t, os.Mkdir(d.path()+name, 0o700))
		}
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	if left := contents(t, l); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

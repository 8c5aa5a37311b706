package nsjail

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brig/cgroup"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// fullVar asks for the whole length of the stories that an ordinary run shortens: 10,000 jails, and 200 killed keepers.
const fullVar = "BRIG_TEST_FULL"

// TestLimitMany runs in a process of its own, so that it counts nobody else's descriptors.
func TestLimitMany(t *testing.T) {
	tight(t, "true")
	out, err := runRole("many", "^TestLimitManyRole$").CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// TestLimitManyRole makes jails in control groups, one after the other, with all kinds of ends. No group is left, no
// descriptor, no process and no file.
func TestLimitManyRole(t *testing.T) {
	if os.Getenv(roleVar) != "many" {
		t.Skip("it is a role of TestLimitMany")
	}
	row := 300
	if os.Getenv(fullVar) != "" {
		row = 10000
	}
	if testing.Short() {
		row = 60
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	r := must.Get(NewRunner())(t)
	defer r.Close()
	for i := range 40 {
		limitedOne(t, r, i)
	}
	before := settled(t, tmp)
	begin := time.Now()
	for i := range row {
		limitedOne(t, r, i)
	}
	t.Logf("%d in a row: %s, %s each", row, time.Since(begin), time.Since(begin)/time.Duration(row))
	sameAs(t, "after a row", before, tmp)
	if left := groupsOf(t, os.Getpid()); len(left) > 0 {
		t.Errorf("groups are left: %q", left)
	}
}

// limitedOne runs the i-th jail.
func limitedOne(t *testing.T, r *Runner, i int) {
	t.Helper()
	ends := []struct {
		script string
		want   Status
	}{{"true", StatusOK}, {"exit 3", StatusFailed}, {"kill -9 $$", StatusSignal}, {"sleep 1000 & (setsid sleep 1000 &) ; true", StatusOK},
		{"head -c 20M /dev/zero >/tmp/f; sleep 1000", StatusMemory}}
	end := ends[i%4]
	if i%50 == 5 { // the kernel takes its time for these
		end = ends[4]
	}
	c := r.Command("/bin/sh", "-c", end.script)
	l := &c.Spec.Limits
	l.Memory, l.Processes, l.CPUTime = 8<<20, 16, spec.Duration(time.Minute)
	c.Spec.Optional = []string{"processes", "cpu_time"}
	if i%20 == 7 { // a group that the kernel refuses half-way
		l.Cgroup = []string{"memory.no_such_file=1"}
		if res, err := c.Run(); err == nil {
			t.Errorf("%d: %+v", i, res)
		}
		return
	}
	if res, err := c.Run(); err != nil || res.Status != end.want {
		t.Errorf("%d: %+v %v", i, res, err)
	}
}

// groupsOf are the groups that a process has made and that are still there.
func groupsOf(t *testing.T, pid int) (list []string) {
	t.Helper()
	l := must.Get(cgroup.Detect(""))(t)
	dirs := map[string]bool{l.Dir: l.Dir != ""}
	for _, dir := range l.Controllers {
		dirs[dir] = dir != ""
	}
	for dir := range dirs {
		found := must.Get(filepath.Glob(filepath.Join(dir, fmt.Sprintf("brig-%d-*", pid))))(t)
		list = append(list, found...)
	}
	return list
}

// TestLimitKeeperIsKilled kills keepers whose jails have groups, at many moments. The next run, or brig gc, removes
// what they leave; a group that is in use it does not touch.
func TestLimitKeeperIsKilled(t *testing.T) {
	tight(t, "true")
	brig := filepath.Join(asuser.Dir(), "brig")
	unhurt := neighbour(t)
	moments, left := 24, 0
	if os.Getenv(fullVar) != "" {
		moments = 200
	}
	var pids []int
	for i := range moments {
		delay := 30 * time.Millisecond * time.Duration(i*7919%moments) / time.Duration(moments)
		pid := killedRun(t, brig, delay)
		if len(groupsOf(t, pid)) > 0 {
			left++
		}
		pids = append(pids, pid)
	}
	t.Logf("killed at %d moments; in %d of them a group was left at first", moments, left)
	if left == 0 {
		t.Error("the moments do not cover the life of a group")
	}
	if out, err := exec.Command(brig, "run", "--memory", "64m", "--", "true").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for _, pid := range pids {
		if list := groupsOf(t, pid); len(list) > 0 {
			t.Errorf("after the next run: %q", list)
		}
	}
	unhurt()
}

// killedRun starts brig run, kills it after a delay, and waits for its end and that of its payload.
func killedRun(t *testing.T, brig string, delay time.Duration) int {
	t.Helper()
	up, theirs, err := os.Pipe()
	must.Do(t, err)
	defer up.Close()
	cmd := exec.Command(brig, "run", "--memory", "64m", "--pids-limit", "16", "--cpu-time", "1m", "--optional", "processes,cpu_time", "--",
		"/bin/sh", "-c", "trap '' TERM HUP INT; setsid sleep 1000 & (sleep 1000 &); echo up; sleep 1000; sleep 1000")
	cmd.Stdout = theirs
	must.Do(t, cmd.Start())
	theirs.Close()
	if delay == 0 { // surely within the payload's life
		must.Get(up.Read(make([]byte, 3)))(t)
	}
	time.Sleep(delay) // a moment is a time: no event stands for it
	must.Do(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Error("it has ended before it was killed")
	}
	buf := make([]byte, 16)
	for { // the end of the file says that nobody holds the other end any more
		if n, err := up.Read(buf); n == 0 || err != nil {
			return cmd.Process.Pid
		}
	}
}

// TestLimitGC: brig gc prints what it removes, once.
func TestLimitGC(t *testing.T) {
	tight(t, "true")
	brig := filepath.Join(asuser.Dir(), "brig")
	unhurt := neighbour(t)
	pid := killedRun(t, brig, 0)
	list := groupsOf(t, pid)
	if len(list) == 0 {
		t.Skip("another run of brig has swept it already")
	}
	t.Setenv("BRIG_CHANGES", t.TempDir()) // not the machine's own
	out, err := exec.Command(brig, "gc").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for _, dir := range list {
		if !strings.Contains(string(out), dir) && unix.Access(dir, unix.F_OK) == nil {
			t.Errorf("%s is not removed: %s", dir, out)
		}
	}
	if out, err := exec.Command(brig, "gc").CombinedOutput(); err != nil || strings.Contains(string(out), fmt.Sprintf("brig-%d-", pid)) {
		t.Errorf("again: %v: %s", err, out)
	}
	unhurt()
}

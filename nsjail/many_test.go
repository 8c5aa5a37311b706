package nsjail

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/internal/test/asuser"
	"brig/internal/test/long"
	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// runRole runs this test binary again for one test, in a role.
func runRole(role, test string) *exec.Cmd {
	args := []string{"-test.run=" + test, "-test.v"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), roleVar+"="+role, "BRIG_TEST_DIR="+asuser.Dir())
	return cmd
}

// held is what a process holds of the machine.
type held struct{ children, fds, launcherFDs, mounts, temp, goroutines, threads int }

// holding counts; the numbers of a process at rest do not change.
func holding(t *testing.T, tmp string) (h held) {
	t.Helper()
	entries := func(dir string) int {
		list := must.Get(os.ReadDir(dir))(t)
		return len(list)
	}
	for _, c := range childrenOf(os.Getpid()) {
		h.children++
		pid, comm, _ := strings.Cut(c, " ")
		if comm == "brig-launcher" {
			if list, err := os.ReadDir("/proc/" + pid + "/fd"); err == nil { // root's launcher has become somebody else
				h.launcherFDs += len(list)
			}
		}
	}
	h.fds, h.temp, h.threads = entries("/proc/self/fd"), entries(tmp), entries("/proc/self/task")
	h.mounts, h.goroutines = mountLines(t), runtime.NumGoroutine()
	return h
}

// TestMany runs in a process of its own, so that it counts nobody else's descriptors and children.
func TestMany(t *testing.T) {
	long.Test(t)
	out, err := runRole("many", "^TestManyRole$").CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// TestManyRole makes 1,000 jails in a row and 200 at once through one Runner. Each prints its own number, and nothing
// is left behind.
func TestManyRole(t *testing.T) {
	if os.Getenv(roleVar) != "many" {
		t.Skip("it is a role of TestMany")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	row, atOnce := 1000, 200
	if testing.Short() {
		row, atOnce = 50, 40
	}
	empty := settled(t, tmp)
	r := must.Get(NewRunner())(t)
	dir := shared(t, 1234)
	for i := range 80 { // what is made once and kept is made now: an identity map, the pidfd of a jail without an init, templates
		oneOf(t, r, i, dir)
	}
	before := settled(t, tmp)
	begin := time.Now()
	for i := range row {
		oneOf(t, r, i, dir)
	}
	t.Logf("%d in a row: %s, %s each", row, time.Since(begin), time.Since(begin)/time.Duration(row))
	sameAs(t, "after a row", before, tmp)
	begin = time.Now()
	var wg sync.WaitGroup
	for i := range atOnce {
		wg.Go(func() { oneOf(t, r, i, dir) })
	}
	wg.Wait()
	t.Logf("%d at once: %s", atOnce, time.Since(begin))
	oneOf(t, r, 3, dir) // the launcher forgets the jails without an init that have ended when the next one starts
	sameAs(t, "after many at once", before, tmp)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	sameAs(t, "after Close", empty, tmp)
}

// settled waits for the last jail's namespaces to go, which Wait does not always do.
func settled(t *testing.T, tmp string) held {
	t.Helper()
	now := holding(t, tmp)
	for same := 0; same < 5; {
		time.Sleep(20 * time.Millisecond)
		next := holding(t, tmp)
		if same++; next != now {
			same = 0
		}
		now = next
	}
	return now
}

// sameAs waits for the numbers to come down to what they were: a goroutine ends a little after what it did. Threads are
// the runtime's to keep, and only bounded.
func sameAs(t *testing.T, when string, want held, tmp string) {
	t.Helper()
	var now held
	for range 100 {
		now = holding(t, tmp)
		if now.threads > want.threads+100 { // a thread per jail would be 200
			t.Errorf("%s: %d threads, %d before", when, now.threads, want.threads)
		}
		now.threads = want.threads
		if now == want {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%s: %+v, before %+v", when, now, want)
}

// oneOf runs the i-th jail; its kind changes with i.
func oneOf(t *testing.T, r *Runner, i int, dir string) {
	n := strconv.Itoa(i)
	c := r.Command("/bin/sh", "-c", "cat; echo "+n+"; echo err "+n+" >&2; exit "+strconv.Itoa(i%200))
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader("in "+n+"\n"), &out, &errs
	c.Spec.NoInit = i%7 == 3
	if i%5 == 1 {
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/input"}, {Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}}
	}
	if i%11 == 4 { // a jail that cannot be made leaves nothing either
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: filepath.Join(dir, "missing"), Target: "/input"}}
		if res, err := c.Run(); err == nil {
			t.Errorf("%d: %+v", i, res)
		}
		return
	}
	if i%11 == 5 {
		c.Spec.Workdir = "/missing"
		if res, err := c.Run(); err == nil {
			t.Errorf("%d: %+v", i, res)
		}
		return
	}
	res, err := c.Run()
	if err != nil {
		t.Errorf("%d: %v", i, err)
		return
	}
	want := fmt.Sprintf("in %s\n%s\n", n, n)
	if out.String() != want || errs.String() != "err "+n+"\n" || res.ExitCode != i%200 || res.Output.StdoutBytes != int64(len(want)) {
		t.Errorf("%d: %q %q %+v", i, out.String(), errs.String(), res)
	}
}

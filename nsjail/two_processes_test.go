package nsjail

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// parts returns the operations that init performs while the payload's process performs those behind them.
func parts(t *testing.T, p *program.Program) (before, own, child []program.Op) {
	t.Helper()
	at := slices.IndexFunc(p.Ops, func(o program.Op) bool { return o.NR == program.Fork })
	var n int
	if at < 0 || len(p.Ops[at].Args) < 4 {
		return nil, nil, nil
	}
	if _, err := fmt.Sscanf(p.Ops[at].Args[3].String(), "%d", &n); err != nil || at+1+n > len(p.Ops) {
		t.Fatal(p.Ops[at].Call(), err)
	}
	return p.Ops[:at], p.Ops[at+1 : at+1+n], p.Ops[at+1+n:]
}

// opAt is where the first operation with a text is, or -1.
func opAt(ops []program.Op, text string) int {
	return slices.IndexFunc(ops, func(o program.Op) bool { return strings.Contains(o.Call(), text) })
}

// What is performed at the same time must not meet in a slot, and neither process may come to the payload's execve(2)
// with what the other still needs or has.
func TestWhatIsDoneAtOnce(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("in turn on " + runtime.GOARCH)
	}
	for _, pool := range []int{0, 1} {
		r := runnerWith(t, RunnerOptions{Pool: pool})
		var c *Cmd
		until(t, "a namespace stands ready", func() bool {
			c = r.shell("true")
			mustRun(t, c)
			return pool == 0 || strings.Contains(c.Plan().Enforced["net"].String(), "made ahead")
		})
		before, own, child := parts(t, c.Plan().Prefix)
		if own == nil {
			t.Fatalf("pool of %d: in turn:\n%s", pool, c.Plan())
		}
		apart(t, pool, own, child)
		for _, o := range own { // these are calls of libc's, or of the one process that parks
			if o.NR == program.Same || o.NR == program.Park {
				t.Errorf("pool of %d: init performs %s while its child works", pool, o.Call())
			}
		}
		posts := 1
		for _, o := range own {
			if o.NR == program.Post {
				posts++
			}
		}
		rest := c.Plan().Jail.Ops
		inOrder(t, pool, "before", before, "KEYCTL_JOIN_SESSION_KEYRING", "PR_CAPBSET_DROP, 40", "PR_SET_SECUREBITS", "uid_map", "gid_map", "oom_score_adj")
		inOrder(t, pool, "init", own, "capset(", "PR_SET_NO_NEW_PRIVS")
		inOrder(t, pool, "child", child, "capset(", "PR_SET_NO_NEW_PRIVS", "setsid()", "seccomp(", "park(")
		inOrder(t, pool, "rest", rest, fmt.Sprintf("join(%d)", posts), "chdir(", "CLOSE_RANGE_CLOEXEC", "execve(")
		tree := own
		if pool == 0 {
			tree = child
			inOrder(t, pool, "net", own, "CLONE_NEWNET", "post()", "SIOCSIFFLAGS", "capset(")
			inOrder(t, pool, "net", child, "join(1)", "setns(", "CLONE_FS", "capset(")
		}
		inOrder(t, pool, "tree", tree, "chroot(", "{attr_set=RDONLY|NOSUID|NODEV}", "umask(022)", "PR_SET_DUMPABLE, 0", "unshare(CLONE_FS)", "capset(")
		set := "CapInh:0CapPrm:0CapEff:0CapBnd:0CapAmb:0NoNewPrivs:1"
		out, _ := mustRun(t, r.shell(`for p in 1 self; do grep -h -e ^Cap -e ^NoNewPrivs /proc/$p/status; done | tr -d '\t' | sed 's/:00*$/:0/' | tr -d '\n'`))
		if got := strings.TrimSpace(out); got != set+set {
			t.Errorf("pool of %d: init and the payload have %s", pool, got)
		}
	}
}

// apart checks that two processes save into different slots, and that neither needs what it has given up.
func apart(t *testing.T, pool int, own, child []program.Op) {
	t.Helper()
	saved := map[program.Slot]bool{}
	for _, o := range own {
		saved[o.Save] = true
	}
	for _, o := range child {
		if o.Save >= 0 && saved[o.Save] {
			t.Errorf("pool of %d: both save into $%d: %s", pool, o.Save, o.Call())
		}
	}
	for _, o := range slices.Concat(own[opAt(own, "capset("):], child[opAt(child, "capset("):]) {
		if slices.Contains([]uint32{unix.SYS_MOUNT, unix.SYS_MOVE_MOUNT, unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT}, o.NR) {
			t.Errorf("pool of %d: without capabilities: %s", pool, o.Call())
		}
	}
}

// inOrder checks that texts stand in operations, one behind the other.
func inOrder(t *testing.T, pool int, what string, ops []program.Op, texts ...string) {
	t.Helper()
	for _, text := range texts {
		at := opAt(ops, text)
		if at < 0 {
			t.Errorf("pool of %d, %s: %q is missing or too early", pool, what, text)
			return
		}
		ops = ops[at:]
	}
}

// Where an outer filter does not permit setns(2), a Runner's jails are made in turn.
func TestWithoutSetns(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	r.tree.modes[0].Root.NoSetns = true
	c := r.shell("cat /proc/net/if_inet6 | wc -l")
	wantOutput(t, c, "1")
	if _, own, _ := parts(t, c.Plan().Prefix); len(own) > 0 {
		t.Errorf("at once:\n%s", c.Plan())
	}
}

// A head that fails after its rest has been sent names what has failed, and not that the process is gone.
func TestFailureBehindTheRestIsNamed(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	wantOutput(t, r.shell("echo fine"), "fine")
	for range 200 {
		c := r.shell("true")
		c.Spec.Workdir = "/no/such/directory"
		if e := startError(t, c); e.Op != "workdir" || e.Step == 0 {
			t.Fatalf("%+v", e)
		}
	}
}

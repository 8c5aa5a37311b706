package launcher

import (
	"runtime"
	"syscall"
	"testing"

	"brig/internal/program"
	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// Init performs its part of the list while its child goes on behind it: each waits here for the other, one root and
// working directory are both's, and whoever fails is told of with the index in the whole list.
func TestInitAndItsChildAtOnce(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("one errno for both on " + runtime.GOARCH)
	}
	chdir := func(p *program.Program, to string) { p.Add("dir", unix.SYS_CHDIR, program.Str(to)) }
	null := func(p *program.Program) {
		p.Open("open", unix.SYS_OPENAT, program.CWD(), program.Str("null"), program.Int(unix.O_RDONLY|unix.O_CLOEXEC), program.Int(0))
	}
	read := func(p *program.Program) {
		p.Add("read", unix.SYS_READ, SlotUser.Arg(), program.Bytes(make([]byte, 8)), program.Int(1))
	}
	write := func(p *program.Program) {
		p.Add("write", unix.SYS_WRITE, (SlotUser + 1).Arg(), program.Str("x"), program.Int(1))
	}
	join := func(n int) func(*program.Program) {
		return func(p *program.Program) { p.Add("join", program.Join, program.Int(n)) }
	}
	post := func(p *program.Program) { p.Add("post", program.Post) }
	ends := func(p *program.Program) { p.Add("exit", unix.SYS_EXIT_GROUP, program.Int(7)) }
	to := func(dir string) func(*program.Program) { return func(p *program.Program) { chdir(p, dir) } }
	type ops []func(*program.Program)
	for name, c := range map[string]struct {
		own, child ops
		more       int // than its part, of what Fork says is init's
		fails      int // the index of the operation; -1 for none
		errno      syscall.Errno
	}{
		"each waits for the other": {own: ops{read, post}, child: ops{write, join(1), ends}, fails: -1},
		"one working directory":    {own: ops{to("/dev")}, child: ops{join(1), null, ends}, fails: -1},
		"the end of its part":      {own: ops{post, to("/dev")}, child: ops{join(2), null, ends}, fails: -1},
		"init fails":               {own: ops{read, to("/dev/none")}, child: ops{write, join(1), ends}, fails: 2, errno: unix.ENOENT},
		"its child fails":          {own: ops{read}, child: ops{write, to("/dev/none"), ends}, fails: 3, errno: unix.ENOENT},
		"its child has no part":    {own: ops{read}, child: ops{write, post, ends}, fails: 3, errno: unix.EINVAL},
		"more than there is":       {own: ops{read}, child: ops{ends}, more: 2, fails: 0, errno: unix.EINVAL},
	} {
		p := program.New(4)
		p.Add("fork", program.Fork, SlotReport.Arg(), program.Int(0), program.Int(0), program.Int(len(c.own)+c.more))
		for _, op := range append(c.own, c.child...) {
			op(p)
		}
		first, last := runAtOnce(t, p)
		switch {
		case c.fails >= 0:
			if first.Type != ReportFail || first.A != c.fails || syscall.Errno(first.B) != c.errno {
				t.Errorf("%s: report %+v, want that operation %d fails with %v", name, first, c.fails, c.errno)
			}
		case first.Type != ReportExec || last.Type != ReportExit || syscall.WaitStatus(last.A).ExitStatus() != 7:
			t.Errorf("%s: reports %+v and %+v", name, first, last)
		}
	}
}

// runAtOnce performs a list as a pid namespace's init, and returns its first report and its last.
func runAtOnce(t *testing.T, p *program.Program) (first, last Report) {
	t.Helper()
	var pair, pipe [2]int
	var err error
	if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	pid, err := do(t, start(t), p, program.Request{CloneFlags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID}, pair[1], pipe[0], pipe[1])
	for _, fd := range []int{pair[1], pipe[0], pipe[1]} {
		unix.Close(fd)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer reap(t, pid)
	buf := make([]byte, ReportSize)
	for i := 0; ; i++ {
		n, err := sys.Read(pair[0], buf)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return first, last
		}
		if last, err = ParseReport(buf[:n]); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = last
		}
	}
}

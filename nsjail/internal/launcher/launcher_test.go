package launcher

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

func TestSpawnIsOurChild(t *testing.T) {
	s := start(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := program.New(3)
	p.Add("write", unix.SYS_WRITE, SlotUser.Arg(), program.Str("hello"), program.Int(5))
	p.Add("exit", unix.SYS_EXIT_GROUP, program.Int(7))
	pid, err := do(t, s, p, program.Request{}, null(t), int(w.Fd()))
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if ws := reap(t, pid); ws.ExitStatus() != 7 {
		t.Errorf("status %#x, want exit 7", ws)
	}
	var b [16]byte
	if n, err := r.Read(b[:]); string(b[:n]) != "hello" {
		t.Errorf("read %q, %v", b[:n], err)
	}
}

// A failure in a spawned process comes back on the report socket, with the operation's index and errno.
func TestFailureIsReported(t *testing.T) {
	s := start(t)
	fails := program.New(2)
	fails.Add("ok", unix.SYS_MKDIRAT, program.CWD(), program.Str("/"), program.Int(0)).May(unix.EROFS, unix.EEXIST)
	fails.Add("bad", unix.SYS_CHDIR, program.Str("/nonexistent"))
	ends := program.New(2)
	ends.Add("ok", unix.SYS_GETPPID)
	for name, test := range map[string]struct {
		p     *program.Program
		op    int
		errno syscall.Errno
	}{"an errno": {fails, 1, unix.ENOENT}, "no execve": {ends, 1, unix.ENOEXEC}} {
		sv, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := do(t, s, test.p, program.Request{}, sv[1])
		unix.Close(sv[1])
		if err != nil {
			t.Fatal(name, err)
		}
		var b [ReportSize]byte
		n, err := unix.Read(sv[0], b[:])
		rep, perr := ParseReport(b[:max(n, 0)])
		if err != nil || perr != nil || rep.Type != ReportFail || rep.A != test.op || syscall.Errno(rep.B) != test.errno {
			t.Errorf("%s: report %+v, %v %v", name, rep, err, perr)
		}
		if ws := reap(t, pid); ws.ExitStatus() != 125 {
			t.Errorf("%s: status %#x", name, ws)
		}
		unix.Close(sv[0])
	}
}

func TestSelfPrograms(t *testing.T) {
	s := start(t)
	self := program.Request{Kind: program.Self}
	p := program.New(2)
	p.Add("name", unix.SYS_PRCTL, program.Int(unix.PR_SET_NAME), program.Str("renamed"))
	if pid, err := do(t, s, p, self, null(t)); pid != 0 || err != nil {
		t.Fatalf("pid %d, %v", pid, err)
	}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", s.pid)); string(b) != "renamed\n" {
		t.Errorf("the launcher's name is %q, %v", b, err)
	}
	p.Add("bad", unix.SYS_CLOSE, program.Int(999))
	_, err := do(t, s, p, self, null(t))
	var oe *OpError
	if !errors.As(err, &oe) || oe.Op != 1 || oe.Errno != unix.EBADF {
		t.Errorf("error %v, want operation 1: EBADF", err)
	}
}

// What a program saves is a number like any other: the launcher must not take it for a descriptor that it received.
func TestSelfProgramMaySaveAnything(t *testing.T) {
	s := start(t)
	p := program.New(2)
	for range 3 {
		p.Open("dup", unix.SYS_FCNTL, program.Int(3), program.Int(unix.F_GETFL)) // gives 2
		p.Open("dup", unix.SYS_DUP3, program.Int(0), program.Int(100), program.Int(0))
	}
	for range 2 {
		if _, err := do(t, s, p, program.Request{Kind: program.Self}, null(t)); err != nil {
			t.Fatal(err)
		}
	}
	if n := fdCount(t, s.pid); n != 5 { // 0, 1, 2, the socket and the copy
		t.Errorf("%d descriptors, want 5", n)
	}
}

func TestSameFile(t *testing.T) {
	s := start(t)
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		dev, ino uint64
		want     error
	}{{uint64(st.Dev), st.Ino, nil}, {uint64(st.Dev), st.Ino + 1, unix.ESTALE}, {uint64(st.Dev) + 1, st.Ino, unix.ESTALE}} {
		p := program.New(3)
		p.Add("same", program.Same, SlotUser.Arg(), program.Int(test.dev), program.Int(test.ino))
		_, err := do(t, s, p, program.Request{Kind: program.Self}, null(t), int(f.Fd()))
		var oe *OpError
		if test.want == nil && err != nil || test.want != nil && (!errors.As(err, &oe) || oe.Errno != test.want) {
			t.Errorf("%d:%d gives %v, want %v", test.dev, test.ino, err, test.want)
		}
	}
}

// write(2) may do less than it was asked to, without an errno: a file cut short must not look like success.
func TestShortWriteIsAFailure(t *testing.T) {
	s := start(t)
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	prog := program.New(3)
	prog.Add("write", unix.SYS_WRITE, SlotUser.Arg(), program.Bytes(make([]byte, 1<<20)), program.Int(1<<20))
	_, err := do(t, s, prog, program.Request{Kind: program.Self}, null(t), p[1])
	var oe *OpError
	if !errors.As(err, &oe) || oe.Op != 0 || oe.Errno != unix.ENOSPC {
		t.Errorf("a write of 1 MiB to a pipe of 64 KiB: %v", err)
	}
}

func TestConcurrentRequests(t *testing.T) {
	s := start(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	nul := null(t)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			p := program.New(3)
			p.Add("write", unix.SYS_WRITE, SlotUser.Arg(), program.Bytes([]byte{byte(i)}), program.Int(1))
			p.Add("exit", unix.SYS_EXIT_GROUP, program.Int(i))
			pid, err := s.Do(p, program.Request{Cgroup: -1}, nul, int(w.Fd()))
			if err != nil {
				t.Error(err)
				return
			}
			var ws syscall.WaitStatus
			if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil || ws.ExitStatus() != i {
				t.Errorf("request %d: status %#x, %v", i, ws, err)
			}
		})
	}
	wg.Wait()
	w.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if bytes.Count(got.Bytes(), []byte{byte(i)}) != 1 {
			t.Errorf("%d was written %d times", i, bytes.Count(got.Bytes(), []byte{byte(i)}))
		}
	}
}

func TestDescriptorsDoNotLeak(t *testing.T) {
	nul := null(t)
	before := fdCount(t, os.Getpid())
	s := start(t)
	round := func() {
		pid, err := do(t, s, exits(0), program.Request{}, nul, nul, nul) // three where the program says two
		if err == nil {
			t.Fatalf("a wrong number of descriptors is accepted: pid %d", pid)
		}
		for _, ward := range []bool{false, true} {
			if pid, err = do(t, s, exits(0), program.Request{Ward: ward}, nul); err != nil {
				t.Fatal(err)
			}
			reap(t, pid)
		}
		if err := request(s, []byte{0}, []int{nul, nul, nul}); err != unix.EBADMSG {
			t.Fatal("a device as the program: ", err)
		}
	}
	round()
	ours, its := fdCount(t, os.Getpid()), fdCount(t, s.pid)
	for range 100 {
		round()
	}
	if n := fdCount(t, os.Getpid()); n != ours {
		t.Errorf("we had %d descriptors and have %d", ours, n)
	}
	if n := fdCount(t, s.pid); n != its {
		t.Errorf("the launcher had %d descriptors and has %d", its, n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := fdCount(t, os.Getpid()); n != before {
		t.Errorf("after Close we have %d descriptors, want %d", n, before)
	}
}

// The caller's ignored signals (nohup, a shell's background job) must not reach the payload through the launcher.
func TestLauncherHasDefaultDispositions(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, 35, 64} {
		signal.Ignore(sig)
		defer signal.Reset(sig)
	}
	s := start(t)
	if _, err := do(t, s, program.New(2), program.Request{Kind: program.Self}, null(t)); err != nil { // it serves by now
		t.Fatal(err)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(b), "\n") {
		name, v, _ := strings.Cut(line, ":\t")
		if (name == "SigIgn" || name == "SigBlk" || name == "SigCgt") && strings.Trim(v, "0") != "" {
			t.Error(line)
		}
	}
}

func TestClosedLauncher(t *testing.T) {
	s := start(t)
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if _, err := do(t, s, exits(0), program.Request{}, null(t)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Do after Close: %v", err)
	}
	killed := start(t)
	if err := unix.Kill(killed.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := do(t, killed, exits(0), program.Request{}, null(t)); err == nil {
			t.Error("a killed launcher performs programs")
		}
	}
}

// TestNothingAhead: on arm64, and on kernels with a capability that the list does not know, there is no list ahead.
func TestNothingAhead(t *testing.T) {
	if !beginsWith(make([]byte, program.HeaderSize), nil, 1, 1, 1) {
		t.Error("a program does not begin with nothing")
	}
}

// A file must have exactly the text that the program expects, less NULs at its end: SELinux ends a context with one.
func TestExpectedText(t *testing.T) {
	s := start(t)
	file := filepath.Join(t.TempDir(), "f")
	for text, ok := range map[string]bool{"a (enforce)\n": true, "a (enforce)\n\x00": true, "": false, "a (enforce)": false,
		"b (enforce)\n": false, "a (enforce)\nb": false, "a (complain)\n": false, strings.Repeat("a", 5000): false} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		p := program.New(3)
		p.Expect("text", SlotUser, "a (enforce)\n")
		_, err = do(t, s, p, program.Request{Kind: program.Self}, null(t), int(f.Fd()))
		var oe *OpError
		if ok && err != nil || !ok && (!errors.As(err, &oe) || oe.Errno != unix.EBADMSG) {
			t.Errorf("%.20q: %v, want success: %v", text, err, ok)
		}
		f.Close()
	}
}

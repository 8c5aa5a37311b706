package launcher

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/program"
	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

func pidfd(t *testing.T, pid int) int {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// When the keeper's socket closes, however the keeper ended, the launcher kills its wards and ends.
func TestLauncherEndsWithItsKeeper(t *testing.T) {
	s := start(t)
	nul := null(t)
	var wards []int
	for range 3 {
		pid, err := do(t, s, waits(), program.Request{Ward: true}, nul)
		if err != nil {
			t.Fatal(err)
		}
		wards = append(wards, pid)
	}
	free, err := do(t, s, waits(), program.Request{}, nul)
	if err != nil {
		t.Fatal(err)
	}
	launcher := pidfd(t, s.pid)
	s.mu.Lock()
	s.sock.Close() // as the kernel does when a keeper is killed
	s.sock = nil
	s.mu.Unlock()
	ended(t, launcher, "the launcher")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range wards {
		ended(t, pidfd(t, pid), "a ward")
		if ws := reap(t, pid); ws.Signal() != unix.SIGKILL {
			t.Errorf("a ward's status is %#x", ws)
		}
	}
	if err := unix.Kill(free, 0); err != nil {
		t.Errorf("a process that is no ward: %v", err)
	}
	if err := unix.Kill(free, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	reap(t, free)
}

// A thousand wards are the most at once; those that have ended do not count, and others are not refused for them.
func TestWardsThatEndedDoNotCount(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand processes, in short mode")
	}
	s := start(t)
	nul := null(t)
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil || lim.Max < 1200 {
		t.Skipf("needs 1200 descriptors in the launcher: the hard limit is %d, %v", lim.Max, err)
	}
	for i := range 1030 {
		pid, err := do(t, s, exits(0), program.Request{Ward: true}, nul)
		if err != nil {
			t.Fatalf("ward %d: %v", i, err)
		}
		reap(t, pid)
	}
	pid, err := do(t, s, exits(3), program.Request{}, nul)
	if err != nil {
		t.Fatal("after 1030 wards that ended: ", err)
	}
	reap(t, pid)
}

// A launcher refuses what is no request and serves the next one.
func TestLauncherSurvivesNonsense(t *testing.T) {
	s := start(t)
	nul := null(t)
	random := make([]byte, 4096)
	if _, err := rand.Read(random); err != nil {
		t.Fatal(err)
	}
	good, err := exits(9).Encode(program.Request{Cgroup: -1})
	if err != nil {
		t.Fatal(err)
	}
	memory := func(b []byte) int {
		fd, err := memfd(b)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	dir, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	huge := memory(nil)
	if err := unix.Ftruncate(huge, 16<<20+1); err != nil {
		t.Fatal(err)
	}
	zeros := memory(nil)
	if err := unix.Ftruncate(zeros, 16<<20); err != nil {
		t.Fatal(err)
	}
	many := make([]int, 251)
	for i := range many {
		many[i] = nul
	}
	var socket int
	if err := sys.Control(s.sock, func(fd int) error { socket = fd; return nil }); err != nil {
		t.Fatal(err)
	}
	its := 0
	for _, test := range []struct {
		name string
		msg  []byte
		fds  []int
	}{
		{"first, nothing wrong", nil, nil},
		{"no descriptors", []byte{0}, nil}, {"garbage without descriptors", random, nil}, {"one descriptor", []byte{0}, []int{memory(good)}},
		{"too many descriptors", []byte{0}, many}, {"an empty program", []byte{0}, []int{memory(nil), nul}},
		{"random bytes", []byte{0}, []int{memory(random), nul}}, {"a cut program", []byte{0}, []int{memory(good[:len(good)-8]), nul}},
		{"a directory", []byte{0}, []int{dir, nul}}, {"a device", []byte{0}, []int{nul, nul}}, {"a socket", []byte{0}, []int{socket, nul}},
		{"a huge file", []byte{0}, []int{huge, nul}}, {"a file of zeros", []byte{0}, []int{zeros, nul}},
		{"a descriptor more", []byte{0}, []int{memory(good), nul, nul}}, {"garbage beside", random, []int{memory(random), nul}},
	} {
		if test.msg != nil {
			if err := request(s, test.msg, test.fds); err != unix.EBADMSG {
				t.Errorf("%s: %v, want EBADMSG", test.name, err)
			}
		}
		pid, err := do(t, s, exits(9), program.Request{}, nul)
		if err != nil {
			t.Fatalf("after %s: %v", test.name, err)
		}
		if ws := reap(t, pid); ws.ExitStatus() != 9 {
			t.Errorf("after %s: status %#x", test.name, ws)
		}
		if n := fdCount(t, s.pid); its == 0 {
			its = n
		} else if n != its {
			t.Errorf("after %s the launcher has %d descriptors, not %d", test.name, n, its)
		}
	}
}

// request sends a message unchanged and returns the launcher's answer.
func request(s *Launcher, msg []byte, fds []int) error {
	var oob []byte
	if fds != nil {
		oob = unix.UnixRights(fds...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.greet(); err != nil {
		return err
	}
	send := func(fd int) error { return unix.Sendmsg(fd, msg, oob, nil, unix.MSG_NOSIGNAL) }
	if err := sys.Control(s.sock, send); err != nil {
		return err
	}
	rep, err := s.reply()
	if err != nil {
		return err
	}
	return syscall.Errno(rep.err)
}

// Only our parent, over the socket that it made, makes this program a launcher: a name alone, or anybody else's socket,
// does not.
func TestStrangersCannotTakeOver(t *testing.T) {
	pair := func(kind int) *os.File {
		sv, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(sv[0]) })
		return os.NewFile(uintptr(sv[1]), "socket")
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		fd3   *os.File
		value string
		argv0 string
	}{
		"no descriptor": {nil, "1", "brig-launcher"}, "a file": {file, "1", "brig-launcher"},
		"a stream socket": {pair(unix.SOCK_STREAM), "1", "brig-launcher"}, "a datagram socket": {pair(unix.SOCK_DGRAM), "1", "brig-launcher"},
		"a grandparent's socket": {pair(unix.SOCK_SEQPACKET), "hop", "suite"}, "another name": {pair(unix.SOCK_SEQPACKET), "1", "brig-stagex"},
	} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Args = []string{test.argv0}
		cmd.Env = []string{strangerVar + "=" + test.value}
		if test.fd3 != nil {
			cmd.ExtraFiles = []*os.File{test.fd3}
		}
		timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		out, err := cmd.CombinedOutput()
		timer.Stop()
		if err != nil || string(out) != "not a launcher\n" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
		if test.fd3 != nil {
			test.fd3.Close()
		}
	}
}

// A launcher shows nothing of its caller: no argument, no variable, no descriptor but its own.
func TestLauncherIsBare(t *testing.T) {
	t.Setenv("BRIG_TEST_SECRET", "hunter2")
	loose, err := unix.Open("/", unix.O_RDONLY, 0) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(loose)
	s := start(t)
	if _, err := do(t, s, program.New(2), program.Request{Kind: program.Self}, null(t)); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"cmdline": "init", "environ": ""} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.pid, file))
		if got := strings.Trim(string(b), "\x00"); err != nil || got != want {
			t.Errorf("%s is %q, %v", file, got, err)
		}
	}
	if n := fdCount(t, s.pid); n != 4 {
		t.Errorf("%d descriptors, want 4", n)
	}
	if sid, err := unix.Getsid(s.pid); err != nil || sid != s.pid {
		t.Errorf("session %d, %v: the terminal's signals reach it", sid, err)
	}
}

func TestParseReport(t *testing.T) {
	if _, err := ParseReport(make([]byte, ReportSize-1)); err == nil {
		t.Error("a short report is accepted")
	}
	u := UsageOf(&unix.Rusage{Utime: unix.Timeval{Sec: 1, Usec: 2}, Maxrss: 3, Nvcsw: 4, Nivcsw: 5, Majflt: 6})
	if u.User != time.Second+2*time.Microsecond || u.MaxRSS != 3<<10 || u.Voluntary != 4 || u.Involuntary != 5 || u.MajorFaults != 6 {
		t.Errorf("%+v", u)
	}
}

package monitor_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/asuser"

	"golang.org/x/sys/unix"
)

const childVar = "BRIG_TEST_MONITOR_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childVar); what != "" {
		child(what)
		os.Exit(0)
	}
	place.find()
	if place.why != nil {
		fmt.Println("--- SKIP: everything that needs a control group of its own:",
			strings.ReplaceAll(place.why.Error(), "\n", "; "))
	}
	code := asuser.Main(m)
	place.leave()
	os.Exit(code)
}

// process is a child that waits to be told to work, works, prints what it saw, and waits for its end.
type process struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts a child in a group. What it does is in child.
func start(t testing.TB, g *testGroup, what string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command("/proc/self/exe")}
	p.cmd.Env = []string{childVar + "=" + what, "GOMAXPROCS=2"}
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // before the group's removal, which was registered earlier
		if p.cmd.ProcessState == nil {
			p.cmd.Process.Kill()
			p.cmd.Wait()
		}
	})
	g.join(p.cmd.Process.Pid)
	return p
}

// work has the child work and returns its line; "" if it died.
func (p *process) work() string {
	p.t.Helper()
	if _, err := io.WriteString(p.in, "go\n"); err != nil {
		p.t.Fatal(err)
	}
	line, err := p.out.ReadString('\n')
	if err != nil && err != io.EOF {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// end lets the child end.
func (p *process) end() error {
	p.in.Close()
	return p.cmd.Wait()
}

func child(what string) {
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return
	}
	verb, arg, _ := strings.Cut(what, " ")
	n, _ := strconv.Atoi(arg)
	switch verb {
	case "allocate":
		fmt.Println(len(allocate(n)))
	case "fork":
		kids := fork(n)
		fmt.Println(len(kids))
		in.ReadString('\n')
		for _, pid := range kids {
			unix.Kill(pid, unix.SIGKILL)
			unix.Wait4(pid, nil, 0, nil)
		}
	case "burn":
		fmt.Println(burn(n))
	case "write":
		fmt.Println(writeOut(arg))
	case "nothing":
		fmt.Println()
	}
	in.ReadString('\n')
}

// allocate touches so many MiB.
func allocate(mib int) []byte {
	b, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return b
}

// fork makes processes until it may not any more, or there are so many. They only wait: a fork of this runtime's can do
// nothing but system calls.
func fork(most int) (kids []int) {
	for len(kids) < most {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			break
		}
		if pid == 0 { // as its parent, it does not outlive the test
			unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0)
		}
		for pid == 0 {
			unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
		kids = append(kids, int(pid))
	}
	return kids
}

// burn uses ms milliseconds of CPU time. It returns the microseconds that the kernel has counted since burn began,
// because in an emulated machine the start of a process takes as long.
func burn(ms int) int64 {
	begin := int64(-1)
	for {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			panic(err)
		}
		now := (u.Utime.Nano() + u.Stime.Nano()) / 1000
		if begin < 0 {
			begin = now
		}
		if used := now - begin; used >= int64(ms)*1000 {
			return used
		}
	}
}

// writeOut writes 1 MiB past the page cache and returns the bytes; 0 if the file system does not do that.
func writeOut(path string) int {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|unix.O_DIRECT, 0o600)
	if err != nil {
		return 0
	}
	b := allocate(1)
	n, err := f.Write(b) // mmap's memory is aligned to a page, as O_DIRECT wants it
	if err != nil || f.Close() != nil {
		return 0
	}
	return n
}

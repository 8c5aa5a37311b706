package launcher

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"brig/internal/program"
	"brig/internal/test/asuser"

	"golang.org/x/sys/unix"
)

// groupVar names the delegated subtree in which TestDelegated's own process runs.
const groupVar = "BRIG_TEST_GROUP"

// ownGroup is the directory of this process's group in the cgroup2 tree, which may be a hybrid layout's: cgroups(7).
func ownGroup(t *testing.T) string {
	t.Helper()
	at := ""
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); strings.Contains(line, " - cgroup2 ") && f[3] == "/" {
			at = f[4]
		}
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(groups)) {
		if rel, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok && at != "" {
			return filepath.Join(at, rel)
		}
	}
	t.Skip("there is no cgroup2 tree here")
	return ""
}

// newGroup makes a group below another and opens it as a keeper does.
func newGroup(t *testing.T, parent, name string) (dir string, fd int) {
	t.Helper()
	dir = filepath.Join(parent, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no group can be made: %v", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return dir, fd
}

// capset is the operation with one value for permitted and one for effective.
func capset(p *program.Program, effective, permitted uint32) {
	hdr, caps := make([]byte, 8), make([]byte, 24)
	binary.NativeEndian.PutUint32(hdr, unix.LINUX_CAPABILITY_VERSION_3)
	binary.NativeEndian.PutUint32(caps, effective)
	binary.NativeEndian.PutUint32(caps[4:], permitted)
	p.Add("caps", unix.SYS_CAPSET, program.Bytes(hdr), program.Bytes(caps))
}

// dropTo makes root's launcher another user that keeps the capabilities permitted.
func dropTo(t *testing.T, s *Launcher, permitted uint32) {
	t.Helper()
	const id = PayloadIDs + 77
	p := program.New(2)
	p.Add("drop", unix.SYS_PRCTL, program.Int(unix.PR_SET_KEEPCAPS), program.Int(1))
	p.Add("drop", unix.SYS_SETGROUPS, program.Int(0), program.Int(0))
	p.Add("drop", unix.SYS_SETRESGID, program.Int(id), program.Int(id), program.Int(id))
	p.Add("drop", unix.SYS_SETRESUID, program.Int(id), program.Int(id), program.Int(id))
	capset(p, 0, permitted)
	p.Add("drop", unix.SYS_PRCTL, program.Int(unix.PR_SET_DUMPABLE), program.Int(1))
	if _, err := do(t, s, p, program.Request{Kind: program.Self}, null(t)); err != nil {
		t.Fatal(err)
	}
}

const override = 1 << unix.CAP_DAC_OVERRIDE

// spawnInto spawns a process of a new user namespace in a group and returns the group that it is in; the process ends
// with the call.
func spawnInto(t *testing.T, s *Launcher, flags uint64, fd int) (string, error) {
	t.Helper()
	pid, err := s.Do(waits4(), program.Request{CloneFlags: flags, Cgroup: 2}, null(t), fd)
	if err != nil {
		return "", err
	}
	defer reap(t, pid)
	defer func() { _ = unix.Kill(pid, unix.SIGKILL) }() // an error shows in reap
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, own, _ := strings.Cut(string(groups), "0::")
	own, _, _ = strings.Cut(own, "\n")
	return own, nil
}

// waits4 is waits for a request with a group's descriptor.
func waits4() *program.Program {
	p := program.New(3)
	p.Add("wait", unix.SYS_PPOLL, program.Int(0), program.Int(0), program.Int(0), program.Int(0), program.Int(0))
	return p
}

func TestSpawnIntoCgroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("TestDelegatedCgroup is for ordinary users")
	}
	dir, fd := newGroup(t, ownGroup(t), fmt.Sprintf("brig-launcher-%d", os.Getpid()))
	for _, test := range []struct {
		name  string
		drop  bool
		keep  uint32
		flags uint64
		want  error
	}{
		{"root", false, 0, unix.CLONE_NEWUSER, nil},
		{"dropped", true, override, unix.CLONE_NEWUSER, nil},
		{"dropped, with nothing kept", true, 0, unix.CLONE_NEWUSER, unix.EACCES},
		{"root, no namespace", false, 0, 0, nil},
		{"dropped, no user namespace", true, override, unix.CLONE_NEWPID, unix.EPERM},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t)
			if test.drop {
				dropTo(t, s, test.keep)
			}
			before := capLines(t, s.pid)
			for range 2 {
				where, err := spawnInto(t, s, test.flags, fd)
				var oe *OpError
				switch {
				case test.want == nil && (err != nil || filepath.Base(where) != filepath.Base(dir)):
					t.Errorf("in %q, %v", where, err)
				case test.want != nil && (!errors.As(err, &oe) || oe.Errno != test.want):
					t.Errorf("%v, want %v", err, test.want)
				}
			}
			after := capLines(t, s.pid)
			if before != after || test.drop && !strings.Contains(after, fmt.Sprintf("CapPrm:\t%016x\nCapEff:\t%016x\n", test.keep, 0)) {
				t.Errorf("the launcher's capabilities were\n%sand are\n%s", before, after)
			}
		})
	}
}

func capLines(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, caps, _ := strings.Cut(string(b), "CapInh")
	caps, _, _ = strings.Cut(caps, "CapBnd")
	return caps
}

// What the launcher has kept does not reach its children: none opens a file that is root's alone, not even with all the
// capabilities of its user namespace, whether a group was asked for or not.
func TestChildrenHoldNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's launcher keeps anything")
	}
	_, fd := newGroup(t, ownGroup(t), fmt.Sprintf("brig-nothing-%d", os.Getpid()))
	secret := filepath.Join(asuser.Dir(), "root-only")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	opens := func(capped bool) *program.Program {
		p := program.New(3)
		if capped {
			capset(p, override, override)
		}
		p.Add("open", unix.SYS_OPENAT, program.CWD(), program.Str(secret), program.Int(unix.O_RDWR|unix.O_CLOEXEC), program.Int(0))
		return p
	}
	s := start(t)
	dropTo(t, s, override)
	for _, cgroup := range []int{-1, 2} {
		for _, capped := range []bool{false, true} {
			sv, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			p := opens(capped)
			pid, err := s.Do(p, program.Request{CloneFlags: unix.CLONE_NEWUSER, Cgroup: cgroup}, sv[1], fd)
			unix.Close(sv[1])
			if err != nil {
				t.Fatal(err)
			}
			var b [ReportSize]byte
			n, err := unix.Read(sv[0], b[:])
			unix.Close(sv[0])
			rep, perr := ParseReport(b[:max(n, 0)])
			if err != nil || perr != nil || rep.Type != ReportFail || rep.A != len(p.Ops)-1 || syscall.Errno(rep.B) != unix.EACCES {
				t.Errorf("cgroup %d, raised %v: %+v, %v %v; want EACCES", cgroup, capped, rep, err, perr)
			}
			reap(t, pid)
		}
	}
	// the same file opens where the capability counts: the test can tell the difference
	if _, err := s.Do(opens(true), program.Request{Kind: program.Self, Cgroup: -1}, null(t), fd); err != nil {
		t.Error("the launcher itself, with the capability raised: ", err)
	}
}

// TestDelegatedCgroup runs TestDelegated as an ordinary user in a subtree that is the user's.
func TestDelegatedCgroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can hand over a subtree")
	}
	top, _ := newGroup(t, ownGroup(t), fmt.Sprintf("brig-user-%d", os.Getpid()))
	home, fd := newGroup(t, top, "home")
	jail, _ := newGroup(t, top, "jail")
	for _, f := range []string{top, home, jail, top + "/cgroup.procs", home + "/cgroup.procs", jail + "/cgroup.procs"} {
		if err := os.Chown(f, asuser.UID, asuser.UID); err != nil {
			t.Fatal(err)
		}
	}
	exe := filepath.Join(asuser.Dir(), "delegated.test")
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(exe, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestDelegated$", "-test.v")
	cmd.Dir = asuser.Dir()
	cmd.Env = append(os.Environ(), groupVar+"="+jail, "BRIG_TEST_DIR="+asuser.Dir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: asuser.UID, Gid: asuser.UID, Groups: []uint32{}},
		UseCgroupFD: true, CgroupFD: fd}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestDelegated ")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDelegated is the ordinary user's side.
func TestDelegated(t *testing.T) {
	jail := os.Getenv(groupVar)
	if jail == "" {
		t.Skip("it is the other side of TestDelegatedCgroup")
	}
	s := start(t)
	open := func(dir string) int {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	if where, err := spawnInto(t, s, unix.CLONE_NEWUSER, open(jail)); err != nil || !strings.HasSuffix(jail, where) || where == "/" {
		t.Errorf("in %q, %v, want %s", where, err, jail)
	}
	above := filepath.Dir(filepath.Dir(jail))
	var oe *OpError
	if where, err := spawnInto(t, s, unix.CLONE_NEWUSER, open(above)); !errors.As(err, &oe) || oe.Errno != unix.EACCES {
		t.Errorf("into root's group: in %q, %v, want EACCES", where, err)
	}
}

package launcher

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"brig/internal/program"
	"brig/internal/test/asuser"

	"golang.org/x/sys/unix"
)

// TestMalformedPrograms runs the C driver, which feeds truncated, flipped and mutated programs to brig_check and
// brig_run under AddressSanitizer and UBSan.
func TestMalformedPrograms(t *testing.T) {
	if why, err := os.ReadFile(filepath.Join(asuser.Dir(), "no-sanitizer")); err == nil {
		t.Skipf("the compiler cannot sanitize: %s", why)
	}
	blob, err := sampleProgram().Encode(program.Request{Cgroup: 2})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		dir = asuser.Dir() // which others can read
	}
	file := filepath.Join(dir, "blob")
	if err := os.WriteFile(file, blob, 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file)
	mutations := "100000"
	if testing.Short() { // no kernel has a part in it: a guest needs few
		mutations = "5000"
	}
	cmd := exec.Command(filepath.Join(asuser.Dir(), "check_main"), file, mutations)
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0")
	if os.Geteuid() == 0 { // the driver makes no system call of the program's; should it ever, it is nobody who does
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: asuser.UID, Gid: asuser.UID}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// sampleProgram has every kind of argument, so that every check has something to refuse.
func sampleProgram() *program.Program {
	p := program.New(4)
	fd := p.Open("a", unix.SYS_OPENAT, program.CWD(), program.Str("/proc/self/uid_map"), program.Int(1))
	p.Add("a", unix.SYS_WRITE, fd.Arg(), program.Str("0 0 1"), program.Int(5))
	p.Add("a", unix.SYS_MKDIRAT, fd.Arg(), program.Str("d"), program.Int(0o755)).May(unix.EEXIST, unix.EROFS)
	p.Close("a", fd)
	argv := program.Strs([]string{"sh", "-c", "exit"})
	p.Add("b", unix.SYS_EXECVE, program.Str("/bin/sh"), argv, program.Strs(nil)).May(unix.ENOENT)
	p.Add("b", unix.SYS_SENDMSG, SlotReport.Arg(), program.Struct(make([]byte, 32), program.Text("{msg}")).
		WithOwnPointer(0, 16).WithPointer(16, []byte("payload\x00")), program.Int(0))
	p.Add("b", program.Same, fd.Arg(), program.Int(1), program.Int(2)).May(unix.ESTALE, unix.EBADF)
	p.Add("b", program.Fork, SlotReport.Arg(), program.Int(9), program.Int(1), program.Int(2)).May(unix.EAGAIN)
	p.Add("b", unix.SYS_UMASK, program.Int(0))
	p.Add("b", program.Post).May(unix.EINVAL)
	p.Add("b", program.Join, program.Int(2)).May(unix.ENOSYS)
	p.Add("b", unix.SYS_EXECVE, program.Str("/usr/bin/sh"), argv, program.Strs(nil))
	return p
}

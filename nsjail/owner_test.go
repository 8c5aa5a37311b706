package nsjail

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/must"
	"brig/landlock"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// without takes capabilities from the calling thread, and from what it executes, for good: the thread ends with the
// test.
func without(t *testing.T, caps ...uint) {
	t.Helper()
	runtime.LockOSThread()
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	must.Do(t, unix.Capget(&hdr, &data[0]))
	for _, c := range caps {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil {
			t.Skip(err)
		}
		data[0].Effective &^= 1 << c
		data[0].Permitted &^= 1 << c
	}
	must.Do(t, unix.Capset(&hdr, &data[0]))
}

// Root without CAP_SYS_ADMIN, as in most containers, shares files as their owner would, cold and through a Runner.
func TestRootWithoutIDMaps(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("for root")
	}
	dir := t.TempDir()
	must.Do(t, os.Chmod(filepath.Dir(dir), 0o755))
	share := func(name string, uid, gid int, mode os.FileMode) string {
		d := filepath.Join(dir, name)
		for _, err := range []error{os.Mkdir(d, 0o755), os.WriteFile(d+"/f", []byte("text\n"), 0o644), os.Chown(d, uid, gid), os.Chmod(d, mode)} {
			must.Do(t, err)
		}
		return d
	}
	one, two := share("one", 1234, 1235, 0o755), share("two", 4321, 0, 0o700)
	open, closed := share("open", 0, 0, 0o777), share("closed", 0, 0, 0o700)
	for _, c := range []struct {
		work, input string
		uid, gid    uint32 // of what is written; 0 is any but root
		err         string
	}{
		{one, open, 1234, 1235, ""},
		{two, one, 4321, 4321, ""},
		{open, "", 0, 0, ""},
		{one, closed, 0, 0, `(owner 0:0, mode 0700) is not for the payload, which is 1234:1235 there`},
		{share("plain", 0, 0, 0o755), "", 0, 0, "CAP_SYS_ADMIN is missing"},
		{one, open, 1234, 1235, ""},
	} {
		for name, o := range map[string]RunnerOptions{"pool": {Pool: 1}, "cold": {Cold: true}} {
			t.Run(fmt.Sprintf("%s %s %s", name, filepath.Base(c.work), filepath.Base(c.input)), func(t *testing.T) {
				without(t, unix.CAP_SYS_ADMIN)
				r := must.Get(NewRunnerWith(o))(t)
				defer r.Close()
				for range 2 {
					writeAs(t, r, c.work, c.input, c.uid, c.gid, c.err)
				}
			})
		}
	}
}

func writeAs(t *testing.T, r *Runner, work, input string, uid, gid uint32, want string) {
	t.Helper()
	cmd := r.shell("cat f ${1:-/input/f} && rm -f new && echo new >new && id -u")
	cmd.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: work, Target: "/work", Writable: true}}
	if input != "" {
		cmd.Spec.Mounts = append(cmd.Spec.Mounts, spec.Mount{Type: spec.MountBind, Source: input, Target: "/input"})
	} else {
		cmd.Spec.Args = append(cmd.Spec.Args, "sh", "/dev/null")
	}
	out, result, err := cmd.CombinedOutput()
	if want != "" {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, %v; want an error with %q", out, err, want)
		}
		return
	}
	if err != nil || result.Status != StatusOK || !strings.HasPrefix(result.Enforced["idmap"].String(), "binds are plain, and the payload is ") {
		t.Fatalf("%q %v, %v", out, result, err)
	}
	st, err := os.Stat(filepath.Join(work, "new"))
	must.Do(t, err)
	if by := st.Sys().(*syscall.Stat_t); by.Uid == 0 || uid != 0 && (by.Uid != uid || by.Gid != gid) {
		t.Errorf("the file belongs to %d:%d, want %d:%d", by.Uid, by.Gid, uid, gid)
	}
}

// Root in the process tier, which maps no owners, runs the payload as the owner of what it may write.
func TestTierOfRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("for root")
	}
	if landlock.ABI() < landlock.ScopeABI {
		t.Skipf("Landlock of ABI %d has no scope for signals", landlock.ABI())
	}
	dir := t.TempDir()
	must.Do(t, os.Chmod(filepath.Dir(dir), 0o755))
	own := filepath.Join(dir, "own")
	must.Do(t, os.Mkdir(own, 0o700))
	must.Do(t, os.Chown(own, 1234, 1235))
	cmd := shell("id -u; echo x >f")
	cmd.Spec.Tier, cmd.Spec.Workdir = spec.TierProcess, own
	cmd.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: own, Target: own, Writable: true}}
	out, result, err := cmd.CombinedOutput()
	if err != nil || result.Status != StatusOK || string(out) != "1234\n" {
		t.Errorf("%q %v, %v", out, result, err)
	}
}

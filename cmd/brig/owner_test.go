package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestContainerRoot: root with what a container's has makes jails by the command line, too, with a group where it can.
func TestContainerRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("for root")
	}
	dir := t.TempDir()
	for _, err := range []error{os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, 1234, 1234)} {
		must.Do(t, err)
	}
	group := "true"
	if ok, err := canLimit(); err != nil || !ok {
		group = "--optional=memory,memory_swap"
	} else {
		group = "--no-oom-group"
	}
	for _, missing := range [][]uintptr{{unix.CAP_SYS_ADMIN}, {unix.CAP_SYS_PTRACE}, {unix.CAP_NET_ADMIN}, {unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SYS_PTRACE}} {
		for _, flags := range [][]string{nil, {"--work", dir}, {"--memory", "64m", group}} {
			t.Run(fmt.Sprint(missing, flags), func(t *testing.T) {
				runtime.LockOSThread() // for good: the thread ends with the goroutine
				for _, c := range missing {
					if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
						t.Skip(err)
					}
				}
				out, err := exec.Command(brigBinary(t), append(append([]string{"run"}, flags...), "--", "sh", "-c", "echo x >new && grep -c lo: /proc/net/dev")...).CombinedOutput()
				if err != nil || !strings.HasSuffix(string(out), "1\n") {
					t.Errorf("%q, %v", out, err)
				}
			})
		}
	}
}

// Root's payload is the owner of each bind, and what it writes belongs to that owner. The user namespace that maps one
// owner is the launcher's own; several owners take several.
func TestOwnersOfBinds(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("for root")
	}
	dir := t.TempDir()
	share := func(name string, uid, gid int) string {
		d := filepath.Join(dir, name)
		for _, err := range []error{os.Mkdir(d, 0o700), os.Chown(d, uid, gid)} {
			must.Do(t, err)
		}
		return d
	}
	one, same, two, root := share("one", 1234, 1235), share("same", 1234, 1235), share("two", 1234, 99), share("root", 0, 0)
	for _, flags := range [][]string{
		{"--work", one},
		{"--work", root, "--input", root},
		{"--work", one, "--output", same, "--timeout", "1m"},
		{"--work", one, "--output", two},
		{"--work", root, "--output", two, "--memory", "64m", "--optional", "memory,memory_swap"},
	} {
		out, err := exec.Command(brigBinary(t), append(append([]string{"run"}, flags...), "--", "sh", "-c",
			"for d in /work /output; do stat -c %u:%g $d/. && echo x >$d/new && stat -c %u:%g $d/new; done 2>&1; id -u")...).CombinedOutput()
		if err != nil || strings.Contains(string(out), "65534") {
			t.Errorf("%q: %q, %v", flags, out, err)
		}
		for i := 0; i < len(flags); i += 2 {
			if flags[i] != "--work" && flags[i] != "--output" {
				continue
			}
			owner, err := os.Stat(flags[i+1])
			file, ferr := os.Stat(filepath.Join(flags[i+1], "new"))
			if err != nil || ferr != nil {
				t.Errorf("%q: %q, %v, %v", flags, out, err, ferr)
				continue
			}
			want, got := owner.Sys().(*syscall.Stat_t), file.Sys().(*syscall.Stat_t)
			if got.Uid != want.Uid || got.Gid != want.Gid {
				t.Errorf("%q: %s belongs to %d:%d, want %d:%d", flags, file.Name(), got.Uid, got.Gid, want.Uid, want.Gid)
			}
			must.Do(t, os.Remove(filepath.Join(flags[i+1], "new")))
		}
	}
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestContainerRoot: root with what a container's has makes jails by the command line, too, with a group where it can.
func TestContainerRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("for root")
	}
	dir := t.TempDir()
	for _, err := range []error{os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, 1234, 1234)} {
		if err != nil {
			t.Fatal(err)
		}
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

package warm

import (
	"os"
	"runtime"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// The first call of Changes after a change of the mount table returns another number, and later calls return it again.
func TestMountTable(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes a mount namespace from a program with threads")
	}
	runtime.LockOSThread() // the thread ends with the test, and its mounts with it
	must.Do(t, unix.Unshare(unix.CLONE_NEWNS))
	must.Do(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	m := must.Get(openMountTable("/proc/thread-self/mountinfo"))(t)
	defer m.Close()
	at := t.TempDir()
	was := m.Changes()
	for _, change := range []func() error{
		func() error { return unix.Mount("none", at, "tmpfs", 0, "") },
		func() error { return unix.Mount("none", at, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "") },
		func() error { return unix.Unmount(at, 0) },
	} {
		if again := m.Changes(); again != was {
			t.Error("a change that there was not")
		}
		must.Do(t, change())
		now := m.Changes()
		if now == was {
			t.Error("a change is not seen")
		}
		was = now
	}
}

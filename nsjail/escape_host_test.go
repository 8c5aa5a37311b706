package nsjail

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// lockThread keeps the goroutine on its thread for good: the thread's credentials are no longer those of the others,
// and the runtime ends such a thread with its goroutine.
func lockThread() { runtime.LockOSThread() }

// setupCoreDump looks for a core file in the writable directory.
func setupCoreDump(t *testing.T, s *scene) {
	if pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern"); err != nil || strings.ContainsAny(string(pattern), "|/") {
		t.Skipf("core dumps do not go to the working directory here: core_pattern is %q (%v)", pattern, err)
	}
	if err := os.Chmod(s.path("work"), 0o777); err != nil {
		t.Fatal(err)
	}
	s.check(func() string {
		if list, err := filepath.Glob(s.path("work/core*")); err != nil || len(list) > 0 {
			return "the crash left a core dump on the host"
		}
		return ""
	})
}

// setupOutput looks how much of the payload's flood the keeper has kept.
func setupOutput(t *testing.T, s *scene) {
	s.check(func() string {
		if len(s.output) > 1<<20 {
			return fmt.Sprintf("the keeper kept %d bytes of output", len(s.output))
		}
		if s.result != nil && s.result.Output.StdoutDropped+int64(len(s.output)) != s.result.Output.StdoutBytes {
			return "the count of dropped bytes is wrong"
		}
		return ""
	})
}

// setupForgedReport looks that the report is the kernel's, whatever the payload claims.
func setupForgedReport(t *testing.T, s *scene) {
	s.check(func() string {
		if s.result != nil && (s.result.Status != StatusOK && s.result.ExitCode != 1 || s.result.Usage.MaxRSS == 0) {
			return fmt.Sprintf("the report says %s %d", s.result.Status, s.result.ExitCode)
		}
		return ""
	})
}

// setupSubmount puts a writable mount below $DIR/in: read-only has to reach it too.
func setupSubmount(t *testing.T, s *scene) {
	p := s.path("in/sub")
	if err := os.Mkdir(p, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", p, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64k,mode=777"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(p, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s.check(func() string {
		if _, err := os.Stat(p + "/planted"); err == nil {
			return "a file was written to the submount of the host"
		}
		return ""
	})
}

// setupImageProc makes $DIR/root, an image whose /proc is a link to the root itself, with directories in which a lookup
// by path finds the places of the masks.
func setupImageProc(t *testing.T, s *scene) {
	for _, d := range []string{"usr", "dev", "escape", "acpi", "bus", "fs", "irq", "sys"} {
		if err := os.MkdirAll(s.path("root/"+d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64", "proc": "."} {
		if err := os.Symlink(text, s.path("root/"+name)); err != nil {
			t.Fatal(err)
		}
	}
}

// setupImageEtc makes $DIR/root, an image whose /etc is a link to $DIR/victim, a directory in the image and on the host.
func setupImageEtc(t *testing.T, s *scene) {
	setupImage(t, s)
	for _, name := range []string{"tmp", "work", "escape"} {
		if err := os.Remove(s.path("root/" + name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(s.path("root")+s.path("victim"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(s.path("victim"), s.path("root/etc")); err != nil {
		t.Fatal(err)
	}
}

// setupImage makes $DIR/root, an image whose directories for the jail's own mounts are links to the host's $DIR/victim.
func setupImage(t *testing.T, s *scene) {
	for _, d := range []string{"usr", "dev", "proc"} {
		if err := os.MkdirAll(s.path("root/"+d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64",
		"tmp": s.path("work"), "work": s.path("work"), "escape": s.path("victim")}
	for name, text := range links {
		if err := os.Symlink(text, s.path("root/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	s.check(func() string {
		list, err := os.ReadDir(s.path("victim"))
		if err != nil || len(list) > 0 {
			return fmt.Sprintf("the set-up followed a link of the image and wrote to the host: %v %v", list, err)
		}
		return ""
	})
}

package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// setupCoreDump looks for a core file in the writable directory.
func setupCoreDump(t T, s *Scene) {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || strings.ContainsAny(string(pattern), "|/") {
		t.Skipf("core dumps do not go to the working directory here: core_pattern is %q (%v)", pattern, err)
	}
	must(t, os.Chmod(s.Path("work"), 0o777))
	s.Check(func() string {
		if list, err := filepath.Glob(s.Path("work/core*")); err != nil || len(list) > 0 {
			return "the crash left a core dump on the host"
		}
		return ""
	})
}

// setupOutput looks how much of the payload's flood the keeper has kept.
func setupOutput(t T, s *Scene) {
	s.Check(func() string {
		if len(s.Outcome.Output) > 1<<20 {
			return fmt.Sprintf("the keeper kept %d bytes of output", len(s.Outcome.Output))
		}
		if s.Outcome.Status != "" && s.Outcome.StdoutDropped+int64(len(s.Outcome.Output)) != s.Outcome.StdoutBytes {
			return "the count of dropped bytes is wrong"
		}
		return ""
	})
}

// setupForgedReport looks that the report is the kernel's, whatever the payload claims.
func setupForgedReport(t T, s *Scene) {
	s.Check(func() string {
		if s.Outcome.Status != "" && (s.Outcome.Status != "ok" && s.Outcome.ExitCode != 1 || s.Outcome.MaxRSS == 0) {
			return fmt.Sprintf("the report says %s %d", s.Outcome.Status, s.Outcome.ExitCode)
		}
		return ""
	})
}

// setupSubmount puts a writable mount below $DIR/in: read-only has to reach it too.
func setupSubmount(t T, s *Scene) {
	s.mount(t, "tmpfs", "in/sub", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64k,mode=777")
	s.absent("in/sub/planted")
}

// mount mounts something on a directory of $DIR, which it makes: mount(2).
func (s *Scene) mount(t T, source, to, fstype string, flags uintptr, data string) {
	t.Helper()
	s.dir(t, to)
	must(t, unix.Mount(source, s.Path(to), fstype, flags, data))
	t.Cleanup(func() {
		if err := unix.Unmount(s.Path(to), unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// setupImageProc makes $DIR/root, an image whose /proc is a link to the root itself, with directories in which a lookup
// by path finds the places of the masks.
func setupImageProc(t T, s *Scene) {
	for _, d := range []string{"usr", "dev", "escape", "acpi", "bus", "fs", "irq", "sys"} {
		s.dir(t, "root/"+d)
	}
	s.links(t, map[string]string{"proc": "."})
}

// setupImageEtc makes $DIR/root, an image whose /etc is a link to $DIR/victim, a directory in the image and on the
// host.
func setupImageEtc(t T, s *Scene) {
	setupImage(t, s)
	for _, name := range []string{"tmp", "work", "escape"} {
		must(t, os.Remove(s.Path("root/"+name)))
	}
	must(t, os.MkdirAll(s.Path("root")+s.Path("victim"), 0o755))
	must(t, os.Symlink(s.Path("victim"), s.Path("root/etc")))
}

// setupImage makes $DIR/root, an image whose directories for the jail's own mounts are links to the host's $DIR/victim.
func setupImage(t T, s *Scene) {
	for _, d := range []string{"usr", "dev", "proc"} {
		s.dir(t, "root/"+d)
	}
	s.links(t, map[string]string{"tmp": s.Path("work"), "work": s.Path("work"), "escape": s.Path("victim")})
	s.stays("the set-up followed a link of the image and wrote to the host")
}

// links makes symbolic links in the image: those of a merged /usr, and these.
func (s *Scene) links(t T, more map[string]string) {
	t.Helper()
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		must(t, os.Symlink("usr/"+name, s.Path("root/"+name)))
	}
	for name, text := range more {
		must(t, os.Symlink(text, s.Path("root/"+name)))
	}
}

// stays checks that nothing was written to $DIR/victim.
func (s *Scene) stays(why string) {
	s.Check(func() string {
		list, err := os.ReadDir(s.Path("victim"))
		if err != nil || len(list) > 0 {
			return fmt.Sprintf("%s: %v %v", why, list, err)
		}
		return ""
	})
}

// setupPlantedLink plants a link to the host's $DIR/victim in the writable directory $DIR/work.
func setupPlantedLink(t T, s *Scene) {
	must(t, os.Symlink(s.Path("victim"), s.Path("work/link")))
	s.stays("the set-up followed the link and wrote to the host")
}

// setupProtected makes a hook in $DIR/work, which has to stay as it is.
func setupProtected(t T, s *Scene) {
	s.files(t, map[string]string{"work/.git/hooks/pre-commit": "good"})
	s.Check(func() string {
		if b, err := os.ReadFile(s.Path("work/.git/hooks/pre-commit")); err == nil && string(b) != "good" {
			return "the host's hook was replaced"
		}
		return ""
	})
}

// setupHardLink makes a second name of it.
func setupHardLink(t T, s *Scene) {
	must(t, os.Link(s.Path("work/.git/hooks/pre-commit"), s.Path("work/same")))
}

// setupFIFO makes a FIFO that the host reads.
func setupFIFO(t T, s *Scene) {
	must(t, unix.Mkfifo(s.Path("in/fifo"), 0o666))
	must(t, os.Chmod(s.Path("in/fifo"), 0o666))
	fd, err := unix.Open(s.Path("in/fifo"), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
}

package attack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// setupCoreDump looks for a core file in the writable directory.
func setupCoreDump(s *Scene) {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || strings.ContainsAny(string(pattern), "|/") {
		s.must(Skip(fmt.Sprintf("core dumps do not go to the working directory here: core_pattern is %q (%v)", pattern, err)))
	}
	s.must(os.Chmod(s.Path("work"), 0o777))
	s.check(func() string {
		if list, err := filepath.Glob(s.Path("work/core*")); err != nil || len(list) > 0 {
			return "the crash left a core dump on the host"
		}
		return ""
	})
}

// setupOutput checks how much of the payload's output the keeper has kept.
func setupOutput(s *Scene) {
	s.check(func() string {
		if len(s.Outcome.Output) > 1<<20 {
			return fmt.Sprintf("the keeper kept %d bytes of output", len(s.Outcome.Output))
		}
		if s.Outcome.Status != "" && s.Outcome.StdoutDropped+int64(len(s.Outcome.Output)) != s.Outcome.StdoutBytes {
			return "the count of dropped bytes is wrong"
		}
		return ""
	})
}

// setupForgedReport checks that the report has the kernel's facts and not the payload's claims.
func setupForgedReport(s *Scene) {
	s.check(func() string {
		if s.Outcome.Status != "" && (s.Outcome.Status != "ok" && s.Outcome.ExitCode != 1 || s.Outcome.MaxRSS == 0) {
			return fmt.Sprintf("the report says %s %d", s.Outcome.Status, s.Outcome.ExitCode)
		}
		return ""
	})
}

// setupSubmount puts a writable mount below $DIR/in, which a read-only bind must make read-only, too.
func setupSubmount(s *Scene) {
	s.mount("tmpfs", "in/sub", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64k,mode=777")
	s.absent("in/sub/planted")
}

// mount mounts something on a directory of $DIR, which it makes: mount(2).
func (s *Scene) mount(source, to, fstype string, flags uintptr, data string) {
	s.dir(to)
	s.must(unix.Mount(source, s.Path(to), fstype, flags, data))
	s.cleanup(func() { s.failed = errors.Join(s.failed, unix.Unmount(s.Path(to), unix.MNT_DETACH)) })
}

// setupImageProc makes $DIR/root, an image whose /proc is a link to the root itself, with directories in which a lookup
// by path finds the places of the masks.
func setupImageProc(s *Scene) {
	for _, d := range []string{"usr", "dev", "escape", "acpi", "bus", "fs", "irq", "sys"} {
		s.dir("root/" + d)
	}
	s.links(map[string]string{"proc": "."})
}

// setupImageEtc makes $DIR/root, an image whose /etc is a link to $DIR/victim, a directory in the image and on the
// host.
func setupImageEtc(s *Scene) {
	setupImage(s)
	for _, name := range []string{"tmp", "work", "escape"} {
		s.must(os.Remove(s.Path("root/" + name)))
	}
	s.must(os.MkdirAll(s.Path("root")+s.Path("victim"), 0o755))
	s.must(os.Symlink(s.Path("victim"), s.Path("root/etc")))
}

// setupImage makes $DIR/root, an image whose directories for the jail's own mounts are links to the host's $DIR/victim.
func setupImage(s *Scene) {
	for _, d := range []string{"usr", "dev", "proc"} {
		s.dir("root/" + d)
	}
	s.links(map[string]string{"tmp": s.Path("work"), "work": s.Path("work"), "escape": s.Path("victim")})
	s.stays("the set-up followed a link of the image and wrote to the host")
}

// links makes symbolic links in the image: those of a merged /usr, and these.
func (s *Scene) links(more map[string]string) {
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		s.must(os.Symlink("usr/"+name, s.Path("root/"+name)))
	}
	for name, text := range more {
		s.must(os.Symlink(text, s.Path("root/"+name)))
	}
}

// stays checks that nothing was written to $DIR/victim.
func (s *Scene) stays(why string) {
	s.check(func() string {
		list, err := os.ReadDir(s.Path("victim"))
		if err != nil || len(list) > 0 {
			return fmt.Sprintf("%s: %v %v", why, list, err)
		}
		return ""
	})
}

// setupPlantedLink plants a link to the host's $DIR/victim in the writable directory $DIR/work.
func setupPlantedLink(s *Scene) {
	s.must(os.Symlink(s.Path("victim"), s.Path("work/link")))
	s.stays("the set-up followed the link and wrote to the host")
}

// setupProtected makes a hook in $DIR/work, which has to stay as it is.
func setupProtected(s *Scene) {
	s.files(map[string]string{"work/.git/hooks/pre-commit": "good"})
	s.check(func() string {
		if b, err := os.ReadFile(s.Path("work/.git/hooks/pre-commit")); err == nil && string(b) != "good" {
			return "the host's hook was replaced"
		}
		return ""
	})
}

// setupHardLink makes a second name of it.
func setupHardLink(s *Scene) {
	s.must(os.Link(s.Path("work/.git/hooks/pre-commit"), s.Path("work/same")))
}

// setupFIFO makes a FIFO that the host reads.
func setupFIFO(s *Scene) {
	s.must(unix.Mkfifo(s.Path("in/fifo"), 0o666))
	s.must(os.Chmod(s.Path("in/fifo"), 0o666))
	fd, err := unix.Open(s.Path("in/fifo"), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	s.must(err)
	s.cleanup(func() { unix.Close(fd) })
}

package nsjail

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/nsjail/internal/launcher"

	"golang.org/x/sys/unix"
)

// scene is what an attack finds on the host, made anew for each run.
type scene struct {
	vars   map[string]string
	stdin  *os.File
	stderr *os.File        // nil: a buffer
	checks []func() string // each looks at the host afterwards and gives the evidence of an escape, or ""
	output []byte
	result *Result
}

// newScene makes a directory of the caller's, $DIR, that the payload could reach if it got out.
func newScene(t *testing.T) *scene {
	t.Helper()
	dir, err := os.MkdirTemp("", "brig-escape-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &scene{vars: map[string]string{"DIR": dir, "MARK": filepath.Base(dir)}}
	for name, mode := range map[string]os.FileMode{"": 0o755, "in": 0o755, "work": 0o755, "victim": 0o777} {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(p, mode), os.Chmod(p, mode)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"secret", "in/file"} {
		s.write(t, name, "host-secret "+s.vars["MARK"]+"\n")
	}
	return s
}

func (s *scene) path(name string) string { return filepath.Join(s.vars["DIR"], name) }

func (s *scene) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// expand replaces $NAME.
func (s *scene) expand(text string) string {
	return os.Expand(text, func(name string) string {
		if v, ok := s.vars[name]; ok {
			return v
		}
		return "$" + name
	})
}

func (s *scene) check(f func() string) { s.checks = append(s.checks, f) }

// setups are the scenes by name.
var setups = map[string]func(*testing.T, *scene){
	"abstract-socket": setupAbstractSocket, "core-dump": setupCoreDump, "daemon": setupDaemon, "device": setupDevice,
	"forged-report": setupForgedReport, "hard-link": setupHardLink, "host-fifo": setupFIFO, "protected": setupProtected, "host-flock": setupFlock, "host-message-queue": setupMessageQueue,
	"host-names": setupHostNames, "host-posix-queue": setupPosixQueue, "host-process": setupHostProcess,
	"host-shm": setupSharedMemory, "host-toucher": setupToucher, "image": setupImage, "image-proc": setupImageProc, "image-etc": setupImageEtc,
	"host-dev-shm": setupDevShm,
	"loopback":     setupLoopback, "output": setupOutput, "owner": setupOwner, "planted-link": setupPlantedLink,
	"pipe": setupPipe, "log": setupLog,
	"secret-env": setupSecretEnv, "session-key": setupSessionKey, "setuid": setupSetuid, "sleeper": setupSleeper,
	"repository": setupRepository, "deep": setupDeep, "config-link": setupConfigLink, "hooks-path": setupHooksPath, "headless": setupHeadless, "bound-hooks": setupBoundHooks, "bound-below": setupBoundBelow, "hook-link": setupHookLink,
	"linked-directory": setupLinkedDirectory, "worktree": setupWorktree, "submodule": setupSubmodule, "gitfile": setupGitfile,
	"submount": setupSubmount, "terminal": setupTerminal, "unix-socket": setupUnixSocket, "untouched": setupUntouched,
	"unchanged": setupUnchanged,
}

func setupSecretEnv(t *testing.T, s *scene) {
	// not t.Setenv, which parallel tests may not use; every scene sets the same
	if err := os.Setenv("ESCAPE_API_TOKEN", "host-secret-env"); err != nil {
		t.Fatal(err)
	}
}

func setupHostNames(t *testing.T, s *scene) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s.vars["HOSTNAME"] = host
	for _, ns := range []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"} {
		link, err := os.Readlink("/proc/self/ns/" + ns)
		if err != nil {
			t.Fatal(err)
		}
		s.vars["NS_"+ns] = link
	}
}

// payloadUser runs a helper of the host as the payload's uid of the host, so that nothing but a namespace protects it.
func payloadUser(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		id := uint32(launcher.PayloadIDs + os.Getpid()%launcher.PayloadIDCount)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	}
}

// setupHostProcess starts a process of the host, $HOSTPID, whose arguments hold $MARK, and looks that it stays alive.
func setupHostProcess(t *testing.T, s *scene) {
	cmd := exec.Command("/bin/sleep", "30")
	cmd.Args[0] = s.vars["MARK"]
	payloadUser(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.vars["HOSTPID"] = strconv.Itoa(cmd.Process.Pid)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	s.check(func() string {
		stat, err := os.ReadFile("/proc/" + s.vars["HOSTPID"] + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return "the host's process was killed"
		}
		return ""
	})
}

// setupDaemon looks for processes that have outlived the jail and carry $MARK in their arguments. It looks more than
// once, because a process in the middle of execve(2) has no arguments to show.
func setupDaemon(t *testing.T, s *scene) {
	s.check(func() string {
		for range 10 {
			if pid := findMarked(s.vars["MARK"]); pid > 0 {
				_ = unix.Kill(pid, unix.SIGKILL) // it holds our mark, so it is ours
				return "a process has outlived the jail"
			}
			time.Sleep(10 * time.Millisecond)
		}
		return ""
	})
}

// findMarked returns a process with the mark in its arguments, or 0.
func findMarked(mark string) int {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0
	}
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(line), mark) {
			continue // another's, or ended since
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			return pid
		}
	}
	return 0
}

func setupSleeper(t *testing.T, s *scene) {
	b, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path("in/prog"), b, 0o755); err != nil {
		t.Fatal(err)
	}
	s.check(func() string {
		if now, err := os.ReadFile(s.path("in/prog")); err != nil || string(now) != string(b) {
			return "the host's program was overwritten"
		}
		return ""
	})
}

// setupUntouched looks that the host's files stay as they are.
func setupUntouched(t *testing.T, s *scene) {
	want, err := os.ReadFile(s.path("in/file"))
	if err != nil {
		t.Fatal(err)
	}
	s.check(func() string {
		got, err := os.ReadFile(s.path("in/file"))
		list, lerr := os.ReadDir(s.path("in"))
		if err != nil || lerr != nil || string(got) != string(want) || len(list) != 1 {
			return "the host's /input was changed"
		}
		return ""
	})
}

// setupUnchanged looks that nothing of the directory's files changes: content, names, modes, times, attributes.
func setupUnchanged(t *testing.T, s *scene) {
	if err := unix.Setxattr(s.path("in/file"), "user.keep", []byte("y"), 0); err != nil {
		t.Log(err) // a file system without them
	}
	was := snapshot(t, s.path("in"))
	was = snapshot(t, s.path("in")) // the first sets the times of access (relatime)
	s.check(func() string {
		if now := snapshot(t, s.path("in")); !slices.Equal(now, was) {
			return fmt.Sprintf("it was %q and is %q", was, now)
		}
		return ""
	})
}

// setupPlantedLink plants a link to the host's $DIR/victim in the writable directory $DIR/work.
func setupPlantedLink(t *testing.T, s *scene) {
	if err := os.Symlink(s.path("victim"), s.path("work/link")); err != nil {
		t.Fatal(err)
	}
	s.check(func() string {
		list, err := os.ReadDir(s.path("victim"))
		if err != nil || len(list) > 0 {
			return "the set-up followed the link and wrote to the host"
		}
		return ""
	})
}

// setupProtected makes a hook in $DIR/work, which has to stay as it is.
func setupProtected(t *testing.T, s *scene) {
	if err := os.MkdirAll(s.path("work/.git/hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.write(t, "work/.git/hooks/pre-commit", "good")
	s.check(func() string {
		if b, err := os.ReadFile(s.path("work/.git/hooks/pre-commit")); err == nil && string(b) != "good" {
			return "the host's hook was replaced"
		}
		return ""
	})
}

// setupHardLink makes a second name of it.
func setupHardLink(t *testing.T, s *scene) {
	if err := os.Link(s.path("work/.git/hooks/pre-commit"), s.path("work/same")); err != nil {
		t.Fatal(err)
	}
}

// setupFIFO makes a FIFO that the host reads.
func setupFIFO(t *testing.T, s *scene) {
	if err := unix.Mkfifo(s.path("in/fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.path("in/fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(s.path("in/fifo"), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
}

package attack

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
	"time"

	"golang.org/x/sys/unix"
)

// Scene is what an attack finds on the host, made anew for each run.
type Scene struct {
	// Vars are the names that headers may use, such as $DIR.
	Vars map[string]string
	// Stdin and Stderr are files of the caller for the payload; nil for its own choice.
	Stdin, Stderr *os.File
	// PayloadUID is the uid of the host that a payload of root's has.
	PayloadUID int
	// Outcome is how the jail ended, for the checks.
	Outcome *Outcome

	checks []func() string
	undo   []func()
	failed error // what could not be undone
}

// Skip is the error of New for an attack that does not apply on this machine, and why.
type Skip string

// Error returns the reason.
func (s Skip) Error() string { return string(s) }

// New prepares the host for the attack: a directory of the caller's, $DIR, that the payload could reach if it got out,
// and the attack's set-ups. Close removes all of it.
func (a *Attack) New(payloadUID int) (s *Scene, err error) {
	s = &Scene{PayloadUID: payloadUID}
	defer func() {
		switch ended := recover().(type) {
		case nil:
		case setupError:
			err = errors.Join(ended.error, s.Close())
		default:
			panic(ended)
		}
	}()
	s.make()
	for _, name := range a.Setups {
		setups[name](s)
	}
	return s, nil
}

// setupError is the value with which a set-up panics to end early.
type setupError struct{ error }

// must ends the set-up on an error.
func (s *Scene) must(err error) {
	if err != nil {
		panic(setupError{err})
	}
}

// cleanup has f called by Close.
func (s *Scene) cleanup(f func()) { s.undo = append(s.undo, f) }

// Close undoes the set-ups, the last one first.
func (s *Scene) Close() error {
	for _, f := range slices.Backward(s.undo) {
		f()
	}
	return s.failed
}

// make makes $DIR.
func (s *Scene) make() {
	dir, err := os.MkdirTemp("", "brig-escape-")
	s.must(err)
	s.cleanup(func() { os.RemoveAll(dir) })
	s.Vars = map[string]string{"DIR": dir, "MARK": filepath.Base(dir), "SECRETS": dir + "/secret", "WORKDIR": "/work",
		"TARGETS": ""}
	for name, mode := range map[string]os.FileMode{"": 0o755, "in": 0o755, "work": 0o755, "victim": 0o777} {
		p := filepath.Join(dir, name)
		s.must(errors.Join(os.MkdirAll(p, mode), os.Chmod(p, mode)))
	}
	for _, name := range []string{"secret", "in/file"} {
		s.write(name, "host-secret "+s.Vars["MARK"]+"\n")
	}
}

// Path returns the path of a file in $DIR.
func (s *Scene) Path(name string) string { return filepath.Join(s.Vars["DIR"], name) }

func (s *Scene) write(name, text string) {
	s.must(os.WriteFile(s.Path(name), []byte(text), 0o644))
}

// Expand replaces $NAME.
func (s *Scene) Expand(text string) string {
	return os.Expand(text, func(name string) string {
		if v, ok := s.Vars[name]; ok {
			return v
		}
		return "$" + name
	})
}

// check adds a look at the host afterwards, which returns the evidence of an escape, or "".
func (s *Scene) check(f func() string) { s.checks = append(s.checks, f) }

// Evidence looks at the host after the run, and returns the evidence of an escape, or "".
func (s *Scene) Evidence() string {
	for _, check := range s.checks {
		if evidence := check(); evidence != "" {
			return evidence
		}
	}
	return ""
}

// setups are the preparations by name.
var setups = map[string]func(*Scene){
	"below-top": setupBelowTop, "git-links": setupGitLinks, "hook-scripts": setupHookScripts,
	"module-name": setupModuleName, "nested": setupNested,
	"settings": setupSettings, "tools": setupTools, "worktree-file": setupWorktreeFile,
	"worktree-hooks": setupWorktreeHooks, "worktree-module": setupWorktreeModule,
	"abstract-socket": setupAbstractSocket, "bound-below": setupBoundBelow, "bound-hooks": setupBoundHooks,
	"config-link": setupConfigLink, "core-dump": setupCoreDump, "daemon": setupDaemon, "deep": setupDeep,
	"device": setupDevice, "forged-report": setupForgedReport, "gitfile": setupGitfile, "hard-link": setupHardLink,
	"headless": setupHeadless, "hook-link": setupHookLink, "hooks-path": setupHooksPath, "host-dev-shm": setupDevShm,
	"host-fifo": setupFIFO, "host-flock": setupFlock, "host-message-queue": setupMessageQueue,
	"host-names": setupHostNames, "host-posix-queue": setupPosixQueue, "host-process": setupHostProcess,
	"host-shm": setupSharedMemory, "host-toucher": setupToucher, "image": setupImage, "image-etc": setupImageEtc,
	"image-proc": setupImageProc, "late-socket": setupLateSocket,
	"linked-directory": setupLinkedDirectory, "log": setupLog, "loopback": setupLoopback, "open-file": setupOpenFile,
	"output": setupOutput, "owner": setupOwner, "pipe": setupPipe, "planted-link": setupPlantedLink,
	"protected": setupProtected, "repository": setupRepository, "secret-env": setupSecretEnv,
	"session-key": setupSessionKey, "setuid": setupSetuid, "sleeper": setupSleeper, "submodule": setupSubmodule,
	"submount": setupSubmount, "terminal": setupTerminal, "unchanged": setupUnchanged, "unix-socket": setupUnixSocket,
	"untouched": setupUntouched, "usr-locks": setupUsrLocks, "usr-toucher": setupUsrToucher, "worktree": setupWorktree,
}

// setupOpenFile makes a file that everybody may write to, in a directory that is not the jail's.
func setupOpenFile(s *Scene) {
	s.write("victim/open", "")
	s.must(os.Chmod(s.Path("victim/open"), 0o666))
}

func setupSecretEnv(s *Scene) {
	// all scenes set the same value, so that they may be made in parallel
	s.must(os.Setenv("ESCAPE_API_TOKEN", "host-secret-env"))
}

func setupHostNames(s *Scene) {
	host, err := os.Hostname()
	s.must(err)
	s.Vars["HOSTNAME"] = host
	for _, ns := range []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"} {
		link, err := os.Readlink("/proc/self/ns/" + ns)
		s.must(err)
		s.Vars["NS_"+ns] = link
	}
}

// payloadUser runs a helper of the host as the payload's uid of the host, so that nothing but a namespace protects it.
func (s *Scene) payloadUser(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		id := uint32(s.PayloadUID)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	}
}

// setupHostProcess starts a process of the host, $HOSTPID, whose arguments contain $MARK, and checks that it stays
// alive.
func setupHostProcess(s *Scene) {
	cmd := exec.Command("/bin/sleep", "30")
	cmd.Args[0] = s.Vars["MARK"]
	s.payloadUser(cmd)
	s.must(cmd.Start())
	s.Vars["HOSTPID"] = strconv.Itoa(cmd.Process.Pid)
	s.cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	s.check(func() string {
		stat, err := os.ReadFile("/proc/" + s.Vars["HOSTPID"] + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return "the host's process was killed"
		}
		return ""
	})
}

// setupDaemon looks for processes that have outlived the jail and carry $MARK in their arguments. It looks several
// times, because during execve(2) a process shows no arguments.
func setupDaemon(s *Scene) {
	s.check(func() string {
		for range 10 {
			if pid := findMarked(s.Vars["MARK"]); pid > 0 {
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

func setupSleeper(s *Scene) {
	b, err := os.ReadFile("/bin/sleep")
	s.must(err)
	s.must(os.WriteFile(s.Path("in/prog"), b, 0o755))
	s.check(func() string {
		if now, err := os.ReadFile(s.Path("in/prog")); err != nil || string(now) != string(b) {
			return "the host's program was overwritten"
		}
		return ""
	})
}

// setupUntouched checks that the host's files do not change.
func setupUntouched(s *Scene) {
	want, err := os.ReadFile(s.Path("in/file"))
	s.must(err)
	s.check(func() string {
		got, err := os.ReadFile(s.Path("in/file"))
		list, lerr := os.ReadDir(s.Path("in"))
		if err != nil || lerr != nil || string(got) != string(want) || len(list) != 1 {
			return "the host's /input was changed"
		}
		return ""
	})
}

// setupUnchanged checks that content, names, modes, times and attributes of the directory's files do not change.
func setupUnchanged(s *Scene) {
	_ = unix.Setxattr(s.Path("in/file"), "user.keep", []byte("y"), 0) // a file system may not have them
	_, err := Snapshot(s.Path("in"))                                  // the first sets the times of access (relatime)
	s.must(err)
	was, err := Snapshot(s.Path("in"))
	s.must(err)
	s.check(func() string {
		if now, err := Snapshot(s.Path("in")); err != nil || !slices.Equal(now, was) {
			return fmt.Sprintf("it was %q and is %q (%v)", was, now, err)
		}
		return ""
	})
}

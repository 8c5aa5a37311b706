package peers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"brig/cmd/brig-bench/internal/result"

	"golang.org/x/sys/unix"
)

func pasta(h *Host) *Relay {
	r := &Relay{Info: result.Tool{Name: "pasta", Differs: []string{
		"a device and an address in namespaces of their own, as podman sets it up; nothing is mounted, dropped or filtered in them",
		"any address and port may be reached; its address is that of a device that the benchmark makes, since pasta wants a default route"}}, Without: Isolated, host: h}
	path, ok := r.installed("pasta", "passt")
	if !ok {
		return r
	}
	if h.Root {
		r.Info.Differs = append(r.Info.Differs, "called by root, it stays root: as nobody it may not enter root's namespaces")
	}
	if text, err := output(h.env(), path, "--version"); err == nil {
		r.Info.Version = pastaVersion(text)
	}
	r.attach = func(pid int, l *Link) error { return r.passt(path, pid, l) }
	return r
}

// pastaVersion is the second word of what pasta says of itself: a date and a commit, or "unknown", as Debian builds it.
func pastaVersion(said string) string {
	for line := range strings.Lines(said) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == "pasta" {
			return words[1]
		} else if len(words) == 3 && words[0] == "pasta" && words[1] != "unknown" {
			return words[1]
		}
	}
	return ""
}

// pastaArgs is podman's command line, less the address family that the benchmark has no server for.
func pastaArgs(path string, root bool, pidFile string, pid int) []string {
	args := []string{path, "--config-net", "--quiet", "-4", "-t", "none", "-u", "none", "-T", "none", "-U", "none", "--no-map-gw", "--pid", pidFile}
	if root {
		args = append(args, "--runas", "0")
	}
	return append(args, strconv.Itoa(pid))
}

// passt starts pasta, which goes into the background when the network is there. The caller should be its reaper
// (PR_SET_CHILD_SUBREAPER).
func (r *Relay) passt(path string, pid int, l *Link) error {
	file := filepath.Join(r.host.Dir, "pasta-"+strconv.Itoa(pid))
	if _, err := output(r.host.env(), pastaArgs(path, r.host.Root, file, pid)...); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if l.Pid, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	fd, err := unix.PidfdOpen(l.Pid, 0)
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	l.close = func() error {
		return errors.Join(endProcess(fd), unix.Close(fd), os.Remove(file))
	}
	return nil
}

// endProcess kills a process, waits for its end and, where it is the caller's child, reaps it.
func endProcess(pidfd int) error {
	if err := unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
		return os.NewSyscallError("pidfd_send_signal", err)
	}
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("poll", err)
		}
		break
	}
	if err := unix.Waitid(unix.P_PIDFD, pidfd, nil, unix.WEXITED, nil); err != nil && err != unix.ECHILD {
		return os.NewSyscallError("waitid", err)
	}
	return nil
}

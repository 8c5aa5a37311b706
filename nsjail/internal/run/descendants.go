package run

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// KillBelow sends SIGKILL to all descendants of a process, and reports whether there were any.
func KillBelow(pid int) (any bool) {
	return signalBelow(pid, unix.SIGKILL, func(int) bool { return true })
}

// SignalOthers sends a signal to the other processes of the group of a session's leader.
func SignalOthers(leader int, s unix.Signal) {
	signalBelow(leader, s, func(p int) bool {
		group, err := unix.Getpgid(p)
		return err == nil && group == leader
	})
}

// ByDefault reports whether a process neither handles nor ignores a signal: proc_pid_status(5).
func ByDefault(pid int, s unix.Signal) bool {
	status, err := sys.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	for _, field := range []string{"\nSigIgn:\t", "\nSigCgt:\t"} {
		_, mask, _ := strings.Cut(string(status), field)
		mask, _, _ = strings.Cut(mask, "\n")
		set, err := strconv.ParseUint(mask, 16, 64)
		if err != nil || set&(1<<(s-1)) != 0 {
			return false
		}
	}
	return true
}

// signalBelow sends a signal to the chosen descendants of a process, and reports whether there were any. It opens a
// pidfd for each and checks again that it is a descendant before it sends the signal, so that a reused pid is not hit.
func signalBelow(pid int, s unix.Signal, chosen func(pid int) bool) (any bool) {
	for _, p := range sys.Descendants(pid) {
		fd, err := unix.PidfdOpen(p, 0)
		if err != nil {
			continue
		}
		if slices.Contains(sys.Descendants(pid), p) && chosen(p) {
			any = true
			_ = unix.PidfdSendSignal(fd, s, nil, 0) // an error means that the process has ended
		}
		unix.Close(fd)
	}
	return any
}

// PrivateMemory returns the bytes in memory that only the processes below a jail's process 1 map: /proc/PID/statm,
// proc(5).
func PrivateMemory(pid int) (bytes int64) {
	for _, p := range sys.Descendants(pid) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p)) // unreadable once it has ended
		var size, resident, shared int64
		if n, _ := fmt.Sscan(string(text), &size, &resident, &shared); n == 3 {
			bytes += (resident - shared) * int64(os.Getpagesize())
		}
	}
	return bytes
}

package nsjail

import (
	"strconv"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// within is the box in which a process starts, as the keeper of that process knows it.
type within struct {
	init int          // the host's pid of the box's process 1
	why  func() cause // why the box has ended

	kills  func() int64 // how many processes of the box the kernel has killed for lack of memory
	before int64        // the same when the process started
}

// stays returns the processes of a session of the box: those that a command has left behind. Others have left the
// session, and are counted as one.
func (w *within) stays(session int) *Ended {
	left := &Ended{}
	for _, pid := range sys.Descendants(w.init) {
		if sessionInBox(pid) != session {
			continue
		}
		if p, killed, ok := seen(pid); ok && !killed { // init has not waited yet for all that it has killed
			if left.Count++; len(left.Processes) < maxNamed {
				left.Processes = append(left.Processes, p)
			}
		}
	}
	left.Count = max(1, left.Count)
	return left
}

// noProcess explains why the init of a box could not make a process.
func noProcess(e *spec.Error) error {
	switch e.Errno {
	case unix.EAGAIN:
		return spec.CallerError("limits.processes", "all processes that the box may have are in use",
			"end some of them, or raise it for the box")
	case unix.ENOMEM:
		return spec.CallerError("limits.memory", "the box has no memory for another process",
			"end some of its processes, or raise it for the box")
	case unix.EUSERS:
		return spec.CallerError("box", words.Textf("%d commands run in it, or have left processes behind",
			launcher.MaxCommands), "end some of them")
	}
	return e
}

// sessionInBox returns the session of a process as the box numbers it, or 0: proc_pid_status(5) NSsid.
func sessionInBox(pid int) int {
	text, err := sys.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	_, numbers, _ := strings.Cut(string(text), "\nNSsid:")
	numbers, _, _ = strings.Cut(numbers, "\n")
	all := strings.Fields(numbers)
	if len(all) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(all[len(all)-1]) // the kernel writes numbers
	return n
}

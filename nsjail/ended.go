package nsjail

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/run"

	"golang.org/x/sys/unix"
)

// Ended are the processes that still ran when the payload, the jail's main process, ended by itself: all processes of a
// jail end with it. Without init (Spec.NoInit) the kernel ends them before anybody can see them.
type Ended struct {
	// Count is how many there were; it is no more than 256, at which the search stops.
	Count int `json:"count"`
	// Processes has the first of them.
	Processes []Process `json:"processes"`
}

// Process is a process of a jail.
type Process struct {
	PID int `json:"pid"` // in the jail
	// Command is what the kernel keeps of the name, at most 15 bytes: proc_pid_comm(5). The process can change it. What
	// is not printable is escaped.
	Command string `json:"command"`
}

const (
	maxEnded = 256 // processes that are counted
	maxNamed = 16  // those that are named
	maxTold  = 4   // those in String
)

// String returns a sentence without its full stop, in printable text.
func (e *Ended) String() string {
	was, at, them := "processes were", "", ""
	switch {
	case e.Count == 1:
		was = "process was"
	case e.Count >= maxEnded:
		at = "at least "
	}
	for i, p := range e.Processes[:min(len(e.Processes), maxTold)] {
		if i > 0 {
			them += ", "
		}
		them += strconv.Itoa(p.PID) + " " + p.Command
	}
	if e.Count > maxTold {
		them += ", ..."
	}
	return fmt.Sprintf("%s%d %s still running when the command ended, and ended with it: %s", at, e.Count, was, them)
}

// receiveEnd receives the last report, and before it answers the one that names processes which end with the payload.
func receiveEnd(first *run.Process, e *ended) (launcher.Report, error) {
	rep, _, err := first.Receive()
	if err != nil || rep.Type != launcher.ReportOthers {
		return rep, err
	}
	e.others = endedOf(first.Pid)
	_ = first.Tell(0) // an error means that the jail has ended
	rep, _, err = first.Receive()
	return rep, err
}

// endedOf returns the descendants of init that SIGKILL has ended or is ending, or nil. Init reaps none meanwhile.
func endedOf(init int) *Ended {
	var e Ended
	for queue := []int{init}; len(queue) > 0 && e.Count < maxEnded; queue = queue[1:] {
		for _, pid := range sys.Children(queue[0]) {
			queue = append(queue, pid)
			p, _, ok := seen(pid)
			if !ok || e.Count == maxEnded {
				continue
			}
			if e.Count++; len(e.Processes) < maxNamed {
				e.Processes = append(e.Processes, p)
			}
		}
	}
	if e.Count == 0 {
		return nil
	}
	return &e
}

// seen describes a process: proc_pid_stat(5). killed reports whether it is a zombie that SIGKILL has ended. ok is false
// for a process that has ended by itself, and for one that is gone.
func seen(pid int) (p Process, killed, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := sys.ReadFile(dir + "/stat")
	from, to := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')') // the name may have parentheses
	if err != nil || from < 0 || to < from {
		return p, false, false
	}
	fields := strings.Fields(string(stat[to+1:]))
	status, err := strconv.Atoi(fields[len(fields)-1])
	if killed = fields[0] == "Z"; killed && (err != nil || unix.WaitStatus(status).Signal() != unix.SIGKILL) {
		return p, false, false
	}
	p = Process{pid, words.Printable(string(stat[from+1 : to]))}
	text, _ := sys.ReadFile(dir + "/status") // without it the number is the host's
	_, numbers, _ := strings.Cut(string(text), "\nNSpid:")
	numbers, _, _ = strings.Cut(numbers, "\n")
	if all := strings.Fields(numbers); len(all) > 0 {
		p.PID, _ = strconv.Atoi(all[len(all)-1])
	}
	return p, killed, true
}

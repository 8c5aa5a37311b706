package nsjail

import (
	"syscall"
	"time"

	"brig/cgroup"
	"brig/netns/egress"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// ended is what the keeper knows about a jail that has ended: facts of the kernel, of init, and of its own clocks. The
// Result is decided from it alone, see resultOf.
type ended struct {
	status  syscall.WaitStatus // of the payload; of process 1 if init ended without a report
	lost    bool               // init ended without a report
	way     wayOfEnd
	usage   launcher.Usage
	group   cgroup.Stats // of the control group, if counted
	counted bool
	before  cgroup.Stats // the same when the run took a parked payload
	disks   disksAtEnd
	calls   callsAtEnd
	lookup  string // the name that a payload which failed has looked up without a network, or ""
	output  Output
	over    bool   // the output was above the limit
	last    []byte // see Result.Last

	deeds    deeds
	bounds   bounds
	known    known
	others   *Ended
	stays    *Ended // of a process of a box
	network  *egress.Summary
	replaced []string // protected paths that were replaced from outside
	changes  []Change
	unread   bool // a parked payload was taken, and ended before it had read Handover.Data
	wall     time.Duration
	phases   Phases
}

// wayOfEnd tells which processes have ended, and who knows.
type wayOfEnd struct {
	alone    bool // the payload is process 1: there was no init
	reported bool // init has sent its last report
	told     bool // init has ended the jail because the keeper told it to
	left     bool // processes are left, for which init has waited in vain
	waited   bool // the keeper has waited for process 1
}

// deeds are what the keeper did to a jail.
type deeds struct {
	why       cause       // why it ended the jail; notEnded if the jail had ended before
	warned    bool        // the payload has received SIGTERM first
	asked     bool        // Stop has asked the payload to end
	keyed     unix.Signal // the signal for which SIGKILL has ended a payload that is process 1; or 0
	gaveUp    *spec.Error // the error that names the processes which did not end; nil if all have ended
	uncounted error       // why netlink messages could not be counted at some time; or nil
}

// bounds are limits whose observance is told from the facts.
type bounds struct {
	cpu       time.Duration    // of all processes together; 0: none
	rlimitCPU [2]time.Duration // of the payload's own process, soft and hard; 0: none
	oomGroup  bool             // running out of memory ends the whole jail
}

// known is what was known when the payload started.
type known struct {
	enforced map[string]spec.Text
	notes    []spec.Text
	image    string
	digest   string // of the Spec
	seccomp  string // Spec.Seccomp
	taken    bool   // the run took a parked payload
}

// disksAtEnd is what the jail's file systems held when the payload ended.
type disksAtEnd struct {
	systems []FileSystem
	bytes   int64    // in all tmpfs mounts, and of changes on disk; -1 if unknown
	full    []string // where one was full
	met     bool     // one was full at some time
	over    bool     // changes on disk are above their limit
}

// callsAtEnd is what init knows about refused system calls.
type callsAtEnd struct {
	violation launcher.Violation
	denied    []uint64 // how many were refused, by number
	listened  bool     // init listens to the filter and knows every violation, so SIGSYS alone does not prove one
}

// timely returns the cause for which the keeper ended the jail, unless the jail had ended before: then init has not
// been told to end it or, without init, the payload that the keeper has waited for has exited by itself.
func (e *ended) timely(why cause) cause {
	byItself := e.way.reported && !e.way.told || e.way.alone && e.way.waited && e.status.Exited()
	if byItself && !e.deeds.warned {
		return notEnded
	}
	return why
}

package nsjail

import (
	"math"
	"slices"
	"strconv"
	"syscall"
	"time"

	"brig/cgroup"
	"brig/denial"
	"brig/internal/words"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// resultOf decides the Result of a jail that has ended, and returns the error of a handover that nothing has read. It
// is pure: the same facts have the same Result.
func resultOf(e *ended) (*Result, error) {
	s := &e.known
	r := &Result{Enforced: s.enforced, Image: s.image, SpecDigest: s.digest, Warm: s.taken, Ended: e.others,
		Stays: e.stays, FileSystems: e.disks.systems, Output: e.output, Last: e.last, Network: e.network, Changes: e.changes,
		Replaced: e.replaced, Phases: e.phases, Violation: newViolation(e.calls.violation), Notes: notesOf(e)}
	r.setUsage(e.usage, &e.group)
	r.Usage.Disk, r.Usage.Wall = Count(e.disks.bytes), Millis(e.wall)
	r.Denials = append(denial.Calls(e.calls.denied, s.seccomp), denial.Network(e.network)...)
	r.Denials = append(r.Denials, denial.Lookup(e.lookup)...)
	if r.decide(e); e.deeds.gaveUp != nil {
		r.Status, r.ExitCode, r.Error = StatusError, -1, e.deeds.gaveUp
	}
	return r, r.checkHandover(e)
}

// notesOf returns the plan's notes, and those of what happened meanwhile.
func notesOf(e *ended) []spec.Text {
	notes := slices.Clone(e.known.notes)
	for _, target := range e.replaced {
		notes = append(notes, words.Plain(words.Quote(target))+" was replaced from outside of the "+
			"jail while it ran, and was not protected from then on: look at it")
	}
	if e.deeds.why == endedNetlink {
		notes = append(notes, "messages that wait in netlink sockets were above what the limit on memory left them")
	}
	if err := e.deeds.uncounted; err != nil {
		notes = append(notes, "the limit on memory did not always count messages that wait in netlink sockets: "+
			words.Plain(err.Error()))
	}
	return notes
}

// decide sets the status. What brig itself did and what the kernel counted take precedence over the payload's own exit,
// which a payload can choose.
func (r *Result) decide(e *ended) {
	ws := e.status
	r.setExit(e)
	well := ws.Exited() && ws.ExitStatus() == 0 && !e.lost
	r.LimitsHit = e.limitsHit(well)
	hit := func(name string) bool { return slices.Contains(r.LimitsHit, name) }
	switch why := e.deeds.why; {
	case why == endedWall || why == endedIdle:
		r.Status, r.TimedOut = StatusTimeout, true
	case why == endedCancel:
		r.Status = StatusCancelled
	case e.over:
		r.Status = StatusOutput
	case e.disks.over:
		r.Status = StatusDisk
	case hit("cpu_time"):
		r.Status = StatusCPU
	case why == endedMemory, why == endedNetlink,
		e.group.OOMKills > 0 && (!well || e.bounds.oomGroup && hit("memory")):
		r.Status = StatusMemory
	case e.lost:
		r.Status = StatusSignal
	case well:
		r.Status = StatusOK
	case ws.Signaled() && ws.Signal() == syscall.SIGSYS && (e.calls.violation.Own || !e.calls.listened):
		r.Status = StatusViolation
	case hit("processes"):
		r.Status = StatusProcesses
	case hit("disk"):
		r.Status = StatusDisk
	case ws.Exited():
		r.Status = StatusFailed
	default:
		r.Status = StatusSignal
	}
	if e.deeds.why != notEnded && !e.deeds.warned {
		r.ExitCode = -1
	}
}

// setExit sets the exit code or the signal.
func (r *Result) setExit(e *ended) {
	r.ExitCode = -1
	if e.status.Exited() {
		r.ExitCode = e.status.ExitStatus()
	} else if e.status.Signaled() {
		if r.Signal = unix.SignalName(e.status.Signal()); r.Signal == "" { // a real-time signal
			r.Signal = "SIG" + strconv.Itoa(int(e.status.Signal()))
		}
	}
	if s := e.deeds.keyed; s != 0 && r.Signal == "SIGKILL" {
		r.Signal = unix.SignalName(s)
	}
	if e.lost { // init itself was killed: by the kernel for lack of memory, or from outside
		r.ExitCode, r.Signal = -1, "SIGKILL"
	}
}

// limitsHit returns the name in Limits of every limit that the run has met, whether or not it ended the run.
func (e *ended) limitsHit(well bool) (list []string) {
	add := func(met bool, name string) {
		if met {
			list = append(list, name)
		}
	}
	more := func(now, before int64) bool { return now > max(0, before) } // either is negative if unknown
	why, g := e.deeds.why, &e.group
	add(why == endedWall, "wall")
	add(why == endedIdle, "idle")
	add(why == endedCPU || e.overCPU(), "cpu_time")
	own := g.OOMKills > 0 && g.OOMOwn != 0 // otherwise the machine, or a group above, ran out
	add(own || why == endedNetlink, "memory")
	add(more(g.MemoryAboveHigh, e.before.MemoryAboveHigh), "memory_high")
	add(more(g.ThrottledPeriods, e.before.ThrottledPeriods), "cpus")
	add(more(g.ProcessesRefused, e.before.ProcessesRefused), "processes")
	add(e.over || e.output.StdoutDropped+e.output.StderrDropped > 0, "output")
	add(len(e.disks.full) > 0 || e.disks.met && !well, "disk")
	return list
}

// overCPU reports whether the processor time was used up. It uses the count of the control group or, for a limit on
// each process, the signal that the kernel sends for RLIMIT_CPU: SIGXCPU at the soft limit, SIGKILL at the hard one.
// The kernel compares RLIMIT_CPU with sampled clock ticks, which run ahead of the precise time in getrusage(2). A
// payload that sends itself the signal has not used that time.
func (e *ended) overCPU() bool {
	by := func(sig syscall.Signal, limit time.Duration) bool {
		return limit > 0 && e.status.Signaled() && e.status.Signal() == sig && e.usage.Sampled >= limit
	}
	switch each, all := e.bounds.rlimitCPU, e.bounds.cpu; {
	case by(syscall.SIGXCPU, each[0]) || by(syscall.SIGKILL, each[1]):
		return true
	case all <= 0:
		return false
	case e.group.CPU >= 0:
		return e.group.CPU-max(0, e.before.CPU) >= all
	default:
		return by(syscall.SIGXCPU, all) || by(syscall.SIGKILL, all)
	}
}

// boundsOf returns the bounds of a jail's Spec. callersCPU is the caller's own hard RLIMIT_CPU.
func boundsOf(s *spec.Spec, callersCPU int64) bounds {
	return bounds{cpu: time.Duration(s.Limits.CPUTime), rlimitCPU: rlimitCPU(s, callersCPU),
		oomGroup: s.Limits.Memory > 0 && !s.Limits.NoOOMGroup}
}

// rlimitCPU returns the soft and the hard RLIMIT_CPU of a payload for which no Limits.CPUTime is set: the Spec's, or
// the caller's own hard limit. 0 is none; the kernel takes a limit of 0 for 1: setrlimit(2).
func rlimitCPU(s *spec.Spec, callers int64) (limits [2]time.Duration) {
	l, own := s.Limits.Rlimits["cpu"]
	if !own {
		l = spec.Rlimit{Soft: -1, Hard: callers}
	}
	for i, n := range [2]int64{l.Soft, l.Hard} {
		if n >= 0 {
			limits[i] = time.Duration(min(max(1, n), math.MaxInt64/int64(time.Second))) * time.Second
		}
	}
	return limits
}

func (r *Result) setUsage(u launcher.Usage, s *cgroup.Stats) {
	r.Usage.User, r.Usage.System, r.Usage.MaxRSS = Millis(u.User), Millis(u.System), u.MaxRSS
	r.Usage.VoluntarySwitches, r.Usage.ForcedSwitches, r.Usage.MajorFaults = u.Voluntary, u.Involuntary, u.MajorFaults
	if s.User >= 0 && s.System >= 0 {
		r.Usage.User, r.Usage.System = Millis(s.User), Millis(s.System)
	}
	g := &r.Usage
	g.MemoryPeak, g.SwapPeak, g.PidsPeak = Count(s.MemoryPeak), Count(s.SwapPeak), Count(s.PidsPeak)
	g.IORead, g.IOWritten = Count(s.IORead), Count(s.IOWritten)
	g.Throttled, g.Periods, g.ThrottledPeriods = Millis(s.Throttled), Count(s.Periods), Count(s.ThrottledPeriods)
	g.CPUStall, g.MemoryStall, g.MemoryFullStall = Millis(s.CPUStall), Millis(s.MemStall), Millis(s.MemFullStall)
	g.IOStall, g.IOFullStall = Millis(s.IOStall), Millis(s.IOFullStall)
	g.OOMKills, g.ForksRefused = Count(s.OOMKills), Count(s.ProcessesRefused)
}

// NoUsage returns the Usage of a jail that was never made: the figures of a control group are unknown.
func NoUsage() Usage {
	var r Result
	none := cgroup.Unknown()
	r.setUsage(launcher.Usage{}, &none)
	r.Usage.Disk = -1
	return r.Usage
}

// checkHandover makes it an error that a payload which was taken has ended before it could read Handover.Data, and for
// no reason that the Result has.
func (r *Result) checkHandover(e *ended) error {
	if !e.unread || e.deeds.why != notEnded || e.deeds.asked || len(r.LimitsHit) > 0 || r.Status == StatusMemory ||
		r.Status == StatusError {
		return nil
	}
	r.Status, r.ExitCode, r.Signal = StatusError, -1, ""
	r.Error = spec.HostError("handover", "the payload that was started before the run ended before the run began",
		"run it again")
	return r.Error
}

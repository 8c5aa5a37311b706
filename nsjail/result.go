package nsjail

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"brig/cgroup"
	"brig/netns/egress"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Status is how a run ended. It is decided from the kernel's records and brig's own clocks, never from an exit code
// alone.
type Status string

// The statuses.
const (
	StatusOK        Status = "ok"        // exit code 0
	StatusFailed    Status = "failed"    // another exit code
	StatusSignal    Status = "signal"    // ended by a signal
	StatusTimeout   Status = "timeout"   // the wall-clock limit
	StatusCPU       Status = "cpu"       // the processor-time limit
	StatusMemory    Status = "memory"    // out of memory: the kernel killed a process, or netlink messages were too many
	StatusProcesses Status = "processes" // failed, and fork(2) had hit the limit
	StatusOutput    Status = "output"    // more output than the limit allows
	StatusDisk      Status = "disk"      // failed, and a tmpfs(5) of the jail was full; or too many changes on disk
	StatusViolation Status = "violation" // a system call that the filter answers by killing the process (SIGSYS)
	StatusCancelled Status = "cancelled" // the caller's context ended
	StatusError     Status = "error"     // brig could not make the jail; nothing ran
)

// Result describes what happened. A payload can forge its exit code and its output, but nothing else in the Result.
type Result struct {
	Status   Status `json:"status"`
	ExitCode int    `json:"exit_code"` // -1 if the payload did not exit by itself
	Signal   string `json:"signal,omitempty"`
	TimedOut bool   `json:"timed_out"`
	Usage    Usage  `json:"usage"`
	Output   Output `json:"output"`
	// FileSystems are the jail's own, in memory, of those that init can hold; nil without an init.
	FileSystems []FileSystem `json:"file_systems,omitempty"`
	// Ended are the processes that still ran when the payload ended, and ended with it; nil if there were none.
	Ended *Ended `json:"ended,omitempty"`
	// LimitsHit names the limits that the run has met, by their fields in Limits, whether or not they ended it; "disk" is
	// a tmpfs that was full at the end (if the payload failed, at any time), or a cow mount with too many changes on disk.
	LimitsHit []string `json:"limits_hit,omitempty"`
	// Violation is the system call for which the filter has killed a process of the jail; nil if none is known.
	Violation *Violation `json:"violation,omitempty"`
	// Denials are what the jail has refused: system calls of all its processes, destinations, and the command if it could
	// not be executed. Each tells why, and what would allow it. Notes tells where system calls are not counted.
	Denials []Denial `json:"denials,omitempty"`
	// Network summarizes what a jail with NetEgress or published ports has reached and tried to reach; nil for others.
	Network *egress.Summary `json:"network,omitempty"`
	// Last is the end of what the payload has shown at a terminal that it had in place of the caller's, at most 2 KiB.
	Last []byte `json:"-"`
	// Changes has an entry for each MountCOW, and for a root with Rootfs.Keep. The caller closes each (Change.Close).
	Changes []Change `json:"-"`
	// Enforced states what enforced each mechanism, or why it was not enforced.
	Enforced map[string]string `json:"enforced,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
	// Replaced are paths of the jail that were replaced from outside while it ran, and were not protected from then on.
	Replaced []string `json:"replaced,omitempty"`
	// Warm means that the payload was started before the run was known: see Cmd.Handover. Usage counts its start.
	Warm bool `json:"warm,omitempty"`
	// Phases are the durations of the phases of the run.
	Phases Phases      `json:"phases_us"`
	Error  *spec.Error `json:"error,omitempty"`
	// Image is Spec.Rootfs.Image: the name and the digest of the image that was the root; "" without one.
	Image string `json:"image,omitempty"`
	// SpecDigest is Spec.Digest. It is empty with a ForkedRunner: the first digest of a process takes 0.4 ms, which would
	// delay the end of a short jail. The caller can compute it.
	SpecDigest string `json:"spec_digest,omitempty"`
}

// SignalNumber returns the number of Signal, or 0.
func (r *Result) SignalNumber() int {
	if n := unix.SignalNum(r.Signal); n != 0 {
		return int(n)
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(r.Signal, "SIG")) // a real-time signal has no name: SIG40
	return n
}

// Usage is what all processes of the jail took together. Without a control group the times are those of getrusage(2);
// with one they hold brig's own set-up in the jail, too, about a millisecond. wall_ms begins with the set-up. A
// negative figure is one that this kernel or layout does not give: JSON leaves it out.
type Usage struct {
	Wall              Millis `json:"wall_ms"`
	User              Millis `json:"user_ms"`
	System            Millis `json:"system_ms"`
	MaxRSS            int64  `json:"max_rss_bytes"` // of the largest process
	VoluntarySwitches int64  `json:"voluntary_switches"`
	ForcedSwitches    int64  `json:"involuntary_switches"`
	MajorFaults       int64  `json:"major_faults"`
	Disk              Count  `json:"disk_bytes,omitzero"` // in the jail's tmpfs mounts, when the payload ended

	// From here on the control group's (cgroups(7)): memory.peak, memory.swap.peak, pids.peak (init counts), io.stat,
	// cpu.stat, and pressure stall information: how long some, or all, processes waited.
	MemoryPeak       Count  `json:"memory_peak_bytes,omitzero"`
	SwapPeak         Count  `json:"swap_peak_bytes,omitzero"`
	PidsPeak         Count  `json:"pids_peak,omitzero"`
	IORead           Count  `json:"io_read_bytes,omitzero"`
	IOWritten        Count  `json:"io_written_bytes,omitzero"`
	Throttled        Millis `json:"throttled_ms,omitzero"`
	Periods          Count  `json:"periods,omitzero"`
	ThrottledPeriods Count  `json:"throttled_periods,omitzero"`
	CPUStall         Millis `json:"cpu_stall_ms,omitzero"`
	MemoryStall      Millis `json:"memory_stall_ms,omitzero"`
	MemoryFullStall  Millis `json:"memory_full_stall_ms,omitzero"`
	IOStall          Millis `json:"io_stall_ms,omitzero"`
	IOFullStall      Millis `json:"io_full_stall_ms,omitzero"`
	OOMKills         Count  `json:"oom_kills,omitzero"`
	ForksRefused     Count  `json:"forks_refused,omitzero"`
}

// Count is a number; a negative one means unknown.
type Count int64

// IsZero reports whether the count is unknown, so that JSON omits it.
func (c Count) IsZero() bool { return c < 0 }

// IsZero reports whether the duration is unknown, so that JSON omits it.
func (m Millis) IsZero() bool { return m < 0 }

// Millis is a duration that JSON shows in milliseconds, with microseconds as decimals.
type Millis time.Duration

// MarshalJSON writes milliseconds.
func (m Millis) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Duration(m).Microseconds())/1000, 'f', -1, 64), nil
}

// UnmarshalJSON reads milliseconds.
func (m *Millis) UnmarshalJSON(j []byte) error {
	f, err := strconv.ParseFloat(string(j), 64)
	*m = Millis(f * float64(time.Millisecond))
	return err
}

// Output counts what the payload wrote to the streams that the keeper copies, and to no other.
type Output struct {
	StdoutBytes   int64 `json:"stdout_bytes"`
	StdoutDropped int64 `json:"stdout_dropped"`
	StderrBytes   int64 `json:"stderr_bytes"`
	StderrDropped int64 `json:"stderr_dropped"`
}

// Phases are the durations of the phases of a run, in microseconds, in order.
type Phases struct {
	Look    int64 `json:"look"`    // reading the machine
	Resolve int64 `json:"resolve"` // planning
	Prepare int64 `json:"prepare"` // sockets, pipes, mounts, the program's binary form
	Spawn   int64 `json:"spawn"`   // clone3(2) by the launcher
	Exec    int64 `json:"exec"`    // the program, up to execve(2)
	Run     int64 `json:"run"`     // the payload
	End     int64 `json:"end"`     // the end of the namespaces, and the remaining output
}

// decide sets the status. What brig itself did and what the kernel counted take precedence over the payload's own exit,
// which a payload can choose.
func (r *Result) decide(status int, o *outcome) {
	ws := syscall.WaitStatus(status)
	r.ExitCode = -1
	if ws.Exited() {
		r.ExitCode = ws.ExitStatus()
	} else if ws.Signaled() {
		if r.Signal = unix.SignalName(ws.Signal()); r.Signal == "" { // a real-time signal
			r.Signal = "SIG" + strconv.Itoa(int(ws.Signal()))
		}
	}
	if s := o.keyed.Load(); s != 0 && r.Signal == "SIGKILL" {
		r.Signal = unix.SignalName(unix.Signal(s))
	}
	if o.lost { // init itself was killed: by the kernel for lack of memory, or from outside
		r.ExitCode, r.Signal = -1, "SIGKILL"
	}
	well := ws.Exited() && ws.ExitStatus() == 0 && !o.lost
	r.LimitsHit = r.limitsHit(ws, o, well)
	hit := func(name string) bool { return slices.Contains(r.LimitsHit, name) }
	switch why := o.why; {
	case why == endedWall || why == endedIdle:
		r.Status, r.TimedOut = StatusTimeout, true
	case why == endedCancel:
		r.Status = StatusCancelled
	case o.over.Load():
		r.Status = StatusOutput
	case o.overDisk:
		r.Status = StatusDisk
	case hit("cpu_time"):
		r.Status = StatusCPU
	case why == endedMemory, why == endedNetlink, o.stats.OOMKills > 0 && (!well || o.oomGroup && hit("memory")):
		r.Status = StatusMemory
	case o.lost:
		r.Status = StatusSignal
	case well:
		r.Status = StatusOK
	case ws.Signaled() && ws.Signal() == syscall.SIGSYS && (o.violation.Own || !o.listened):
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
	if o.why != notEnded && !o.warned.Load() {
		r.ExitCode = -1
	}
}

// limitsHit returns the name in Limits of every limit that the run has met, whether or not it ended the run.
func (r *Result) limitsHit(ws syscall.WaitStatus, o *outcome, well bool) (list []string) {
	add := func(met bool, name string) {
		if met {
			list = append(list, name)
		}
	}
	more := func(now, before int64) bool { return now > max(0, before) } // either is negative if unknown
	why := o.why
	add(why == endedWall, "wall")
	add(why == endedIdle, "idle")
	add(why == endedCPU || r.overCPU(ws, o), "cpu_time")
	own := o.stats.OOMKills > 0 && o.stats.OOMOwn != 0 // otherwise the machine, or a group above, ran out
	add(own || why == endedNetlink, "memory")
	add(more(o.stats.MemoryAboveHigh, o.before.MemoryAboveHigh), "memory_high")
	add(more(o.stats.ThrottledPeriods, o.before.ThrottledPeriods), "cpus")
	add(more(o.stats.ProcessesRefused, o.before.ProcessesRefused), "processes")
	add(o.over.Load() || r.Output.StdoutDropped+r.Output.StderrDropped > 0, "output")
	add(len(o.full) > 0 || o.met && !well, "disk")
	return list
}

// overCPU reports whether the processor time was used up. It uses the count of the control group or, for a limit on
// each process, the signal that the kernel sends for RLIMIT_CPU: SIGXCPU at the soft limit, SIGKILL at the hard one.
// The kernel compares RLIMIT_CPU with sampled clock ticks, which run ahead of the precise time in getrusage(2). A
// payload that sends itself the signal has not used that time.
func (r *Result) overCPU(ws syscall.WaitStatus, o *outcome) bool {
	by := func(sig syscall.Signal, limit time.Duration) bool {
		return limit > 0 && ws.Signaled() && ws.Signal() == sig && o.sampled >= limit
	}
	switch {
	case by(syscall.SIGXCPU, o.rlimitCPU[0]) || by(syscall.SIGKILL, o.rlimitCPU[1]):
		return true
	case o.cpuLimit <= 0:
		return false
	case o.stats.CPU >= 0:
		return o.stats.CPU-max(0, o.before.CPU) >= o.cpuLimit
	}
	return by(syscall.SIGXCPU, o.cpuLimit) || by(syscall.SIGKILL, o.cpuLimit)
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

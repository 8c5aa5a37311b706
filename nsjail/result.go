package nsjail

import (
	"strconv"
	"strings"
	"time"

	"brig/denial"
	"brig/netns/egress"
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
	// Stays are the processes that a process of a Box has left behind, and that go on: those of its session, and at least
	// one if there are any others. It is nil for none.
	Stays *Ended `json:"stays,omitempty"`
	// LimitsHit names the limits that the run has met, by their fields in Limits, whether or not they ended it; "disk" is
	// a tmpfs that was full at the end (if the payload failed, at any time), or a cow mount with too many changes on disk.
	LimitsHit []string `json:"limits_hit,omitempty"`
	// Violation is the system call for which the filter has killed a process of the jail; nil if none is known.
	Violation *Violation `json:"violation,omitempty"`
	// Denials are what the jail has refused: system calls of all its processes, destinations, and the command if it could
	// not be executed. Each tells why, and what would allow it. Notes tells where system calls are not counted.
	Denials []denial.Denial `json:"denials,omitempty"`
	// Network summarizes what a jail with NetEgress or published ports has reached and tried to reach; nil for others.
	Network *egress.Summary `json:"network,omitempty"`
	// Last is the end of what the payload has shown at a terminal that it had in place of the caller's, at most 2 KiB.
	Last []byte `json:"-"`
	// Changes has an entry for each MountCOW, and for a root with Rootfs.Keep. The caller closes each (Change.Close).
	Changes []Change `json:"-"`
	// Enforced states what enforced each mechanism, or why it was not enforced.
	Enforced map[string]spec.Text `json:"enforced,omitempty"`
	Notes    []spec.Text          `json:"notes,omitempty"`
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

package nsjail

import (
	"strconv"
	"syscall"
	"time"

	"brig/nsjail/internal/stage"
)

// Status is how a run ended, decided from what the kernel says and brig's own clocks, never from an exit code alone.
type Status string

// The statuses.
const (
	StatusOK        Status = "ok"        // exit code 0
	StatusFailed    Status = "failed"    // another exit code
	StatusSignal    Status = "signal"    // ended by a signal
	StatusTimeout   Status = "timeout"   // the wall-clock limit
	StatusCPU       Status = "cpu"       // the processor-time limit
	StatusViolation Status = "violation" // a system call that the filter answers with death (SIGSYS)
	StatusCancelled Status = "cancelled" // the caller's context
	StatusError     Status = "error"     // brig could not make the jail; nothing ran
)

// Result is what happened. A payload can forge an exit code and anything that it prints, but nothing here.
type Result struct {
	Status   Status `json:"status"`
	ExitCode int    `json:"exit_code"` // -1 if the payload did not exit by itself
	Signal   string `json:"signal,omitempty"`
	TimedOut bool   `json:"timed_out"`
	Usage    Usage  `json:"usage"`
	Output   Output `json:"output"`
	// Enforced says by what each mechanism was held, or why it was not.
	Enforced map[string]string `json:"enforced,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
	// Phases are the parts of the start, in microseconds since the call.
	Phases     Phases `json:"phases_us"`
	Error      *Error `json:"error,omitempty"`
	SpecDigest string `json:"spec_digest,omitempty"`
}

// Usage is what all processes of the jail took together: getrusage(2), and the wall clock.
type Usage struct {
	Wall              Millis `json:"wall_ms"`
	User              Millis `json:"user_ms"`
	System            Millis `json:"system_ms"`
	MaxRSS            int64  `json:"max_rss_bytes"` // of the largest process
	VoluntarySwitches int64  `json:"voluntary_switches"`
	ForcedSwitches    int64  `json:"involuntary_switches"`
	MajorFaults       int64  `json:"major_faults"`
}

// Millis is a duration that JSON shows in milliseconds, with microseconds as decimals.
type Millis time.Duration

// MarshalJSON writes milliseconds.
func (m Millis) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Duration(m).Microseconds())/1000, 'f', -1, 64), nil
}

// Output counts what the payload wrote to the streams that brig reads; a stream that is passed through is not counted.
type Output struct {
	StdoutBytes   int64 `json:"stdout_bytes"`
	StdoutDropped int64 `json:"stdout_dropped"`
	StderrBytes   int64 `json:"stderr_bytes"`
	StderrDropped int64 `json:"stderr_dropped"`
}

// Phases are the parts of a start in microseconds, one after the other.
type Phases struct {
	Look    int64 `json:"look"`    // reading the machine
	Resolve int64 `json:"resolve"` // planning
	Prepare int64 `json:"prepare"` // sockets, pipes, mounts, the program's binary form
	Spawn   int64 `json:"spawn"`   // clone3(2) by the stage
	Exec    int64 `json:"exec"`    // the program, up to execve(2)
	Run     int64 `json:"run"`     // the payload
	End     int64 `json:"end"`     // the end of the namespaces, and the last output
}

func (r *Result) setStatus(status int, o *outcome) {
	ws := syscall.WaitStatus(status)
	r.ExitCode = -1
	if ws.Exited() {
		r.ExitCode = ws.ExitStatus()
	} else if ws.Signaled() {
		r.Signal = signalName(ws.Signal())
	}
	switch {
	case o.timedOut.Load():
		r.Status, r.TimedOut, r.ExitCode = StatusTimeout, true, -1
	case o.cancelled.Load():
		r.Status, r.ExitCode = StatusCancelled, -1
	case o.lost:
		r.Status, r.ExitCode, r.Signal = StatusSignal, -1, "SIGKILL" // init itself was killed from outside
	case ws.Exited() && ws.ExitStatus() == 0:
		r.Status = StatusOK
	case ws.Exited():
		r.Status = StatusFailed
	case ws.Signal() == syscall.SIGSYS:
		r.Status = StatusViolation
	case o.cpuLimit > 0 && (ws.Signal() == syscall.SIGXCPU || ws.Signal() == syscall.SIGKILL) && r.spent(o.cpuLimit):
		r.Status = StatusCPU
	default:
		r.Status = StatusSignal
	}
}

// spent says whether the processor time used is about the limit. The kernel checks RLIMIT_CPU against what its clock
// ticks have sampled, which runs ahead of the precise time in getrusage(2) by some percent.
func (r *Result) spent(limit time.Duration) bool {
	return time.Duration(r.Usage.User+r.Usage.System) >= limit*3/4
}

func (r *Result) setUsage(u stage.Usage) {
	r.Usage.User, r.Usage.System, r.Usage.MaxRSS = Millis(u.User), Millis(u.System), u.MaxRSS
	r.Usage.VoluntarySwitches, r.Usage.ForcedSwitches, r.Usage.MajorFaults = u.Voluntary, u.Involuntary, u.MajorFaults
}

// Package verdict tells how a run ended: by the exit code, and for a person in lines.
package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brig/denial"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Run is what a verdict needs to know of a run besides its Result.
type Run struct {
	Limits  *nsjail.Limits
	Wall    nsjail.Duration // the limit on time that was in force
	JSON    bool            // the caller is a program
	NetLog  bool            // the caller has seen what the network has refused
	Host    bool            // the root is the host's
	Escaped bool            // the user has typed ~. to end the jail
}

// Code returns the exit code of a payload that ran.
func Code(result *nsjail.Result) int {
	switch {
	case result.Status == nsjail.StatusTimeout:
		return ExitTimeout
	case result.Signal != "":
		return ExitSignal + result.SignalNumber()
	case result.ExitCode > 0:
		return result.ExitCode
	case result.Status != nsjail.StatusOK: // it hit a limit and yet exited with 0, which must not pass for success
		return ExitSignal + int(unix.SIGKILL)
	}
	return 0
}

// StartCode returns the exit code of a run in which nothing has run.
func StartCode(err error) int {
	switch {
	case errors.Is(err, nsjail.ErrNotFound):
		return ExitNotFound
	case errors.Is(err, nsjail.ErrNotExecutable):
		return ExitNotExecutable
	}
	return cli.ExitUsage
}

// Lines returns lines for a person, about what the code cannot express. With JSON there is one at most.
func (a *Run) Lines(r *nsjail.Result, in words.Dialect) (lines []string) {
	say := func(line string) {
		if line != "" {
			lines = append(lines, line)
		}
	}
	if d := r.Output.StdoutDropped + r.Output.StderrDropped; d > 0 && a.Limits.Output > 0 && !a.JSON {
		say(fmt.Sprintf("%d bytes of stdout and %d of stderr were dropped in the middle (--max-output)",
			r.Output.StdoutDropped, r.Output.StderrDropped))
	}
	say(a.cause(r))
	if a.JSON {
		return lines
	}
	if len(r.Replaced) > 0 { // also by the end of a run whose notes are in another place
		more := ""
		if n := len(r.Replaced) - 1; n > 0 {
			more = " and " + strconv.Itoa(n) + " more"
		}
		say(words.Quote(r.Replaced[0]) + more +
			": replaced from outside of the jail while it ran, and not protected from then on: look there")
	}
	if r.Ended != nil {
		say(fmt.Sprint(r.Ended))
	}
	if r.Status != nsjail.StatusOK {
		say(denial.Line(r.Denials).In(in))
	}
	say(denial.LookupLine(r.Denials).In(in))
	if line := r.Network.RefusedLine().In(in); line != "" && !a.NetLog {
		say(line)
	} else if len(r.Denials) == 0 {
		say(a.advice(r))
	}
	return lines
}

// cause returns the message for a status that an exit code cannot express, or "".
func (a *Run) cause(r *nsjail.Result) string {
	l := a.Limits
	switch r.Status {
	case nsjail.StatusTimeout:
		if slices.Contains(r.LimitsHit, "idle") {
			return fmt.Sprintf("no output for %s ended the jail (--idle-timeout)", l.Idle)
		}
		return fmt.Sprintf("the wall-clock limit of %s ended the jail (--timeout)", a.Wall)
	case nsjail.StatusCancelled:
		if a.Escaped {
			return "~. ended the jail"
		}
		grace := cmp.Or(l.Grace, spec.DefaultGrace)
		return fmt.Sprintf("the payload had not ended %s after the signal, and was killed (--grace)", grace)
	case nsjail.StatusSignal:
		return a.died(r)
	case nsjail.StatusCPU:
		return overCPU(l, unix.Signal(r.SignalNumber()))
	case nsjail.StatusMemory:
		if !slices.Contains(r.LimitsHit, "memory") {
			return "out of memory: the machine, or a control group above, has ended the payload"
		}
		if l.Memory == 0 {
			return "out of memory: the limit of the control group ended the payload (--cgroup)"
		}
		return fmt.Sprintf("out of memory: the limit of %s ended the payload (--memory)", l.Memory)
	case nsjail.StatusProcesses:
		return fmt.Sprintf("the payload failed after the limit on processes had refused a fork (--pids-limit; %d in all)",
			r.Usage.ForksRefused)
	case nsjail.StatusOutput:
		return fmt.Sprintf("more than %s of output ended the jail (--output-limit)", sized(l.OutputLimit))
	case nsjail.StatusDisk:
		return "the payload failed, and " + full(r) + " " + diskFlags + ofCaches(r)
	case nsjail.StatusOK:
		if slices.Contains(r.LimitsHit, "disk") {
			return full(r) + " when the payload ended: what it wrote there may be incomplete " + diskFlags
		}
	case nsjail.StatusViolation:
		return violated(r.Violation)
	}
	return ""
}

// full returns what the limit "disk" means for a jail.
func full(r *nsjail.Result) string {
	if strings.Contains(r.Enforced["cow"].String(), "on disk") {
		return "a file system of the jail was full, or its changes on disk were too many"
	}
	return "a file system of the jail was full"
}

// ofCaches returns what else has met the limit "disk" in a jail with caches.
func ofCaches(r *nsjail.Result) string {
	if r.Enforced["cache"] == "" {
		return ""
	}
	return ", or a cache had twice its size (--cache-size SIZE)"
}

// died returns the message of a shell for a command that a signal has killed: "" for SIGINT and SIGPIPE.
func (a *Run) died(r *nsjail.Result) string {
	switch sig := unix.Signal(r.SignalNumber()); {
	case a.JSON || sig == unix.SIGINT || sig == unix.SIGPIPE:
		return ""
	case sig == unix.SIGKILL:
		const by = "killed (SIGKILL): by the payload itself, from outside, or for want of memory of the machine; "
		if _, set := a.Limits.Rlimits["rttime"]; set { // how much of it was used is known nowhere
			return by + "or for --ulimit rttime"
		}
		return by + "no limit of brig's did it"
	case sig == unix.SIGXFSZ && a.Limits.Rlimits["fsize"] != spec.Rlimit{}:
		return fmt.Sprintf("%s (%s, --ulimit fsize)", sig, r.Signal)
	default:
		return fmt.Sprintf("%s (%s)", sig, r.Signal)
	}
}

// overCPU names the limit on processor time that has ended a payload.
func overCPU(l *nsjail.Limits, sig unix.Signal) string {
	ulimit, set := l.Rlimits["cpu"]
	switch {
	case set:
		limit := ulimit.Soft // SIGXCPU
		if sig == unix.SIGKILL {
			limit = ulimit.Hard
		}
		return fmt.Sprintf("the processor-time limit of %ds for each process ended the payload (--ulimit cpu)", limit)
	case l.CPUTime > 0:
		return fmt.Sprintf("the processor-time limit of %s ended the payload (--cpu-time)", l.CPUTime)
	}
	return "the caller's own limit on processor time ended the payload (ulimit -t)"
}

// violated returns the name of the system call, if known.
func violated(v *nsjail.Violation) string {
	if v == nil {
		return "the system-call filter ended the payload (SIGSYS)"
	}
	return "the system-call filter ended the payload for " + v.String() + " (SIGSYS)"
}

// sized formats a size with a unit.
func sized(n nsjail.Bytes) string {
	if n < 1024 || n%1024 != 0 {
		return strconv.FormatInt(int64(n), 10) + " bytes"
	}
	return n.String()
}

// diskFlags are the flags for more room.
const diskFlags = "(--scratch SIZE, --tmpfs DST:size=..., --cow SRC:size=..., --rootfs-writable=SIZE)"

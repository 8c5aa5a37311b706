package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brig/cmd/brig/internal/console"
	"brig/denial"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/explain"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// finalCode returns the exit code of a payload that ran. It prints a line on stderr for what the code cannot express.
func finalCode(c *nsjail.Cmd, inv *invocation, result *nsjail.Result, std *console.Console) int {
	if d := result.Output.StdoutDropped + result.Output.StderrDropped; d > 0 && inv.spec.Limits.Output > 0 && !inv.json {
		std.Say("%d bytes of stdout and %d of stderr were dropped in the middle (--max-output)",
			result.Output.StdoutDropped, result.Output.StderrDropped)
	}
	if line := verdict(c.Plan(), inv, result); line != "" {
		std.Say("%s", line)
	}
	if len(result.Replaced) > 0 && !inv.json { // also by the end of a run whose notes are in another place
		more := ""
		if n := len(result.Replaced) - 1; n > 0 {
			more = " and " + strconv.Itoa(n) + " more"
		}
		std.Say("%s%s: replaced from outside of the jail while it ran, and not protected from then on: look there",
			words.Quote(result.Replaced[0]), more)
	}
	if result.Ended != nil && !inv.json {
		std.Say("%s", result.Ended)
	}
	if line := denial.Line(result.Denials); line != "" && result.Status != nsjail.StatusOK && !inv.json {
		std.Say("%s", line.In(inFlags))
	}
	if line := denial.LookupLine(result.Denials); line != "" && !inv.json {
		std.Say("%s", line.In(inFlags))
	}
	if line := result.Network.RefusedLine().In(inFlags); line != "" && !inv.json && inv.netLog != "-" {
		std.Say("%s", line)
	} else if line := advice(inv, result); line != "" && len(result.Denials) == 0 {
		std.Say("%s", line)
	}
	switch {
	case result.Status == nsjail.StatusTimeout:
		return exitTimeout
	case result.Signal != "":
		return exitSignal + result.SignalNumber()
	case result.ExitCode > 0:
		return result.ExitCode
	case result.Status != nsjail.StatusOK: // it hit a limit and yet exited with 0, which must not pass for success
		return exitSignal + int(unix.SIGKILL)
	}
	return 0
}

// verdict returns the message for a status that an exit code cannot express, or "".
func verdict(p *explain.Plan, inv *invocation, r *nsjail.Result) string {
	l := &inv.spec.Limits
	switch r.Status {
	case nsjail.StatusTimeout:
		if slices.Contains(r.LimitsHit, "idle") {
			return fmt.Sprintf("no output for %s ended the jail (--idle-timeout)", l.Idle)
		}
		return fmt.Sprintf("the wall-clock limit of %s ended the jail (--timeout)", p.Wall)
	case nsjail.StatusCancelled:
		if inv.escaped {
			return "~. ended the jail"
		}
		grace := cmp.Or(l.Grace, spec.DefaultGrace)
		return fmt.Sprintf("the payload had not ended %s after the signal, and was killed (--grace)", grace)
	case nsjail.StatusSignal:
		return died(inv, r)
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
		return "the payload failed, and " + full(r) + " " + diskFlags
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

// died returns the message of a shell for a command that a signal has killed: "" for SIGINT and SIGPIPE.
func died(inv *invocation, r *nsjail.Result) string {
	switch sig := unix.Signal(r.SignalNumber()); {
	case inv.json || sig == unix.SIGINT || sig == unix.SIGPIPE:
		return ""
	case sig == unix.SIGKILL:
		const by = "killed (SIGKILL): by the payload itself, from outside, or for want of memory of the machine; "
		if _, set := inv.spec.Limits.Rlimits["rttime"]; set { // how much of it was used is known nowhere
			return by + "or for --ulimit rttime"
		}
		return by + "no limit of brig's did it"
	case sig == unix.SIGXFSZ && inv.spec.Limits.Rlimits["fsize"] != spec.Rlimit{}:
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

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/internal/ops"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// rlimit is a limit that a process sets for itself: prlimit(2).
type rlimit struct {
	number int
	name   string
	spec.Rlimit
}

func (l *rlimit) write(p *program.Program) {
	ops.SetRlimit(p, "rlimit", l.number, strings.ToUpper(l.name), l.Rlimit)
}

func writeRlimits(p *program.Program, list []rlimit) {
	for i := range list {
		list[i].write(p)
	}
}

// decideRlimits decides the limits in a fixed order, but for RLIMIT_CORE, which comes with the filter, and for
// RLIMIT_NPROC.
func decideRlimits(in *input, g *group, out *report) (list []rlimit) {
	numbers := spec.RlimitNumbers()
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		if name != "core" {
			list = append(list, decideRlimit(in, name, numbers[name], out)...)
		}
	}
	if cpu := in.Limits.CPUTime; cpu > 0 {
		s := int64(math.Ceil(float64(cpu) / 1e9))
		if hard := in.host.HardLimits["cpu"]; hard >= 0 && s > hard {
			out.fail(spec.CallerError("limits.cpu_time", fmt.Sprintf("%ds is above the caller's own RLIMIT_CPU, %ds", s, hard),
				"lower it"))
		}
		if g.clock {
			s++
		}
		// one second between SIGXCPU and SIGKILL
		list = append(list, rlimit{unix.RLIMIT_CPU, "cpu", spec.Rlimit{Soft: s, Hard: s + 1}})
	}
	return list
}

// decideRlimit returns a limit with the Spec's value or the default, at most the caller's, or none.
func decideRlimit(in *input, name string, number int, out *report) []rlimit {
	want, named := in.Limits.Rlimits[name]
	if !named {
		var ok bool
		if want, ok = spec.DefaultRlimits[name]; !ok {
			return nil
		}
		if name == "nofile" && in.host.Drop && in.host.Owner == 0 {
			want = spec.OwnFiles
		}
	}
	hard := in.host.HardLimits[name]
	if hard >= 0 && (want.Hard < 0 || want.Hard > hard) {
		if named {
			out.fail(spec.CallerError("limits.rlimits."+name,
				fmt.Sprintf("the hard limit %d is above the caller's own, %d", want.Hard, hard),
				"lower it, or raise the caller's with ulimit -H"))
		}
		want = spec.Rlimit{Soft: min(want.Soft, hard), Hard: hard}
	}
	if name == "core" && want.Soft == 0 && hard != 0 { // 0 does not prevent that a crash starts the host's helper: core(5)
		want = spec.Rlimit{Soft: 1, Hard: cmp.Or(want.Hard, 1)}
	}
	return []rlimit{{number, name, want}}
}

// processesOf returns the limit on processes, init included; a negative value means no limit.
func processesOf(s *spec.Spec) int64 {
	n := cmp.Or(s.Limits.Processes, spec.DefaultProcesses)
	if n > 0 && !s.NoInit {
		n++
	}
	return n
}

// decideProcesses decides RLIMIT_NPROC, which counts per user namespace. If pids.max of a control group also applies,
// RLIMIT_NPROC is twice as high, so that processes reach pids.max first, which counts how often it was hit.
func decideProcesses(in *input, g *group, out *report) (list []rlimit) {
	n := processesOf(in.Spec)
	if n < 0 && slices.Contains(in.Require, "processes") {
		out.fail(spec.CallerError("limits.processes", "a limit is required, and none is asked for", "drop one of the two"))
		return nil
	}
	if _, own := in.Limits.Rlimits["nproc"]; own || n < 0 {
		out.enforced["processes"] = "not enforced: no limit was asked for"
		if own {
			out.enforced["processes"] = "RLIMIT_NPROC as given"
		}
		return nil
	}
	missing := ""
	if !in.host.Kernel.AtLeast(5, 14) {
		missing = "RLIMIT_NPROC counts per user namespace only since Linux 5.14"
	}
	if g.processes {
		n *= 2 // each process may be in a fork(2) that RLIMIT_NPROC counts before the group refuses it
	}
	if hard := in.host.HardLimits["nproc"]; hard >= 0 {
		n = min(n, hard)
	}
	payloads := n
	if !in.NoInit {
		payloads--
	}
	by := fmt.Sprintf("RLIMIT_NPROC %d in the user namespace", payloads)
	if in.Tier == spec.TierProcess {
		n += in.host.Tasks + 1 // the launcher
		by = fmt.Sprintf("RLIMIT_NPROC %d, of all processes of uid %d: %d more than at the start", n, in.host.PayloadUID,
			payloads)
	}
	if g.processes && missing == "" || !g.processes && out.require(in.Spec, "processes", words.Plain(by),
		words.Plain(missing), "") {
		return []rlimit{{unix.RLIMIT_NPROC, "nproc", spec.Rlimit{Soft: n, Hard: n}}}
	}
	return nil
}

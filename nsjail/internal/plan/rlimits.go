package plan

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"brig/internal/program"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// rlimits sets the limits in a fixed order. RLIMIT_CORE is already set.
func (r *resolver) rlimits() {
	numbers := spec.RlimitNumbers()
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		if name != "core" {
			r.rlimit(name, numbers[name])
		}
	}
	if cpu := r.Spec.Limits.CPUTime; cpu > 0 {
		s := int64(math.Ceil(float64(cpu) / 1e9))
		if hard := r.Host.HardLimits["cpu"]; hard >= 0 && s > hard {
			r.fail(spec.CallerError("limits.cpu_time", fmt.Sprintf("%ds is above the caller's own RLIMIT_CPU, %ds", s, hard),
				"lower it"))
		}
		if !strings.HasPrefix(r.Enforced["cpu_time"], "RLIMIT_CPU") { // only the fallback of the keeper's clock
			s++
		}
		// one second between SIGXCPU and SIGKILL
		r.setRlimit(unix.RLIMIT_CPU, "cpu", spec.Rlimit{Soft: s, Hard: s + 1})
	}
}

// rlimit sets the limit to the Spec's value or the default, at most the caller's.
func (r *resolver) rlimit(name string, number int) {
	want, named := r.Spec.Limits.Rlimits[name]
	if !named {
		var ok bool
		if want, ok = spec.DefaultRlimits[name]; !ok {
			return
		}
		if name == "nofile" && r.Host.Drop && r.Host.Owner == 0 {
			want = spec.OwnFiles
		}
	}
	hard := r.Host.HardLimits[name]
	if hard >= 0 && (want.Hard < 0 || want.Hard > hard) {
		if named {
			r.fail(spec.CallerError("limits.rlimits."+name,
				fmt.Sprintf("the hard limit %d is above the caller's own, %d", want.Hard, hard),
				"lower it, or raise the caller's with ulimit -H"))
		}
		want = spec.Rlimit{Soft: min(want.Soft, hard), Hard: hard}
	}
	if name == "core" && want.Soft == 0 && hard != 0 { // 0 does not prevent that a crash starts the host's helper: core(5)
		want = spec.Rlimit{Soft: 1, Hard: cmp.Or(want.Hard, 1)}
	}
	r.setRlimit(number, name, want)
}

func (r *resolver) setRlimit(number int, name string, l spec.Rlimit) {
	SetRlimit(r.Jail, "rlimit", number, strings.ToUpper(name), l)
}

// SetRlimit appends the operation that sets a limit of the process: prlimit(2).
func SetRlimit(p *program.Program, label string, number int, name string, l spec.Rlimit) {
	p.Add(label, unix.SYS_PRLIMIT64, program.Int(0), program.Named(number, "RLIMIT_"+name),
		program.Struct(rlimitBytes(l), showRlimit), program.Named(0, "NULL"))
}

// rlimitBytes returns a struct rlimit64. RLIM_INFINITY has all bits set.
func rlimitBytes(l spec.Rlimit) []byte {
	b := make([]byte, 16)
	binary.NativeEndian.PutUint64(b, uint64(l.Soft))
	binary.NativeEndian.PutUint64(b[8:], uint64(l.Hard))
	return b
}

func showRlimit(b []byte) string {
	text := fmt.Sprintf("{%d, %d}", int64(binary.NativeEndian.Uint64(b)), int64(binary.NativeEndian.Uint64(b[8:])))
	return strings.ReplaceAll(text, "-1", "RLIM_INFINITY")
}

// limitProcesses sets RLIMIT_NPROC, which counts per user namespace. If pids.max of a control group also applies,
// RLIMIT_NPROC is twice as high, so that processes reach pids.max first, which counts how often it was hit.
func (r *resolver) limitProcesses() {
	n := r.processes()
	if n < 0 && slices.Contains(r.Spec.Require, "processes") {
		r.fail(spec.CallerError("limits.processes", "a limit is required, and none is asked for", "drop one of the two"))
		return
	}
	if _, own := r.Spec.Limits.Rlimits["nproc"]; own || n < 0 {
		r.Enforced["processes"] = "not enforced: no limit was asked for"
		if own {
			r.Enforced["processes"] = "RLIMIT_NPROC as given"
		}
		return
	}
	missing := ""
	if !r.Host.Kernel.AtLeast(5, 14) {
		missing = "RLIMIT_NPROC counts per user namespace only since Linux 5.14"
	}
	counted := r.Enforced["processes"] != ""
	if counted {
		n *= 2 // each process may be in a fork(2) that RLIMIT_NPROC counts before the group refuses it
	}
	if hard := r.Host.HardLimits["nproc"]; hard >= 0 {
		n = min(n, hard)
	}
	payloads := n
	if !r.Spec.NoInit {
		payloads--
	}
	by := fmt.Sprintf("RLIMIT_NPROC %d in the user namespace", payloads)
	if r.Spec.Tier == spec.TierProcess {
		n += r.Host.Tasks + 1 // the launcher
		by = fmt.Sprintf("RLIMIT_NPROC %d, of all processes of uid %d: %d more than at the start", n, r.Host.PayloadUID,
			payloads)
	}
	if counted && missing == "" || !counted && r.require("processes",
		by, missing, "") {
		r.setRlimit(unix.RLIMIT_NPROC, "nproc", spec.Rlimit{Soft: n, Hard: n})
	}
}

package plan

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"brig/internal/program"
	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// rlimits sets the limits in a fixed order. RLIMIT_CORE is already set.
func (r *resolver) rlimits() {
	for _, name := range spec.RlimitNames() {
		if name != "core" {
			r.rlimit(name)
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
func (r *resolver) rlimit(name string) {
	want, named := r.Spec.Limits.Rlimits[name]
	if !named {
		var ok bool
		if want, ok = spec.DefaultRlimits[name]; !ok {
			return
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
	r.setRlimit(spec.RlimitNumbers()[name], name, want)
}

func (r *resolver) setRlimit(number int, name string, l spec.Rlimit) {
	r.Jail.Add("rlimit", unix.SYS_PRLIMIT64, program.Int(0), program.Named(number, "RLIMIT_"+strings.ToUpper(name)),
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

package nsjail

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// rlimitNumbers are the 16 resource limits of getrlimit(2) by their lower-case names.
func rlimitNumbers() map[string]int {
	return map[string]int{
		"as": unix.RLIMIT_AS, "core": unix.RLIMIT_CORE, "cpu": unix.RLIMIT_CPU, "data": unix.RLIMIT_DATA,
		"fsize": unix.RLIMIT_FSIZE, "locks": unix.RLIMIT_LOCKS, "memlock": unix.RLIMIT_MEMLOCK,
		"msgqueue": unix.RLIMIT_MSGQUEUE, "nice": unix.RLIMIT_NICE, "nofile": unix.RLIMIT_NOFILE,
		"nproc": unix.RLIMIT_NPROC, "rss": unix.RLIMIT_RSS, "rtprio": unix.RLIMIT_RTPRIO,
		"rttime": unix.RLIMIT_RTTIME, "sigpending": unix.RLIMIT_SIGPENDING, "stack": unix.RLIMIT_STACK,
	}
}

// rlimits sets every limit in a fixed order. RLIMIT_CORE is set already.
func (r *resolver) rlimits() error {
	for _, name := range RlimitNames() {
		if name == "core" {
			continue
		}
		if err := r.rlimit(name); err != nil {
			return err
		}
	}
	if cpu := r.spec.Limits.CPUTime; cpu > 0 {
		s := int64(math.Ceil(float64(cpu) / 1e9))
		if hard := r.host.HardLimits["cpu"]; hard >= 0 && s > hard {
			return &Error{Fault: FaultCaller, Op: "limits.cpu_time",
				Detail: fmt.Sprintf("%ds is above the caller's own RLIMIT_CPU, %ds", s, hard), Remedy: "lower it"}
		}
		if !strings.HasPrefix(r.Enforced["cpu_time"], "RLIMIT_CPU") { // it is only a fallback for the keeper's clock
			s++
		}
		// one second between SIGXCPU and SIGKILL
		r.setRlimit(unix.RLIMIT_CPU, "cpu", Rlimit{s, s + 1})
	}
	return nil
}

// rlimit sets the limit that the Spec names, or else the default, as far as the caller's own goes.
func (r *resolver) rlimit(name string) error {
	want, named := r.spec.Limits.Rlimits[name]
	if !named {
		var ok bool
		if want, ok = DefaultRlimits[name]; !ok {
			return nil
		}
	}
	hard := r.host.HardLimits[name]
	if hard >= 0 && (want.Hard < 0 || want.Hard > hard) {
		if named {
			return &Error{Fault: FaultCaller, Op: "limits.rlimits." + name,
				Detail: fmt.Sprintf("the hard limit %d is above the caller's own, %d", want.Hard, hard),
				Remedy: "lower it, or raise the caller's with ulimit -H"}
		}
		want = Rlimit{min(want.Soft, hard), hard}
	}
	if name == "core" && want.Soft == 0 && hard != 0 { // 0 does not keep a crash from starting the host's helper: core(5)
		want = Rlimit{1, cmp.Or(want.Hard, 1)}
	}
	r.setRlimit(rlimitNumbers()[name], name, want)
	return nil
}

func (r *resolver) setRlimit(number int, name string, l Rlimit) {
	r.Jail.Add("rlimit", unix.SYS_PRLIMIT64, program.Int(0), program.Named(number, "RLIMIT_"+strings.ToUpper(name)),
		program.Struct(rlimitBytes(l), showRlimit), program.Named(0, "NULL"))
}

// rlimitBytes is a struct rlimit64; RLIM_INFINITY is all ones.
func rlimitBytes(l Rlimit) []byte {
	b := make([]byte, 16)
	binary.NativeEndian.PutUint64(b, uint64(l.Soft))
	binary.NativeEndian.PutUint64(b[8:], uint64(l.Hard))
	return b
}

func showRlimit(b []byte) string {
	text := fmt.Sprintf("{%d, %d}", int64(binary.NativeEndian.Uint64(b)), int64(binary.NativeEndian.Uint64(b[8:])))
	return strings.ReplaceAll(text, "-1", "RLIM_INFINITY")
}

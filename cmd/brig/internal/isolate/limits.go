package isolate

import (
	"cmp"
	"strings"
	"time"

	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// noLimit is a limit on memory that no machine meets: with it a group counts, and does not limit.
const noLimit = nsjail.Bytes(1 << 50)

// apply translates the limits. Without a group the time is watched by run, since RLIMIT_CPU counts whole seconds, and
// RLIMIT_NPROC, which counts in the jail's user namespace, limits processes: a group takes a sixth of a start.
func (o *limits) apply(s *nsjail.Spec, box *own, f *facts) {
	const ever = nsjail.Duration(100 * 365 * 24 * time.Hour)
	l := &s.Limits
	l.Wall = cmp.Or(nsjail.Duration(o.Wall), -1)
	same := func(n int64) spec.Rlimit { return spec.Rlimit{Soft: n, Hard: n} }
	l.Rlimits = map[string]spec.Rlimit{"memlock": same(0), "stack": same(f.hard(unix.RLIMIT_STACK))}
	set := func(name string, n, unit int64) {
		if n > 0 {
			l.Rlimits[name] = same(n * unit)
		}
	}
	set("as", o.Mem, 1024)
	set("fsize", o.Fsize, 1024)
	set("stack", o.Stack, 1024)
	set("core", o.Core, 1024)
	if set("nofile", o.OpenFiles, 1); o.OpenFiles == 0 {
		l.Rlimits["nofile"] = same(-1)
	}
	if l.Processes = cmp.Or(o.Processes, -1); !box.CG {
		if o.Processes > 0 {
			n := o.Processes + 1 // the jail's init is one of them
			if most := f.hard(unix.RLIMIT_NPROC); most >= 0 {
				n = min(n, most)
			}
			l.Processes, l.Rlimits["nproc"] = 0, same(n)
		}
		return
	}
	l.Memory, l.MemorySwap, l.NoOOMGroup, l.CPUTime = noLimit, -1, true, ever
	if o.CGMem > 0 {
		l.Memory, l.MemorySwap = nsjail.Bytes(o.CGMem*1024), 0
	}
	if o.Time > 0 {
		l.CPUTime = nsjail.Duration(max(o.Time, o.Extra) + time.Millisecond) // the limit is exceeded, not met
	}
	l.CPUSet, l.CPUSetMems = f.config.CPUs[box.Box], f.config.Mems[box.Box]
	s.CgroupParent = groupPath(f.config.Group)
}

// groupPath returns a control group in the notation of /proc/self/cgroup.
func groupPath(dir string) string {
	for _, top := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if rest, ok := strings.CutPrefix(dir, top); ok {
			return rest
		}
	}
	return dir
}

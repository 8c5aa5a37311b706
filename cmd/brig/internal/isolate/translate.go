package isolate

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// facts are what a translation needs to know of the machine.
type facts struct {
	dir     string   // the box's directory, in which box and tmp are
	environ []string // the caller's variables
	exists  func(dir string) bool
	below   func(dir string) bool    // something is mounted below it
	hard    func(resource int) int64 // the caller's hard limit, or -1
	config  *Config
}

// place is a directory of the host that the program sees, for the files of --stdin, --stdout and --stderr.
type place struct {
	target, source string
	writable       bool
}

// job is a translated command line.
type job struct {
	spec   nsjail.Spec
	temps  []string // the names in dir/tmp of temporary directories
	places []place
	shared bool // a rule of the caller's shares a directory for writing
}

// noLimit is a limit on memory that no machine meets: with it a group counts, and does not limit.
const noLimit = nsjail.Bytes(1 << 50)

// translate returns the jail that a command line of --run means. It is pure but for what facts ask.
func (o *Options) translate(f *facts) (*job, error) {
	j := &job{}
	s := &j.spec
	s.Args = append([]string(nil), o.Args...)
	if !strings.Contains(s.Args[0], "/") { // isolate looks for no name in PATH
		s.Args[0] = "./" + s.Args[0]
	}
	s.BareEnv, s.Env = true, o.environment(f.environ)
	s.Workdir = "/box"
	if o.Chdir != "" {
		if s.Workdir = path.Clean(o.Chdir); s.Workdir[0] != '/' {
			s.Workdir = path.Join("/box", s.Workdir)
		}
	}
	if o.ShareNet {
		s.Net = nsjail.NetHost
	}
	o.limits(s, f)
	if !o.standard() {
		s.Rootfs.Path = filepath.Join(f.dir, "root")
	}
	for i := range o.Rules {
		r := &o.Rules[i]
		if r.Default && o.NoDefault || r.Outside == "" {
			continue
		}
		if err := j.rule(r, f); err != nil {
			return nil, fmt.Errorf("--dir: %s: %w", words.Quote(r.Inside), err)
		}
		j.shared = j.shared || !r.Default && r.has("rw") && !r.has("tmp") && !r.has("fs")
	}
	if s.Rootfs.Path == "" && !slices.ContainsFunc(j.places, inEtc) { // no rule names it, so it is empty
		s.Mounts = append(s.Mounts, nsjail.Mount{Type: nsjail.MountBind, Source: filepath.Join(f.dir, "root"),
			Target: "/etc", Plain: true, Live: true})
	}
	if o.Special || j.shared { // as a way to another program: FIFOs are expected there
		s.Optional = []string{"sockets"}
	}
	return j, nil
}

func inEtc(p place) bool { return p.target == "/etc" || strings.HasPrefix(p.target, "/etc/") }

// limits translates the limits. Without a group the time is watched by run, since RLIMIT_CPU counts whole seconds, and
// RLIMIT_NPROC, which counts in the jail's user namespace, limits processes: a group takes a sixth of a start.
func (o *Options) limits(s *nsjail.Spec, f *facts) {
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
	if l.Processes = cmp.Or(o.Processes, -1); !o.CG {
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
	l.CPUSet, l.CPUSetMems = f.config.CPUs[o.Box], f.config.Mems[o.Box]
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

// standard reports whether the program sees the system's directories as by default, so that the minimal root serves.
func (o *Options) standard() bool {
	for i := range o.Rules {
		switch r := &o.Rules[i]; r.Inside {
		case "bin", "lib", "lib64", "usr":
			if !r.Default || o.NoDefault {
				return false
			}
		}
	}
	return true
}

// rule translates a directory rule.
func (j *job) rule(r *Rule, f *facts) error {
	own, err := r.ownDir()
	if own || err != nil {
		return err
	}
	target := "/" + r.Inside
	switch {
	case r.has("fs") && r.Outside == "tmpfs":
		j.spec.Mounts = append(j.spec.Mounts, nsjail.Mount{Type: nsjail.MountTmpfs, Target: target})
		return nil
	case r.has("fs"):
		return errors.New(r.Outside + " is mounted at its own place only; leave the rule out")
	case r.has("dev"):
		return errors.New("brig shows no devices but its own in /dev; leave out dev")
	}
	m := nsjail.Mount{Type: nsjail.MountBind, Source: r.Outside, Target: target, Writable: r.has("rw"),
		NoExec: r.has("noexec"), Plain: true}
	if strings.HasPrefix(r.Outside, "./") {
		m.Source = filepath.Join(f.dir, r.Outside)
	}
	if r.has("tmp") {
		j.temps = append(j.temps, path.Base(r.Outside))
	} else if r.has("maybe") && !f.exists(m.Source) {
		return nil
	}
	if r.has("norec") && f.below(m.Source) {
		return errors.New("something is mounted below " + words.Quote(m.Source) +
			", and brig shows a directory with all that is mounted below it; leave out norec, or name another directory")
	}
	j.places = append(j.places, place{target, m.Source, m.Writable})
	if !r.Default || j.spec.Rootfs.Path != "" || !systemDir(r.Inside) {
		j.spec.Mounts = append(j.spec.Mounts, m)
	}
	return nil
}

// systemDir reports whether the minimal root has a directory by itself.
func systemDir(name string) bool {
	return name == "bin" || name == "lib" || name == "lib64" || name == "usr"
}

// ownDir reports whether a rule asks for what every jail has in any case: its own /proc, /dev and /dev/shm.
func (r *Rule) ownDir() (bool, error) {
	first, _, _ := strings.Cut(r.Inside, "/")
	if first != "proc" && first != "dev" && first != "sys" {
		return false, nil
	}
	switch {
	case r.Inside == "proc" && r.has("fs") && r.Outside == "proc",
		r.Inside == "dev" && !r.has("fs") && r.Outside == "/dev",
		r.Inside == "dev/shm" && (r.has("tmp") || r.has("fs") && r.Outside == "tmpfs"),
		r.Inside == "dev/pts" && r.has("fs") && r.Outside == "devpts":
		return true, nil
	}
	return false, errors.New("the jail makes its own /" + first + "; choose another path inside")
}

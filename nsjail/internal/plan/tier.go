package plan

import (
	"fmt"
	"slices"
	"strings"

	"brig/internal/program"
	"brig/landlock"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// tierProcess resolves a jail without namespaces.
func (r *resolver) tierProcess() {
	h := r.Host
	if !h.HasTier() {
		r.fail(spec.HostError("landlock", fmt.Sprintf("--tier process needs Landlock of ABI %d (Linux 6.12), which keeps "+
			"signals in the jail; this kernel has ABI %d", landlock.ScopeABI, h.Landlock),
			"use a newer kernel with landlock in lsm= of its command line, or the default tier"))
	}
	if h.Guard == nil || h.Missing["seccomp"] != "" { // Look has set it
		r.fail(spec.HostError("seccomp", "--tier process needs its filter", "use the default tier"))
	}
	r.Drop = DropFor(h)
	uid := fmt.Sprintf("uid %d of the host", h.PayloadUID)
	for _, m := range []struct{ name, instead string }{
		{"user", "the payload is " + uid},
		{"mount", "the payload can probe names of the host's files, and Landlock decides which it may open"},
		{"pid", "the payload can probe which processes there are; Landlock keeps signals and tracing in, and init " +
			"ends all"},
		{"ipc", "the filter refuses System V objects and POSIX queues"},
		{"uts", "the payload sees the host's name"},
		{"cgroup", "Landlock refuses the files of control groups"},
		{"proc", "the host's /proc, of which Landlock opens a few files, and those of no process"},
	} {
		r.Enforced[m.name] = "not enforced: no namespace (--tier process); " + m.instead
		if slices.Contains(r.Spec.Require, m.name) {
			r.fail(spec.CallerError("require", "the process tier has no namespaces",
				"remove "+m.name+", or use the default tier"))
		}
	}
	r.Enforced["net"] = "seccomp and Landlock: no socket but pairs of AF_UNIX streams"
	r.rules = landlock.Rules{Handled: landlock.All, Scope: landlock.AbstractUnix | landlock.Signal,
		HandledNet: landlock.BindTCP | landlock.ConnectTCP}
	r.Enforced["sockets"] = r.Enforced["net"]
	if r.Spec.Net == spec.NetHost {
		r.rules.HandledNet = 0
		r.Enforced["net"] = "not enforced: the host's network (--net host)"
		r.Enforced["sockets"] = "seccomp: AF_INET, AF_INET6, NETLINK_ROUTE, and pairs of AF_UNIX streams"
	}
	r.rules = r.rules.For(h.Landlock)
	r.Enforced["landlock"] = fmt.Sprintf("ABI %d: what the payload may open, execute and change", h.Landlock)
	r.Enforced["init"] = "brig's init, outside of the payload's Landlock domain"
	r.group()
	r.tierNotes()
}

// tierNotes adds what is missing in this tier to the notes.
func (r *resolver) tierNotes() {
	note := func(text string) { r.Notes = append(r.Notes, "--tier process: "+text) }
	note("no namespaces; the payload can probe names, sizes and times of all files that its user can reach, and which " +
		"processes there are")
	if slices.ContainsFunc(r.Spec.Mounts, func(m spec.Mount) bool { return m.Writable }) {
		note("nothing in a writable directory is protected; look at .git/hooks, .envrc and the like before you use it")
	}
	if !r.Host.Drop || r.Host.Owner != 0 {
		note("the payload has the uid of programs on the host: chmod, chown and utime of a path are refused, and those " +
			"of an open file are not, also below a read-only bind")
	}
}

// adopt makes init the parent of processes whose own parent has ended: PR_SET_CHILD_SUBREAPER(2const).
func (r *resolver) adopt() {
	r.Jail.Add("init", unix.SYS_PRCTL, program.Named(unix.PR_SET_CHILD_SUBREAPER, "PR_SET_CHILD_SUBREAPER"),
		program.Int(1))
}

// confineInit puts init into a Landlock domain of its own, from which no signal gets out: its kill(-1, SIGKILL) reaches
// the jail's processes and no others, all at once. The payload's domain is inside it, and cannot reach init.
func (r *resolver) confineInit() {
	// a domain that does not handle REFER denies it where one inside it handles files: landlock(7)
	rules := landlock.Rules{Handled: landlock.Refer, Scope: landlock.Signal}.For(r.Host.Landlock)
	set := rules.Create(r.Jail, host.FdRule)
	root := r.Jail.Open("landlock", unix.SYS_OPENAT, program.CWD(), program.Str("/"),
		program.Named(unix.O_PATH|unix.O_CLOEXEC, "O_PATH|O_CLOEXEC"), program.Int(0))
	dup(r.Jail, "landlock", root, host.FdRule)
	rules.Allow(r.Jail, set, host.FdRule, landlock.Refer)
	r.Jail.Close("landlock", root)
	rules.Restrict(r.Jail, set)
	r.Jail.Close("landlock", set)
}

// beginPayload starts a session for the payload, or a process group where it has a terminal in the caller's place.
func (r *resolver) beginPayload() {
	if r.shape.noNamespaces {
		r.Jail.Add("process", unix.SYS_UMASK, program.Named(0o22, "022"))
		r.Jail.Add("session", unix.SYS_PRCTL, program.Named(unix.PR_SET_PDEATHSIG, "PR_SET_PDEATHSIG"),
			program.Named(int(unix.SIGKILL), "SIGKILL"))
	}
	if r.Mode.Terminal > 0 { // job control needs a group in the session of init, which is its parent
		r.Jail.Add("session", unix.SYS_SETPGID, program.Int(0), program.Int(0))
		return
	}
	r.Jail.Add("session", unix.SYS_SETSID)
}

// tierEnv returns the variables that name the payload's own directory. Git ends where it may not open a file that
// exists, as /etc/gitconfig.
func tierEnv(dir string) []string {
	return []string{"HOME=" + dir, "TMPDIR=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
}

// The files of the host that any payload of this tier may use beside /usr and /etc. Nothing of a process is among them.
var (
	tierFiles = []string{"/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo", "/proc/stat",
		"/proc/uptime", "/proc/version"}
	tierDirs    = []string{"/proc/sys", "/sys/devices/system/cpu"}
	tierDevices = []string{"/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"}
)

// tierRules makes the payload's Landlock rules. The links in the host's root lead to directories that have a rule.
func (r *resolver) tierRules() {
	const run = landlock.Read | landlock.Execute
	rules := &r.rules
	for _, d := range r.Host.System {
		access := run
		if strings.HasPrefix(d.Name, "etc/") {
			access = landlock.Read
		}
		if d.Link == "" {
			rules.Paths = append(rules.Paths, landlock.Path{Name: "/" + d.Name, Access: access})
		}
	}
	for _, name := range r.Host.Files {
		rules.Paths = append(rules.Paths, landlock.Path{Name: "/" + name, Access: landlock.Read, File: true})
	}
	for _, name := range tierFiles {
		rules.Paths = append(rules.Paths, landlock.Path{Name: name, Access: landlock.Read, File: true})
	}
	for _, name := range tierDirs {
		rules.Paths = append(rules.Paths, landlock.Path{Name: name, Access: landlock.Read})
	}
	for _, name := range tierDevices {
		access := landlock.ReadFile | landlock.WriteFile
		rules.Paths = append(rules.Paths, landlock.Path{Name: name, Access: access, File: true})
	}
	rules.Paths = append(rules.Paths, landlock.Path{Name: r.Host.Scratch, Access: run | landlock.Write, NoLinks: true})
	r.domain = rules.Create(r.Jail, host.FdRule)
	for i, m := range r.Spec.Mounts {
		r.tierBind(spec.Index("mounts", i), m, r.Host.Sources[spec.SourceKey(i)])
	}
}

// tierBind grants a path of the host, if it is still the file that the keeper holds open.
func (r *resolver) tierBind(label string, m spec.Mount, src *host.Source) {
	p := r.Jail
	access := landlock.Read | landlock.Execute
	if m.Writable {
		access |= landlock.Write
	}
	if m.NoExec {
		access &^= landlock.Execute
	}
	if !src.Dir {
		access &= landlock.ReadFile | landlock.Execute | landlock.Change
	}
	fd := p.Open(label, unix.SYS_OPENAT, program.CWD(), program.Str(src.Path),
		program.Named(unix.O_PATH|unix.O_CLOEXEC, "O_PATH|O_CLOEXEC"), program.Int(0))
	p.Add(label, program.Same, fd.Arg(), program.Int(int(src.Dev)), program.Int(int(src.Ino)))
	dup(p, label, fd, host.FdRule)
	r.rules.Allow(p, r.domain, host.FdRule, access)
	p.Close(label, fd)
}

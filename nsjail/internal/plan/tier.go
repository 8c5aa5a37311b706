package plan

import (
	"fmt"
	"slices"
	"strings"

	"brig/internal/program"
	"brig/internal/words"
	"brig/landlock"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/ops"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// decideTier decides what holds a jail without namespaces: its filter and its Landlock domain.
func decideTier(in *input, out *report) domain {
	h, tier := in.host, words.Set("tier", spec.TierProcess)
	if !h.HasTier() {
		out.fail(spec.HostError("landlock", words.Textf("%s needs Landlock of ABI %d (Linux 6.12), which keeps "+
			"signals in the jail; this kernel has ABI %d", tier, landlock.ScopeABI, h.Landlock),
			"use a newer kernel with landlock in lsm= of its command line, or the default tier"))
	}
	if h.Guard == nil || h.Missing["seccomp"] != "" { // Look has set it
		out.fail(spec.HostError("seccomp", tier+" needs its filter", "use the default tier"))
	}
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
		out.enforced[m.name] = "not enforced: no namespace (" + tier + "); " + words.Plain(m.instead)
		if slices.Contains(in.Require, m.name) {
			out.fail(spec.CallerError("require", "the process tier has no namespaces",
				"remove "+m.name+", or use the default tier"))
		}
	}
	out.enforced["net"] = "seccomp and Landlock: no socket but pairs of AF_UNIX streams"
	rules := landlock.Rules{Handled: landlock.All, Scope: landlock.AbstractUnix | landlock.Signal,
		HandledNet: landlock.BindTCP | landlock.ConnectTCP}
	out.enforced["sockets"] = out.enforced["net"]
	if in.Net == spec.NetHost {
		rules.HandledNet = 0
		out.enforced["net"] = onHostNetwork()
		out.enforced["sockets"] = "seccomp: AF_INET, AF_INET6, NETLINK_ROUTE, and pairs of AF_UNIX streams"
	}
	d := domain{rules: rules.For(h.Landlock), streams: streamsOf(in.Spec)}
	d.rules.Paths, d.files = tierPaths(h), tierFilesOf(in)
	out.enforced["landlock"] = words.Plain(fmt.Sprintf("ABI %d: what the payload may open, execute and change",
		h.Landlock))
	out.enforced["init"] = "brig's init, outside of the payload's Landlock domain"
	return d
}

// tierNotes adds what is missing in this tier to the notes.
func tierNotes(in *input, out *report) {
	note := func(text spec.Text) { out.note(words.Set("tier", spec.TierProcess) + ": " + text) }
	note("no namespaces; the payload can probe names, sizes and times of all files that its user can reach, and which " +
		"processes there are")
	if slices.ContainsFunc(in.Mounts, func(m spec.Mount) bool { return m.Writable }) {
		note("nothing in a writable directory is protected; look at .git/hooks, .envrc and the like before you use it")
	}
	if !in.host.Drop || in.host.Owner != 0 {
		note("the payload has the uid of programs on the host: chmod, chown and utime of a path are refused, and those " +
			"of an open file are not, also below a read-only bind")
	}
}

// adopt makes init the parent of processes whose own parent has ended: PR_SET_CHILD_SUBREAPER(2const).
func adopt(p *program.Program) {
	p.Add("init", unix.SYS_PRCTL, program.Named(unix.PR_SET_CHILD_SUBREAPER, "PR_SET_CHILD_SUBREAPER"), program.Int(1))
}

// confineInit puts init into a Landlock domain of its own, from which no signal gets out: its kill(-1, SIGKILL) reaches
// the jail's processes and no others, all at once. The payload's domain is inside it, and cannot reach init.
func confineInit(p *program.Program, abi int) {
	// a domain that does not handle REFER denies it where one inside it handles files: landlock(7)
	rules := landlock.Rules{Handled: landlock.Refer, Scope: landlock.Signal}.For(abi)
	set := rules.Create(p, host.FdRule)
	root := ops.OpenPath(p, "landlock", program.CWD(), "/")
	ops.Dup(p, "landlock", root, host.FdRule)
	rules.Allow(p, set, host.FdRule, landlock.Refer)
	p.Close("landlock", root)
	rules.Restrict(p, set)
	p.Close("landlock", set)
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

// tierPaths returns what every payload may use. The links in the host's root lead to directories that have a rule.
func tierPaths(h *host.Host) (list []landlock.Path) {
	const run = landlock.Read | landlock.Execute
	for _, d := range h.System {
		access := run
		if strings.HasPrefix(d.Name, "etc/") {
			access = landlock.Read
		}
		if d.Link == "" {
			list = append(list, landlock.Path{Name: "/" + d.Name, Access: access})
		}
	}
	for _, name := range h.Files {
		list = append(list, landlock.Path{Name: "/" + name, Access: landlock.Read, File: true})
	}
	for _, name := range tierFiles {
		list = append(list, landlock.Path{Name: name, Access: landlock.Read, File: true})
	}
	for _, name := range tierDirs {
		list = append(list, landlock.Path{Name: name, Access: landlock.Read})
	}
	for _, name := range tierDevices {
		list = append(list, landlock.Path{Name: name, Access: landlock.ReadFile | landlock.WriteFile, File: true})
	}
	return append(list, landlock.Path{Name: h.Scratch, Access: run | landlock.Write, NoLinks: true})
}

// tierFile is a file of the caller's that the payload may use, at its own path.
type tierFile struct {
	label    string
	path     string
	dev, ino uint64 // of the file that the keeper holds open
	access   landlock.Access
}

// tierFilesOf returns the files of the caller's binds.
func tierFilesOf(in *input) (list []tierFile) {
	for i, m := range in.Mounts {
		src := in.host.Sources.Of(i)
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
		list = append(list, tierFile{spec.Index("mounts", i), src.Path, src.Dev, src.Ino, access})
	}
	return list
}

// allow grants a file of the host in a ruleset, if it is still the one that the keeper holds open.
func (f *tierFile) allow(p *program.Program, rules *landlock.Rules, set program.Slot) {
	fd := ops.OpenPath(p, f.label, program.CWD(), f.path)
	p.Add(f.label, program.Same, fd.Arg(), program.Int(int(f.dev)), program.Int(int(f.ino)))
	ops.Dup(p, f.label, fd, host.FdRule)
	rules.Allow(p, set, host.FdRule, f.access)
	p.Close(f.label, fd)
}

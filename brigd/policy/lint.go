package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/brigd/internal/jailpath"
	"brig/internal/strictjson"
	"brig/internal/sys"
	"brig/internal/words"
	egress "brig/netns/egress/policy"
	"brig/nsjail"
	"brig/nsjail/spec"
	"brig/seccomp"
)

// Finding is a result of Lint.
type Finding struct {
	// Level is "error" for something that cannot work, and "warning" for something that may be unintended.
	Level string `json:"level"`
	// Path is the JSON path of the field.
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Lint checks a policy on this machine for likely mistakes: missing executables, rules without effect, and entries that
// allow more than they seem to.
func Lint(p *Policy) []Finding {
	l := &linter{p: p}
	for _, problem := range p.Check() {
		at, what, _ := strings.Cut(problem, ": ")
		l.add("error", at, what)
	}
	for i, name := range p.Seccomp {
		if known := seccomp.Names(); !strings.Contains(name, "/") && !slices.Contains(known, name) {
			l.add("error", strictjson.Index("seccomp", i),
				words.QuoteASCII(name)+" is not a filter; "+words.DidYouMean(name, known))
		}
	}
	l.commands()
	l.limits()
	l.network()
	l.paths()
	l.rest()
	return l.found
}

type linter struct {
	p     *Policy
	found []Finding
}

func (l *linter) add(level, path, message string) {
	l.found = append(l.found, Finding{level, path, message})
}

func (l *linter) warn(path, format string, a ...any) {
	l.add("warning", path, fmt.Sprintf(format, a...))
}

// each warns of the entries of a list for which bad returns true.
func (l *linter) each(field string, list []string, format string, bad func(entry string) bool) {
	for i, entry := range list {
		if bad(entry) {
			l.warn(strictjson.Index(field, i), format, entry)
		}
	}
}

// byOptions are launchers that are so only with some options.
const byOptions = "a program with options that execute others (-exec, --to-command, e)"

// launchers are programs that execute other programs, which are given by arguments, input or configuration.
var launchers = map[string]string{
	"a shell": "sh bash dash zsh ksh fish csh tcsh ash busybox toybox",
	"an interpreter": "python python2 python3 perl ruby node nodejs deno bun lua lua5.3 lua5.4 luajit php tclsh " +
		"expect awk gawk mawk nawk Rscript guile java jshell " +
		"osascript pwsh gdb sqlite3 bc ed ex vi vim nvim emacs",
	"a launcher of other programs": "env xargs nice nohup timeout setsid stdbuf ionice chrt taskset unshare nsenter " +
		"chroot sudo su doas runuser flock watch time parallel " +
		"script strace ltrace ssh scp rsync socat nc ncat make cmake ninja meson gmake cargo go gcc g++ cc c++ clang " +
		"clang++ ld npm npx yarn pnpm pip pip3 uv mvn gradle " +
		"git hg svn tmux screen start-stop-daemon systemd-run setarch linux64 ld.so run-parts less more man",
	byOptions: "find fd tar sed zip sort split curl wget cpio dd",
}

// languages are the languages of package lang.
const languages = "python javascript javascript-module bash sh perl c c++ go java ruby lua php tcl awk r"

func launcher(name string) string {
	for what, list := range launchers {
		if slices.Contains(strings.Fields(list), path.Base(name)) || strings.HasPrefix(path.Base(name), "ld-linux") {
			return what
		}
	}
	return ""
}

func (l *linter) commands() {
	p := l.p
	if p.Open {
		l.warn("open", "an open policy allows whatever it does not mention: use it only beside other policies")
	}
	if p.Open && (p.Commands == nil) != (p.Languages == nil) {
		l.warn("open", "only one of commands and languages is restricted: the other may still run anything")
	}
	if len(p.Commands)+len(p.Languages) == 0 && !p.Open {
		l.warn("commands", "neither a command nor a language is allowed: nothing can be run")
	}
	v := jailpath.New(&nsjail.Spec{})
	defer v.Close()
	plain := map[string]int{}
	for i, k := range p.Commands {
		at := strictjson.Index("commands", i)
		if first, have := plain[k.Command]; have && len(k.Deny)+len(k.DenyFlags) == 0 {
			l.warn(at, "it has no effect: commands[%d] allows %s with any arguments", first, k.Command)
		}
		if k.plain() {
			plain[k.Command] = i
		}
		for j, a := range k.Allow {
			if slices.ContainsFunc(k.Deny, func(d []string) bool { return slices.Equal(a, d) || len(d) == 1 && d[0] == Rest }) {
				l.warn(strictjson.Index(at+".allow", j), "it has no effect: deny has the same")
			}
		}
		if len(k.Deny) > 0 && k.Allow == nil && k.Flags == nil {
			l.warn(at+".deny", "whatever it does not list is allowed; a list of what is needed (allow, flags) is safer")
		}
		l.command(at, k, v)
	}
	l.each("languages", p.Languages, "%s is not the name of a language that brig runs; an alias does not count",
		func(name string) bool { return name != Any && !slices.Contains(strings.Fields(languages), name) })
	if len(p.Languages) > 0 && l.limited() {
		l.warn("languages", "code can execute every program in the jail: commands restricts only what a request names")
	}
}

// limited reports whether only certain commands are allowed.
func (l *linter) limited() bool {
	return len(l.p.Commands) > 0 && !slices.ContainsFunc(l.p.Commands, func(k Command) bool { return k.Command == Any })
}

func (l *linter) command(at string, k Command, v *jailpath.View) {
	if k.Command == Any {
		l.warn(at, "any command is allowed, also what a run has written to /work")
		return
	}
	files, err := jailpath.LookPath(k.Command, spec.DefaultPath, "/", v)
	if (err != nil || len(files) == 0) && slices.Contains(l.p.Paths.Roots, "") {
		l.warn(at, "%s is not on this machine, or not where a jail shows it (/usr, /bin, /sbin)", k.Command)
	}
	what := launcher(k.Command)
	if what == "" || what == byOptions && (len(k.DenyFlags) > 0 || l.everything()) {
		return
	}
	if k.Allow == nil && k.Flags == nil {
		l.warn(at, "%s is %s: with any arguments it can execute every program in the jail", k.Command, what)
	}
}

// everything reports whether an allowed command can execute any program by its nature. A warning about options that do
// the same is then superfluous.
func (l *linter) everything() bool {
	return slices.ContainsFunc(l.p.Commands, func(k Command) bool {
		what := launcher(k.Command)
		return k.Command == Any || what != "" && what != byOptions && k.Allow == nil && k.Flags == nil
	})
}

func (l *linter) limits() {
	c := &l.p.Limits
	for _, m := range []struct {
		name    string
		missing bool
		why     string
	}{
		{"memory", c.Memory == 0, "a run may use all of the machine's"},
		{"wall", c.Wall == 0, "a run may ask for any time"},
		{"processes", c.Processes == 0, "a run may ask for any number"},
		{"cpus", c.CPUs == 0, "a run may use every processor"},
		{"output_limit", c.OutputLimit == 0 && c.Output == 0, "a run may print without end"},
	} {
		if m.missing && !l.p.Open {
			l.warn("limits."+m.name, "there is no ceiling: %s", m.why)
		}
	}
	loose := slices.DeleteFunc(slices.Clone(l.p.Optional), func(name string) bool {
		return !slices.Contains(mechanismNames(), name) || !l.p.limits().sets(name)
	})
	if len(loose) > 0 {
		l.warn("optional", "a run may ask to do without %s where the machine has no control groups: these ceilings do "+
			"not hold there", strings.Join(loose, ", "))
	}
	if c.Grace > 0 && c.Wall > 0 && c.Grace > c.Wall {
		l.warn("limits.grace", "it is longer than wall: a run may last %s more", c.Grace)
	}
}

func (l *linter) network() {
	n := &l.p.Network
	modes := func(m spec.Net) bool { return slices.Contains(n.Modes, m) }
	if modes(nsjail.NetHost) {
		l.warn("network.modes", "host is the caller's own network: nothing is restricted")
	}
	var allowed []egress.Row
	if n.Egress != nil && len(n.Egress.Check()) == 0 {
		allowed = rows(n.Egress, "allow")
	}
	switch {
	case len(allowed) > 0 && !modes(nsjail.NetEgress):
		l.warn("network.egress", "it has no effect: the mode egress is not allowed")
	case modes(nsjail.NetEgress) && len(allowed) == 0:
		l.warn("network.egress", "the mode egress is allowed, and nothing may be reached")
	}
	for _, r := range allowed {
		p, address := r.Prefix()
		switch {
		case r.Target == "*":
			l.warn("network.egress", "%s: every public name is allowed, so that a run can send its data anywhere",
				rowText(r))
		case address && p.Bits() < 16 && p.Addr().Is4(), address && p.Bits() < 32 && p.Addr().Is6():
			l.warn("network.egress", "%s: it is a wide range of addresses", rowText(r))
		case address && egress.Blocked(p.Addr()) != "":
			l.warn("network.egress", "%s: it is %s, not the public internet", rowText(r), egress.Blocked(p.Addr()))
		}
		if r.Mode == egress.ModeTCP && !address {
			l.warn("network.egress", "%s: in mode tcp, other sites on the same server can be reached as well", rowText(r))
		}
	}
	if len(n.Publish) > 0 && !modes(nsjail.NetLoopback) && !modes(nsjail.NetEgress) {
		l.warn("network.publish", "it has no effect: only loopback and egress can publish")
	}
}

// wide are paths of the host that have what others rely on or keep to themselves. Nothing below systemPaths should be
// written to.
var (
	wide        = strings.Fields("/ /etc /root /home /var /var/run /run /proc /sys /dev /boot /tmp")
	systemPaths = strings.Fields("/usr /etc /bin /lib /sbin /opt")
)

func (l *linter) paths() {
	p := &l.p.Paths
	for _, list := range []struct {
		name  string
		paths []string
	}{{"paths.read", p.Read}, {"paths.write", p.Write}, {"paths.roots", p.Roots}} {
		for i, dir := range list.paths {
			at := strictjson.Index(list.name, i)
			where, err := jailpath.HostPath(dir)
			below := func(s string) bool { return sys.Under(dir, s) }
			switch {
			case dir == "":
			case slices.Contains(wide, dir), list.name == "paths.write" && slices.ContainsFunc(systemPaths, below):
				l.warn(at, "%s has files that other programs rely on, or private ones", words.QuoteASCII(dir))
			case err != nil:
				l.warn(at, "%s is not on this machine", words.QuoteASCII(dir))
			case where != dir:
				l.warn(at, "%s is a link to %s, which is the path that is compared", words.QuoteASCII(dir), words.QuoteASCII(where))
			}
		}
	}
	for i, dir := range p.Targets {
		if slices.ContainsFunc([]string{"/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64"},
			func(s string) bool { return sys.Under(dir, s) || sys.Under(s, dir) }) {
			l.warn(strictjson.Index("paths.targets", i), "a mount at %s can replace programs and libraries: "+
				"commands is no restriction then", words.QuoteASCII(dir))
		}
	}
}

func (l *linter) rest() {
	p := l.p
	limited := l.limited()
	l.each("environment.set", p.Environment.Set, "%s changes what programs load or run: commands is no restriction then",
		func(name string) bool { return !isGlob(name) && steers(name) && limited })
	l.each("environment.pass", p.Environment.Pass, "%s is a secret by its name, which every run can read and print",
		func(name string) bool { return !isGlob(name) && spec.Sensitive(name) })
	l.each("seccomp", p.Seccomp, "%s permits system calls that a payload does not need",
		func(name string) bool { return name == "unconfined" || name == "debug" })
	for i, name := range p.Features {
		switch name {
		case "cgroup_files":
			l.warn(strictjson.Index("features", i), "a run can lift the ceilings of memory, processes and processors with it")
		case "cgroup_parent", "label", "no_init", "priority", "rlimits":
			l.warn(strictjson.Index("features", i), "%s: %s", name, features[name])
		}
	}
}

package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"brig/cgroup"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// State is the result of Diagnose for one mechanism.
type State string

// The states of a Finding.
const (
	Present State = "present" // it works here
	Partial State = "partial" // a jail does with less, or only a part of it works
	Missing State = "missing" // a default jail cannot do without it
	Note    State = "note"    // nothing that a jail needs
)

// Finding describes one mechanism on a machine.
type Finding struct {
	Name  string    `json:"name"`
	State State     `json:"state"`
	Why   spec.Text `json:"why"`
	// Fix is the command or the setting that mends it; "" if there is none or nothing has to be mended.
	Fix spec.Text `json:"fix,omitempty"`
	// Text is a file to install, of several lines.
	Text string `json:"text,omitempty"`
}

// Facts are read from a machine by Examine. Tests invent them.
type Facts struct {
	tryJail func(context.Context, spec.Spec) Trial // makes one jail

	Release string // uname(2)
	Version string
	UID     int    // effective
	Exe     string // this program's file
	// Files holds small files of /proc, /sys and /run by path; one that does not exist here is absent, and one of
	// which only the existence counts is empty.
	Files map[string]string
	// Env holds the variables of this process that tell of a container.
	Env map[string]string
	// Chrooted is set if this process's root is known to differ from that of process 1.
	Chrooted bool
	// Host is what Look found for a default jail; nil if it failed, Default then has the reason.
	Host   *host.Host
	Groups cgroup.Layout
	// GroupsErr is why Groups could not be read.
	GroupsErr error
	// NoFile lists the mechanisms for which this kernel's version 2 groups have no file.
	NoFile      []string
	LandlockABI int
	Libseccomp  string
	// Default is a default jail, Relaxed one without the mechanisms that can be spared, which is tried only where the
	// first fails, and Shared one with a writable bind of the current directory, tried only for root.
	Default, Relaxed, Shared Trial
	// Egress is a jail with NetEgress, EveryPort one whose policy names all ports; tried where the default works.
	Egress, EveryPort Trial
	// Etc are names in /etc that something in /usr has a link to and a default jail lacks.
	Etc []string
	// Agents are the programs on PATH that would start brig where it is their bubblewrap.
	Agents []Agent
	// Unread lists what could not be read in time.
	Unread []string
}

// Trial is an attempt to make a jail.
type Trial struct {
	Tried    bool
	Err      error // why it failed; nil if it worked
	Millis   int64
	Enforced map[string]spec.Text
}

// Works reports whether the trial made its jail.
func (t *Trial) Works() bool { return t.Tried && t.Err == nil }

// failure returns the error of the trial. Its Op is the label of a step, or a phase such as clone3; "" for none.
func (t *Trial) failure() spec.Error {
	if e, ok := errors.AsType[*spec.Error](t.Err); ok {
		return *e
	}
	return spec.Error{}
}

// check is one row of what Diagnose looks at. It returns "" as the state if there is nothing to report.
type check struct {
	name string
	look func(f *Facts) (state State, why, fix spec.Text)
}

var checks = []check{{"kernel", (*Facts).kernel}, {"user", (*Facts).userNamespaces}, {"root", (*Facts).root},
	{"proc", (*Facts).proc}, {"overlay", (*Facts).overlay}, {"idmap", (*Facts).idmap}, {"seccomp", (*Facts).seccomp},
	{"libseccomp", (*Facts).library}, {"egress", (*Facts).egress}, {"outer filter", (*Facts).outerFilter},
	{"container", (*Facts).container}, {"lsm", (*Facts).lsm}, {"namespaces", (*Facts).namespaceLimits},
	{"limits", (*Facts).limits}, {"core", (*Facts).core}, {"memory", (*Facts).memory}, {"cgroup", (*Facts).cgroups},
	{"landlock", (*Facts).landlock}, {"yama", (*Facts).yama}, {"tiocsti", (*Facts).tiocsti}, {"vsock", (*Facts).vsock},
	{"etc", (*Facts).etc}, {"reading", (*Facts).reading}}

// Diagnose returns what a machine offers to a jail and the remedies for what it lacks. It is pure. The first finding,
// named jail, reports whether a default jail works.
func Diagnose(f *Facts) []Finding {
	list := []Finding{f.jail()}
	for _, c := range checks {
		x := Finding{Name: c.name}
		if x.State, x.Why, x.Fix = c.look(f); x.State == "" {
			continue
		}
		if c.name == "user" {
			x.Text = f.profile()
		}
		list = append(list, x)
	}
	return append(list, f.agents()...)
}

// Works reports whether a default jail works, according to Diagnose.
func Works(list []Finding) bool { return len(list) > 0 && list[0].State == Present }

func (f *Facts) jail() Finding {
	t := &f.Default
	switch {
	case t.Works():
		return Finding{Name: "jail", State: Present, Why: words.Plain(fmt.Sprintf("a default jail ran /bin/true in %d "+
			"ms", t.Millis))}
	case !t.Tried:
		return Finding{Name: "jail", State: Missing, Why: "no jail was tried"}
	}
	x := Finding{Name: "jail", State: Missing, Why: words.Message(t.Err)}
	e := t.failure()
	if e.Op != "" {
		x.Fix, e.Remedy = words.Plain(e.Remedy.String()), ""
		x.Why = e.Text()
	}
	if causes := f.blockers(); len(causes) > 0 {
		x.Fix = causes[0].fix
	} else if state, _, fix := f.proc(); state == Missing || e.Op == "proc" {
		x.Fix = fix
	}
	if f.Relaxed.Works() {
		x.State = Partial
	} else if f.userFailed() && f.hasTier() && !x.Fix.Refers("tier") {
		x.Fix = or(x.Fix, host.OrTier())
	}
	if f.Relaxed.Works() && !x.Fix.Refers("optional") {
		x.Fix = or(x.Fix, "or "+words.Jail(spec.Without(spared()...)))
	}
	return x
}

// or adds an alternative to a remedy, which may be "".
func or(fix, other spec.Text) spec.Text {
	if fix == "" {
		return other
	}
	return fix + "; " + other
}

func (f *Facts) hasTier() bool { return (&host.Machine{Landlock: f.LandlockABI}).HasTier() }

// spared returns the mechanisms that the relaxed trial omits.
func spared() []string { return []string{"proc", "keyring", "processes"} }

func (f *Facts) file(path string) string { return strings.TrimSpace(f.Files[path]) }

func (f *Facts) has(path string) bool { _, ok := f.Files[path]; return ok }

// sysctl returns a setting of /proc/sys by its dotted name.
func (f *Facts) sysctl(name string) string { return f.file(host.SysctlPath(name)) }

// seccompMode returns the field Seccomp of /proc/self/status: proc_pid_status(5).
func (f *Facts) seccompMode() string {
	for line := range strings.Lines(f.Files["/proc/self/status"]) {
		if v, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func (f *Facts) reading() (state State, why, fix spec.Text) {
	if len(f.Unread) == 0 {
		return "", "", ""
	}
	return Partial, words.Plain("did not answer in time: " + strings.Join(f.Unread, ", ")), ""
}

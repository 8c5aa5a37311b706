package doctor

import (
	"fmt"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// Diagnose returns what a machine offers to a jail and the remedies for what it lacks. It is pure. The first finding,
// named jail, reports whether a default jail works.
func Diagnose(f *Facts) []Finding {
	m, t := &f.Machine, &f.Trials
	list := []Finding{checkJail(m, t, f.LandlockABI)}
	// a check returns "" as the state if there is nothing to report
	add := func(name string) func(state State, why, fix spec.Text) {
		return func(state State, why, fix spec.Text) {
			if state != "" {
				list = append(list, Finding{Name: name, State: state, Why: why, Fix: fix})
			}
		}
	}
	add("kernel")(checkKernel(m.Release))
	add("user")(checkUser(m, t, f.Host))
	list[len(list)-1].Text = profile(m, t)
	add("root")(checkRoot(m))
	add("proc")(checkProc(m, t))
	add("overlay")(checkOverlay(f.Host, t.Default.Enforced["overlay"]))
	add("idmap")(checkIDMap(f.Host, t))
	add("seccomp")(checkSeccomp(m, t.Default.Works()))
	add("libseccomp")(checkLibrary(f.Libseccomp))
	add("egress")(checkEgress(t))
	add("outer filter")(checkOuterFilter(m, t))
	add("container")(checkContainer(m, t.Default.Works()))
	add("lsm")(checkLSM(m))
	add("namespaces")(checkNamespaces(m))
	add("limits")(checkLimits(f.Host))
	add("core")(checkCore(m, f.Host))
	add("memory")(checkMemory(m.Files["/proc/meminfo"]))
	add("cgroup")(checkGroups(&f.Groups, m.UID))
	add("landlock")(checkLandlock(f.LandlockABI))
	add("yama")(checkYama(m))
	add("tiocsti")(checkTIOCSTI(m))
	add("vsock")(checkVsock(m))
	add("etc")(checkEtc(f.Etc))
	add("reading")(checkReading(f.Unread))
	return append(list, checkAgents(f.Agents)...)
}

// Works reports whether a default jail works, according to Diagnose.
func Works(list []Finding) bool { return len(list) > 0 && list[0].State == Present }

// checkJail reports whether a default jail works, and what mends it if not.
func checkJail(m *Machine, t *Trials, abi int) Finding {
	first := &t.Default
	switch {
	case first.Works():
		return Finding{Name: "jail", State: Present, Why: words.Plain(fmt.Sprintf("a default jail ran /bin/true in %d "+
			"ms", first.Millis))}
	case !first.Tried:
		return Finding{Name: "jail", State: Missing, Why: "no jail was tried"}
	}
	x := Finding{Name: "jail", State: Missing, Why: words.Message(first.Err)}
	e := first.failure()
	if e.Op != "" {
		x.Fix, e.Remedy = words.Plain(e.Remedy.String()), ""
		x.Why = e.Text()
	}
	if causes := blockers(m, t); len(causes) > 0 {
		x.Fix = causes[0].fix
	} else if state, _, fix := checkProc(m, t); state == Missing || e.Op == "proc" {
		x.Fix = fix
	}
	if t.Relaxed.Works() {
		x.State = Partial
	} else if t.userFailed() && hasTier(abi) && !x.Fix.Refers("tier") {
		x.Fix = or(x.Fix, host.OrTier())
	}
	if t.Relaxed.Works() && !x.Fix.Refers("optional") {
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

func checkReading(unread []string) (state State, why, fix spec.Text) {
	if len(unread) == 0 {
		return "", "", ""
	}
	return Partial, words.Plain("did not answer in time: " + strings.Join(unread, ", ")), ""
}

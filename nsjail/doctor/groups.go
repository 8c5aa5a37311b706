package doctor

import (
	"errors"
	"slices"
	"strings"

	"brig/cgroup"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// Groups is what can be known of the control groups.
type Groups struct {
	Layout cgroup.Layout
	Err    error    // why they could not be read
	NoFile []string // the mechanisms for which this kernel's version 2 groups have no file
}

// checkGroups reports which limits a control group can hold here. A jail works without one, but not a limit on memory.
func checkGroups(g *Groups, uid int) (state State, why, fix spec.Text) {
	var step *cgroup.StepError
	switch {
	case errors.As(g.Err, &step):
		return Partial, words.Textf("cannot be used: %s: %v", step.Op, step.Err), words.Plain(step.Remedy)
	case g.Err != nil:
		return Partial, words.Textf("cannot be read: %v", g.Err), ""
	}
	held, missing := g.heldLimits()
	switch why = words.Plain(g.Layout.String()); {
	case len(held) > 0 && len(missing) > 0:
		why += words.Textf("; it can hold %s; not %s", strings.Join(held, " "), strings.Join(missing, " "))
	case len(held) > 0:
		why += "; it can hold every limit"
	default:
		why += "; no limit on memory, processor share or traffic can be held"
	}
	if !slices.Contains(held, "memory") || !slices.Contains(held, "cpus") {
		return Partial, why, groupsFix(&g.Layout, uid)
	}
	return Present, why, ""
}

// heldLimits returns the mechanisms that a group can and cannot hold, in the order of a report.
func (g *Groups) heldLimits() (held, missing []string) {
	p := cgroup.Resolve(cgroup.All(), &g.Layout)
	for _, m := range spec.Mechanisms() {
		switch {
		case slices.Contains(g.NoFile, m.Name):
			missing = append(missing, m.Name)
		case p.Enforced[m.Name] != "":
			held = append(held, m.Name)
		case p.Missing[m.Name] != "":
			missing = append(missing, m.Name)
		}
	}
	return held, missing
}

// groupsFix returns the remedy for missing control groups.
func groupsFix(l *cgroup.Layout, uid int) spec.Text {
	scope := words.Jail(words.Field("systemd_scope")) + " ..."
	delegate := words.Plain(host.DelegateCommand(uid))
	switch {
	case l.Mode == cgroup.None:
		return "mount -t cgroup2 cgroup2 /sys/fs/cgroup"
	case strings.Contains(l.Why, "read-only"):
		return "mount -o remount,rw /sys/fs/cgroup; for docker: docker run --cgroupns=private and a writable /sys/fs/cgroup"
	case l.Why == "" && l.Mode == cgroup.V2:
		return "boot without cgroup_disable=; on systemd give the unit above Delegate=yes, which hands the controllers on"
	case uid == 0 && l.Systemd:
		return "systemd-run --scope -p Delegate=yes brig run ..., or " + scope
	case l.Mode == cgroup.V2 && l.Systemd:
		return "systemd-run --user --scope -p Delegate=yes brig run ..., or " + scope
	case l.Systemd && uid != 0:
		return delegate + "; or boot with systemd.unified_cgroup_hierarchy=1, and write " + scope
	}
	return delegate
}

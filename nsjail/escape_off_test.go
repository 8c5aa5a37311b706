package nsjail

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"brig/internal/attack"
	"brig/internal/program"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// switchOff weakens a plan by the `off:` line of an attack. A line that changes nothing is an error: the plan has
// changed and the attack must follow.
func switchOff(t *testing.T, s *attack.Scene, p *plan.Plan, offs []attack.Off) {
	for _, o := range offs {
		if o.Lane != "" && o.Lane != lane() || o.Kind == "spec" {
			continue
		}
		value, changed := s.Expand(o.Value), false
		switch o.Kind {
		case "label":
			changed = deleteOps(p, func(op *program.Op) bool { return op.Label == value })
		case "call":
			changed = deleteOps(p, func(op *program.Op) bool { return strings.Contains(op.Call(), value) })
		case "flag":
			flag, ok := cloneFlags[value]
			changed = ok && p.Flags&flag != 0
			p.Flags &^= flag
		case "passed":
			changed = weakenPassed(p, value)
		case "leak":
			changed = leakDir(p, value)
		case "bind":
			changed = addBind(p, value)
		case "change":
			if change, ok := planChanges[value]; ok {
				changed = change(p)
			}
		}
		if p.Spec.Tier != "" && !confinesInit(p) {
			t.Fatalf("off: %s=%s: init's kill(-1) would reach this process", o.Kind, o.Value)
		}
		if !changed {
			t.Errorf("off: %s=%s changes nothing in the plan", o.Kind, o.Value)
		}
	}
}

// confinesInit reports whether init has a Landlock domain before it has a child.
func confinesInit(p *plan.Plan) bool {
	find := func(text string) int {
		return slices.IndexFunc(p.Jail.Ops, func(op program.Op) bool { return strings.Contains(op.Call(), text) })
	}
	number := func(ops []program.Op, nr uint32) int {
		return slices.IndexFunc(ops, func(op program.Op) bool { return op.NR == nr })
	}
	made, fork := find("{fs=REFER, scoped=SIGNAL}"), number(p.Jail.Ops, program.Fork)
	return made >= 0 && made < fork && number(p.Jail.Ops[made:fork], unix.SYS_LANDLOCK_RESTRICT_SELF) > 0
}

var cloneFlags = map[string]uint64{
	"CLONE_NEWPID": unix.CLONE_NEWPID, "CLONE_NEWIPC": unix.CLONE_NEWIPC,
	"CLONE_NEWUTS": unix.CLONE_NEWUTS, "CLONE_NEWCGROUP": unix.CLONE_NEWCGROUP, "CLONE_NEWNET": unix.CLONE_NEWNET,
}

func deleteOps(p *plan.Plan, which func(*program.Op) bool) bool {
	before := len(p.Jail.Ops)
	p.Jail.Ops = slices.DeleteFunc(p.Jail.Ops, func(op program.Op) bool { return which(&op) })
	return len(p.Jail.Ops) < before
}

// weakenPassed takes an attribute from the mounts that the keeper makes for root.
func weakenPassed(p *plan.Plan, attr string) (changed bool) {
	bits := map[string]uint64{"RDONLY": unix.MOUNT_ATTR_RDONLY, "NODEV": unix.MOUNT_ATTR_NODEV}[attr]
	for i := range p.Passed {
		changed = changed || p.Passed[i].Attr&bits != 0
		p.Passed[i].Attr &^= bits
	}
	return changed
}

// addBind shows a directory of the host at its own path, over what the jail has there.
func addBind(p *plan.Plan, dir string) bool {
	at := slices.IndexFunc(p.Jail.Ops, func(op program.Op) bool { return op.Label == "pivot" })
	if at < 0 {
		return false
	}
	const spare = program.Slot(program.MaxSlots - 2)
	extra := program.New(0)
	extra.Add("off", unix.SYS_OPEN_TREE, program.CWD(), program.Str(dir),
		program.Int(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)).Save = spare
	root := p.Jail.Ops[at].Args[0] // of fchdir(2)
	rel := strings.TrimPrefix(dir, "/")
	extra.Add("off", unix.SYS_MKDIRAT, root, program.Str(rel), program.Int(0o755)).May(unix.EEXIST)
	extra.Add("off", unix.SYS_MOVE_MOUNT, spare.Arg(), program.Str(""), root, program.Str(rel), program.Int(unix.MOVE_MOUNT_F_EMPTY_PATH))
	p.Jail.Ops = slices.Insert(p.Jail.Ops, at, extra.Ops...)
	return dir != "/proc" || hostProcfs(p)
}

// hostProcfs has the process set itself up through the host's procfs, and not through one of its own.
func hostProcfs(p *plan.Plan) bool {
	own := func(op program.Op) bool { return op.Label == "procfs" }
	at := slices.IndexFunc(p.Jail.Ops, own)
	slot := p.Jail.Ops[slices.IndexFunc(p.Jail.Ops, func(op program.Op) bool { return own(op) && op.NR == unix.SYS_FSMOUNT })].Save
	p.Jail.Ops = slices.DeleteFunc(p.Jail.Ops, own)
	extra := program.New(0)
	extra.Add("off", unix.SYS_OPENAT, program.CWD(), program.Str("/proc"), program.Int(unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC), program.Int(0)).Save = slot
	p.Jail.Ops = slices.Insert(p.Jail.Ops, at, extra.Ops...)
	return true
}

// leakDir opens a directory of the host early on and forgets to close it.
func leakDir(p *plan.Plan, dir string) bool {
	extra := program.New(0)
	extra.Add("leak", unix.SYS_OPENAT, program.CWD(), program.Str(dir), program.Int(unix.O_RDONLY|unix.O_DIRECTORY), program.Int(0))
	p.Jail.Ops = slices.Insert(p.Jail.Ops, 0, extra.Ops...)
	return true
}

// planChanges are the weakenings that no single operation stands for.
var planChanges = map[string]func(*plan.Plan) bool{
	"no-idmap": func(p *plan.Plan) (changed bool) {
		for i := range p.Passed {
			changed = changed || p.Passed[i].IDMap
			p.Passed[i].IDMap = false
		}
		return changed
	},
	"stay-root": func(p *plan.Plan) bool {
		if p.Drop == nil {
			return false
		}
		p.Drop = nil
		return replaceMap(p, "0")
	},
	"plain-lookup": plainLookup,
	"no-domain": func(p *plan.Plan) bool { // the payload's, not that of init, whose kill(-1) would reach the host
		for i := len(p.Jail.Ops) - 1; i >= 0; i-- {
			if p.Jail.Ops[i].NR == unix.SYS_LANDLOCK_RESTRICT_SELF {
				p.Jail.Ops = slices.Delete(p.Jail.Ops, i, i+1)
				return true
			}
		}
		return false
	},
	"no-guard": func(p *plan.Plan) bool { // the first filter
		i := slices.IndexFunc(p.Jail.Ops, func(op program.Op) bool { return op.Label == "seccomp" })
		p.Jail.Ops = slices.Delete(p.Jail.Ops, i, i+1)
		return true
	},
	"no-pins": func(p *plan.Plan) bool {
		return deleteOps(p, func(op *program.Op) bool { return strings.HasSuffix(op.Label, ".pin") })
	},
	"same-files": func(p *plan.Plan) bool {
		p.SameFiles = true
		return true
	},
	"no-masks": func(p *plan.Plan) bool {
		return deleteOps(p, func(op *program.Op) bool {
			return op.Label == "proc" && (op.NR == unix.SYS_MOUNT || op.NR == unix.SYS_MOUNT_SETATTR)
		})
	},
}

// replaceMap maps the payload to another uid of the host.
func replaceMap(p *plan.Plan, host string) bool {
	changed := 0
	for i, op := range p.Jail.Ops {
		if op.Label == "user" && op.NR == unix.SYS_WRITE && strings.HasSuffix(strings.Split(op.Call(), `"`)[1], " 1") {
			text := fmt.Sprintf("%d %s 1", spec.DefaultUID, host)
			p.Jail.Ops[i].Args = []program.Arg{op.Args[0], program.Str(text), program.Int(len(text))}
			changed++
		}
	}
	return changed == 2
}

// plainLookup makes every guarded lookup an ordinary one.
func plainLookup(p *plan.Plan) (changed bool) {
	for i, op := range p.Jail.Ops {
		if op.NR != unix.SYS_OPENAT2 {
			continue
		}
		text := op.Args[2].String()
		flags, mode := uint64(unix.O_RDONLY), uint64(0)
		switch {
		case strings.HasPrefix(text, "O_PATH"):
			flags = unix.O_PATH
		case strings.HasPrefix(text, "O_CREAT"):
			flags, mode = unix.O_CREAT|unix.O_WRONLY, 0o644
		}
		how := make([]byte, 24)
		binary.NativeEndian.PutUint64(how, flags|unix.O_CLOEXEC)
		binary.NativeEndian.PutUint64(how[8:], mode)
		p.Jail.Ops[i].Args = []program.Arg{op.Args[0], op.Args[1], program.Bytes(how), op.Args[3]}
		changed = true
	}
	return changed
}

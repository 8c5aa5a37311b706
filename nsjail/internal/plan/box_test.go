package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brig/internal/program"
	"brig/internal/test/must"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// boxed makes the jail a box.
func boxed(_ *spec.Spec, _ *host.Host, m *Mode) { m.Box = true }

// boxOf plans a box, which must be possible.
func boxOf(t *testing.T, in *input) *Box {
	t.Helper()
	p, b, err := in.mode.ResolveBox(in.Spec, in.host)
	must.Do(t, err)
	if n := len(p.Jail.Ops); p.Jail.Ops[n-1].NR != program.Serve || len(p.Exec) > 0 {
		t.Fatalf("init does not serve at the end, or has a command: %q", p.Exec)
	}
	return b
}

// labels returns the labels of a program's operations, each once in a row.
func labels(p *program.Program) (list []string) {
	for i := range p.Ops {
		list = append(list, p.Ops[i].Label)
	}
	return slices.Compact(list)
}

// calls returns the calls of the operations with a label.
func calls(p *program.Program, label string) (list []string) {
	for i := range p.Ops {
		if p.Ops[i].Label == label {
			list = append(list, p.Ops[i].Call())
		}
	}
	return list
}

// A process of a box has a session, streams, limits and a filter of its own, and nothing of the box's making.
func TestBoxProcess(t *testing.T) {
	b := boxOf(t, asked(boxed, preset(t), func(s *spec.Spec, h *host.Host, _ *Mode) {
		s.Limits.Rlimits = map[string]spec.Rlimit{"nofile": {Soft: 100, Hard: 100}}
		h.Env, h.Term = []string{"A=box"}, "dumb"
	}))
	one := b.Resolve(&spec.Spec{Args: []string{"cat", "f"}, Workdir: "/d", Limits: spec.Limits{Wall: 5}}, []string{"A=1"}, "xterm", [3]bool{})
	allNamed(t, "a process", one.Jail)
	if first := one.Jail.Ops[0]; first.NR != program.Fork {
		t.Errorf("it begins with %s", first.Call())
	}
	if last := one.Jail.Ops[len(one.Jail.Ops)-1]; last.NR != unix.SYS_EXECVE || last.Trial {
		t.Errorf("it ends with %s", last.Call())
	}
	for _, label := range []string{"rootfs", "pivot", "mount", "net", "user", "uts", "caps"} {
		if list := calls(one.Jail, label); list != nil {
			t.Errorf("it makes the box again: %q", list)
		}
	}
	if !slices.Contains(one.Env, "A=1") || slices.Contains(one.Env, "A=box") || one.Wall != 5 || one.Exec[0] != "/usr/local/bin/cat" && !strings.HasSuffix(one.Exec[0], "/cat") {
		t.Errorf("%q, %q, %s", one.Env, one.Exec, one.Wall)
	}
	same(t, "the working directory", calls(one.Jail, "workdir"), []string{`chdir("/d")`})
	if one.Heard == nil || one.Enforced["processes"] == "" {
		t.Errorf("heard %v, enforced %q", one.Heard != nil, one.Enforced)
	}
	again := b.Resolve(&spec.Spec{Args: []string{"cat", "f"}, Workdir: "/d"}, []string{"A=1"}, "xterm", [3]bool{})
	same(t, "a process changes nothing for the next one", again.Jail.String(), one.Jail.String())
	same(t, "no limit of its own", again.Wall, 0)
}

// The keeper passes the streams that are set, in order, and init has a /dev/null for the others.
func TestBoxStreams(t *testing.T) {
	b := boxOf(t, asked(boxed, preset(t)))
	for name, c := range map[string]struct {
		null [3]bool
		want []string
	}{
		"all":         {[3]bool{}, []string{"dup3($2, 0, 0)", "dup3($3, 1, 0)", "dup3($4, 2, 0)"}},
		"none":        {[3]bool{true, true, true}, []string{"dup3(null, 0, 0)", "dup3(null, 1, 0)", "dup3(null, 2, 0)"}},
		"only stdout": {[3]bool{true, false, true}, []string{"dup3(null, 0, 0)", "dup3($2, 1, 0)", "dup3(null, 2, 0)"}},
		"no stdin":    {[3]bool{true, false, false}, []string{"dup3(null, 0, 0)", "dup3($2, 1, 0)", "dup3($3, 2, 0)"}},
	} {
		p := b.Resolve(&spec.Spec{Args: []string{"id"}}, nil, "", c.null)
		got := calls(p.Jail, "stdio")
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], fmt.Sprintf("$%d", p.Stdio), "$2")
			got[i] = strings.ReplaceAll(got[i], fmt.Sprintf("$%d", p.Stdio+1), "$3")
			got[i] = strings.ReplaceAll(got[i], fmt.Sprintf("$%d", p.Stdio+2), "$4")
		}
		same(t, name, got, c.want)
		if p.Stdio != launcher.SlotUser {
			t.Errorf("%s: the first stream is in slot %d", name, p.Stdio)
		}
	}
}

// What no command decides comes first if the filter permits the rest: a spare has performed it already. The fork tells
// how many operations that are.
func TestBoxAhead(t *testing.T) {
	for name, c := range map[string]struct {
		in    *input
		tty   bool
		ahead bool
	}{
		"the default filter": {asked(boxed, preset(t)), false, true},
		"a terminal":         {asked(boxed, preset(t)), true, false},
		"no filter":          {asked(boxed), false, false},
		"few files": {asked(boxed, preset(t), func(s *spec.Spec, _ *host.Host, _ *Mode) {
			s.Limits.Rlimits = map[string]spec.Rlimit{"nofile": {Soft: aheadFiles - 1, Hard: 100}}
		}), false, false},
		"enough files": {asked(boxed, preset(t), func(s *spec.Spec, _ *host.Host, _ *Mode) {
			s.Limits.Rlimits = map[string]spec.Rlimit{"nofile": {Soft: aheadFiles, Hard: 100}}
		}), false, true},
		"no limit of files": {asked(boxed, preset(t), func(s *spec.Spec, _ *host.Host, _ *Mode) {
			s.Limits.Rlimits = map[string]spec.Rlimit{"nofile": {Soft: -1, Hard: -1}}
		}), false, true},
	} {
		b := boxOf(t, c.in)
		p := b.Resolve(&spec.Spec{Args: []string{"id"}, TTY: c.tty}, nil, "", [3]bool{})
		list := labels(p.Jail)
		filter, dir := slices.Index(list, "seccomp"), slices.Index(list, "workdir")
		if filter >= 0 && (filter < dir) != c.ahead {
			t.Errorf("%s: %q", name, list)
		}
		if closes := strings.Contains(strings.Join(calls(p.Jail, "fds"), "; "), "close(3)"); closes != (p.Heard != nil && (!c.ahead && !c.tty)) {
			t.Errorf("%s: the listener has another descriptor's number: %v", name, closes)
		}
		if own := p.Jail.Ops[0].Args; c.ahead && (len(own) < 4 || own[3].String() == "0") || !c.ahead && len(own) > 3 && own[3].String() != "0" {
			t.Errorf("%s: the fork has %v", name, own)
		}
		if n := len(p.Jail.Ops); c.ahead {
			own := must.Get(strconv.Atoi(p.Jail.Ops[0].Args[3].String()))(t)
			if own >= n || p.Jail.Ops[own].Label != "seccomp" || p.Jail.Ops[own+1].Label == "seccomp" {
				t.Errorf("%s: %d operations of %d are ahead, and the last is %s", name, own, n, p.Jail.Ops[own].Call())
			}
		}
	}
}

// A box's init holds descriptors for its processes. A hard limit below them is an error before anything is made.
func TestBoxFiles(t *testing.T) {
	for files, ok := range map[int64]bool{-1: true, launcher.BoxFiles: true, launcher.BoxFiles - 1: false, 0: false} {
		in := asked(boxed, func(_ *spec.Spec, h *host.Host, _ *Mode) { h.HardLimits["nofile"] = files })
		_, b, err := in.mode.ResolveBox(in.Spec, in.host)
		if (err == nil) != ok || (b == nil) == ok {
			t.Errorf("%d files: %v", files, err)
		}
		if err != nil && (op(err) != "box" || !strings.Contains(err.Error(), fmt.Sprint("the hard limit is ", files))) {
			t.Errorf("%d files: %v", files, err)
		}
	}
	in := asked(boxed, without("user", "off"))
	if p, b, err := in.mode.ResolveBox(in.Spec, in.host); p != nil || b != nil || op(err) != "user" {
		t.Errorf("without namespaces: %v", err)
	}
}

// A box in a prepared root plans the same processes.
func TestBoxInAPreparedRoot(t *testing.T) {
	in := asked(boxed, prepared, preset(t))
	x := must.Get(NewPrefix(in.Spec, in.host, in.mode))(t)
	p, b, err := x.ResolveBox(in.Spec, x.Plan.Host)
	must.Do(t, err)
	if n := len(p.Jail.Ops); p.Jail.Ops[n-1].NR != program.Serve || p.Prefix == nil {
		t.Errorf("init does not serve at the end: %s", p)
	}
	cold := boxOf(t, asked(boxed, preset(t)))
	s := &spec.Spec{Args: []string{"id"}}
	same(t, "a process", b.Resolve(s, nil, "", [3]bool{}).Jail.String(), cold.Resolve(s, nil, "", [3]bool{}).Jail.String())
}

package denial

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/internal/words"
	"brig/netns/egress"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// arches have different numbers, and calls that others have not.
var arches = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// table returns the meaning of a preset on an architecture.
func table(t *testing.T, preset, arch string) *seccomp.Table {
	t.Helper()
	p := must.Get(seccomp.Preset(preset))(t)
	return must.Get(p.Resolve(seccomp.Target{Arch: arch, KernelMajor: 6, KernelMinor: 12}))(t)
}

// answers reports whether a preset allows a call for some arguments, and whether it refuses it with EPERM for some.
func answers(table *seccomp.Table, nr int) (allows, refuses bool) {
	decided := false
	for _, r := range table.Rules {
		if r.Nr != nr || decided {
			continue
		}
		allows = allows || r.Action.Permits()
		refuses = refuses || r.Action == seccomp.ErrnoAction(unix.EPERM)
		decided = len(r.Conds) == 0
	}
	return allows, refuses || !decided && nr <= table.Newest
}

// TestEveryRefusedCallHasARow: the table has exactly the calls that the default preset refuses, and each fix allows its
// call.
func TestEveryRefusedCallHasARow(t *testing.T) {
	listed := map[string]bool{}
	for _, r := range rows {
		for _, name := range strings.Fields(r.calls) {
			if listed[name] {
				t.Errorf("%s has two rows", name)
			}
			listed[name] = true
		}
		if strings.HasSuffix(r.why, ".") || r.why == "" {
			t.Errorf("%s: %q is no sentence without its stop", r.calls, r.why)
		}
	}
	for arch, audit := range arches {
		checkRows(t, listed, table(t, "default", arch), table(t, "debug", arch), audit)
	}
}

func checkRows(t *testing.T, listed map[string]bool, standard, debugging *seccomp.Table, audit uint32) {
	t.Helper()
	for nr := range 512 {
		name, _ := seccomp.CallName(int32(nr), audit)
		if name == "" {
			continue
		}
		allows, refuses := answers(standard, nr)
		if refuses != listed[name] {
			t.Errorf("%s: refused by the default preset: %v; has a row: %v", name, refuses, listed[name])
			continue
		}
		if !refuses {
			continue
		}
		i := slices.IndexFunc(rows, func(r row) bool { return slices.Contains(strings.Fields(r.calls), name) })
		if rows[i].args != allows {
			t.Errorf("%s: only for some arguments: %v, and the row has %v", name, allows, rows[i].args)
		}
		more, _ := answers(debugging, nr)
		if kept := rows[i].args || !more; (rows[i].fix != nil && rows[i].fix() == debug()) == kept && name != "ptrace" {
			t.Errorf("%s: allowed by debug alone: %v, and the call has another fix", name, !kept)
		}
	}
}

// TestNarrowPresets: what a narrower preset refuses and the default one allows names the default one.
func TestNarrowPresets(t *testing.T) {
	for _, preset := range []string{"strict", "compute", "build"} {
		for arch, audit := range arches {
			checkNarrow(t, preset, table(t, preset, arch), table(t, "default", arch), audit)
		}
	}
}

func checkNarrow(t *testing.T, preset string, narrow, standard *seccomp.Table, audit uint32) {
	t.Helper()
	for nr := range 512 {
		name, _ := seccomp.CallName(int32(nr), audit)
		_, refuses := answers(narrow, nr)
		allows, _ := answers(standard, nr)
		if name == "" || !refuses {
			continue
		}
		if _, fix := refusal(name, preset); (fix == words.Set("seccomp", "default")) != allows {
			t.Errorf("%s: %s: fix %q, and the default preset allows it: %v", preset, name, fix, allows)
		}
	}
}

func TestCall(t *testing.T) {
	for _, c := range []struct{ name, profile, why, fix string }{
		{"unshare", "", "namespaces", "--no-sandbox"},
		{"unshare", "strict", "namespaces", "--no-sandbox"},
		{"kcmp", "default", "debuggers", `seccomp: "debug"`},
		{"socket", "", "TCP, UDP and ping", ""},
		{"socket", "compute", "preset compute", `seccomp: "default"`},
		{"anything", "/etc/profile.json", "the profile", "add it"},
		{"of_2035", "", "not on the list", `seccomp: "FILE"`},
	} {
		why, fix := refusal(c.name, c.profile)
		if !strings.Contains(why.String(), c.why) || !strings.Contains(fix.String(), c.fix) || (c.fix == "") != (fix == "") {
			t.Errorf("%s of %q: %q, %q", c.name, c.profile, why, fix)
		}
	}
}

func TestCallsAndLine(t *testing.T) {
	counts := make([]uint64, 512)
	if Calls(nil, "") != nil || Calls(counts, "") != nil || Line(nil) != "" {
		t.Error("a denial without any")
	}
	counts[unix.SYS_MOUNT], counts[unix.SYS_BPF], counts[unix.SYS_KCMP], counts[511], counts[500] = 2, 1e6, 1, 3, 2
	list := Calls(counts, "")
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprint(d.Layer, " ", d.Name, " ", d.Count))
	}
	want := "syscall bpf 1000000, syscall an unknown system call 3, syscall mount 2, syscall system call 500 2, syscall kcmp 1"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("%s; want %s", s, want)
	}
	line := Line(append(list, Denial{Layer: LayerNetwork, Name: "example.org:443", Count: 9, Why: "w"}))
	for _, part := range []string{"the filter refused bpf 1000000 times: it is kernel code", "(a profile that allows it: seccomp: \"FILE\")",
		"; and 2 other calls (report: "} {
		if !strings.Contains(line.String(), part) || strings.Contains(line.String(), "example") {
			t.Errorf("%q lacks %q", line, part)
		}
	}
	if line := Line(list[4:]); !strings.HasPrefix(line.String(), "the filter refused kcmp once: ") || strings.Contains(line.String(), "other calls") {
		t.Errorf("%q", line)
	}
}

func TestNetwork(t *testing.T) {
	s := &egress.Summary{ByVerdict: map[egress.Verdict]int{egress.VerdictDeny: 9}, Refused: []egress.Refused{
		{Host: "example.org", Port: 443, Reason: "no_rule", Count: 3, Fix: words.Add("allow", "example.org")},
		{Host: "a.test", Reason: "no_rule", Count: 1}}}
	want := []Denial{{"network", "example.org:443", 3, "no rule allows it", words.Add("allow", "example.org")},
		{"network", "a.test", 1, "no rule allows it", ""},
		{"network", "other destinations", 5, "they are too many for this list", words.Set("net_log", "FILE") + " lists them"}}
	if got := Network(s); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if Network(nil) != nil || Network(&egress.Summary{}) != nil {
		t.Error("a denial without any")
	}
}

package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"brig/internal/program"
	"brig/internal/test/golden"
	"brig/internal/test/must"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
	"golang.org/x/tools/txtar"
)

// A golden file of testdata/plan has a Spec (spec.json), what is particular about the machine (host.json, over
// ordinaryHost), and what Resolve makes of them: "plan", the whole text; "diff", the lines that it removes from and
// adds to the plan of default-user.txtar; or "error".
func TestPlans(t *testing.T) {
	base := archive(t, "default-user")
	files, err := filepath.Glob(filepath.Join(planDir(), "*.txtar"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			a := archive(t, name)
			section, got := outcomeOf(t, a, base)
			if want := content(a, section); got != want && !golden.Update() {
				t.Errorf("section %q is\n%s\nwant\n%s\n(go test -run TestPlans -update rewrites it)", section, got, want)
			}
			if golden.Update() {
				kept := a.Files[:0]
				for _, f := range a.Files {
					if strings.HasSuffix(f.Name, ".json") {
						kept = append(kept, f)
					}
				}
				a.Files = append(kept, txtar.File{Name: section, Data: []byte(got)})
				if err := os.WriteFile(filepath.Join("../../../testdata/plan", name+".txtar"), txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func planDir() string { return filepath.Join("../../../testdata", "plan") }

func archive(t *testing.T, name string) *txtar.Archive {
	t.Helper()
	return must.Get(txtar.ParseFile(filepath.Join(planDir(), name+".txtar")))(t)
}

func content(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func outcomeOf(t *testing.T, a, base *txtar.Archive) (section, text string) {
	p, err := resolve(t, a)
	if err != nil {
		return "error", err.Error() + "\n"
	}
	if strings.Contains(string(a.Comment), "whole plan") {
		return "plan", unnumbered(p)
	}
	b, err := resolve(t, base)
	must.Do(t, err)
	return "diff", diff(unnumbered(b), unnumbered(p))
}

// unnumbered is the plan without the numbers of its lines, so that a golden file shows only what changed.
func unnumbered(p *Plan) string {
	var b strings.Builder
	for _, line := range strings.SplitAfter(p.String(), "\n") {
		if len(line) > 6 && strings.Trim(line[:6], " 0123456789") == "" && line[0] == ' ' {
			line = line[6:]
		}
		b.WriteString(line)
	}
	return b.String()
}

// diff returns the lines of a that b has not (-) and those that b adds (+), by a longest common subsequence.
func diff(a, b string) string {
	x, y := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	lcs := make([][]int, len(x)+1)
	for i := range lcs {
		lcs[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if lcs[i][j] = max(lcs[i+1][j], lcs[i][j+1]); x[i] == y[j] {
				lcs[i][j] = lcs[i+1][j+1] + 1
			}
		}
	}
	var out strings.Builder
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && lcs[i+1][j] >= lcs[i][j+1]:
			out.WriteString("- " + x[i])
			i++
		default:
			out.WriteString("+ " + y[j])
			j++
		}
	}
	return out.String()
}

// ordinaryHost is a Debian-like machine whose caller is an ordinary user.
func ordinaryHost() *host.Host {
	h := &host.Host{
		Machine: host.Machine{Kernel: host.Kernel{Major: 6, Minor: 1}, LastCap: 1, Landlock: 2, Queues: true, Missing: map[string]spec.Text{},
			ProcFiles: []host.ProcFile{{Name: "acpi", Dir: true}, {Name: "kcore", Dir: false}, {Name: "sys", Dir: true}}},
		Caller: host.Caller{UID: 1000, GID: 1000, PayloadUID: 1000, PayloadGID: 1000, Term: "xterm", HardLimits: map[string]int64{}},
		Root: host.Root{System: []host.SystemDir{{Name: "usr"}, {Name: "bin", Link: "usr/bin"}, {Name: "lib", Link: "usr/lib"}, {Name: "etc/alternatives"}, {Name: "etc/fonts"},
			{Name: "etc/localtime", Link: "/usr/share/zoneinfo/Europe/Vienna"}}, Files: []string{"etc/ld.so.cache", "etc/services"}, CPUs: "0-1"},
		Filters: host.Filters{Filter: make([]byte, 8*100)}}
	for _, name := range spec.RlimitNames() {
		h.HardLimits[name] = -1
	}
	return h
}

func resolve(t *testing.T, a *txtar.Archive) (*Plan, error) {
	t.Helper()
	s, h := &spec.Spec{}, ordinaryHost()
	dec := json.NewDecoder(strings.NewReader(content(a, "host.json")))
	dec.DisallowUnknownFields()
	if err := dec.Decode(h); err != nil {
		t.Fatal("host.json: ", err)
	}
	s, err := spec.ParseSpec([]byte(content(a, "spec.json")))
	if err != nil {
		t.Fatal("spec.json: ", err)
	}
	ino := uint64(100)
	for i := spec.Root; i < len(s.Mounts); i++ {
		if src := h.Sources.Of(i); src != nil {
			src.Dev, src.Ino, src.Content = 0x801, ino, "content of "+src.Path
			ino++
		}
	}
	var m Mode
	if text := content(a, "mode.json"); text != "" {
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal("mode.json: ", err)
		}
	}
	if s.Tier != "" {
		h.Guard = make([]byte, 8*50)
	}
	return m.Resolve(s, h)
}

// eachPlan visits the plan of every golden file that has one.
func eachPlan(t *testing.T, visit func(name string, p *Plan)) {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(planDir(), "*.txtar")))(t)
	n := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if p, err := resolve(t, archive(t, name)); err == nil {
			visit(name, p)
			n++
		}
	}
	if n < 10 {
		t.Fatalf("only %d plans", n)
	}
}

// One place only spells the order of what the child does: what a reader sees, Plan.String and Steps, is the list that
// the launcher performs, operation by operation.
func TestThePrintedPlanIsThePerformedList(t *testing.T) {
	eachPlan(t, func(name string, p *Plan) {
		_, jail, _ := strings.Cut(p.String(), "# clone3(")
		_, jail, _ = strings.Cut(jail, "\n")
		jail, _, _ = strings.Cut(jail, "\n#")
		lines := strings.Split(jail, "\n")
		_, steps := p.Steps()
		if len(lines) != len(p.Jail.Ops) || len(steps) != len(p.Jail.Ops) {
			t.Fatalf("%s: %d lines and %d steps for %d operations", name, len(lines), len(steps), len(p.Jail.Ops))
		}
		for i := range p.Jail.Ops {
			o := &p.Jail.Ops[i]
			want := fmt.Sprintf("%4d  %-9s %s", i+1, o.Label, o.Call())
			if lines[i] != want || steps[i] != (Step{i + 1, o.Label, o.Call()}) {
				t.Errorf("%s: line %q and step %+v, want %q", name, lines[i], steps[i], want)
			}
		}
	})
}

func TestResolveIsPure(t *testing.T) {
	eachPlan(t, func(name string, p *Plan) {
		again, err := resolve(t, archive(t, name))
		if err != nil || again.String() != p.String() || !reflect.DeepEqual(again.Enforced, p.Enforced) {
			t.Errorf("%s: the same Spec and Host give another plan (%v)", name, err)
		}
		req := program.Request{CloneFlags: p.Flags, Cgroup: -1}
		b1, err1 := p.Jail.Encode(req)
		b2, err2 := again.Jail.Encode(req)
		if err1 != nil || err2 != nil || !bytes.Equal(b1, b2) {
			t.Errorf("%s: the binary form differs (%v, %v)", name, err1, err2)
		}
	})
}

// Every plan names all its calls, ends in execve(2), loads the filter just before it, and drops all privileges after
// the last operation that needs one.
func TestPlansHoldTheLaws(t *testing.T) {
	eachPlan(t, func(name string, p *Plan) {
		last, open := map[string]int{}, map[string]bool{}
		for i := range p.Jail.Ops {
			o := &p.Jail.Ops[i]
			last[o.Label] = i
			if strings.HasPrefix(program.Name(o.NR), "syscall_") {
				t.Errorf("%s: operation %d has no name: %s", name, i+1, o.Call())
			}
			slot := fmt.Sprintf("$%d", o.Save)
			if o.Save >= 0 && o.OK != [4]uint8{} && !open[slot] {
				t.Errorf("%s: operation %d may leave its slot as it was, with no descriptor: %s", name, i+1, o.Call())
			}
			if open[slot] = true; o.NR == unix.SYS_CLOSE {
				delete(open, strings.Trim(strings.TrimPrefix(o.Call(), "close"), "()"))
			}
			if o.Trial && (o.NR == unix.SYS_SECCOMP || o.Label == "caps" || o.Label == "drop" || o.Label == "user" || o.Label == "pivot") {
				t.Errorf("%s: operation %d may fail: %s", name, i+1, o.Call())
			}
		}
		n := len(p.Jail.Ops)
		if p.Jail.Ops[n-1].NR != unix.SYS_EXECVE || p.Jail.Ops[n-1].Trial {
			t.Errorf("%s: the last operation is %s", name, p.Jail.Ops[n-1].Call())
		}
		if strings.HasPrefix(p.Enforced["seccomp"].String(), "not enforced") {
			return
		}
		if at := last["seccomp"]; p.Jail.Ops[at].NR != unix.SYS_SECCOMP || last["caps"] > at || n-1-at != len(p.Exec) {
			t.Errorf("%s: operation %d is %s", name, at+1, p.Jail.Ops[at].Call())
		}
		for _, label := range []string{"mount", "rootfs", "pivot", "dev", "uts", "net", "user"} {
			if last[label] > last["fds"] {
				t.Errorf("%s: %s after the descriptors are closed", name, label)
			}
		}
	})
}

// A plan tells of every mechanism whether it is enforced, and enforces those that are required.
func TestPlansTellWhatIsEnforced(t *testing.T) {
	eachPlan(t, func(name string, p *Plan) {
		for _, m := range spec.Mechanisms() {
			v, ok := p.Enforced[m.Name]
			if !ok && !m.OnDemand && m.Name != "idmap" && m.Name != "overlay" && m.Name != "sockets" &&
				m.Name != "cow" {
				t.Errorf("%s: nothing is said of %s", name, m.Name)
			}
			if ok && slices.Contains(p.Spec.Require, m.Name) && strings.HasPrefix(v.String(), "not enforced") {
				t.Errorf("%s: %s is required and %s", name, m.Name, v)
			}
		}
	})
}

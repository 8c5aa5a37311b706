package cgroup

import "testing"

func TestTry(t *testing.T) {
	l, err := Detect("")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", l)
	p := Resolve(&Limits{Memory: 64 << 20, Processes: 10, CPUQuota: 50e6, CPUTime: true, Swap: Swap{Set: true, Implied: true}, CPUs: "0"}, l)
	for _, s := range p.Steps() {
		t.Log(s)
	}
	t.Log(p.Enforced, p.Missing)
	g, err := p.Create()
	if err != nil {
		t.Fatal(err)
	}
	t.Log(g.Lost, g.Into(), g.CPUUsage())
	t.Logf("%+v", g.Read())
	t.Log(g.Dirs())
	if err := g.Freeze(true); err != nil {
		t.Error(err)
	}
	if err := g.Freeze(false); err != nil {
		t.Error(err)
	}
	if err := g.Kill(); err != nil {
		t.Error(err)
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
}

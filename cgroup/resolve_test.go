package cgroup

import (
	"embed"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// golden are the plans as they should be: the second run has no checkout to read them from.
//
//go:embed testdata/resolve
var golden embed.FS

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// layouts are invented machines.
func layouts() map[string]Layout {
	v1 := func(dirs ...string) map[string]string {
		m := map[string]string{}
		for _, d := range dirs {
			for _, c := range strings.Split(filepath.Base(filepath.Dir(d)), ",") {
				m[c] = d
			}
		}
		return m
	}
	const sys = "/sys/fs/cgroup/"
	all := []string{"cpuset", "cpu", "io", "memory", "hugetlb", "pids"}
	user := sys + "user.slice/user-1000.slice/user@1000.service/app.slice/run-7.scope"
	legacy := v1(sys+"cpu,cpuacct/x", sys+"cpuset/x", sys+"memory/x", sys+"pids/x", sys+"blkio/x", sys+"freezer/x", sys+"hugetlb/x")
	denied := map[string]string{}
	for c := range legacy {
		denied[c] = legacy[c] + ": permission denied"
	}
	hybridUser := maps.Clone(denied)
	hybridUser[""] = "/sys/fs/cgroup/unified/x: permission denied"
	return map[string]Layout{
		"v2-root":      {Mode: V2, Group: "/", Dir: "/sys/fs/cgroup", Enabled: all, Subtree: all, Delegated: true},
		"v2-first":     {Mode: V2, Group: "/", Dir: "/sys/fs/cgroup", Enabled: all, Delegated: true},
		"v2-delegated": {Mode: V2, Group: "/run-7.scope", Dir: user, Enabled: []string{"memory", "pids"}, Subtree: []string{"pids"}, Delegated: true},
		"v2-read-only": {Mode: V2, Group: "/", Dir: "/sys/fs/cgroup", Enabled: all, Denied: map[string]string{"": "/sys/fs/cgroup is mounted read-only"}},
		"v2-threaded": {Mode: V2, Group: "/t", Dir: sys + "t", Enabled: []string{"cpu", "pids"}, Denied: map[string]string{
			"": sys + `t is "domain threaded", and only a domain can hold whole processes`}},
		"v2-unit-not-delegated": {Mode: V2, Group: "/system.slice/x.service", Dir: sys + "system.slice/x.service", Enabled: all, Systemd: true,
			Denied: map[string]string{"": sys + "system.slice/x.service is a unit of systemd's without Delegate=yes"}},
		"v2-inside-the-leaf": *Parse("0::/a/"+leafName+"\n", unified, ""),
		"hybrid-root":        {Mode: Hybrid, Group: "/x", Dir: sys + "unified/x", Controllers: legacy, Delegated: true},
		"hybrid-user":        {Mode: Hybrid, Group: "/x", Dir: sys + "unified/x", Controllers: legacy, Denied: hybridUser},
		"hybrid-v2-denied":   {Mode: Hybrid, Group: "/x", Dir: sys + "unified/x", Controllers: legacy, Denied: map[string]string{"": hybridUser[""]}},
		"hybrid-hugetlb-v2":  {Mode: Hybrid, Group: "/", Dir: sys + "unified", Enabled: []string{"hugetlb"}, Controllers: v1(sys+"memory/x", sys+"pids/x"), Delegated: true},
		"hybrid-no-freezer":  {Mode: Hybrid, Group: "/x", Dir: sys + "unified/x", Controllers: v1(sys+"memory/x", sys+"pids/x", sys+"cpu,cpuacct/x"), Delegated: true},
		"v1-root":            {Mode: V1, Controllers: legacy, Delegated: true},
		"v1-no-freezer":      {Mode: V1, Controllers: v1(sys+"memory/x", sys+"cpu/x"), Delegated: true},
		"none":               {Mode: None},
	}
}

// everything asks for every mechanism.
func everything() *Limits {
	return &Limits{Memory: 64 << 20, MemoryHigh: 32 << 20, MemoryLow: 16 << 20, MemoryMin: 8 << 20, Swap: Swap{Set: true, Implied: true}, Zswap: 4 << 20,
		Processes: 65, CPUQuota: 50 * time.Millisecond, CPUBurst: 10 * time.Millisecond, CPUWeight: 50, CPUTime: true, CPUs: "0-1", Mems: "0",
		IO: []Device{{Major: 8, ReadBps: 1 << 20, WriteIOPS: 5}, {Major: 9, Minor: 3, WriteBps: 7}}, IOWeight: 10,
		HugeTLB: map[string]int64{"2MB": 0, "1GB": 1 << 30}, Files: []File{{"memory.reclaim", "0"}, {"pids.max", "1\x1b"}, {"cgroup.max.depth", "1"}}}
}

// shown is a plan as the golden files have it.
func shown(p *Plan) string {
	var b strings.Builder
	for i, s := range p.Steps() {
		fmt.Fprintf(&b, "%2d %s\n", i+1, s)
	}
	for _, part := range []struct {
		name string
		m    map[string]string
	}{{"enforced", p.Enforced}, {"missing", p.Missing}} {
		fmt.Fprintf(&b, "\n%s:\n", part.name)
		for _, k := range slices.Sorted(maps.Keys(part.m)) {
			mark := ""
			if p.Optional[k] {
				mark = " (optional)"
			}
			fmt.Fprintf(&b, "%s%s: %s\n", k, mark, part.m[k])
		}
	}
	fmt.Fprintf(&b, "\nversion 2 directories: %d, joins: %q\n", p.V2(), p.V1Joins())
	return b.String()
}

func TestResolve(t *testing.T) {
	for name, l := range layouts() {
		t.Run(name, func(t *testing.T) {
			p := Resolve(everything(), &l)
			got := shown(p)
			file := filepath.Join("testdata", "resolve", name+".txt")
			if *update && !asuser.Second() {
				must.Do(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			want := must.Get(golden.ReadFile(file))(t)
			checkOrder(t, name, p)
			if got != string(want) {
				t.Errorf("run the test with -update if this is right:\n%s", got)
			}
		})
	}
}

// TestResolveIsConsistent checks the plan of each single mechanism in each layout.
func TestResolveIsConsistent(t *testing.T) {
	all := everything()
	parts := map[string]*Limits{"memory": {Memory: all.Memory}, "memory_high": {MemoryHigh: all.MemoryHigh}, "memory_low": {MemoryLow: all.MemoryLow},
		"memory_min": {MemoryMin: all.MemoryMin}, "memory_swap": {Swap: Swap{Set: true}}, "memory_zswap": {Zswap: all.Zswap}, "processes": {Processes: 3}, "cpus": {CPUQuota: all.CPUQuota},
		"cpu_burst": {CPUBurst: all.CPUBurst}, "cpu_weight": {CPUWeight: 5}, "cpu_time": {CPUTime: true}, "cpuset": {CPUs: "0"}, "io": {IO: all.IO},
		"io_weight": {IOWeight: 5}, "hugetlb": {HugeTLB: all.HugeTLB}, "cgroup_file": {Files: []File{{"cgroup.max.depth", "1"}}}}
	for name, l := range layouts() {
		for mechanism, want := range parts {
			p := Resolve(want, &l)
			if (p.Enforced["memory_sockets"] != "") != (p.Enforced["memory"] != "") {
				t.Errorf("%s, %s: enforced %q", name, mechanism, p.Enforced)
			}
			delete(p.Enforced, "memory_sockets") // it goes with memory
			delete(p.Missing, "memory_sockets")
			if (p.Enforced[mechanism] == "") == (p.Missing[mechanism] == "") || len(p.Enforced)+len(p.Missing) != 1 {
				t.Errorf("%s, %s: enforced %q, missing %q", name, mechanism, p.Enforced, p.Missing)
			}
			if (len(p.Branches) == 0) != (p.Missing[mechanism] != "") {
				t.Errorf("%s, %s: branches %+v, missing %q", name, mechanism, p.Branches, p.Missing)
			}
			for _, s := range p.steps {
				if p.Missing[mechanism] == "" && s.verb == makeDir && !slices.Contains(s.mechanism, mechanism) && s.branch == held(p) {
					t.Errorf("%s, %s is not lost with its directory", name, mechanism)
				}
			}
			checkOrder(t, name+", "+mechanism, p)
		}
	}
	for i := range mechanisms {
		if mechanisms[i].set(&Limits{}) {
			t.Errorf("no limits ask for %s", mechanisms[i].Name)
		}
	}
}

// held is the branch that holds a plan's only mechanism: the other one beside it limits nothing.
func held(p *Plan) int {
	for _, s := range p.steps {
		if s.verb == write {
			return s.branch
		}
	}
	return len(p.Branches) - 1 // cpu_time
}

// checkOrder: version 2 first; each directory is made once, after its controllers are enabled and before its files are
// written; and every write is lost with its directory.
func checkOrder(t *testing.T, what string, p *Plan) {
	t.Helper()
	made := make([]int, len(p.Branches))
	for i := range p.steps {
		s := &p.steps[i]
		switch s.verb {
		case makeDir:
			made[s.branch]++
		case enable:
			if made[s.branch] > 0 {
				t.Errorf("%s: step %d comes too late", what, i+1)
			}
		default:
			if made[s.branch] != 1 {
				t.Errorf("%s: step %d comes too early", what, i+1)
			}
		}
		if s.verb != makeDir && len(s.mechanism) == 0 {
			t.Errorf("%s: step %d is for nothing", what, i+1)
		}
	}
	for i, n := range made {
		if n != 1 || i > 0 && p.Branches[i].Version > p.Branches[i-1].Version ||
			i > 0 && strings.Contains(p.Branches[i].Base, "/freezer") && p.Branches[i-1].Version == 1 {
			t.Errorf("%s: %+v, made %v", what, p.Branches, made)
		}
	}
	for _, s := range slices.Concat(p.Steps(), slices.Collect(maps.Values(p.Enforced)), slices.Collect(maps.Values(p.Missing))) {
		if strings.ContainsAny(s, "\n\x1b") {
			t.Errorf("%s is unsafe to print: %q", what, s)
		}
	}
}

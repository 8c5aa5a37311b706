package policy

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"brig/nsjail"
	"brig/nsjail/spec"
)

// Each ceiling lowers its own limit, keeps what depends on it valid, and tells the caller if it asked for more.
func TestEachCeiling(t *testing.T) {
	tmpfs := func(size nsjail.Bytes, inodes int64) nsjail.Mount {
		return nsjail.Mount{Type: nsjail.MountTmpfs, Target: "/tmp/x", Size: size, Inodes: inodes}
	}
	rlimits := func(name string, soft, hard int64) nsjail.Limits {
		return nsjail.Limits{Rlimits: map[string]spec.Rlimit{name: {Soft: soft, Hard: hard}}}
	}
	const second = nsjail.Duration(1e9)
	for name, c := range map[string]struct {
		limits     string // of the policy
		have, want nsjail.Spec
		said       []string
	}{
		"wall": {`"wall": "10s", "grace": "10s"`,
			nsjail.Spec{Limits: nsjail.Limits{Wall: 20 * second}}, nsjail.Spec{Limits: nsjail.Limits{Wall: 10 * second}},
			[]string{"p: wall lowered from 20s to 10s."}},
		"no wall": {`"wall": "10s"`,
			nsjail.Spec{Limits: nsjail.Limits{Wall: -1}}, nsjail.Spec{Limits: nsjail.Limits{Wall: 10 * second}},
			[]string{"p: wall lowered from none to 10s."}},
		"the default wall": {`"wall": "10s"`,
			nsjail.Spec{}, nsjail.Spec{Limits: nsjail.Limits{Wall: 10 * second}},
			[]string{"p: limits where none was asked for: wall 10s."}},
		"a default wall below": {`"wall": "10h"`, nsjail.Spec{}, nsjail.Spec{}, nil},
		"the wall of a terminal": {`"wall": "10h"`,
			nsjail.Spec{TTY: true}, nsjail.Spec{TTY: true, Limits: nsjail.Limits{Wall: 36000 * second}},
			[]string{"p: limits where none was asked for: wall 10h0m0s."}},
		"the grace that wall implies": {`"wall": "10h"`,
			nsjail.Spec{Limits: nsjail.Limits{Grace: 11 * second}}, nsjail.Spec{Limits: nsjail.Limits{Grace: 10 * second}},
			[]string{"p: grace lowered from 11s to 10s."}},
		"cpu_time above RLIMIT_CPU": {`"cpu_time": "9s"`,
			nsjail.Spec{Limits: rlimits("cpu", 2, 3)}, nsjail.Spec{Limits: nsjail.Limits{CPUTime: 3 * second}},
			[]string{"p: limits where none was asked for: cpu_time 9s."}},
		"cpu_time below RLIMIT_CPU": {`"cpu_time": "2s"`,
			nsjail.Spec{Limits: rlimits("cpu", 3, 3)}, nsjail.Spec{Limits: nsjail.Limits{CPUTime: 2 * second}},
			[]string{"p: limits where none was asked for: cpu_time 2s."}},
		"cpus, with a burst": {`"cpus": 0.5`,
			nsjail.Spec{Limits: nsjail.Limits{CPUs: 2, CPUBurst: second}},
			nsjail.Spec{Limits: nsjail.Limits{CPUs: 0.5, CPUBurst: second / 20}},
			[]string{"p: cpus lowered from 2 to 0.5."}},
		"cpus, with a short period": {`"cpus": 0.25`,
			nsjail.Spec{Limits: nsjail.Limits{CPUs: 2, CPUPeriod: second / 1000}},
			nsjail.Spec{Limits: nsjail.Limits{CPUs: 0.25, CPUPeriod: second / 10}},
			[]string{"p: cpus lowered from 2 to 0.25."}},
		"memory, and what is below it": {`"memory": "1m"`,
			nsjail.Spec{Limits: nsjail.Limits{Memory: 4 << 20, MemoryHigh: 2 << 20, MemorySwap: 8 << 20}},
			nsjail.Spec{Limits: nsjail.Limits{Memory: 1 << 20, MemoryHigh: 1 << 20, MemorySwap: 1 << 20}},
			[]string{"p: memory lowered from 4m to 1m.", "p: memory_swap lowered from 8m to 1m."}},
		"any swap": {`"memory": "1m", "memory_swap": "3m"`,
			nsjail.Spec{Limits: nsjail.Limits{Memory: 1 << 20, MemorySwap: -1}},
			nsjail.Spec{Limits: nsjail.Limits{Memory: 1 << 20, MemorySwap: 3 << 20}},
			[]string{"p: memory_swap lowered from none to 3m."}},
		"processes by RLIMIT_NPROC": {`"processes": 5`,
			nsjail.Spec{Limits: rlimits("nproc", 5, 6)}, nsjail.Spec{Limits: nsjail.Limits{Processes: 5}},
			[]string{"p: processes lowered from 6 to 5."}},
		"a lower RLIMIT_NPROC": {`"processes": 5`,
			nsjail.Spec{Limits: rlimits("nproc", 1, 4)}, nsjail.Spec{Limits: rlimits("nproc", 1, 4)}, nil},
		"tmpfs": {`"tmpfs": "1m"`,
			nsjail.Spec{Mounts: []nsjail.Mount{tmpfs(0, 0), tmpfs(9<<20, 0), tmpfs(1<<10, 0)}},
			nsjail.Spec{Mounts: []nsjail.Mount{tmpfs(1<<20, 0), tmpfs(1<<20, 0), tmpfs(1<<10, 0)}},
			[]string{"p: tmpfs lowered from 256m to 1m."}},
		"inodes": {`"tmpfs_inodes": 100`,
			nsjail.Spec{Mounts: []nsjail.Mount{tmpfs(0, 0), tmpfs(0, 7)}},
			nsjail.Spec{Mounts: []nsjail.Mount{tmpfs(0, 100), tmpfs(0, 7)}},
			[]string{"p: tmpfs_inodes lowered from 65536 to 100."}},
		"a default tmpfs below": {`"tmpfs": "1g"`,
			nsjail.Spec{Mounts: []nsjail.Mount{tmpfs(0, 0)}}, nsjail.Spec{Mounts: []nsjail.Mount{tmpfs(0, 0)}}, nil},
		"the scratch": {`"tmpfs": "1m"`, nsjail.Spec{Scratch: 2 << 30}, nsjail.Spec{Scratch: 1 << 20},
			[]string{"p: tmpfs lowered from 2g to 1m."}},
		"another mount": {`"tmpfs": "1m"`,
			nsjail.Spec{Mounts: []nsjail.Mount{{Type: nsjail.MountDir, Target: "/work/d"}}},
			nsjail.Spec{Mounts: []nsjail.Mount{{Type: nsjail.MountDir, Target: "/work/d"}}}, nil},
		"a writable root": {`"root_size": "1m"`,
			nsjail.Spec{Rootfs: nsjail.Rootfs{Writable: true}},
			nsjail.Spec{Rootfs: nsjail.Rootfs{Writable: true, Size: 1 << 20}},
			[]string{"p: limits where none was asked for: root_size 1m."}},
		"a root that is not writable": {`"root_size": "1m"`, nsjail.Spec{}, nsjail.Spec{}, nil},
		"file_size": {`"file_size": "1m"`,
			nsjail.Spec{}, nsjail.Spec{Limits: rlimits("fsize", 1<<20, 1<<20)},
			[]string{"p: limits where none was asked for: file_size 1m."}},
		"open_files, soft and hard": {`"open_files": 20`,
			nsjail.Spec{Limits: rlimits("nofile", 9, -1)}, nsjail.Spec{Limits: rlimits("nofile", 9, 20)},
			[]string{"p: open_files lowered from none to 20."}},
		"output": {`"output": "1k", "output_limit": 5000`,
			nsjail.Spec{Limits: nsjail.Limits{Output: 2 << 10}},
			nsjail.Spec{Limits: nsjail.Limits{Output: 1 << 10, OutputLimit: 5000}},
			[]string{"p: output lowered from 2k to 1k.", "p: limits where none was asked for: output_limit 5000."}},
	} {
		p := parsed(t, `{"name": "p", "limits": {`+c.limits+`}}`)
		before := string(c.have.JSON())
		s := c.have
		if said := p.limits().narrow(&s); !slices.Equal(said, c.said) {
			t.Errorf("%s: said %q, want %q", name, said, c.said)
		}
		if !reflect.DeepEqual(s, c.want) {
			t.Errorf("%s:\ngot  %swant %s", name, s.JSON(), c.want.JSON())
		}
		if said := p.limits().narrow(&s); said != nil {
			t.Errorf("%s, again: %q", name, said)
		}
		if after := string(c.have.JSON()); after != before {
			t.Errorf("%s: the caller's Spec has changed:\n%s%s", name, before, after)
		}
	}
}

// A number has the same value before and after it is shown and set.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		field any
		n     int64
		text  string
	}{
		{new(nsjail.Duration), 1500e6, "1.5s"}, {new(nsjail.Bytes), 64 << 20, "64m"}, {new(int64), 7, "7"},
		{new(float64), millionths / 2, "0.5"}, {new(float64), 0, "0"},
	} {
		setNumber(c.field, c.n)
		if got := number(c.field); got != c.n || show(c.field, got) != c.text {
			t.Errorf("%T: %d is %q, want %d and %q", c.field, got, show(c.field, got), c.n, c.text)
		}
	}
	huge := math.Inf(1)
	if n := number(&huge); n <= 0 {
		t.Errorf("infinitely many processors are %d", n)
	}
	if got := showOr(new(int64), math.MaxInt64); got != "none" {
		t.Errorf("no limit is %q", got)
	}
}

// Each ceiling that a policy can refuse for names the limit and the way on.
func TestRefusedLimits(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		set   nsjail.Limits
		want  string
	}{
		"idle":         {`"1s"`, nsjail.Limits{Idle: 2e9}, "idle of 2s is above the ceiling of 1s."},
		"cpus":         {`1`, nsjail.Limits{CPUs: 1.5}, "cpus of 1.5 is above the ceiling of 1."},
		"memory":       {`"1m"`, nsjail.Limits{Memory: 2 << 20}, "memory of 2m is above the ceiling of 1m."},
		"memory_zswap": {`"1k"`, nsjail.Limits{MemoryZswap: 2 << 10}, "memory_zswap of 2k is above the ceiling of 1k."},
		"processes":    {`3`, nsjail.Limits{Processes: -1}, "processes of none is above the ceiling of 3."},
		"output_limit": {`"1k"`, nsjail.Limits{OutputLimit: 1025}, "output_limit of 1025 is above the ceiling of 1k."},
	} {
		p := parsed(t, `{"limits": {"`+name+`": `+c.value+`, "refuse": ["`+name+`"]}}`)
		r := p.limits().judge(&nsjail.Spec{Limits: c.set})
		if r == nil || r.Message != c.want || r.Code != "limit_exceeded" || r.Rule != "policy: limits."+name {
			t.Errorf("%s: %+v", name, r)
		}
		if r := p.limits().judge(&nsjail.Spec{}); r != nil {
			t.Errorf("%s: a default is refused: %+v", name, r)
		}
	}
}

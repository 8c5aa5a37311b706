package spec

import (
	"strings"
	"testing"

	egress "brig/netns/egress/policy"
)

// good is a Spec that Check accepts, for the tests to break in one place.
func good() *Spec {
	return &Spec{
		Args:    []string{"id", "", "\xe9"},
		Env:     []string{"A=b", "EMPTY=", "RAW=\xff"},
		PassEnv: []string{"LC_*", "TOKEN"},
		Workdir: "/work", User: "0:4294967294", Hostname: "box-1.example", Net: NetNone, Seccomp: "./a.json",
		Rootfs: Rootfs{Path: "/srv/alpine", Writable: true, Size: 1 << 20},
		Mounts: []Mount{
			{Type: MountBind, Source: "data", Target: "/input", Writable: true},
			{Type: MountBind, Source: "logs", Target: "/logs", Live: true},
			{Type: MountTmpfs, Target: "/dev/shm", Size: 1 << 20, Inodes: 10, Mode: "1777"},
			{Type: MountDir, Target: "/a/b"}, {Type: MountDir, Target: "/a", Mode: "700"},
			{Type: MountSymlink, Source: "../x", Target: "/link"},
			{Type: MountFile, Source: "f\xe9", Target: "/etc/f", Mode: "644"},
		},
		Limits: Limits{Wall: -1, Idle: 1, Grace: 1, CPUTime: 1, Processes: -1, Output: 1, OutputLimit: 1,
			Rlimits: map[string]Rlimit{"nofile": {10, -1}, "core": {-1, -1}},
			Memory:  128 << 10, MemoryHigh: 128 << 10, MemorySwap: -1, MemoryLow: 1, MemoryMin: 128 << 10, NoOOMGroup: true,
			CPUs: 0.5, CPUPeriod: 50e6, CPUBurst: 25e6, CPUWeight: 1, CPUSet: "0-3,6,6", CPUSetMems: "0,65535",
			IO:       []IOLimit{{Path: "/dev/sda", ReadBps: 1, WriteBps: 2}, {Path: "data\xe9", ReadIOPS: 3, WriteIOPS: 1<<32 - 1}},
			IOWeight: 10000, HugeTLB: map[string]Bytes{"2MB": 0, "1GB": 1 << 30, "512KB": 1},
			Cgroup: []string{"pids.max=10", "misc.max=res_a 1", "hugetlb.64KB.max=0", "a=b.c=d"[2:]}},
		CgroupParent: "/batch.slice/x",
		Require:      []string{"seccomp", "cpu_time"}, Optional: []string{"memory", "cpus", "cpuset", "memory_swap", "cgroup_file"},
	}
}

func TestCheckAcceptsAGoodSpec(t *testing.T) {
	for _, p := range good().Check() {
		t.Error(p)
	}
	for _, p := range (&Spec{Args: []string{"id"}}).Check() {
		t.Error(p)
	}
}

// TestCheckOrder: Check lists the problems of all subjects in one order, which is that of the fields of Spec but for a few.
func TestCheckOrder(t *testing.T) {
	bad := &Spec{
		Args: []string{""}, Env: []string{"A"}, PassEnv: []string{""}, Workdir: "w", User: "u", Hostname: "_",
		Rootfs: Rootfs{Image: "i", Size: -1}, Scratch: 1, Mounts: []Mount{{Type: MountDir, Target: "a"}},
		Protect: []string{"a"}, Git: "g", Etc: []string{"passwd"}, Net: "n", Egress: &egress.Policy{},
		Publish: []string{"p"}, Seccomp: "\x00", Tier: "t", AppArmor: " a", SELinuxLabel: "s",
		Limits: Limits{Idle: -1, Grace: -1, CPUTime: -1, Processes: -2, Output: -1, OutputLimit: -1, Memory: -1,
			MemoryHigh: -1, MemorySwap: -2, CPUs: -1, CPUWeight: -1, CPUSet: "x", CPUSetMems: "x",
			IO: []IOLimit{{}}, IOWeight: -1, HugeTLB: map[string]Bytes{"1": 1}, Cgroup: []string{"x"},
			Rlimits: map[string]Rlimit{"x": {}, "core": {-2, -2}}},
		CgroupParent: "p", Require: []string{"r"}, Optional: []string{"cow"},
	}
	var paths []string
	for _, p := range bad.Check() {
		paths = append(paths, p.Path)
	}
	want := "args[0] env[0] pass_env[0] workdir user hostname rootfs.image rootfs.size scratch mounts[0].target " +
		"protect[0] git etc[0] net net publish[0] seccomp tier apparmor selinux_label limits.idle limits.grace " +
		"limits.cpu_time limits.processes limits.output limits.output_limit limits.memory limits.memory_high " +
		"limits.memory_swap limits.cpu_weight limits.cpus limits.cpuset limits.cpuset_mems limits.io_weight " +
		"limits.io[0] limits.io[0].path limits.hugetlb limits.cgroup[0] cgroup_parent limits.rlimits.core " +
		"limits.rlimits require[0] optional[0]"
	if got := strings.Join(paths, " "); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// wantProblem breaks a good Spec and wants exactly one problem.
func wantProblem(t *testing.T, breakIt func(*Spec), want string) {
	t.Helper()
	s := good()
	breakIt(s)
	wantOne(t, s.Check(), want)
}

// wantOne wants one problem: the whole line, or its beginning if want ends in "..."; and none if it is "".
func wantOne(t *testing.T, got []Problem, want string) {
	t.Helper()
	if want == "" && len(got) == 0 {
		return
	}
	if len(got) != 1 {
		t.Fatalf("%d problems, want 1: %v", len(got), got)
	}
	line := got[0].Error()
	prefix, cut := strings.CutSuffix(want, "...")
	if line != want && !(cut && strings.HasPrefix(line, prefix)) {
		t.Errorf("\n got %s\nwant %s", line, want)
	}
	if got[0].Fix == "" || strings.ContainsAny(line, "\n\x00") {
		t.Errorf("not one line with a fix: %q", line)
	}
}

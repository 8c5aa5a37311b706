package spec

import (
	"strconv"
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

func TestCheckNamesPlaceReasonAndFix(t *testing.T) {
	tests := map[string]struct {
		breakIt func(*Spec)
		want    string // the whole line, or its beginning when it ends in ...
	}{
		"etc of image":   {func(s *Spec) { s.Etc = []string{"fonts"} }, `etc: a rootfs has its own /etc; remove it, or bind what is missing there`},
		"etc upwards":    {func(s *Spec) { s.Rootfs, s.Etc = Rootfs{}, []string{"a/../../b"} }, `etc[0]: "a/../../b" is not a name in /etc...`},
		"etc private":    {func(s *Spec) { s.Rootfs, s.Etc = Rootfs{}, []string{"x", "ssh/sshd_config"} }, `etc[1]: "ssh/sshd_config" is or holds accounts...`},
		"no args":        {func(s *Spec) { s.Args = nil }, `args: there is no command to run; name one, as in ["id"]`},
		"empty name":     {func(s *Spec) { s.Args[0] = "" }, `args[0]: the command is empty; name a program`},
		"NUL in arg":     {func(s *Spec) { s.Args[1] = "a\x00b" }, `args[1]: "a\x00b" has a NUL byte at offset 1, which no system call can carry; remove it`},
		"NUL in env":     {func(s *Spec) { s.Env[0] = "A\x00=b" }, `env[0]: "A\x00" has a NUL byte at offset 1...`},
		"long arg":       {func(s *Spec) { s.Args[1] = strings.Repeat("x", 131072) }, `args[1]: 131072 bytes is more than the 131071 that execve(2) takes in one string (E2BIG)...`},
		"many args":      {func(s *Spec) { s.Args = make3(20, 120000) }, `args: arguments and environment take 2400221 bytes, and execve(2) takes at most 2093056 (E2BIG)...`},
		"env no =":       {func(s *Spec) { s.Env[0] = "A" }, `env[0]: "A" has no =; write NAME=value, or list the name under pass_env`},
		"env no name":    {func(s *Spec) { s.Env[0] = "=A" }, `env[0]: "=A" has no name; write NAME=value`},
		"env blank":      {func(s *Spec) { s.Env[0] = "A B=c" }, `env[0]: "A B" is not a name: it has a blank or a control byte; remove that`},
		"env latin1":     {func(s *Spec) { s.Env[0] = "\xe9=c" }, `env[0]: "\xe9" is not UTF-8; write it in UTF-8`},
		"bad glob":       {func(s *Spec) { s.PassEnv[0] = "[" }, `pass_env[0]: "[" is not a pattern...`},
		"pass value":     {func(s *Spec) { s.PassEnv[0] = "A=b" }, `pass_env[0]: "A=b" has a value; put it under env`},
		"pass empty":     {func(s *Spec) { s.PassEnv[0] = "" }, `pass_env[0]: is empty...`},
		"pass NUL":       {func(s *Spec) { s.PassEnv[0] = "\x00" }, `pass_env[0]: "\x00" has a NUL byte...`},
		"workdir":        {func(s *Spec) { s.Workdir = "work" }, `workdir: "work" is not absolute; write "/work"`},
		"workdir latin1": {func(s *Spec) { s.Workdir = "/\xe9" }, `workdir: "/\xe9" is not UTF-8; write it in UTF-8`},
		"user name":      {func(s *Spec) { s.User = "bob" }, `user: "bob" is not a number (user and group names are not looked up); write UID[:GID] in digits, as in "1000:1000"`},
		"user sign":      {func(s *Spec) { s.User = "+1" }, `user: "+1" is not a number...`},
		"user range":     {func(s *Spec) { s.User = "1:4294967295" }, `user: "4294967295" is more than 4294967294...`},
		"user huge":      {func(s *Spec) { s.User = "99999999999" }, `user: "99999999999" is not a number...`},
		"user empty gid": {func(s *Spec) { s.User = "1:" }, `user: "" is not a number...`},
		"host charset":   {func(s *Spec) { s.Hostname = "a_b" }, `hostname: "a_b" is not a host name; use letters, digits, - and ., and begin with a letter or digit`},
		"host dash":      {func(s *Spec) { s.Hostname = "-a" }, `hostname: "-a" is not a host name...`},
		"host long":      {func(s *Spec) { s.Hostname = strings.Repeat("a", 65) }, `hostname: "` + strings.Repeat("a", 64) + `"... (65 bytes) is longer than 64 bytes; shorten it`},
		"egress":         {func(s *Spec) { s.Egress = &egress.Policy{} }, `net: there is a policy for egress, which this mode does not have; write egress, or leave the policy out`},
		"net typo":       {func(s *Spec) { s.Net = "lopback" }, `net: "lopback" is not a network mode; did you mean loopback?`},
		"net other":      {func(s *Spec) { s.Net = "bridge" }, `net: "bridge" is not a network mode; write one of none, loopback, egress, host`},
		"seccomp NUL":    {func(s *Spec) { s.Seccomp = "/a\x00" }, `seccomp: "/a\x00" has a NUL byte at offset 2...`},
		"rlimit name":    {func(s *Spec) { s.Limits.Rlimits["nofiles"] = Rlimit{} }, `limits.rlimits: "nofiles" is not a resource of getrlimit(2); did you mean nofile?`},
		"soft > hard":    {func(s *Spec) { s.Limits.Rlimits["core"] = Rlimit{2, 1} }, `limits.rlimits.core: the soft limit 2 is more than the hard limit 1...`},
		"inf > hard":     {func(s *Spec) { s.Limits.Rlimits["core"] = Rlimit{-1, 1} }, `limits.rlimits.core: the soft limit unlimited is more than the hard limit 1...`},
		"rlimit < -1":    {func(s *Spec) { s.Limits.Rlimits["core"] = Rlimit{-2, 1} }, `limits.rlimits.core: -2 is negative; write -1 for no limit`},
		"nproc":          {func(s *Spec) { s.Limits.Rlimits["nproc"] = Rlimit{1, 1} }, `limits.rlimits.nproc: the limit on processes is the same limit; remove one of the two`},
		"cpu twice":      {func(s *Spec) { s.Limits.Rlimits["cpu"] = Rlimit{1, 1} }, `limits.rlimits.cpu: the limit on processor time is the same limit where there is no control group; remove one of the two`},
		"mechanism":      {func(s *Spec) { s.Require[0] = "secomp" }, `require[0]: "secomp" is not a mechanism; did you mean seccomp?`},
		"both lists":     {func(s *Spec) { s.Optional[0] = "seccomp" }, `require[0]: "seccomp" is also listed under optional; remove one of the two`},
		"unset limit":    {func(s *Spec) { s.Require[0] = "io"; s.Limits.IO = nil }, `require[0]: "io" is required, and the spec does not set it; set it, or remove it here`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { wantProblem(t, tt.breakIt, tt.want) })
	}
}

// wantProblem breaks a good Spec and wants exactly one problem.
func wantProblem(t *testing.T, breakIt func(*Spec), want string) {
	t.Helper()
	s := good()
	breakIt(s)
	got := s.Check()
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

func make3(n, size int) []string {
	args := make([]string, n)
	for i := range args {
		args[i] = strings.Repeat("x", size)
	}
	return args
}

func TestCheckFollowsTheStackLimit(t *testing.T) {
	s := &Spec{Args: make3(20, 120000)}
	s.Limits.Rlimits = map[string]Rlimit{"stack": {-1, -1}}
	if p := s.Check(); len(p) != 0 {
		t.Errorf("an unlimited stack carries 6 MiB of arguments: %v", p)
	}
	s.Args = make3(2, 100000)
	s.Limits.Rlimits["stack"] = Rlimit{64 << 10, -1}
	if p := s.Check(); len(p) != 1 {
		t.Errorf("a stack of 64 KiB carries 128 KiB of arguments, not 200 kB: %v", p)
	}
}

func TestParseUser(t *testing.T) {
	for in, want := range map[string][2]uint32{"0": {0, 0}, "7": {7, 7}, "1:2": {1, 2}, "4294967294": {maxID, maxID}} {
		uid, gid, err := ParseUser(in)
		if err != nil || [2]uint32{uid, gid} != want {
			t.Errorf("ParseUser(%q) = %d, %d, %v", in, uid, gid, err)
		}
	}
	for _, in := range []string{"", ":", "1:", ":1", "-1", "1:2:3", "1_0", " 1", "4294967295", "１"} {
		if _, _, err := ParseUser(in); err == nil {
			t.Errorf("ParseUser(%q) is accepted", in)
		}
	}
}

func TestMechanismsAreSaid(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Mechanisms() {
		if m.Name == "" || m.What == "" || seen[m.Name] {
			t.Errorf("%q: empty, unexplained or twice", m.Name)
		}
		seen[m.Name] = true
	}
}

func TestCheckOfManyMountsIsOneProblem(t *testing.T) {
	s := &Spec{Args: []string{"id"}}
	for i := range 10000 {
		s.Mounts = append(s.Mounts, Mount{Type: MountDir, Target: "/d" + strconv.Itoa(i)})
	}
	if p := s.Check(); len(p) != 1 || p[0].Error() != "mounts: 10000 is more than 128; bind a common parent directory instead" {
		t.Error(p)
	}
	s.Mounts = s.Mounts[:128]
	if p := s.Check(); len(p) != 0 {
		t.Error(p)
	}
}

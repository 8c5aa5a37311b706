package spec

import (
	"math"
	"strings"
	"testing"
)

func TestCheckLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		breakIt func(*Limits)
		want    string // the whole line, or its beginning when it ends in ...
	}{
		"idle":           {func(l *Limits) { l.Idle = -1e9 }, `limits.idle: -1s is negative; write a duration, as in 10s, or leave it out for no limit`},
		"grace":          {func(l *Limits) { l.Grace = -1e9 }, `limits.grace: -1s is negative; write a duration, as in 5s, or leave it out for SIGKILL at once`},
		"cpu time":       {func(l *Limits) { l.CPUTime = -1e9 }, `limits.cpu_time: -1s is negative...`},
		"processes":      {func(l *Limits) { l.Processes = -2 }, `limits.processes: -2 is not a number of processes...`},
		"processes most": {func(l *Limits) { l.Processes, l.Cgroup = 1<<22, nil }, `limits.processes: 4194304 is more than the 4194303 that Linux can have; write -1 for no limit`},
		"output":         {func(l *Limits) { l.Output = -2 }, `limits.output: -2 is negative; write a size, as in 8m, or leave it out for no limit`},
		"output limit":   {func(l *Limits) { l.OutputLimit = -2 }, `limits.output_limit: -2 is negative...`},

		"memory < 0":     {func(l *Limits) { l.Memory, l.MemorySwap = -1, 0 }, `limits.memory: -1 is negative; write a size, as in 512m, or leave it out for no limit`},
		"memory tiny":    {func(l *Limits) { *l = Limits{CPUTime: 1, Memory: 128<<10 - 1} }, `limits.memory: 131071 is less than the kernel's own needs for one process; write at least 128k`},
		"high < 0":       {func(l *Limits) { l.MemoryHigh = -1 }, `limits.memory_high: -1 is negative...`},
		"zswap < 0":      {func(l *Limits) { l.MemoryZswap = -1 }, `limits.memory_zswap: -1 is negative; write a size, as in 64m, or leave it out for no limit`},
		"high > memory":  {func(l *Limits) { l.MemoryHigh = 129 << 10 }, `limits.memory_high: 129k is more than the limit on memory, 128k; lower it, or raise memory`},
		"low < 0":        {func(l *Limits) { l.MemoryLow = -1 }, `limits.memory_low: -1 is negative...`},
		"low > memory":   {func(l *Limits) { l.MemoryLow = 1 << 20 }, `limits.memory_low: 1m is more than the limit on memory, 128k...`},
		"min < 0":        {func(l *Limits) { l.MemoryMin = -1 }, `limits.memory_min: -1 is negative...`},
		"min > memory":   {func(l *Limits) { l.MemoryMin = math.MaxInt64 }, `limits.memory_min: 9223372036854775807 is more...`},
		"swap < -1":      {func(l *Limits) { l.MemorySwap = -2 }, `limits.memory_swap: -2 is negative; write a size, as in 1g, or -1 for any amount of swap`},
		"swap < memory":  {func(l *Limits) { l.MemorySwap = 1 }, `limits.memory_swap: 1 counts memory and swap together, and memory alone is 128k; write at least that, which means no swap`},
		"swap alone":     {func(l *Limits) { l.Memory, l.MemorySwap = 0, 1<<30 }, `limits.memory_swap: it counts memory and swap together, and there is no limit on memory; set memory as well, or leave it out`},
		"any swap alone": {func(l *Limits) { l.Memory = 0 }, `limits.memory_swap: it counts...`},

		"cpus NaN":       {func(l *Limits) { l.CPUs = math.NaN() }, `limits.cpus: NaN is not a number of processors; write it as in 0.5 or 2`},
		"cpus Inf":       {func(l *Limits) { l.CPUs = math.Inf(1) }, `limits.cpus: +Inf is not a number of processors...`},
		"cpus < 0":       {func(l *Limits) { l.CPUs = -0.5 }, `limits.cpus: -0.5 is not a number of processors...`},
		"cpus overflow":  {func(l *Limits) { l.CPUs = 1e300 }, `limits.cpus: 1e+300 is not a number of processors...`},
		"cpus tiny":      {func(l *Limits) { l.CPUs = 0.01 }, `limits.cpus: 0.01 of 50ms is less than the 1ms that the kernel gives at least; write at least 0.02, or a longer cpu_period`},
		"cpus tiny 100":  {func(l *Limits) { *l = Limits{CPUTime: 1, CPUs: 1e-300} }, `limits.cpus: 1e-300 of 100ms is less than the 1ms that the kernel gives at least; write at least 0.01...`},
		"period short":   {func(l *Limits) { l.CPUPeriod = 999e3 }, `limits.cpu_period: 999µs is not a period of whole microseconds from 1ms to 1s; write it as in 50ms`},
		"period long":    {func(l *Limits) { l.CPUPeriod = 1e9 + 1e3 }, `limits.cpu_period: 1.000001s is not a period...`},
		"period < 0":     {func(l *Limits) { l.CPUPeriod = -1 }, `limits.cpu_period: -1ns is not a period...`},
		"period fine":    {func(l *Limits) { l.CPUPeriod = 2e6 + 1 }, `limits.cpu_period: 2.000001ms is not a period...`},
		"period alone":   {func(l *Limits) { l.CPUs, l.CPUBurst = 0, 0 }, `limits.cpu_period: there is no limit on processors that it could apply to; set cpus as well, or leave it out`},
		"burst alone":    {func(l *Limits) { l.CPUs, l.CPUPeriod = 0, 0 }, `limits.cpu_burst: there is no limit on processors...`},
		"burst > quota":  {func(l *Limits) { l.CPUBurst = 25001e3 }, `limits.cpu_burst: 25.001ms is more than the quota, 25ms in each period; write at most that, or raise cpus`},
		"burst < 0":      {func(l *Limits) { l.CPUBurst = -1e6 }, `limits.cpu_burst: -1ms is negative; write a duration, as in 20ms, or leave it out for none`},
		"burst fine":     {func(l *Limits) { l.CPUBurst = 1 }, `limits.cpu_burst: 1ns is not a whole number of microseconds; write it as in 20ms`},
		"burst overflow": {func(l *Limits) { l.CPUs, l.CPUPeriod, l.CPUBurst = 17592186, 1e9, 1e9 }, `limits.cpu_burst: 1s and the quota are more than the kernel can count; lower cpus`},
		"weight < 0":     {func(l *Limits) { l.CPUWeight = -1 }, `limits.cpu_weight: -1 is not a weight; write 1 to 10000, where 100 is the kernel's default, or leave it out`},
		"weight > most":  {func(l *Limits) { l.CPUWeight = 10001 }, `limits.cpu_weight: 10001 is not a weight...`},
		"io weight":      {func(l *Limits) { l.IOWeight = 10001 }, `limits.io_weight: 10001 is not a weight...`},

		"no path":       {func(l *Limits) { l.IO[0].Path = "" }, `limits.io[0].path: is empty; name a block device, or a file or directory on it`},
		"NUL path":      {func(l *Limits) { l.IO[1].Path = "a\x00" }, `limits.io[1].path: "a\x00" has a NUL byte at offset 1...`},
		"long path":     {func(l *Limits) { l.IO[1].Path = strings.Repeat("a", 4096) }, `limits.io[1].path: "aaa...`},
		"same path":     {func(l *Limits) { l.IO[1].Path = "/dev/../dev/sda/" }, `limits.io[1].path: "/dev/../dev/sda/" is already that of limits.io[0]; put its rates together in one entry`},
		"no rate":       {func(l *Limits) { l.IO[0] = IOLimit{Path: "a"} }, `limits.io[0]: there is no rate; write one of read_bps, write_bps, read_iops, write_iops, or remove the entry`},
		"rate < 0":      {func(l *Limits) { l.IO[0].WriteBps = -1 }, `limits.io[0].write_bps: -1 is negative; write a rate for each second, or leave it out for no limit`},
		"iops overflow": {func(l *Limits) { l.IO[0].ReadIOPS = 1 << 32 }, `limits.io[0].read_iops: 4294967296 is more than the 4294967295 that the kernel counts; leave it out for no limit`},
		"many io":       {func(l *Limits) { l.IO = make([]IOLimit, 65) }, `limits.io: 65 is more than 64; remove some`},

		"huge name": {func(l *Limits) { l.HugeTLB["2M\x1b"] = 1 }, `limits.hugetlb: "2M\x1b" is not a size of huge pages; write it as the kernel does, as in 64KB, 2MB or 1GB`},
		"huge < 0":  {func(l *Limits) { l.HugeTLB["2MB"] = -1 }, `limits.hugetlb.2MB: -1 is negative; write a size, as in 64m, or 0 for no huge pages`},
	} {
		t.Run(name, func(t *testing.T) { wantProblem(t, func(s *Spec) { tt.breakIt(&s.Limits) }, tt.want) })
	}
}

func TestCheckCPUSet(t *testing.T) {
	for list, good := range map[string]bool{"0": true, "0-3": true, "3,1,1-2": true, "65535": true, "007": true,
		"0-": false, "-1": false, "3-1": false, "a": false, "65536": false, ",": false, "0,": false, "0-1-2": false, "+1": false, " 1": false,
		"0\n": false, "0-7:2/4": false, strings.Repeat("1,", 4096) + "1": false} {
		for _, field := range []string{"cpuset", "cpuset_mems"} {
			s := &Spec{Args: []string{"id"}, Limits: Limits{CPUSet: list}}
			if field == "cpuset_mems" {
				s.Limits = Limits{CPUSetMems: list}
			}
			p := s.Check()
			if (len(p) == 0) != good || !good && (p[0].Path != "limits."+field || !printable(p[0].Error())) {
				t.Errorf("%s %.20q: %v", field, list, p)
			}
		}
	}
}

func TestHugePageSizes(t *testing.T) {
	for _, size := range []string{"64KB", "512KB", "1MB", "2MB", "16MB", "32MB", "512MB", "1GB", "2GB", "16GB"} {
		if !hugePageSize(size) {
			t.Errorf("%s is refused", size)
		}
	}
	for _, size := range []string{"", "MB", "2M", "2mb", "2 MB", "02MB", "0KB", "-2MB", "+2MB", "3MB", "1024KB", "2MiB", "2097152", "1TB", "../2MB", "18446744073709551616KB"} {
		if hugePageSize(size) {
			t.Errorf("%s is accepted", size)
		}
	}
}

func TestCheckGroupFiles(t *testing.T) {
	for entry, want := range map[string]string{
		"memory.oom.group":                      `"memory.oom.group" has no value; write FILE=VALUE, as in memory.oom.group=0`,
		"pids.peak=":                            `"pids.peak=" has no value...`,
		"cgroup.procs=1":                        `"cgroup.procs" decides who is in the group and whether they run, which is brig's part; remove it`,
		"cgroup.threads=1":                      `"cgroup.threads" decides...`,
		"cgroup.type=threaded":                  `"cgroup.type" decides...`,
		"cgroup.subtree_control=+":              `"cgroup.subtree_control" decides...`,
		"cgroup.kill=1":                         `"cgroup.kill" decides...`,
		"cgroup.freeze=1":                       `"cgroup.freeze" decides...`,
		"cgroup.event_control=1":                `"cgroup.event_control" decides...`,
		"freezer.state=FROZEN":                  `"freezer.state" decides...`,
		"tasks=1":                               `"tasks" decides...`,
		"release_agent=/x":                      `"release_agent" decides...`,
		"notify_on_release=1":                   `"notify_on_release" decides...`,
		"=1":                                    `"" is not the name of a file of a control group; write it as in memory.oom.group=0, without a directory`,
		"cpus=1":                                `"cpus" is not the name...`,
		"../cpu.max=1":                          `"../cpu.max" is not the name...`,
		"a/cpu.max=1":                           `"a/cpu.max" is not the name...`,
		"..=1":                                  `".." is not the name...`,
		".=1":                                   `"." is not the name...`,
		"cpu..max=1":                            `"cpu..max" is not the name...`,
		".max=1":                                `".max" is not the name...`,
		"cpu.=1":                                `"cpu." is not the name...`,
		"cpu max.=1":                            `"cpu max." is not the name...`,
		"cpu.m\x00=1":                           `"cpu.m\x00" is not the name...`,
		"cpu.\u00e9=1":                          `"cpu.é" is not the name...`,
		strings.Repeat("a.", 200) + "a=1":       `"a.a.a...`,
		"misc.max=a\nb":                         `"a\nb" has a line break or a NUL byte, which no such file takes; write an entry for each line`,
		"misc.max=a\x00":                        `"a\x00" has a line break or a NUL byte...`,
		"misc.max=\xe9":                         `"misc.max=\xe9" is not UTF-8; write it in UTF-8`,
		"misc.max=" + strings.Repeat("x", 4097): `4097 bytes are more than the 4096 that one write takes; shorten the value`,
		"misc.max=" + strings.Repeat("x", 4096): ``,
		"cpu.uclamp.min=50.00":                  ``,
		"rdma.max=mlx4_0 hca_handle=2":          ``,
		"net_cls.classid=0x100001":              ``,
	} {
		s := &Spec{Args: []string{"id"}, Limits: Limits{Cgroup: []string{entry}}}
		line := ""
		if p := s.Check(); len(p) > 0 {
			line = strings.TrimPrefix(p[0].Error(), "limits.cgroup[0]: ")
		}
		prefix, cut := strings.CutSuffix(want, "...")
		if line != want && !(cut && strings.HasPrefix(line, prefix)) || !printable(line) {
			t.Errorf("%.40q\n got %s\nwant %s", entry, line, want)
		}
	}
}

// A file that a field sets cannot be set a second time; one that the Spec leaves alone can.
func TestCheckGroupFilesTaken(t *testing.T) {
	all := good().Limits
	all.Processes = 5
	for file, field := range all.groupFilesTaken() {
		s := good()
		s.Limits.Processes, s.Limits.Cgroup = 5, []string{file + "=1"}
		p := s.Check()
		if len(p) != 1 || p[0].Error() != `limits.cgroup[0]: "`+file+`" is already set by limits.`+field+`; remove one of the two` {
			t.Errorf("%s: %v", file, p)
		}
		free := &Spec{Args: []string{"id"}, Limits: Limits{Cgroup: []string{file + "=1"}}}
		if p := free.Check(); len(p) != 0 {
			t.Errorf("%s is not free: %v", file, p)
		}
	}
	if n := len(all.groupFilesTaken()); n < 35 {
		t.Errorf("only %d files are taken by a Spec with every limit", n)
	}
	many := &Spec{Args: []string{"id"}, Limits: Limits{Cgroup: make([]string, 65)}}
	if p := many.Check(); len(p) != 1 || p[0].Error() != "limits.cgroup: 65 is more than 64; remove some" {
		t.Error(p)
	}
}

func TestCheckCgroupParent(t *testing.T) {
	for p, want := range map[string]string{
		"":                        ``,
		"/":                       ``,
		"/a.slice/b":              ``,
		"/\xe9":                   ``,
		"a":                       `cgroup_parent: "a" is not absolute; write "/a"`,
		"/a/../b":                 `cgroup_parent: "/a/../b" is not a clean path; write "/b"`,
		"/..":                     `cgroup_parent: "/.." is not a clean path; write "/"`,
		"/a/":                     `cgroup_parent: "/a/" is not a clean path; write "/a"`,
		"/a\x00":                  `cgroup_parent: "/a\x00" has a NUL byte at offset 2, which no system call can carry; remove it`,
		"/a\nb":                   `cgroup_parent: "/a\nb" has a line break, which no control group has in its name; remove it`,
		strings.Repeat("/a", 4e3): `cgroup_parent: "/a/a...`,
	} {
		line := ""
		if problems := (&Spec{Args: []string{"id"}, CgroupParent: p}).Check(); len(problems) > 0 {
			line = problems[0].Error()
		}
		if prefix, cut := strings.CutSuffix(want, "..."); line != want && !(cut && strings.HasPrefix(line, prefix)) {
			t.Errorf("%.40q\n got %s\nwant %s", p, line, want)
		}
	}
}

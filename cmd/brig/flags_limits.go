package main

import "brig/nsjail"

// limitFlags are the limits that most callers want, however they are held.
func limitFlags() []flag {
	return []flag{
		{name: "timeout", args: []string{"TIME"}, path: "limits.wall", set: setTimeout, group: "Limits",
			help: "end everything after TIME (30s, 5m; default 1h; 0 for no limit)"},
		{name: "idle-timeout", args: []string{"TIME"}, path: "limits.idle", set: setIdle,
			help: "end everything when neither stdout nor stderr has said anything for TIME"},
		{name: "grace", args: []string{"TIME"}, path: "limits.grace", set: setGrace,
			help: "a payload has TIME to end after SIGTERM, SIGHUP or a second SIGINT to brig (default 10s), " +
				"and, if it is given, after the SIGTERM that these two limits then begin with; then everything is killed"},
		{name: "cpu-time", args: []string{"TIME"}, path: "limits.cpu_time", set: setCPUTime,
			help: "the processor time of all processes together; of each by itself where there is no control group"},
		{name: "pids-limit", args: []string{"N"}, path: "limits.processes", set: setProcesses,
			help: "how many processes and threads at once (default 1024; 0 or -1 for no limit)"},
		{name: "memory", short: 'm', args: []string{"SIZE"}, path: "limits.memory", set: setMemory,
			help: "memory, with page cache and tmpfs; beyond it the whole jail is killed"},
		{name: "memory-swap", args: []string{"SIZE"}, path: "limits.memory_swap", set: setMemorySwap,
			help: "memory and swap together; -1 for any amount of swap (default: that of --memory, so none)"},
		{name: "cpus", args: []string{"N"}, path: "limits.cpus", set: setCPUs,
			help: "processor time, counted in processors, such as 0.5"},
		{name: "max-output", args: []string{"SIZE"}, path: "limits.output", set: setOutput,
			help: "keep SIZE of stdout and of stderr, head and tail, and count the rest (0 for no limit)"},
		{name: "output-limit", args: []string{"SIZE"}, path: "limits.output_limit", set: setOutputLimit,
			help: "end everything when stdout and stderr together exceed SIZE"},
		{name: "ulimit", args: []string{"NAME=SOFT[:HARD]"}, many: true, words: ulimitWords(), set: setUlimit,
			help: "a limit of getrlimit(2), such as nofile=1024:2048 or core=unlimited"},
	}
}

// groupFlags are the other limits of the jail's control group, and where that is made.
func groupFlags() []flag {
	return []flag{
		{name: "memory-high", args: []string{"SIZE"}, path: "limits.memory_high", set: setMemoryHigh, group: "Control group",
			help: "above SIZE memory is reclaimed and the jail slowed down, not killed"},
		{name: "memory-reservation", args: []string{"SIZE"}, path: "limits.memory_low", set: setMemoryLow,
			help: "below SIZE nothing is reclaimed while others have any to give"},
		{name: "memory-min", args: []string{"SIZE"}, path: "limits.memory_min", set: setMemoryMin,
			help: "below SIZE nothing is ever reclaimed"},
		{name: "no-oom-group", path: "limits.no_oom_group", set: setNoOOMGroup,
			help: "out of memory kills one process instead of the whole jail"},
		{name: "cpu-period", args: []string{"TIME"}, path: "limits.cpu_period", set: setCPUPeriod,
			help: "the period that --cpus is measured in, 1ms to 1s (default 100ms)"},
		{name: "cpu-burst", args: []string{"TIME"}, path: "limits.cpu_burst", set: setCPUBurst,
			help: "the unused time that may be saved up for later periods"},
		{name: "cpu-weight", args: []string{"N"}, path: "limits.cpu_weight", set: setCPUWeight,
			help: "the share when processors are short, 1 to 10000 (default 100)"},
		{name: "cpuset-cpus", args: []string{"LIST"}, path: "limits.cpuset", set: setCPUSet,
			help: "the processors to run on, such as 0-3,6"},
		{name: "cpuset-mems", args: []string{"LIST"}, path: "limits.cpuset_mems", set: setCPUSetMems,
			help: "the memory nodes to allocate from, such as 0"},
		{name: "device-read-bps", args: []string{"PATH:RATE"}, many: true, files: true, set: ioFlag("read_bps"),
			help: "bytes a second, such as /dev/sda:10m; any other PATH stands for the device that holds it"},
		{name: "device-write-bps", args: []string{"PATH:RATE"}, many: true, files: true, set: ioFlag("write_bps"),
			help: "the same for writing"},
		{name: "device-read-iops", args: []string{"PATH:RATE"}, many: true, files: true, set: ioFlag("read_iops"),
			help: "read operations a second"},
		{name: "device-write-iops", args: []string{"PATH:RATE"}, many: true, files: true, set: ioFlag("write_iops"),
			help: "write operations a second"},
		{name: "io-weight", args: []string{"N"}, path: "limits.io_weight", set: setIOWeight,
			help: "the share when a block device is busy, 1 to 10000 (default 100)"},
		{name: "hugetlb", args: []string{"SIZE=LIMIT"}, many: true, words: []string{"64KB=", "2MB=", "1GB="}, set: setHugeTLB,
			help: "how much may be held in huge pages of SIZE, such as 2MB=64m"},
		{name: "cgroup", args: []string{"FILE=VALUE"}, many: true, set: setCgroup,
			help: "write VALUE to any other file of the group, such as memory.oom.group=0"},
		{name: "cgroup-parent", args: []string{"PATH"}, path: "cgroup_parent", set: setCgroupParent,
			help: "make the group below this one, named as in /proc/self/cgroup, instead of the own one"},
		{name: "systemd-scope", set: setSystemdScope,
			help: "of run only: ask systemd for a scope to make the group in"},
	}
}

func ulimitWords() []string {
	names := nsjail.RlimitNames()
	for i := range names {
		names[i] += "="
	}
	return names
}

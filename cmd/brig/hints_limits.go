package main

import "brig/internal/cli"

// limitHints are hints for limits of other tools that brig has under another name, or does not need.
var limitHints = []cli.Hint{
	// docker run
	{"--cpu-quota", "write --cpus N, which is the quota divided by --cpu-period"},
	{"--cpu-shares -c", "write --cpu-weight N, where 100 is docker's 1024"},
	{"--cpu-rt-*", "no flag gives the payload real-time scheduling; leave it out"},
	{"--blkio-weight", "write --io-weight N, 1 to 10000"},
	{"--blkio-weight-device", "write --cgroup FILE=VALUE, as in --cgroup \"io.weight=8:0 200\""},
	{"--stop-signal", "write --grace TIME; SIGTERM comes first and SIGKILL after TIME"},
	{"--oom-kill-disable", "a jail out of memory always ends, or one process of it with --no-oom-group; leave it out"},
	{"--oom-score-adj", "write --memory SIZE, which keeps the host out of it"},
	{"--memory-swappiness", "write --memory-swap SIZE; without it nothing is swapped"},
	{"--kernel-memory*", "--memory counts the kernel's memory for the jail as well; leave it out"},
	{"--storage-opt", "write --rootfs-writable=SIZE, or --tmpfs DST:size=SIZE"},

	// nsjail, with - for its _
	{"--cgroup-mem-swap-max", "write --memory-swap SIZE, which counts memory and swap together"},
	{"--cgroup-cpu-ms-per-sec", "write --cpus N, where 1000 milliseconds a second are 1"},
	{"--cgroup-net-cls-classid", "write --cgroup FILE=VALUE, as in --cgroup net_cls.classid=0x100001"},
	{"--cgroup-mem-mount --cgroup-pids-mount --cgroup-cpu-mount --cgroup-net-cls-mount --cgroupv2-mount " +
		"--use-cgroupv2 --detect-cgroupv2", "the control groups of the machine are found without it; leave it out"},
	{"--cgroup-mem-parent --cgroup-pids-parent --cgroup-cpu-parent --cgroup-net-cls-parent",
		"write --cgroup-parent PATH"},
	{"--rlimit-*", "write --ulimit NAME=SOFT[:HARD]"},
	{"--max-cpus", "write --cpuset-cpus LIST for processors to run on, or --cpus N for a share of time"},

	// properties of systemd-run(1), systemd.resource-control(5)
	{"--property", "the properties are flags here, as in --memory, --cpus and --pids-limit"},
	{"--scope", "write --systemd-scope"},
	{"--slice", "write --cgroup-parent PATH"},
	{"--MemorySwapMax", "write --memory-swap SIZE, which counts memory and swap together"},
	{"--CPUQuota", "write --cpus N, where 100% is 1"},
	{"--IOReadBandwidthMax", "write --device-read-bps PATH:RATE"},
	{"--IOWriteBandwidthMax", "write --device-write-bps PATH:RATE"},
	{"--IOReadIOPSMax", "write --device-read-iops PATH:RATE"},
	{"--IOWriteIOPSMax", "write --device-write-iops PATH:RATE"},
	{"--OOMPolicy", "out of memory the whole jail ends; write --no-oom-group for one process"},
	{"--Limit*", "write --ulimit NAME=SOFT[:HARD]"},
}

// commonHints are for names that people try.
var commonHints = []cli.Hint{
	{"--time", "write --timeout TIME for time on the clock, --cpu-time TIME for processor time"},
	{"--swap --swap-limit --max-swap --memory-swap-max", "write --memory-swap SIZE, which counts memory and swap " +
		"together"},
	{"--oom-group", "out of memory the whole jail ends; leave it out, or write --no-oom-group"},
	{"--cpu --cpu-percent --max-cpu", "write --cpus N, where 100% is 1"},
	{"--max-file-size --file-size --fsize", "write --ulimit fsize=BYTES"},
	{"--max-open-files --open-files --nofile", "write --ulimit nofile=N"},
	{"--stack --stack-size --max-stack", "write --ulimit stack=BYTES"},
	{"--output-size --max-output-size --max-stdout", "write --output-limit SIZE to end it there, or --max-output SIZE " +
		"to drop the rest"},
	{"--disk --disk-size --disk-limit --max-disk --storage --storage-size",
		"write --rootfs-writable=SIZE, or --tmpfs DST:size=SIZE"},
	{"--cg", "the jail gets a control group without it; leave it out"},
}

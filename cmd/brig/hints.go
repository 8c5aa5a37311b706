package main

import (
	"slices"

	"brig/cmd/brig/internal/convert/docker"
	"brig/internal/cli"
	"brig/nsjail"
)

// toolHints are hints for flags of bubblewrap that brig has under another name, or not at all.
var toolHints = []cli.Hint{
	{"--exec-label", "write --selinux-label LABEL"},
	{"--chdir", "write --workdir DIR"},
	{"--setenv", "write --env NAME=VALUE"},
	{"--unsetenv --clearenv", "no variable passes unless --env, --env-file or --pass-env names it; leave it out"},
	{"--proc --dev --mqueue", "the jail has a /proc and a /dev of its own; leave it out"},
	{"--dev-bind*", "write --bind SRC DST; devices cannot be opened through it"},
	{"--ro-bind-try", "write --ro-bind SRC DST where SRC exists"},
	{"--bind-try", "write --bind SRC DST where SRC exists"},
	{"--ro-bind-data --bind-data", "write --file SRC DST"},
	{"--remount-ro", "write --ro-bind SRC DST; the root is read-only already"},
	{"--unshare-net", "the network is only lo already, or write --net none; leave it out"},
	{"--share-net", "write --net host"},
	{"--unshare-*", "the jail always has namespaces of its own; leave it out"},
	{"--die-with-parent --new-session --disable-userns", "that is always so; leave it out"},
	{"--as-pid-1", "write --no-init"},
	{"--uid --gid", "write --user UID:GID"},
	{"--perms --size --chmod", "write --tmpfs DST:size=64m,mode=1777"},
	{"--overlay* --tmp-overlay --ro-overlay", "write --rootfs DIR --rootfs-writable"},
	{"--info-fd --json-status-fd", "write --report-fd N"},
	{"--args", "write --spec FILE, which brig spec makes"},
}

// hints returns all hints; the first match is used.
func hints() []cli.Hint {
	list := slices.Concat(docker.Hints(), toolHints, limitHints)
	for _, r := range nsjail.LimitTable() { // the names of the limits in other tools
		if r.Aliases != "" {
			list = append(list, cli.Hint{r.Aliases, "write --" + r.Flag + " " + r.Value})
		}
	}
	return append(list, commonHints...)
}

// limitHints are hints for limits of other tools that brig has under another name, or does not need.
var limitHints = []cli.Hint{
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

package main

import (
	"slices"

	"brig/nsjail"
)

// limitFlags are the limits that most callers want, however they are held.
func limitFlags() []flag {
	rows := slices.DeleteFunc(nsjail.LimitTable(), func(r nsjail.Limit) bool { return r.Usual == 0 })
	slices.SortFunc(rows, func(a, b nsjail.Limit) int { return a.Usual - b.Usual })
	return headed("Limits", rows)
}

// groupFlags are the other limits of the jail's control group, and where that is made.
func groupFlags() []flag {
	rows := slices.DeleteFunc(nsjail.LimitTable(), func(r nsjail.Limit) bool { return r.Usual != 0 })
	return append(headed("Control group", rows), []flag{
		{name: "cgroup-parent", args: []string{"PATH"}, path: "cgroup_parent", set: setCgroupParent,
			help: "make the group below this one, named as in /proc/self/cgroup, instead of the own one"},
		{name: "systemd-scope", set: setSystemdScope,
			help: "of run only: ask systemd for a scope to make the group in"},
	}...)
}

// headed returns the flags of limits below a heading of the help.
func headed(group string, rows []nsjail.Limit) (list []flag) {
	for i := range rows {
		list = append(list, flagsOf(&rows[i])...)
	}
	list[0].group = group
	return list
}

// flagsOf returns the flag of a limit, or the flags of one whose value has several parts.
func flagsOf(r *nsjail.Limit) []flag {
	switch r.Name {
	case "rlimits":
		return []flag{{name: "ulimit", args: []string{"NAME=SOFT[:HARD]"}, many: true, words: ulimitWords(), set: setUlimit,
			help: "a limit of getrlimit(2), such as nofile=1024:2048 or core=unlimited"}}
	case "io":
		return []flag{
			{name: "device-read-bps", args: []string{"PATH:RATE"}, many: true, files: true, set: ioFlag("read_bps"),
				help: "bytes a second, such as /dev/sda:10m; any other PATH stands for the device that holds it"},
			{name: "device-write-bps", args: []string{"PATH:RATE"}, many: true, files: true, set: ioFlag("write_bps"),
				help: "the same for writing"},
			{name: "device-read-iops", args: []string{"PATH:RATE"}, many: true, files: true, set: ioFlag("read_iops"),
				help: "read operations a second"},
			{name: "device-write-iops", args: []string{"PATH:RATE"}, many: true, files: true, set: ioFlag("write_iops"),
				help: "write operations a second"},
		}
	case "hugetlb":
		return []flag{{name: "hugetlb", args: []string{"SIZE=LIMIT"}, many: true,
			words: []string{"64KB=", "2MB=", "1GB="}, set: setHugeTLB,
			help: "how much may be held in huge pages of SIZE, such as 2MB=64m"}}
	case "cgroup":
		return []flag{{name: "cgroup", args: []string{"FILE=VALUE"}, many: true, set: setCgroup,
			help: "write VALUE to any other file of the group, such as memory.oom.group=0"}}
	}
	f := flag{name: r.Flag, short: r.Short, path: "limits." + r.Name, help: r.Help, set: setLimit(r)}
	if r.Value != "" {
		f.args = []string{r.Value}
	}
	return []flag{f}
}

func ulimitWords() []string {
	names := nsjail.RlimitNames()
	for i := range names {
		names[i] += "="
	}
	return names
}

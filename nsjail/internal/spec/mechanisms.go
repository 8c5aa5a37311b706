package spec

// Mechanism is one protection or limit that a Spec may list under Require or Optional.
type Mechanism struct {
	Name string `json:"name"`
	What string `json:"what"` // one line for a reader
}

// Mechanisms lists every mechanism in the order in which a report shows them.
func Mechanisms() []Mechanism {
	return []Mechanism{
		{"user", "a user namespace: the payload is nobody on the host"},
		{"mount", "a mount namespace with a root of its own"},
		{"pid", "a pid namespace: host processes are invisible and everything ends together"},
		{"net", "a network namespace: nothing is reachable but what --net says"},
		{"ipc", "an IPC namespace: System V objects and POSIX queues of its own"},
		{"uts", "a UTS namespace: a host name of its own"},
		{"cgroup", "a cgroup namespace: the host's control groups are invisible"},
		{"seccomp", "the system-call filter"},
		{"overlay", "an overlay of /usr, so that locks and watches do not cross between jails"},
		{"idmap", "idmapped writable binds, so that new files belong to the directory's owner"},
		{"keyring", "a new session keyring"},
		{"proc", "a /proc of the jail's own pid namespace, with its sensitive files masked"},
		{"init", "an init as pid 1 that reaps and forwards signals"},
		{"processes", "the limit on processes and threads"},
		{"sockets", "the rule on socket families"},
		{"memory", "the limit on memory, page cache and tmpfs included"},
		{"memory_sockets", "the limit on the buffers of TCP and UDP sockets, which --memory brings"},
		{"memory_swap", "the limit on memory and swap together"},
		{"memory_high", "the throttle on memory: the kernel reclaims above it"},
		{"memory_low", "the memory that is spared while others have any to give"},
		{"memory_min", "the memory that is never reclaimed"},
		{"cpus", "the limit on processor time in each period"},
		{"cpu_burst", "the unused time that may be saved up for later periods"},
		{"cpu_weight", "the share when processors are short"},
		{"cpuset", "the choice of processors and memory nodes"},
		{"cpu_time", "the limit on the processor time of all processes together"},
		{"io", "the limits on traffic with block devices"},
		{"io_weight", "the share when a block device is busy"},
		{"hugetlb", "the limits on huge pages"},
		{"cgroup_file", "the files of the control group that --cgroup writes"},
	}
}

// mechanismNames are the names of Mechanisms.
func mechanismNames() []string {
	list := Mechanisms()
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = m.Name
	}
	return names
}

// Asked tells of the mechanisms that are in force only for a limit that the Spec sets: whether it does.
func (l *Limits) Asked() map[string]bool {
	return map[string]bool{
		"memory":         l.Memory != 0,
		"memory_sockets": l.Memory != 0,
		"memory_swap":    l.MemorySwap != 0,
		"memory_high":    l.MemoryHigh != 0,
		"memory_low":     l.MemoryLow != 0,
		"memory_min":     l.MemoryMin != 0,
		"cpus":           l.CPUs != 0,
		"cpu_burst":      l.CPUBurst != 0,
		"cpu_weight":     l.CPUWeight != 0,
		"cpuset":         l.CPUSet != "" || l.CPUSetMems != "",
		"cpu_time":       l.CPUTime != 0,
		"io":             len(l.IO) > 0,
		"io_weight":      l.IOWeight != 0,
		"hugetlb":        len(l.HugeTLB) > 0,
		"cgroup_file":    len(l.Cgroup) > 0,
	}
}

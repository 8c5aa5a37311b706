package nsjail

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
		{"memory", "the limit on memory (needs a control group)"},
		{"memory_swap", "the limit on memory and swap together (needs a control group)"},
		{"cpus", "the limit on processor share (needs a control group)"},
		{"cpuset", "the choice of processors (needs a control group)"},
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

// needsCgroup says whether a mechanism rests on a control group, which this version cannot make.
func needsCgroup(name string) bool {
	switch name {
	case "memory", "memory_swap", "cpus", "cpuset":
		return true
	}
	return false
}

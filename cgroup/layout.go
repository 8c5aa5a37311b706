package cgroup

import "strings"

// Mode is the set of cgroup versions that a machine mounts.
type Mode string

// The modes.
const (
	None   Mode = "none"   // no hierarchy is mounted
	V1     Mode = "v1"     // version 1 only
	Hybrid Mode = "hybrid" // the controllers in version 1, with a version 2 tree beside them
	V2     Mode = "v2"     // version 2 only
)

// leafName is the group to which the processes of a version 2 group move, so that it may have children with
// controllers: cgroups(7), "no internal processes".
const leafName = "brig.leaf"

// Layout describes the control groups of a process, as far as the process can read them.
type Layout struct {
	Mode Mode `json:"mode"`
	// Group is the process's own group in the version 2 tree, as in /proc/self/cgroup, that is, relative to its cgroup
	// namespace; "" without such a tree.
	Group string `json:"group,omitempty"`
	// Dir is the directory in the version 2 tree for new groups: that of the process's group, its parent if the group
	// is brig.leaf, or the one that the caller named; "" if it cannot be reached from this mount namespace.
	Dir string `json:"dir,omitempty"`
	// Controllers maps each version 1 controller to the directory for new groups; "" as in Dir.
	Controllers map[string]string `json:"controllers,omitempty"`
	// Enabled are the controllers that Dir offers (cgroup.controllers).
	Enabled []string `json:"enabled,omitempty"`
	// Subtree are the controllers already enabled for Dir's children (cgroup.subtree_control).
	Subtree []string `json:"subtree,omitempty"`
	// Denied maps a version 1 controller, or "" for the version 2 tree, to the reason why no group can be made there.
	// Without an entry, mkdir(2) may still fail.
	Denied map[string]string `json:"denied,omitempty"`
	// Delegated is set if the caller can probably make groups below its own; only mkdir(2) proves it.
	Delegated bool `json:"delegated"`
	// Why is the reason if Delegated is false.
	Why string `json:"why,omitempty"`
	// Systemd is set if systemd runs this machine and can create a scope: systemd.scope(5).
	Systemd bool `json:"systemd,omitempty"`
	// CPUs and Mems are the processors and memory nodes that a group may be given, as cpuset(7) lists them; "" is
	// unknown.
	CPUs string `json:"cpus,omitempty"`
	Mems string `json:"mems,omitempty"`
	// Swap is set if the machine has swap.
	Swap bool `json:"swap,omitempty"`
}

// String returns one line.
func (l Layout) String() string {
	s := string(l.Mode)
	if l.Group != "" {
		s += ", group " + quote(l.Group)
	}
	if len(l.Enabled) > 0 {
		s += ", version 2 controllers " + strings.Join(l.Enabled, " ")
	}
	switch {
	case l.Mode == None:
		return "no control group is mounted"
	case l.Delegated:
		return s + ", delegated"
	}
	return s + ", not delegated: " + l.Why
}

// deny records the first reason why no group can be made for a controller.
func (l *Layout) deny(controller, why string) {
	if why == "" || l.Denied[controller] != "" {
		return
	}
	if l.Denied == nil {
		l.Denied = map[string]string{}
	}
	l.Denied[controller] = why
}

// denial returns the reason that affects most limits: that of the tree with the controllers.
func (l *Layout) denial() string {
	if l.Mode == V2 || l.Mode == Hybrid && l.Denied[""] != "" {
		return l.Denied[""]
	}
	for _, c := range []string{"memory", "pids", "cpu"} {
		if why := l.Denied[c]; why != "" {
			return why
		}
	}
	return ""
}

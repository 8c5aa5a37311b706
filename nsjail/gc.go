package nsjail

import (
	"brig/cgroup"
	"brig/nsjail/internal/spec"
)

// CollectGroups removes the control groups that killed keepers of this user have left below parent, and kills the
// processes in them. parent is as in Spec.CgroupParent; "" is the caller's own group. busy is the number of groups that
// living keepers use.
func CollectGroups(parent string) (removed []string, busy int, err error) {
	l, err := cgroup.Detect(parent)
	if err != nil {
		return nil, 0, err
	}
	if why := l.Denied[""]; parent != "" && why != "" {
		return nil, 0, spec.CallerError("cgroup_parent", why, "name a group that exists and is yours")
	}
	return l.Sweep(0)
}

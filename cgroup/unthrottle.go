package cgroup

// Unthrottle lifts the limit on processor time, so that a group's processes can end in their own time and not in that of
// their quota. It is for the end of a group: nothing is said of a file that cannot be written.
func (g *Group) Unthrottle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range g.dirs {
		if d == nil {
			continue
		}
		if d.version == 2 {
			_ = d.put("cpu.max", "max")
		} else {
			_ = d.put("cpu.cfs_quota_us", "-1")
		}
	}
}

package cgroup

// Unthrottle removes the limit on processor time, so that the quota does not delay the end of the group's processes. A
// file that cannot be written is ignored.
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

package cgroup

// MemoryHeld returns the memory of the group in bytes, without what the kernel can take back: the cache of files and,
// in version 2, its own caches (slab_reclaimable). A negative value is unknown. cgroup-v2.rst and memory.rst of the
// kernel.
func (g *Group) MemoryHeld() int64 {
	held := int64(-1)
	for d := range g.made() {
		used := int64(-1)
		if d.Version == 2 || d.holds("memory") {
			d.number(&used, d.pick("memory.current", "memory.usage_in_bytes"))
		}
		if used >= 0 {
			stat, of := d.table("memory.stat"), d.pick("", "total_")
			held = max(0, used-stat[of+"inactive_file"]-stat[of+"active_file"]-stat[of+"slab_reclaimable"])
		}
	}
	return held
}

package spec

import "fmt"

// MinMemory is less than any jail needs. A process of a few instructions is charged 60 KiB for its kernel stack, page
// tables and descriptors, and init is charged as much again. A real payload needs more.
const MinMemory = Bytes(128 << 10)

// checkMemory checks the limits on memory against each other.
func checkMemory(l *Limits) (c problems) {
	if l.Memory > 0 && l.Memory < MinMemory {
		c.add("limits.memory", fmt.Sprintf("%s is less than the kernel's own needs for one process", l.Memory),
			"write at least "+MinMemory.String())
	}
	switch {
	case l.MemorySwap < -1:
		c.add("limits.memory_swap", fmt.Sprintf("%d is negative", l.MemorySwap),
			"write a size, as in 1g, or -1 for any amount of swap")
	case l.MemorySwap != 0 && l.Memory == 0:
		c.add("limits.memory_swap", "it counts memory and swap together, and there is no limit on memory",
			"set memory as well, or leave it out")
	case l.MemorySwap > 0 && l.MemorySwap < l.Memory:
		c.add("limits.memory_swap",
			fmt.Sprintf("%s counts memory and swap together, and memory alone is %s", l.MemorySwap, l.Memory),
			"write at least that, which means no swap")
	}
	if l.Memory <= 0 {
		return c
	}
	for i := range limitRows {
		r := &limitRows[i]
		if part, ok := r.Field(l).(*Bytes); ok && r.Below && *part > l.Memory {
			c.add("limits."+r.Name, fmt.Sprintf("%s is more than the limit on memory, %s", *part, l.Memory),
				"lower it, or raise memory")
		}
	}
	return c
}

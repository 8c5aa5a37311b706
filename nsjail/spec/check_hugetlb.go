package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"brig/internal/words"
)

// hugePageFix is the remedy for an invalid size of huge pages.
const hugePageFix = `write it as the kernel does, as in 64KB, 2MB or 1GB`

func checkHugeTLB(limits map[string]Bytes) (c problems) {
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if !hugePageSize(name) {
			c.add("limits.hugetlb", words.Quote(name)+" is not a size of huge pages", hugePageFix)
		} else if v := limits[name]; v < 0 {
			c.add("limits.hugetlb."+name, fmt.Sprintf("%d is negative", v),
				"write a size, as in 64m, or 0 for no huge pages")
		}
	}
	return c
}

// hugePageSize reports whether s is a power of two below 1024 in KB, MB or GB, as in the kernel's hugetlb_cgroup_files.
func hugePageSize(s string) bool {
	if len(s) < 3 || !slices.Contains([]string{"KB", "MB", "GB"}, s[len(s)-2:]) || s[0] == '0' {
		return false
	}
	n, err := strconv.ParseUint(s[:len(s)-2], 10, 10)
	return err == nil && n&(n-1) == 0
}

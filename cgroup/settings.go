package cgroup

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// check is the way in which a value is compared after it has been read back.
type check int

const (
	sameText  check = iota
	sameBytes       // the same number, rounded down to pages, or max
	sameList        // the same set of processors or nodes
	sameWords       // a line that begins with the device and has every word
	anyValue        // any value
)

// setting is a file of a group and its value. The first of names that exists is used.
type setting struct {
	names []string
	value string
	check check
}

func set(name, value string) setting { return setting{[]string{name}, value, sameText} }

func checked(name, value string, c check) setting { return setting{[]string{name}, value, c} }

// sizeFile returns the setting of a size above 0.
func sizeFile(name string, n int64) []setting {
	if n <= 0 {
		return nil
	}
	return []setting{checked(name, number(n), sameBytes)}
}

// countFile returns the setting of a number above 0.
func countFile(name string, n int64) []setting {
	if n <= 0 {
		return nil
	}
	return []setting{set(name, number(n))}
}

func memorySettings(l *Limits) (v2, v1 []setting) {
	v2, v1 = sizeFile("memory.max", l.Memory), sizeFile("memory.limit_in_bytes", l.Memory)
	if l.Memory > 0 && !l.NoOOMGroup {
		v2 = append(v2, set("memory.oom.group", "1"))
	}
	return v2, v1
}

func swapSettings(l *Limits) (v2, v1 []setting) {
	if !l.Swap.Set {
		return nil, nil
	}
	total := "-1" // version 1 does not know the word max
	if l.Swap.Max >= 0 {
		total = number(l.Memory + l.Swap.Max)
	}
	return []setting{checked("memory.swap.max", number(l.Swap.Max), sameBytes)},
		[]setting{checked("memory.memsw.limit_in_bytes", total, sameBytes)}
}

func quotaSettings(l *Limits) (v2, v1 []setting) {
	if l.CPUQuota <= 0 {
		return nil, nil
	}
	quota := number(l.CPUQuota.Microseconds())
	period := number(cmp.Or(l.CPUPeriod, DefaultPeriod).Microseconds())
	return []setting{set("cpu.max", quota+" "+period)},
		[]setting{set("cpu.cfs_period_us", period), set("cpu.cfs_quota_us", quota)}
}

// shareSettings converts the weight: the default is 100 in version 2 and 1024 in version 1.
func shareSettings(l *Limits) (v2, v1 []setting) {
	if l.CPUWeight <= 0 {
		return nil, nil
	}
	w := int64(l.CPUWeight)
	return countFile("cpu.weight", w), countFile("cpu.shares", max(2, w*1024/100))
}

func cpusetSettings(l *Limits) (v2, v1 []setting) {
	if l.CPUs != "" {
		v2 = append(v2, checked("cpuset.cpus", l.CPUs, sameList))
	}
	if l.Mems != "" {
		v2 = append(v2, checked("cpuset.mems", l.Mems, sameList))
	}
	return v2, v2
}

func ioSettings(l *Limits) (v2, v1 []setting) {
	for _, d := range l.IO {
		dev := fmt.Sprintf("%d:%d", d.Major, d.Minor)
		line := dev
		for _, w := range []struct {
			key, legacy string
			n           int64
		}{{"rbps", "read_bps", d.ReadBps}, {"wbps", "write_bps", d.WriteBps},
			{"riops", "read_iops", d.ReadIOPS}, {"wiops", "write_iops", d.WriteIOPS}} {
			if w.n > 0 {
				line += " " + w.key + "=" + number(w.n)
				v1 = append(v1, checked("blkio.throttle."+w.legacy+"_device", dev+" "+number(w.n), sameWords))
			}
		}
		v2 = append(v2, checked("io.max", line, sameWords))
	}
	return v2, v1
}

// weightSettings also names BFQ's own file, for devices with that scheduler.
func weightSettings(l *Limits) (v2, v1 []setting) {
	if l.IOWeight <= 0 {
		return nil, nil
	}
	legacy := strconv.Itoa(min(max(l.IOWeight, 10), 1000))
	return []setting{{[]string{"io.weight", "io.bfq.weight"}, "default " + strconv.Itoa(l.IOWeight), anyValue}},
		[]setting{{[]string{"blkio.bfq.weight", "blkio.weight"}, legacy, anyValue}}
}

func hugeSettings(l *Limits) (v2, v1 []setting) {
	for _, size := range slices.Sorted(maps.Keys(l.HugeTLB)) {
		n := number(l.HugeTLB[size])
		v2 = append(v2, checked("hugetlb."+size+".max", n, sameBytes))
		v1 = append(v1, checked("hugetlb."+size+".limit_in_bytes", n, sameBytes))
	}
	return v2, v1
}

// parseList returns the numbers of a cpuset(7) list, sorted.
func parseList(s string) (list []int, err error) {
	const most = 1 << 16
	var have [most / 64]uint64 // a list may repeat numbers
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		a, err1 := strconv.ParseUint(first, 10, 16)
		b, err2 := strconv.ParseUint(last, 10, 16)
		if err := errors.Join(err1, err2); err != nil || a > b {
			return nil, fmt.Errorf("%s is not a list of numbers", quote(s))
		}
		for n := a; n <= b; n++ {
			have[n/64] |= 1 << (n % 64)
		}
	}
	for n := range most {
		if have[n/64]&(1<<(n%64)) != 0 {
			list = append(list, n)
		}
	}
	return list, nil
}

// Count returns the number of processors or nodes in a list; 0 if it is not a list.
func Count(list string) int {
	all, err := parseList(list)
	if err != nil {
		return 0
	}
	return len(all)
}

// Lacks returns the members of the list want that are not in have.
func Lacks(want, have string) string {
	w, err1 := parseList(want)
	h, err2 := parseList(have)
	if err1 != nil || err2 != nil {
		return ""
	}
	return formatList(slices.DeleteFunc(w, func(n int) bool {
		_, found := slices.BinarySearch(h, n)
		return found
	}))
}

// formatList returns sorted numbers in the kernel's notation.
func formatList(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		part := strconv.Itoa(list[i])
		if j > i {
			part += "-" + strconv.Itoa(list[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

package spec

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"brig/internal/words"
)

const (
	maxIO         = 64   // entries under io
	maxGroupFiles = 64   // entries under cgroup
	maxGroupValue = 4096 // bytes that one write to a control group's file can carry: a page
)

// io checks the limits on block devices.
func (c *checker) io(l *Limits) {
	if len(l.IO) > maxIO {
		c.add("limits.io", fmt.Sprintf("%d is more than %d", len(l.IO), maxIO), "remove some")
		return
	}
	seen := map[string]int{}
	for i, d := range l.IO {
		field := Index("limits.io", i)
		c.rates(field, d)
		if d.Path == "" {
			c.add(field+".path", "is empty", "name a block device, or a file or directory on it")
			continue
		}
		if !c.hostPath(field+".path", d.Path) {
			continue
		}
		clean := filepath.Clean(d.Path)
		if first, twice := seen[clean]; twice {
			c.add(field+".path", words.Quote(d.Path)+" is already that of "+Index("limits.io", first),
				"put its rates together in one entry")
			continue
		}
		seen[clean] = i
	}
}

func (c *checker) rates(field string, d IOLimit) {
	for _, r := range []struct {
		name        string
		value, most int64
	}{
		{"read_bps", int64(d.ReadBps), math.MaxInt64}, {"write_bps", int64(d.WriteBps), math.MaxInt64},
		{"read_iops", d.ReadIOPS, math.MaxUint32}, {"write_iops", d.WriteIOPS, math.MaxUint32}, // the kernel's unsigned int
	} {
		switch {
		case r.value < 0:
			c.add(field+"."+r.name, fmt.Sprintf("%d is negative", r.value),
				"write a rate for each second, or leave it out for no limit")
		case r.value > r.most:
			c.add(field+"."+r.name, fmt.Sprintf("%d is more than the %d that the kernel counts", r.value, r.most),
				"leave it out for no limit")
		}
	}
	if d.ReadBps == 0 && d.WriteBps == 0 && d.ReadIOPS == 0 && d.WriteIOPS == 0 {
		c.add(field, "there is no rate", "write one of read_bps, write_bps, read_iops, write_iops, or remove the entry")
	}
}

// hugePageFix is the remedy for an invalid size of huge pages.
const hugePageFix = `write it as the kernel does, as in 64KB, 2MB or 1GB`

func (c *checker) hugetlb(limits map[string]Bytes) {
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if !hugePageSize(name) {
			c.add("limits.hugetlb", words.Quote(name)+" is not a size of huge pages", hugePageFix)
		} else if v := limits[name]; v < 0 {
			c.add("limits.hugetlb."+name, fmt.Sprintf("%d is negative", v),
				"write a size, as in 64m, or 0 for no huge pages")
		}
	}
}

// hugePageSize reports whether s is a power of two below 1024 in KB, MB or GB, as in the kernel's hugetlb_cgroup_files.
func hugePageSize(s string) bool {
	if len(s) < 3 || !slices.Contains([]string{"KB", "MB", "GB"}, s[len(s)-2:]) || s[0] == '0' {
		return false
	}
	n, err := strconv.ParseUint(s[:len(s)-2], 10, 10)
	return err == nil && n&(n-1) == 0
}

// groupFiles checks the names and values of Limits.Cgroup.
func (c *checker) groupFiles(l *Limits) {
	if len(l.Cgroup) > maxGroupFiles {
		c.add("limits.cgroup", fmt.Sprintf("%d is more than %d", len(l.Cgroup), maxGroupFiles), "remove some")
		return
	}
	taken := l.groupFilesTaken()
	for i, entry := range l.Cgroup {
		field := Index("limits.cgroup", i)
		file, value, ok := strings.Cut(entry, "=")
		switch {
		case !ok || value == "":
			c.add(field, words.Quote(entry)+" has no value", "write FILE=VALUE, as in memory.oom.group=0")
		case slices.Contains(reservedGroupFiles(), file):
			c.add(field, words.Quote(file)+" decides who is in the group and whether they run, which is brig's part",
				"remove it")
		case !groupFile(file):
			c.add(field, words.Quote(file)+" is not the name of a file of a control group",
				"write it as in memory.oom.group=0, without a directory")
		case len(value) > maxGroupValue:
			c.add(field, fmt.Sprintf("%d bytes are more than the %d that one write takes", len(value), maxGroupValue),
				"shorten the value")
		case strings.ContainsAny(value, "\n\x00"):
			c.add(field, words.Quote(value)+" has a line break or a NUL byte, which no such file takes",
				"write an entry for each line")
		case taken[file] != "":
			c.add(field, words.Quote(file)+" is already set by limits."+taken[file], "remove one of the two")
		default:
			c.text(field, entry)
		}
	}
}

// groupFile reports whether a name has the form of a control group file (cgroups(7)): "memory.max", "hugetlb.2MB.max".
func groupFile(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	return len(name) <= maxName && strings.Trim(name, letters) == "" && strings.Contains(name, ".") &&
		!strings.Contains("."+name+".", "..")
}

// reservedGroupFiles returns the files with which brig itself moves, freezes and kills the group.
func reservedGroupFiles() []string {
	return []string{"cgroup.procs", "cgroup.threads", "cgroup.type", "cgroup.subtree_control", "cgroup.kill",
		"cgroup.freeze", "cgroup.event_control", "memory.oom_control",
		"freezer.state", "tasks", "release_agent", "notify_on_release"}
}

// groupFilesTaken maps each control group file that another field of the Spec sets, in either version, to that field.
func (l *Limits) groupFilesTaken() map[string]string {
	taken := map[string]string{}
	for i := range limitRows {
		r := &limitRows[i]
		if !r.IsSet(l) {
			continue
		}
		for _, file := range strings.Fields(r.Files) {
			if taken[file] == "" {
				taken[file] = r.Name
			}
		}
	}
	for size := range l.HugeTLB {
		taken["hugetlb."+size+".max"], taken["hugetlb."+size+".limit_in_bytes"] = "hugetlb", "hugetlb"
	}
	return taken
}

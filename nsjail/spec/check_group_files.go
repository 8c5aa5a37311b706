package spec

import (
	"fmt"
	"slices"
	"strings"

	"brig/internal/words"
)

const (
	maxGroupFiles = 64   // entries under cgroup
	maxGroupValue = 4096 // bytes that one write to a control group's file can carry: a page
)

// checkGroupFiles checks the names and values of Limits.Cgroup.
func checkGroupFiles(l *Limits) (c problems) {
	if len(l.Cgroup) > maxGroupFiles {
		c.add("limits.cgroup", fmt.Sprintf("%d is more than %d", len(l.Cgroup), maxGroupFiles), "remove some")
		return c
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
	return c
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

func checkCgroupParent(p string) (c problems) {
	switch {
	case p == "":
	case strings.Contains(p, "\n"):
		c.add("cgroup_parent", words.Quote(p)+" has a line break, which no control group has in its name", "remove it")
	case c.bytes("cgroup_parent", p):
		c.cleanPath("cgroup_parent", p)
	}
	return c
}

package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// look examines the directories of the groups that Parse has found, as far as the controllers in need depend on them.
func (l *Layout) look(parent string, need []string) error {
	if l.Mode == None {
		return nil
	}
	l.Systemd = unix.Access("/run/systemd/system", unix.F_OK) == nil // sd_booted(3)
	needs := func(controllers ...string) bool {
		return need == nil || slices.ContainsFunc(controllers, func(c string) bool { return slices.Contains(need, c) })
	}
	seen := map[string]string{}
	for _, c := range slices.Sorted(maps.Keys(l.Controllers)) {
		dir := l.Controllers[c]
		if dir == "" || l.Denied[c] != "" {
			continue
		}
		why, known := seen[dir] // controllers may share a hierarchy
		if !known {
			if why = writable(dir); why == "" {
				why = foreignOwner(dir, 1)
			}
			seen[dir] = why
		}
		l.deny(c, why)
	}
	elsewhere := func(c string) bool { return l.Controllers[c] == "" || l.Denied[c] != "" }
	if need == nil || slices.ContainsFunc(need, elsewhere) {
		if err := l.lookV2(parent); err != nil {
			return err
		}
	}
	if needs("cpuset", "cpuacct") { // cpuacct: for the time that a limit on processor time takes at least
		l.lookCPUs()
	}
	if needs("memory") {
		b, err := readFile("/proc/swaps")
		l.Swap = err == nil && strings.Count(b, "\n") > 1 // a kernel without swap has no such file
	}
	l.Why = l.denial()
	l.Delegated = l.Why == ""
	return nil
}

// lookV2 reads the controllers of the version 2 directory, and whether the caller may delegate them.
func (l *Layout) lookV2(parent string) error {
	if l.Dir == "" || l.Mode == V1 {
		return nil
	}
	var err error
	if l.Enabled, err = readFields(l.Dir, "cgroup.controllers"); errors.Is(err, fs.ErrNotExist) {
		l.deny("", "there is no group "+quote(l.Dir)) // the caller has named it, or another mount covers it
		return nil
	}
	if err != nil {
		return err
	}
	if l.Subtree, err = readFields(l.Dir, "cgroup.subtree_control"); err != nil {
		return err
	}
	if l.Denied[""] != "" {
		return nil
	}
	// the root of the tree has no such file: cgroups(7)
	if kind, err := readFile(path.Join(l.Dir, "cgroup.type")); err == nil {
		if t := strings.TrimSpace(kind); t != "domain" {
			l.deny("", quote(l.Dir)+" is "+quote(t)+", and only a domain can hold whole processes")
			return nil
		}
	}
	if why := writable(l.Dir, "cgroup.procs", "cgroup.subtree_control"); why != "" {
		l.deny("", why)
	} else if why := foreignOwner(l.Dir, 2); why != "" {
		l.deny("", why)
	} else if parent == "" && l.Systemd {
		l.deny("", foreignUnit(l.Dir))
	}
	return nil
}

// writable returns the reason if the caller cannot write to a directory and its files, which a delegater hands over
// (cgroups(7)); else "". faccessat(2) with AT_EACCESS considers capabilities and read-only mounts.
func writable(dir string, files ...string) string {
	for _, f := range append([]string{""}, files...) {
		if err := unix.Faccessat(unix.AT_FDCWD, path.Join(dir, f), unix.W_OK, unix.AT_EACCESS); err != nil {
			return quote(path.Join(dir, f)) + ": " + err.Error()
		}
	}
	return ""
}

// lookCPUs reads the processors and nodes that groups may have.
func (l *Layout) lookCPUs() {
	first := func(files ...string) string {
		for _, f := range files {
			if !path.IsAbs(f) { // there is no such hierarchy
				continue
			}
			if b, err := readFile(f); err == nil && len(strings.TrimSpace(b)) > 0 {
				return strings.TrimSpace(b)
			}
		}
		return ""
	}
	v1 := l.Controllers["cpuset"]
	l.CPUs = first(path.Join(l.Dir, "cpuset.cpus.effective"), path.Join(v1, "cpuset.effective_cpus"),
		"/sys/devices/system/cpu/online")
	l.Mems = first(path.Join(l.Dir, "cpuset.mems.effective"), path.Join(v1, "cpuset.effective_mems"),
		"/sys/devices/system/node/online")
}

func readFields(dir, name string) ([]string, error) {
	b, err := readFile(path.Join(dir, name))
	return strings.Fields(b), err
}

// overflowUID is the owner in a user namespace without a mapping for it: user_namespaces(7). It may be root.
const overflowUID = 65534

// foreignOwner returns a reason if a group, or one above it, belongs to a user other than the caller and root; else "".
// The owner of a version 2 group can take controllers from its children and move processes out of them: cgroups(7). In
// version 1 the owner can rename them.
func foreignOwner(dir string, version int) string {
	files := []string{""}
	if version == 2 {
		files = []string{"", "cgroup.procs", "cgroup.subtree_control"}
	}
	var mount uint64
	for first := true; ; first, dir = false, path.Dir(dir) {
		for _, name := range files {
			var st unix.Stat_t
			if unix.Lstat(path.Join(dir, name), &st) != nil {
				continue // the files of a removed group are missing; writable reports unreachable ones
			}
			if name == "" && !first && st.Dev != mount {
				return "" // above the hierarchy
			}
			mount = st.Dev
			if st.Uid != 0 && st.Uid != overflowUID && int(st.Uid) != unix.Geteuid() {
				return fmt.Sprintf("%s belongs to user %d, who could take a jail's limits away",
					quote(path.Join(dir, name)), st.Uid)
			}
		}
		if dir == "/" || dir == "." {
			return ""
		}
	}
}

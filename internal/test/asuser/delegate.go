package asuser

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// joinVar lists the descriptors by which the third run enters its groups. It is gone once they are used.
const joinVar = "BRIG_TEST_JOIN"

// delegatedVar marks that this is the third run.
const delegatedVar = "BRIG_TEST_DELEGATED"

// Delegated reports that this is the run as an ordinary user in control groups of its own.
func Delegated() bool { return os.Getenv(delegatedVar) != "" }

// delegation is what a setup by Delegate has made: the groups in each hierarchy, and which tests run in them.
type delegation struct {
	tests string
	dirs  []string
	why   error // there are none
}

// third is the delegation of this process.
var third delegation

// Delegate makes a control group in each hierarchy (cgroups(7)) below the caller's own, and makes the user its owner as
// systemd's Delegate=yes does. Main then runs the suite's tests, or those that match a pattern, a third time: as the
// user, and in them. A caller who is not root delegates nothing.
func Delegate(tests string) func(dir string) error {
	return func(string) error {
		if os.Geteuid() != 0 {
			return nil
		}
		third = delegation{tests: tests, why: errors.New("no control group is mounted")}
		name := "brig-suite-" + strconv.Itoa(os.Getpid()) // not a name that brig's sweep takes for its own
		for i, h := range ownGroups() {
			removeOld(h)
			group, err := delegate(h, name)
			if group != "" {
				third.dirs = append(third.dirs, group)
			}
			if i == 0 || err != nil {
				third.why = err
			}
		}
		return nil
	}
}

// stale is the age from which a group without its process is taken for left behind: the process may be in another pid
// namespace.
const stale = time.Hour

// removeOld removes the groups of suites that were killed before they could. One that has processes stays: rmdir(2)
// refuses it.
func removeOld(parent string) {
	old, err := filepath.Glob(filepath.Join(parent, "brig-suite-*"))
	if err != nil {
		return // the pattern is well-formed
	}
	for _, group := range old {
		pid := strings.TrimPrefix(filepath.Base(group), "brig-suite-")
		st, err := os.Stat(group)
		if err != nil || time.Since(st.ModTime()) < stale {
			continue
		}
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, os.ErrNotExist) {
			_ = os.Remove(filepath.Join(group, "brig.leaf"))
			_ = os.Remove(group)
		}
	}
}

// ownGroups returns this process's directories in the hierarchies that a jail may use: of version 1 the ones with
// controllers, but for devices, which limits nothing that can be counted.
func ownGroups() (dirs []string) {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil // a kernel without
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(self)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 || strings.HasPrefix(f[1], "name=") || f[1] == "devices" {
			continue
		}
		for mount := range strings.Lines(string(mounts)) {
			left, right, _ := strings.Cut(mount, " - ")
			m, super := strings.Fields(left), strings.Fields(right)
			if len(m) < 5 || len(super) < 3 || !holds(super, f[1]) {
				continue
			}
			if rest, below := strings.CutPrefix(f[2], strings.TrimSuffix(m[3], "/")); below {
				dirs = append(dirs, filepath.Join(m[4], rest))
				break
			}
		}
	}
	return dirs
}

// holds reports whether a mount is the hierarchy of controllers, as /proc/self/cgroup names them.
func holds(super []string, controllers string) bool {
	if controllers == "" {
		return super[0] == "cgroup2"
	}
	options := strings.Split(super[2], ",")
	return super[0] == "cgroup" && !slices.ContainsFunc(strings.Split(controllers, ","),
		func(c string) bool { return !slices.Contains(options, c) })
}

// delegate makes one group and hands it over.
func delegate(parent, name string) (group string, err error) {
	if offered, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers")); err == nil {
		for _, c := range strings.Fields(string(offered)) {
			if err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+"+c), 0); err != nil {
				return "", err // the caller is in a group of its own, which would have to be emptied
			}
		}
	}
	group = filepath.Join(parent, name)
	if err := os.Mkdir(group, 0o755); err != nil {
		return "", err
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} { // version 1: no process can enter an empty one
		if from, err := os.ReadFile(filepath.Join(parent, file)); err == nil {
			if err := os.WriteFile(filepath.Join(group, file), from, 0); err != nil {
				return group, err
			}
		}
	}
	for _, file := range []string{"", "cgroup.procs", "tasks", "cgroup.threads", "cgroup.subtree_control"} {
		if err := os.Chown(filepath.Join(group, file), UID, UID); err != nil && !errors.Is(err, os.ErrNotExist) {
			return group, err
		}
	}
	return group, nil
}

// run runs the suite in the groups that a setup has made, if one has.
func (d *delegation) run(dir string) (code int, err error) {
	switch {
	case d.why != nil:
		fmt.Printf("--- not again in groups of uid %d: %s\n", UID, d.why)
		return 0, nil
	case len(d.dirs) == 0:
		return 0, nil
	}
	var files []*os.File
	var fds []string
	for i, group := range d.dirs {
		// opened by root, whose rights count when the process writes itself into it: cgroups(7)
		f, err := os.OpenFile(filepath.Join(group, "cgroup.procs"), os.O_WRONLY, 0)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		files, fds = append(files, f), append(fds, strconv.Itoa(3+i))
	}
	fmt.Printf("--- again as uid %d, in control groups of its own\n", UID)
	args := os.Args[1:]
	named := func(a string) bool { return strings.HasPrefix(a, "-test.run=") }
	if d.tests != "" && !slices.ContainsFunc(args, named) {
		args = append(slices.Clone(args), "-test.run="+d.tests)
	}
	return run(dir, args, files, joinVar+"="+strings.Join(fds, ","), delegatedVar+"=1")
}

// enter puts this process into the groups of the third run.
func enter() error {
	for word := range strings.FieldsFuncSeq(os.Getenv(joinVar), func(r rune) bool { return r == ',' }) {
		fd, err := strconv.Atoi(word)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), "cgroup.procs")
		_, err = f.WriteString("0")
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return os.Unsetenv(joinVar)
}

// leave removes the groups of the third run, where brig has left at most the leaf that it moves processes to. Any
// other group in them is an error: a jail has left it.
func (d *delegation) leave() error {
	var errs []error
	for _, group := range d.dirs {
		list, err := os.ReadDir(group)
		errs = append(errs, err)
		for _, e := range list {
			if e.IsDir() && e.Name() != "brig.leaf" {
				errs = append(errs, fmt.Errorf("a group is left: %s", filepath.Join(group, e.Name())))
			}
			if e.IsDir() {
				errs = append(errs, os.Remove(filepath.Join(group, e.Name())))
			}
		}
		errs = append(errs, os.Remove(group))
	}
	return errors.Join(errs...)
}

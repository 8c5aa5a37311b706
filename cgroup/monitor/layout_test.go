package monitor_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"brig/cgroup/monitor"

	"golang.org/x/sys/unix"
)

// parents is where groups can be made, found once, as making groups out of it changes it.
type parents struct {
	group monitor.Group
	why   error // why not
	undo  []func()
}

var (
	place parents
	made  atomic.Int64
)

// find looks for the parents: the own groups' directories, or on pure version 2 the one above if that takes no group.
func (p *parents) find() {
	own, err := ownGroup()
	if err != nil || own.V2 == "" && len(own.V1) == 0 {
		p.why = errors.Join(err, errors.New("no control group file system is mounted"))
		return
	}
	if len(own.V1) > 0 {
		p.group = own
		for _, d := range append([]string{own.V2}, values(own.V1)...) {
			p.why = errors.Join(p.why, probe(d))
		}
		return
	}
	for _, dir := range []string{own.V2, filepath.Dir(own.V2)} {
		if err = probe(dir); err == nil {
			err = p.enable(dir, dir == own.V2)
		}
		if err == nil {
			p.group.V2, p.why = dir, nil
			return
		}
		p.why = errors.Join(p.why, err)
	}
}

func values(m map[string]string) (list []string) {
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

// probe makes a group and removes it: nothing else proves that it may be done.
func probe(dir string) error {
	if dir == "" {
		return nil
	}
	d := filepath.Join(dir, fmt.Sprintf("brig-test-probe-%d", os.Getpid()))
	if err := os.Mkdir(d, 0o755); err != nil {
		return err
	}
	return os.Remove(d)
}

// enable enables the controllers of the groups below dir. If dir is the own group, the processes in it are in the way
// (EBUSY): where this test is the only one, it moves to a leaf for the time.
func (p *parents) enable(dir string, own bool) error {
	control := filepath.Join(dir, "cgroup.subtree_control")
	before, err := os.ReadFile(control)
	if err != nil {
		return err
	}
	for _, c := range []string{"memory", "pids", "cpu", "io"} {
		if strings.Contains(" "+strings.TrimSpace(string(before))+" ", " "+c+" ") {
			continue
		}
		err := os.WriteFile(control, []byte("+"+c), 0)
		if errors.Is(err, unix.EBUSY) && own {
			if err = p.moveToLeaf(dir); err == nil {
				err = os.WriteFile(control, []byte("+"+c), 0)
			}
		}
		if err != nil && c != "io" { // which a delegation may leave out
			return err
		}
		if err == nil {
			p.undo = append(p.undo, func() { complain(os.WriteFile(control, []byte("-"+c), 0)) })
		}
	}
	return nil
}

func (p *parents) moveToLeaf(dir string) error {
	procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(procs)) != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("%s has other processes than this test", dir)
	}
	leaf := filepath.Join(dir, fmt.Sprintf("brig-test-self-%d", os.Getpid()))
	if err := os.Mkdir(leaf, 0o755); err != nil {
		return err
	}
	move := func(to string) error { return os.WriteFile(filepath.Join(to, "cgroup.procs"), []byte("0"), 0) }
	p.undo = append(p.undo, func() { complain(errors.Join(move(dir), os.Remove(leaf))) })
	return move(leaf)
}

// leave undoes what find did, last things first.
func (p *parents) leave() {
	for i := len(p.undo); i > 0; i-- {
		p.undo[i-1]()
	}
}

func complain(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "monitor test:", err)
	}
}

// ownGroup finds the directories of the groups that this test is in, or the mount points where those are out of sight.
func ownGroup() (g monitor.Group, err error) {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return g, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return g, err
	}
	group := map[string]string{}
	for line := range strings.Lines(string(self)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		for _, c := range strings.Split(f[1], ",") {
			group[c] = f[2]
		}
	}
	g.V1 = map[string]string{}
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		for i, field := range f[:len(f)-3] {
			if field != "-" {
				continue
			}
			below := func(path string) string {
				d := filepath.Join(f[4], path)
				if _, err := os.Stat(d); err != nil {
					return f[4]
				}
				return d
			}
			switch f[i+1] {
			case "cgroup2":
				g.V2 = below(group[""])
			case "cgroup":
				for _, c := range strings.Split(f[len(f)-1], ",") {
					if strings.Contains(" memory pids cpu cpuacct blkio ", " "+c+" ") {
						g.V1[c] = below(group[c])
					}
				}
			}
		}
	}
	return g, nil
}

// Package monitor reads the current usage of a control group. It creates no group, sets no limit and moves no process.
//
// A Group names the directories: one on pure version 2, the version 1 directories by controller on version 1, both on a
// hybrid machine. A value that the layout or the kernel does not provide is nil.
package monitor

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Group names the directories of a control group.
type Group struct {
	// V2 is its absolute directory in the version 2 tree; "" without one.
	V2 string
	// V1 maps version 1 controllers to absolute directories. memory, pids, cpu, cpuacct and blkio are read; others have no
	// statistics.
	V1 map[string]string
}

// ErrRemoved is returned for a group that does not exist any more.
var ErrRemoved = fmt.Errorf("monitor: the control group was removed: %w", fs.ErrNotExist)

// Stats is what a control group uses now. A figure is left out if the machine does not count it, and a limit if there
// is none.
type Stats struct {
	// Memory is in bytes, with page cache, tmpfs and the kernel's memory; MemoryPeak is the most so far.
	Memory     *uint64 `json:"memory_bytes,omitempty"`
	MemoryPeak *uint64 `json:"memory_peak_bytes,omitempty"`
	// MemoryLimit is memory.max, in bytes.
	MemoryLimit *uint64 `json:"memory_limit_bytes,omitempty"`
	// Swap is in bytes.
	Swap *uint64 `json:"swap_bytes,omitempty"`
	// OOM counts allocations that failed at the memory limit; version 2 only. OOMKill counts killed processes: compare it
	// with 0 only, as one process can count twice.
	OOM     *uint64 `json:"oom_events,omitempty"`
	OOMKill *uint64 `json:"oom_kills,omitempty"`
	// Tasks counts processes and threads; TaskLimit is pids.max.
	Tasks     *uint64 `json:"tasks,omitempty"`
	TaskLimit *uint64 `json:"task_limit,omitempty"`
	// TaskFails counts processes and threads that could not be created at the limit.
	TaskFails *uint64 `json:"task_limit_events,omitempty"`
	// CPU, CPUUser, CPUSystem and Throttled are in microseconds of processor time.
	CPU       *uint64 `json:"cpu_us,omitempty"`
	CPUUser   *uint64 `json:"cpu_user_us,omitempty"`
	CPUSystem *uint64 `json:"cpu_system_us,omitempty"`
	Throttled *uint64 `json:"cpu_throttled_us,omitempty"`
	// Read and Written are bytes from and to block devices. Version 1 counts them only for devices with a limit.
	Read    *uint64 `json:"io_read_bytes,omitempty"`
	Written *uint64 `json:"io_written_bytes,omitempty"`
}

// Read reads the statistics of a group and of all groups below it. It returns ErrRemoved if the group is gone.
func Read(g Group) (*Stats, error) {
	if g.V2 == "" && len(controllers(g)) == 0 {
		return nil, errors.New("monitor: Group names no directory: give V2, or V1 with one of memory, pids, cpu, " +
			"cpuacct, blkio")
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	s := &Stats{}
	var errs []error
	if g.V2 != "" { // first, since the values of version 1, which has the limits, replace these
		errs = append(errs, s.read2(g.V2))
	}
	for _, c := range controllers(g) {
		errs = append(errs, s.read1(c, g.V1[c]))
	}
	if err := errors.Join(errs...); err != nil {
		if gone := g.check(); gone != nil { // values read from a removed group are invalid
			return nil, gone
		}
		return nil, err
	}
	return s, nil
}

// controllers returns the version 1 controllers of a group that have statistics.
func controllers(g Group) (list []string) {
	for _, c := range []string{"memory", "pids", "cpu", "cpuacct", "blkio"} {
		if g.V1[c] != "" {
			list = append(list, c)
		}
	}
	return list
}

// check returns an error unless all directories of a group are those of a control group.
func (g Group) check() error {
	var errs []error
	if g.V2 != "" {
		errs = append(errs, checkDir("V2", g.V2, unix.CGROUP2_SUPER_MAGIC))
	}
	for _, c := range controllers(g) {
		errs = append(errs, checkDir("V1["+c+"]", g.V1[c], unix.CGROUP_SUPER_MAGIC))
	}
	return errors.Join(errs...)
}

func checkDir(field, dir string, magic int64) error {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st) // statfs(2)
	switch {
	case !filepath.IsAbs(dir):
		err = errors.New("not an absolute path: give the whole path of the group's directory")
	case errors.Is(err, unix.ENOENT):
		return ErrRemoved
	case err == nil && st.Type != magic:
		err = errors.New("not in a control group file system of this version: give the directory as it is mounted")
	}
	if err != nil {
		return fmt.Errorf("monitor: Group.%s: %s: %w", field, strconv.Quote(dir), err)
	}
	return nil
}

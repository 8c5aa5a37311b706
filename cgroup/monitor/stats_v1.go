package monitor

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/containerd/cgroups/v3/cgroup1"
	"github.com/containerd/cgroups/v3/cgroup1/stats"
)

// read1 reads the version 1 directories. Its values replace those of version 2.
func (s *Stats) read1(g Group) error {
	lib, err := load1(g)
	if err != nil {
		return fmt.Errorf("monitor: Group.V1: %w", err)
	}
	got, err := lib.Stat(cgroup1.IgnoreNotExist)
	if err != nil {
		return fmt.Errorf("monitor: statistics of version 1: %w", err)
	}
	for _, c := range controllers(g) {
		switch d := dir(g.V1[c]); c {
		case "memory":
			err = errors.Join(err, s.memory1(d, got))
		case "pids":
			err = errors.Join(err, s.pids1(d, got))
		case "cpu":
			s.Throttled = d.figure("cpu.stat", got.GetCPU().GetThrottling().GetThrottledTime()/1000)
		case "cpuacct":
			u := got.GetCPU().GetUsage()
			if s.CPU == nil { // version 2's cpu.stat is in microseconds; cpuacct.stat counts ticks of a hundredth of a second
				s.CPU = d.figure("cpuacct.usage", u.GetTotal()/1000)
				s.CPUUser = d.figure("cpuacct.stat", u.GetUser()/1000)
				s.CPUSystem = d.figure("cpuacct.stat", u.GetKernel()/1000)
			}
		case "blkio":
			s.Read = sum(got.GetBlkio().GetIoServiceBytesRecursive(), "Read")
			s.Written = sum(got.GetBlkio().GetIoServiceBytesRecursive(), "Write")
		}
	}
	return err
}

func (s *Stats) memory1(d dir, all *stats.Metrics) error {
	got := all.GetMemory()
	s.Memory = d.figure("memory.usage_in_bytes", got.GetUsage().GetUsage())
	s.MemoryPeak = d.figure("memory.max_usage_in_bytes", got.GetUsage().GetMax())
	s.MemoryLimit = d.limit("memory.limit_in_bytes", got.GetUsage().GetLimit())
	s.OOMKill = d.figure("memory.oom_control", all.GetMemoryOomControl().GetOomKill())
	values, err := d.values("memory.stat")
	s.Swap = values["total_swap"]
	return err
}

// pids1 reads pids.max itself: the library returns 0 for "max", which is a limit as well.
func (s *Stats) pids1(d dir, all *stats.Metrics) error {
	s.Tasks, s.TaskLimit = d.figure("pids.current", all.GetPids().GetCurrent()), nil
	b, err := os.ReadFile(d.path("pids.max"))
	if n, no := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64); no == nil {
		s.TaskLimit = &n
	}
	events, err2 := d.values("pids.events")
	s.TaskFails = events["max"]
	return errors.Join(err, err2)
}

// sum adds the figures of all devices. Kernels count I/O of version 1 only on devices that some group has a limit for,
// and show no line for others: then the figure is unknown.
func sum(list []*stats.BlkIOEntry, op string) (f *uint64) {
	for _, e := range list {
		if e.GetOp() == op {
			if f == nil {
				f = new(uint64)
			}
			*f += e.GetValue()
		}
	}
	return f
}

// load1 makes the library read the given directories. It joins root, controller and path lexically: ".." as the path
// removes the controller's name again, which also suits a mount of several controllers (cpu,cpuacct).
func load1(g Group) (cgroup1.Cgroup, error) {
	var list []cgroup1.Subsystem
	for _, c := range controllers(g) {
		switch root := g.V1[c]; c {
		case "memory":
			list = append(list, cgroup1.NewMemory(root, cgroup1.IgnoreModules(absentModules(dir(root))...)))
		case "pids":
			list = append(list, cgroup1.NewPids(root))
		case "cpu":
			list = append(list, cgroup1.NewCpu(root))
		case "cpuacct":
			list = append(list, cgroup1.NewCpuacct(root))
		case "blkio":
			list = append(list, cgroup1.NewBlkio(root))
		}
	}
	return cgroup1.Load(cgroup1.StaticPath(".."),
		cgroup1.WithHierarchy(func() ([]cgroup1.Subsystem, error) { return list, nil }))
}

// absentModules returns the kinds of memory for which this kernel lacks one of the four files: if one is missing, the
// library would skip the other kinds.
func absentModules(d dir) (list []string) {
	for _, module := range []string{"memsw", "kmem", "kmem.tcp"} {
		for _, f := range []string{"usage_in_bytes", "max_usage_in_bytes", "failcnt", "limit_in_bytes"} {
			if !d.has("memory." + module + "." + f) {
				list = append(list, module)
				break
			}
		}
	}
	return list
}

package monitor

import (
	"fmt"

	"github.com/containerd/cgroups/v3/cgroup2"
)

// read2 reads the version 2 directory.
func (s *Stats) read2(d dir) error {
	m, err := cgroup2.Load("/", cgroup2.WithMountpoint(string(d)))
	if err != nil {
		return fmt.Errorf("monitor: Group.V2: %w", err)
	}
	got, err := m.Stat()
	if err != nil {
		return fmt.Errorf("monitor: statistics of version 2: %w", err)
	}
	mem, cpu := got.GetMemory(), got.GetCPU()
	s.Memory = d.figure("memory.current", mem.GetUsage())
	s.MemoryPeak = d.figure("memory.peak", mem.GetMaxUsage()) // ≥ 5.19
	s.MemoryLimit = d.limit("memory.max", mem.GetUsageLimit())
	s.Swap = d.figure("memory.swap.current", mem.GetSwapUsage())
	s.OOM = d.figure("memory.events", got.GetMemoryEvents().GetOom())
	s.OOMKill = d.figure("memory.events", got.GetMemoryEvents().GetOomKill())
	s.CPU = d.figure("cpu.stat", cpu.GetUsageUsec())
	s.CPUUser = d.figure("cpu.stat", cpu.GetUserUsec())
	s.CPUSystem = d.figure("cpu.stat", cpu.GetSystemUsec())
	s.Throttled = d.figure("cpu.max", cpu.GetThrottledUsec()) // in cpu.stat with the controller only, as the limit
	if d.has("io.stat") {
		var read, written uint64
		for _, e := range got.GetIo().GetUsage() {
			read, written = read+e.GetRbytes(), written+e.GetWbytes()
		}
		s.Read, s.Written = &read, &written
	}
	s.Tasks = d.figure("pids.current", got.GetPids().GetCurrent())
	s.TaskLimit = d.limit("pids.max", got.GetPids().GetLimit())
	events, err := d.values("pids.events")
	s.TaskFails = events["max"]
	return err
}

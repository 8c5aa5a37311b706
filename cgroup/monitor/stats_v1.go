package monitor

import (
	"errors"

	"github.com/containerd/cgroups/v3/cgroup1"
	"github.com/containerd/cgroups/v3/cgroup1/stats"
)

// stats1 reads the version 1 directories over what version 2 has said.
func (m *Monitor) stats1(s *Stats) error {
	got, err := m.lib1.Stat(cgroup1.IgnoreNotExist)
	if err != nil {
		return bad("statistics of version 1", err)
	}
	var errs []error
	if d := m.v1["memory"]; d != nil {
		errs = append(errs, memory1(&s.Memory, d, got))
	}
	if d := m.v1["pids"]; d != nil {
		errs = append(errs, pids1(&s.Pids, d, got.GetPids()))
	}
	if d := m.v1["cpu"]; d != nil {
		t := got.GetCPU().GetThrottling()
		s.CPU.Periods = d.figure("cpu.stat", t.GetPeriods())
		s.CPU.ThrottledPeriods = d.figure("cpu.stat", t.GetThrottledPeriods())
		s.CPU.Throttled = d.figure("cpu.stat", t.GetThrottledTime()/1000)
	}
	// Version 2's cpu.stat, where there is one, is in microseconds; cpuacct.stat counts ticks of a hundredth of a second.
	if d := m.v1["cpuacct"]; d != nil && !s.CPU.Usage.Known {
		u := got.GetCPU().GetUsage()
		s.CPU.Usage = d.figure("cpuacct.usage", u.GetTotal()/1000)
		s.CPU.User = d.figure("cpuacct.stat", u.GetUser()/1000)
		s.CPU.System = d.figure("cpuacct.stat", u.GetKernel()/1000)
	}
	if m.v1["blkio"] != nil {
		io1(&s.IO, got.GetBlkio())
	}
	return errors.Join(errs...)
}

func memory1(s *Memory, d *dir, all *stats.Metrics) error {
	got := all.GetMemory()
	s.Usage = d.figure("memory.usage_in_bytes", got.GetUsage().GetUsage())
	s.Peak = d.figure("memory.max_usage_in_bytes", got.GetUsage().GetMax())
	s.Kernel = d.figure("memory.kmem.usage_in_bytes", got.GetKernel().GetUsage())
	s.Anon = d.figure("memory.stat", got.GetTotalRSS())
	s.File = d.figure("memory.stat", got.GetTotalCache())
	s.OOMKill = d.figure("memory.oom_control", all.GetMemoryOomControl().GetOomKill())
	s.Limit = Figure{}
	if d.has("memory.limit_in_bytes") {
		s.Limit = limit1(got.GetUsage().GetLimit())
	}
	if d.has("memory.memsw.limit_in_bytes") {
		s.SwapLimit = limit1(got.GetSwap().GetLimit())
		if s.SwapLimit.Value != Unlimited && s.Limit.Known { // the limit of both is never below that of memory
			s.SwapLimit = known(s.SwapLimit.Value - min(s.SwapLimit.Value, s.Limit.Value))
		}
	}
	values, err := d.values("memory.stat")
	s.Swap = of(values, "total_swap")
	return err
}

func pids1(s *Pids, d *dir, got *stats.PidsStat) (err error) {
	s.Current = d.figure("pids.current", got.GetCurrent())
	if s.Limit, err = d.number("pids.max"); err != nil { // the library says 0 for "max", which is a limit as well
		return err
	}
	return s.rest(d)
}

// io1 adds up what devices say. Kernels count I/O of version 1 only on devices that some group has a limit for, and show
// no line for others: no line is no figure.
func io1(s *IO, got *stats.BlkIOStat) {
	sum := func(list []*stats.BlkIOEntry, op string) (f Figure) {
		for _, e := range list {
			if e.GetOp() == op {
				f = known(f.Value + e.GetValue())
			}
		}
		return f
	}
	s.ReadBytes, s.WriteBytes = sum(got.GetIoServiceBytesRecursive(), "Read"), sum(got.GetIoServiceBytesRecursive(), "Write")
	s.ReadOps, s.WriteOps = sum(got.GetIoServicedRecursive(), "Read"), sum(got.GetIoServicedRecursive(), "Write")
}

package monitor

import (
	"errors"

	"github.com/containerd/cgroups/v3/cgroup2"
	"github.com/containerd/cgroups/v3/cgroup2/stats"
)

// stats2 reads the version 2 directory. The library says 0 for a file that is not there: which there are is asked here.
func (m *Monitor) stats2(s *Stats) error {
	got, err := m.lib2.StatFiltered(cgroup2.StatPids | cgroup2.StatCPU | cgroup2.StatMemory | cgroup2.StatMemoryEvents | cgroup2.StatIO)
	if err != nil {
		return bad("statistics of version 2", err)
	}
	m.cpu2(&s.CPU, got.GetCPU())
	m.io2(&s.IO, got.GetIo())
	return errors.Join(m.memory2(&s.Memory, got), m.pids2(&s.Pids, got.GetPids()))
}

func (m *Monitor) memory2(s *Memory, all *stats.Metrics) (err error) {
	d, got := m.v2, all.GetMemory()
	s.Usage = d.figure("memory.current", got.GetUsage())
	s.Peak = d.figure("memory.peak", got.GetMaxUsage())
	s.Limit = d.figure("memory.max", got.GetUsageLimit())
	s.Swap = d.figure("memory.swap.current", got.GetSwapUsage())
	s.SwapPeak = d.figure("memory.swap.peak", got.GetSwapMaxUsage())
	s.SwapLimit = d.figure("memory.swap.max", got.GetSwapLimit())
	s.Anon = d.figure("memory.stat", got.GetAnon())
	s.File = d.figure("memory.stat", got.GetFile())
	if e := all.GetMemoryEvents(); e != nil {
		s.HighEvents, s.MaxEvents = known(e.GetHigh()), known(e.GetMax())
		s.OOM, s.OOMKill = known(e.GetOom()), known(e.GetOomKill())
	}
	values, err := d.values("memory.stat")
	s.Kernel = of(values, "kernel") // since Linux 5.18
	high, err1 := d.number("memory.high")
	s.High = high
	// The library looks at memory.pressure only beside a memory.stat, which a hybrid machine's tree has not.
	if p := got.GetPSI(); p != nil {
		s.Pressure = pressure(p)
		return errors.Join(err, err1)
	}
	p, err2 := d.pressure("memory.pressure")
	s.Pressure = p
	return errors.Join(err, err1, err2)
}

func (m *Monitor) pids2(s *Pids, got *stats.PidsStat) (err error) {
	s.Current = m.v2.figure("pids.current", got.GetCurrent())
	s.Limit = m.v2.figure("pids.max", got.GetLimit())
	return s.rest(m.v2)
}

// rest is what both versions have and the library does not read.
func (s *Pids) rest(d *dir) (err error) {
	if s.Peak, err = d.number("pids.peak"); err != nil { // since Linux 6.1
		return err
	}
	events, err := d.values("pids.events")
	s.MaxEvents = of(events, "max")
	return err
}

func (m *Monitor) cpu2(s *CPU, got *stats.CPUStat) {
	d := m.v2
	s.Usage = d.figure("cpu.stat", got.GetUsageUsec())
	s.User = d.figure("cpu.stat", got.GetUserUsec())
	s.System = d.figure("cpu.stat", got.GetSystemUsec())
	// cpu.stat has these three with the cpu controller only, as the limit itself.
	s.Periods = d.figure("cpu.max", got.GetNrPeriods())
	s.ThrottledPeriods = d.figure("cpu.max", got.GetNrThrottled())
	s.Throttled = d.figure("cpu.max", got.GetThrottledUsec())
	s.Pressure = pressure(got.GetPSI())
}

func (m *Monitor) io2(s *IO, got *stats.IOStat) {
	if m.v2.has("io.stat") {
		var sum [4]uint64
		for _, e := range got.GetUsage() {
			sum[0] += e.GetRbytes()
			sum[1] += e.GetWbytes()
			sum[2] += e.GetRios()
			sum[3] += e.GetWios()
		}
		s.ReadBytes, s.WriteBytes, s.ReadOps, s.WriteOps = known(sum[0]), known(sum[1]), known(sum[2]), known(sum[3])
	}
	s.Pressure = pressure(got.GetPSI())
}

func pressure(p *stats.PSIStats) Pressure {
	return Pressure{Some: stall(p.GetSome()), Full: stall(p.GetFull())}
}

func stall(p *stats.PSIData) Stall {
	if p == nil {
		return Stall{}
	}
	return Stall{Known: true, Avg10: p.GetAvg10(), Avg60: p.GetAvg60(), Avg300: p.GetAvg300(), Total: p.GetTotal()}
}

package spec

import (
	"cmp"
	"math"
	"reflect"
	"strings"
	"time"

	"brig/cgroup"
)

// Limits bound a jail's use of the machine. A zero field means its default: DefaultWall, DefaultProcesses,
// DefaultRlimits for each name that Rlimits lacks, and for all others no limit. A negative value is a Problem, unless a
// field's comment allows it.
//
// A control group (cgroups(7)) of the jail enforces the limits from Memory on, for all its processes together. If the
// machine cannot enforce one, the start fails, unless the Spec lists the limit under Optional.
type Limits struct {
	// Wall is the time after which the jail is killed; negative means none. The default is DefaultWall, and none with a
	// TTY.
	Wall Duration `json:"wall,omitempty"`
	// Idle ends the jail if it writes nothing to stdout and stderr for this long; 0 means never.
	Idle Duration `json:"idle,omitempty"`
	// Grace is the time that a payload has to end after a signal has asked it to, before the jail is killed. For Cmd.Stop,
	// 0 means DefaultGrace. Wall, Idle and the end of the context send SIGTERM only if Grace is set; with 0 they send
	// SIGKILL at once.
	Grace Duration `json:"grace,omitempty"`
	// CPUTime is the processor time of all processes of the jail together, from its control group. Without one it is that
	// of each process, by RLIMIT_CPU in whole seconds (getrlimit(2)), and Enforced states so.
	CPUTime Duration `json:"cpu_time,omitempty"`
	// Processes is the number of processes and threads that the payload may have, itself included; -1 means no limit.
	Processes int64 `json:"processes,omitempty"`
	// Output is the number of bytes of stdout and of stderr to keep, half at the beginning and half at the end. The rest
	// is counted and dropped. 0 passes the streams straight through.
	Output Bytes `json:"output,omitempty"`
	// OutputLimit ends the jail if it writes more than this to stdout and stderr together; 0 means never.
	OutputLimit Bytes `json:"output_limit,omitempty"`
	// Rlimits are resource limits (getrlimit(2)) by the lower-case name that ulimit and docker use, such as "nofile".
	Rlimits map[string]Rlimit `json:"rlimits,omitempty"`

	// Memory is the limit on anonymous memory, page cache, tmpfs and the kernel's memory for the jail. Above it the kernel
	// reclaims, and then kills.
	Memory Bytes `json:"memory,omitempty"`
	// MemoryHigh is the usage above which the kernel throttles the jail and reclaims from it, without killing.
	MemoryHigh Bytes `json:"memory_high,omitempty"`
	// MemorySwap is the limit on memory and swap together, as in docker; -1 means any amount of swap, and 0 means Memory,
	// so that nothing is swapped.
	MemorySwap Bytes `json:"memory_swap,omitempty"`
	// MemoryZswap is the amount of the jail's memory that may be compressed in zswap. Above it the kernel swaps to disk
	// (cgroup-v2.rst, memory.zswap.max; ≥ 5.19 with CONFIG_ZSWAP, version 2 only).
	MemoryZswap Bytes `json:"memory_zswap,omitempty"`
	// MemoryLow is the amount that the kernel does not reclaim as long as it can reclaim elsewhere.
	MemoryLow Bytes `json:"memory_low,omitempty"`
	// MemoryMin is the amount that the kernel never reclaims from the jail.
	MemoryMin Bytes `json:"memory_min,omitempty"`
	// NoOOMGroup lets the kernel kill one process if memory runs out, instead of the whole jail.
	NoOOMGroup bool `json:"no_oom_group,omitempty"`

	// CPUs is the processor time per period, in processors: 0.5 is half of one.
	CPUs float64 `json:"cpus,omitempty"`
	// CPUPeriod is the period for CPUs, from 1ms to 1s; 0 means DefaultCPUPeriod.
	CPUPeriod Duration `json:"cpu_period,omitempty"`
	// CPUBurst is the unused time that the jail may accumulate and use beyond CPUs, at most CPUs times CPUPeriod.
	CPUBurst Duration `json:"cpu_burst,omitempty"`
	// CPUWeight is the jail's relative share of busy processors, from 1 to 10000; 0 means the kernel's 100.
	CPUWeight int `json:"cpu_weight,omitempty"`
	// CPUSet lists the processors to run on, and CPUSetMems the memory nodes, in the format of cpuset(7): "0-3,6".
	CPUSet     string `json:"cpuset,omitempty"`
	CPUSetMems string `json:"cpuset_mems,omitempty"`

	// IO bounds the traffic with block devices.
	IO []IOLimit `json:"io,omitempty"`
	// IOWeight is the jail's relative share of a busy block device, from 1 to 10000; 0 means the kernel's 100.
	IOWeight int `json:"io_weight,omitempty"`
	// HugeTLB bounds huge pages by their size in the kernel's notation: "64KB", "2MB", "1GB".
	HugeTLB map[string]Bytes `json:"hugetlb,omitempty"`
	// Cgroup lists values to write to other files of the control group, "FILE=VALUE", in this order.
	Cgroup []string `json:"cgroup,omitempty"`
}

// Rlimit is a soft and a hard limit in the unit of its resource, bytes, seconds or a number (getrlimit(2)); -1 is
// RLIM_INFINITY.
type Rlimit struct {
	Soft int64 `json:"soft"`
	Hard int64 `json:"hard"`
}

// IOLimit bounds the traffic with one block device. A zero rate means no limit.
type IOLimit struct {
	// Path is a block device of the host, or any file or directory on the device.
	Path string `json:"path"`
	// ReadBps and WriteBps are bytes per second.
	ReadBps  Bytes `json:"read_bps,omitempty"`
	WriteBps Bytes `json:"write_bps,omitempty"`
	// ReadIOPS and WriteIOPS are operations per second.
	ReadIOPS  int64 `json:"read_iops,omitempty"`
	WriteIOPS int64 `json:"write_iops,omitempty"`
}

// Limit is a row of the table of limits: what brig knows about one field of Limits. Flags, JSON, Check, control groups,
// policies, metrics and documents are derived from it.
type Limit struct {
	Name  string              // the field's JSON key
	Field func(l *Limits) any // returns a pointer to the field; its type determines how a value is parsed and checked

	Flag    string // the flag without --; "" if the value has several parts, which cmd/brig parses
	Short   byte   // docker's short form, or 0
	Value   string // the name of the flag's value
	Usual   int    // the position in the help under "Limits", from 1; 0 is under "Control group"
	Help    string // one sentence, without a full stop; see Limit.About
	Of      string // the name of the limit that %s in Help stands for, or ""
	Example string // a value for remedies
	Zero    string // why the flag refuses 0; "" if 0 means no limit

	Default bool   // 0 in a Spec means brig's default, and a negative value means no limit
	AnyOf   bool   // -1 means any amount
	Below   bool   // must not exceed Limits.Memory
	Counted bool   // Result.LimitsHit can name it
	Keeper  bool   // the keeper alone holds it: the jail is made in the same way for every value
	Feature string // the feature that a policy must allow before a request may set it, or ""

	Mechanism string // the rows of package cgroup that enforce it, separated by blanks; "" if it modifies another's
	Files     string // the control group files of both versions that it sets, separated by blanks
}

// WithoutKeeper returns the limits without those that the keeper alone holds.
func (l Limits) WithoutKeeper() Limits {
	for i := range limitRows {
		if limitRows[i].Keeper {
			reflect.ValueOf(limitRows[i].Field(&l)).Elem().SetZero()
		}
	}
	return l
}

// NeedsCopies reports whether a limit makes the keeper copy the payload's output.
func (l *Limits) NeedsCopies() bool { return l.Output > 0 || l.OutputLimit > 0 || l.Idle > 0 }

const (
	noRoom    = "a limit of 0 leaves no room"
	noReserve = "a size of 0 protects nothing"
	noSpan    = "is not a time span"
)

// limitRows has the order of the fields of Limits.
var limitRows = []Limit{
	{Name: "wall", Field: func(l *Limits) any { return &l.Wall },
		Flag: "timeout", Value: "TIME", Usual: 1, Default: true, Counted: true, Keeper: true,
		Help: "end everything after TIME (30s, 5m; default 1h; 0 for no limit)"},
	{Name: "idle", Field: func(l *Limits) any { return &l.Idle },
		Flag: "idle-timeout", Value: "TIME", Usual: 2, Example: "10s", Counted: true, Keeper: true,
		Help: "end everything after TIME without output on stdout and stderr"},
	{Name: "grace", Field: func(l *Limits) any { return &l.Grace },
		Flag: "grace", Value: "TIME", Usual: 3, Example: "5s", Keeper: true,
		Help: "the time that a payload has to end after SIGTERM, SIGHUP or a second SIGINT to brig, before everything is " +
			"killed (default 10s); if it is given, the two limits above send SIGTERM first, too"},
	{Name: "cpu_time", Field: func(l *Limits) any { return &l.CPUTime },
		Flag: "cpu-time", Value: "TIME", Usual: 4, Example: "10s", Counted: true,
		Help:      "the processor time of all processes together; of each by itself where there is no control group",
		Mechanism: "cpu_time"},
	{Name: "processes", Field: func(l *Limits) any { return &l.Processes },
		Flag: "pids-limit", Value: "N", Usual: 5, Default: true, Counted: true,
		Help:  "the number of processes and threads at once (default 1024; 0 or -1 for no limit)",
		Files: "pids.max"},
	{Name: "output", Field: func(l *Limits) any { return &l.Output },
		Flag: "max-output", Value: "SIZE", Usual: 9, Example: "8m", Counted: true, Keeper: true,
		Help: "keep SIZE of stdout and of stderr, head and tail, and count the rest (0 for no limit)"},
	{Name: "output_limit", Field: func(l *Limits) any { return &l.OutputLimit },
		Flag: "output-limit", Value: "SIZE", Usual: 10, Example: "8m", Keeper: true,
		Help: "end everything when stdout and stderr together exceed SIZE"},
	{Name: "rlimits", Field: func(l *Limits) any { return &l.Rlimits }, Usual: 11},
	{Name: "memory", Field: func(l *Limits) any { return &l.Memory },
		Flag: "memory", Short: 'm', Value: "SIZE", Usual: 6, Example: "512m", Zero: noRoom, Counted: true,
		Help:      "memory, with page cache and tmpfs; beyond it the whole jail is killed",
		Mechanism: "memory memory_sockets",
		Files:     "memory.max memory.limit_in_bytes memory.swap.max memory.memsw.limit_in_bytes"},
	{Name: "memory_high", Field: func(l *Limits) any { return &l.MemoryHigh },
		Flag: "memory-high", Value: "SIZE", Example: "512m", Zero: noRoom, Below: true, Counted: true,
		Help:      "above SIZE memory is reclaimed and the jail slowed down, not killed",
		Mechanism: "memory_high", Files: "memory.high"},
	{Name: "memory_swap", Field: func(l *Limits) any { return &l.MemorySwap },
		Flag: "memory-swap", Value: "SIZE", Usual: 7, Example: "512m", Zero: noRoom, AnyOf: true,
		Help: "memory and swap together; -1 for any amount of swap (default: that of %s, so none)", Of: "memory",
		Mechanism: "memory_swap", Files: "memory.swap.max memory.memsw.limit_in_bytes"},
	{Name: "memory_zswap", Field: func(l *Limits) any { return &l.MemoryZswap },
		Flag: "memory-zswap", Value: "SIZE", Example: "64m", Zero: noRoom,
		Help:      "at most SIZE is kept compressed in zswap before it is swapped to disk",
		Mechanism: "memory_zswap", Files: "memory.zswap.max"},
	{Name: "memory_low", Field: func(l *Limits) any { return &l.MemoryLow },
		Flag: "memory-reservation", Value: "SIZE", Example: "512m", Zero: noReserve, Below: true, Feature: "priority",
		Help:      "below SIZE nothing is reclaimed while other groups have memory to reclaim",
		Mechanism: "memory_low", Files: "memory.low memory.soft_limit_in_bytes"},
	{Name: "memory_min", Field: func(l *Limits) any { return &l.MemoryMin },
		Flag: "memory-min", Value: "SIZE", Example: "512m", Zero: noReserve, Below: true, Feature: "priority",
		Help:      "below SIZE nothing is ever reclaimed",
		Mechanism: "memory_min", Files: "memory.min"},
	{Name: "no_oom_group", Field: func(l *Limits) any { return &l.NoOOMGroup },
		Flag: "no-oom-group",
		Help: "out of memory kills one process instead of the whole jail", Files: "memory.oom.group"},
	{Name: "cpus", Field: func(l *Limits) any { return &l.CPUs },
		Flag: "cpus", Value: "N", Usual: 8, Counted: true,
		Help:      "processor time, counted in processors, such as 0.5",
		Mechanism: "cpus", Files: "cpu.max cpu.cfs_quota_us cpu.cfs_period_us"},
	{Name: "cpu_period", Field: func(l *Limits) any { return &l.CPUPeriod },
		Flag: "cpu-period", Value: "TIME", Example: "50ms", Zero: noSpan,
		Help: "the period that %s is measured in, 1ms to 1s (default 100ms)", Of: "cpus"},
	{Name: "cpu_burst", Field: func(l *Limits) any { return &l.CPUBurst },
		Flag: "cpu-burst", Value: "TIME", Example: "20ms", Zero: noSpan, Feature: "priority",
		Help:      "the unused time that may be saved up for later periods",
		Mechanism: "cpu_burst", Files: "cpu.max.burst cpu.cfs_burst_us"},
	{Name: "cpu_weight", Field: func(l *Limits) any { return &l.CPUWeight },
		Flag: "cpu-weight", Value: "N", Feature: "priority",
		Help:      "the share when processors are short, 1 to 10000 (default 100)",
		Mechanism: "cpu_weight", Files: "cpu.weight cpu.weight.nice cpu.shares"},
	{Name: "cpuset", Field: func(l *Limits) any { return &l.CPUSet },
		Flag: "cpuset-cpus", Value: "LIST", Example: "0-3", Feature: "cpuset",
		Help:      "the processors to run on, such as 0-3,6",
		Mechanism: "cpuset", Files: "cpuset.cpus"},
	{Name: "cpuset_mems", Field: func(l *Limits) any { return &l.CPUSetMems },
		Flag: "cpuset-mems", Value: "LIST", Example: "0", Feature: "cpuset",
		Help:      "the memory nodes to allocate from, such as 0",
		Mechanism: "cpuset", Files: "cpuset.mems"},
	{Name: "io", Field: func(l *Limits) any { return &l.IO }, Feature: "io",
		Mechanism: "io",
		Files: "io.max blkio.throttle.read_bps_device blkio.throttle.write_bps_device " +
			"blkio.throttle.read_iops_device blkio.throttle.write_iops_device"},
	{Name: "io_weight", Field: func(l *Limits) any { return &l.IOWeight },
		Flag: "io-weight", Value: "N", Feature: "priority",
		Help:      "the share when a block device is busy, 1 to 10000 (default 100)",
		Mechanism: "io_weight", Files: "io.weight io.bfq.weight blkio.weight blkio.bfq.weight"},
	{Name: "hugetlb", Field: func(l *Limits) any { return &l.HugeTLB },
		Mechanism: "hugetlb"},
	{Name: "cgroup", Field: func(l *Limits) any { return &l.Cgroup }, Feature: "cgroup_files",
		Mechanism: "cgroup_file"},
}

// Group returns the limits for package cgroup, except those that depend on the machine: Processes, and the numbers of
// block devices.
func (l *Limits) Group() *cgroup.Limits {
	_, quota := l.bandwidth()
	g := &cgroup.Limits{Memory: int64(l.Memory), MemoryHigh: int64(l.MemoryHigh), MemoryLow: int64(l.MemoryLow),
		MemoryMin: int64(l.MemoryMin), Swap: l.swap(), Zswap: int64(l.MemoryZswap), NoOOMGroup: l.NoOOMGroup,
		CPUQuota: time.Duration(quota) * time.Microsecond, CPUPeriod: time.Duration(l.CPUPeriod),
		CPUBurst: time.Duration(l.CPUBurst), CPUWeight: l.CPUWeight, CPUTime: l.CPUTime > 0, CPUs: l.CPUSet,
		Mems: l.CPUSetMems, IOWeight: l.IOWeight, HugeTLB: map[string]int64{}}
	for _, io := range l.IO {
		g.IO = append(g.IO, cgroup.Device{ReadBps: int64(io.ReadBps), WriteBps: int64(io.WriteBps),
			ReadIOPS: io.ReadIOPS, WriteIOPS: io.WriteIOPS})
	}
	for size, n := range l.HugeTLB {
		g.HugeTLB[size] = int64(n)
	}
	for _, f := range l.Cgroup {
		name, value, _ := strings.Cut(f, "=")
		g.Files = append(g.Files, cgroup.File{Name: name, Value: value})
	}
	return g
}

// swap returns the limit on swap, without memory.
func (l *Limits) swap() cgroup.Swap {
	switch {
	case l.MemorySwap < 0:
		return cgroup.Swap{Set: true, Max: -1}
	case l.MemorySwap > 0:
		return cgroup.Swap{Set: true, Max: int64(l.MemorySwap - l.Memory)}
	}
	return cgroup.Swap{Set: l.Memory > 0, Implied: l.Memory > 0}
}

// bandwidth returns the period, and the processor time per period in microseconds.
func (l *Limits) bandwidth() (period Duration, quota float64) {
	period = cmp.Or(l.CPUPeriod, DefaultCPUPeriod)
	return period, math.Round(l.CPUs * float64(time.Duration(period).Microseconds()))
}

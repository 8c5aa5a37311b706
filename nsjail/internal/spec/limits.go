package spec

import (
	"maps"
	"slices"
)

// Limits bound a jail's use of the machine. A zero field means its default; the defaults are in defaults.go.
//
// Those from Memory on are held by a control group (cgroups(7)) that the jail has for itself, and so hold for all its
// processes together. Where the machine cannot hold one, the start fails, unless the Spec lists it under Optional.
type Limits struct {
	// Wall is the time from start to forced end of the whole tree; negative means none. Default DefaultWall,
	// and none with a TTY.
	Wall Duration `json:"wall,omitempty"`
	// Idle ends the whole tree when neither stdout nor stderr has said anything for this long; 0 means never.
	Idle Duration `json:"idle,omitempty"`
	// Grace is how long a payload that was asked to end has for it, before everything is killed. Cmd.Stop asks with a
	// signal; there 0 means DefaultGrace. Wall, Idle and the end of the context ask with SIGTERM only if Grace is set; 0
	// means SIGKILL at once.
	Grace Duration `json:"grace,omitempty"`
	// CPUTime is the processor time of all processes of the jail together, from its control group. Where there is
	// none, it is that of each process, by RLIMIT_CPU in whole seconds (getrlimit(2)), and the report says so.
	CPUTime Duration `json:"cpu_time,omitempty"`
	// Processes is how many processes and threads the payload may have at once, itself included; -1 means no limit.
	Processes int64 `json:"processes,omitempty"`
	// Output is how many bytes of stdout and of stderr are kept, head and tail; the rest is counted and dropped.
	// 0 passes the streams straight through.
	Output Bytes `json:"output,omitempty"`
	// OutputLimit ends the whole tree when stdout and stderr together have said more than this; 0 means never.
	OutputLimit Bytes `json:"output_limit,omitempty"`
	// Rlimits are resource limits by the lower-case name that ulimit and docker use ("nofile": getrlimit(2)).
	Rlimits map[string]Rlimit `json:"rlimits,omitempty"`

	// Memory is what the jail may hold: anonymous memory, page cache, tmpfs and the kernel's own for it. Beyond it the
	// kernel reclaims, and then kills.
	Memory Bytes `json:"memory,omitempty"`
	// MemoryHigh is where the kernel begins to throttle the jail and to reclaim from it, without killing.
	MemoryHigh Bytes `json:"memory_high,omitempty"`
	// MemorySwap is memory and swap together, as docker counts it; -1 means any amount of swap, and 0 means Memory,
	// so that nothing is swapped.
	MemorySwap Bytes `json:"memory_swap,omitempty"`
	// MemoryLow is what the kernel spares when others need memory, as long as there is anything else to take.
	MemoryLow Bytes `json:"memory_low,omitempty"`
	// MemoryMin is what the kernel never takes from the jail.
	MemoryMin Bytes `json:"memory_min,omitempty"`
	// NoOOMGroup lets the kernel kill one process when memory runs out, instead of the whole jail.
	NoOOMGroup bool `json:"no_oom_group,omitempty"`

	// CPUs is how many processors' worth of time the jail gets in each period: 0.5 is half of one.
	CPUs float64 `json:"cpus,omitempty"`
	// CPUPeriod is the period that CPUs is measured in, from 1ms to 1s; 0 means DefaultCPUPeriod.
	CPUPeriod Duration `json:"cpu_period,omitempty"`
	// CPUBurst is how much unused time the jail may save up and use beyond CPUs, at most CPUs times CPUPeriod.
	CPUBurst Duration `json:"cpu_burst,omitempty"`
	// CPUWeight is the jail's share when processors are short, from 1 to 10000; 0 means the kernel's 100.
	CPUWeight int `json:"cpu_weight,omitempty"`
	// CPUSet lists the processors to run on and CPUSetMems the memory nodes to allocate from, as cpuset(7) writes
	// lists: "0-3,6".
	CPUSet     string `json:"cpuset,omitempty"`
	CPUSetMems string `json:"cpuset_mems,omitempty"`

	// IO bounds the traffic with block devices.
	IO []IOLimit `json:"io,omitempty"`
	// IOWeight is the jail's share when a block device is busy, from 1 to 10000; 0 means the kernel's 100.
	IOWeight int `json:"io_weight,omitempty"`
	// HugeTLB bounds huge pages by their size as the kernel names it: "64KB", "2MB", "1GB".
	HugeTLB map[string]Bytes `json:"hugetlb,omitempty"`
	// Cgroup is what to write to other files of the control group, "FILE=VALUE", in this order.
	Cgroup []string `json:"cgroup,omitempty"`
}

// Rlimit is a soft and a hard limit; -1 is RLIM_INFINITY.
type Rlimit struct {
	Soft int64 `json:"soft"`
	Hard int64 `json:"hard"`
}

// IOLimit bounds the traffic with one block device. A zero rate means no limit.
type IOLimit struct {
	// Path is a block device of the host, or any file or directory: the device that holds it is meant.
	Path string `json:"path"`
	// ReadBps and WriteBps are bytes per second.
	ReadBps  Bytes `json:"read_bps,omitempty"`
	WriteBps Bytes `json:"write_bps,omitempty"`
	// ReadIOPS and WriteIOPS are operations per second.
	ReadIOPS  int64 `json:"read_iops,omitempty"`
	WriteIOPS int64 `json:"write_iops,omitempty"`
}

// Clone is a copy that shares nothing with the original.
func (s *Spec) Clone() *Spec {
	c := *s
	for _, list := range []*[]string{&c.Args, &c.Env, &c.PassEnv, &c.Etc, &c.Publish, &c.Require, &c.Optional,
		&c.Limits.Cgroup} {
		*list = slices.Clone(*list)
	}
	c.Egress = c.Egress.Clone()
	c.Mounts, c.Limits.IO = slices.Clone(c.Mounts), slices.Clone(c.Limits.IO)
	c.Limits.Rlimits, c.Limits.HugeTLB = maps.Clone(c.Limits.Rlimits), maps.Clone(c.Limits.HugeTLB)
	return &c
}

package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"brig/nsjail"
)

// Limits are ceilings for a Spec's limits. A higher limit is lowered to the ceiling, and a missing limit is set to it.
// Zero means no ceiling.
type Limits struct {
	Wall        nsjail.Duration `json:"wall,omitempty"`
	Idle        nsjail.Duration `json:"idle,omitempty"`
	Grace       nsjail.Duration `json:"grace,omitempty"` // absent: DefaultGrace, if wall has a ceiling
	CPUTime     nsjail.Duration `json:"cpu_time,omitempty"`
	CPUs        float64         `json:"cpus,omitempty"`
	Memory      nsjail.Bytes    `json:"memory,omitempty"`
	MemorySwap  nsjail.Bytes    `json:"memory_swap,omitempty"` // memory and swap together; absent: the value of Memory
	MemoryZswap nsjail.Bytes    `json:"memory_zswap,omitempty"`
	Processes   int64           `json:"processes,omitempty"`
	Output      nsjail.Bytes    `json:"output,omitempty"`
	OutputLimit nsjail.Bytes    `json:"output_limit,omitempty"`
	Tmpfs       nsjail.Bytes    `json:"tmpfs,omitempty"` // of each tmpfs that a run mounts
	TmpfsInodes int64           `json:"tmpfs_inodes,omitempty"`
	RootSize    nsjail.Bytes    `json:"root_size,omitempty"` // of a writable root
	FileSize    nsjail.Bytes    `json:"file_size,omitempty"` // of each file: RLIMIT_FSIZE
	OpenFiles   int64           `json:"open_files,omitempty"`
	// Refuse names ceilings for which a higher limit is refused instead of lowered.
	Refuse []string `json:"refuse,omitzero"`
}

// ceiling is one ceiling of a policy. Its value is an int64: math.MaxInt64 for a missing limit; processors are counted
// in millionths.
type ceiling struct {
	name  string
	doc   string              // for the JSON Schema
	field func(l *Limits) any // pointer to the bound in the policy

	// The following override the default, in which the bound is the value of field (0 for none) and applies to the
	// Spec's limit of the same name.
	of  func(l *Limits) int64
	get func(s *nsjail.Spec) (v int64, asked bool) // value of the limit, and whether the Spec sets it: false for a default
	set func(s *nsjail.Spec, v int64)
}

// ceilings lists all ceilings in the order of the fields of Limits. They are applied in this order.
var ceilings = []ceiling{
	{name: "wall", doc: "time from start to end", field: func(l *Limits) any { return &l.Wall }, get: getWall},
	{name: "idle", doc: "time without output", field: func(l *Limits) any { return &l.Idle }},
	{name: "grace", doc: "time between SIGTERM and SIGKILL",
		field: func(l *Limits) any { return &l.Grace }, of: graceOf, get: getGrace},
	{name: "cpu_time", doc: "processor time of all processes together",
		field: func(l *Limits) any { return &l.CPUTime }, set: setCPUTime},
	{name: "cpus", doc: "processors' worth of time", field: func(l *Limits) any { return &l.CPUs }, set: setCPUs},
	{name: "memory", doc: "memory, page cache and tmpfs",
		field: func(l *Limits) any { return &l.Memory }, set: setMemory},
	{name: "memory_swap", doc: "memory and swap together",
		field: func(l *Limits) any { return &l.MemorySwap }, of: swapOf, get: getSwap},
	{name: "memory_zswap", doc: "memory that zswap keeps compressed",
		field: func(l *Limits) any { return &l.MemoryZswap }},
	{name: "processes", doc: "processes and threads at once",
		field: func(l *Limits) any { return &l.Processes }, get: getProcesses, set: setProcesses},
	{name: "output", doc: "bytes kept of stdout and of stderr", field: func(l *Limits) any { return &l.Output }},
	{name: "output_limit", doc: "bytes of stdout and stderr together that end the run",
		field: func(l *Limits) any { return &l.OutputLimit }},
	{name: "tmpfs", doc: "bytes of each tmpfs that is mounted",
		field: func(l *Limits) any { return &l.Tmpfs }, get: getTmpfs, set: setTmpfs},
	{name: "tmpfs_inodes", doc: "files of each tmpfs that is mounted",
		field: func(l *Limits) any { return &l.TmpfsInodes }, get: getInodes, set: setInodes},
	{name: "root_size", doc: "bytes of a writable root",
		field: func(l *Limits) any { return &l.RootSize }, get: getRootSize, set: setRootSize},
	{name: "file_size", doc: "bytes of each file that is written",
		field: func(l *Limits) any { return &l.FileSize }, get: getHard("fsize"), set: setHard("fsize")},
	{name: "open_files", doc: "open files of each process",
		field: func(l *Limits) any { return &l.OpenFiles }, get: getHard("nofile"), set: setHard("nofile")},
}

// limitTable returns the table of a Spec's limits, which must not be modified.
var limitTable = sync.OnceValue(nsjail.LimitTable)

// limit returns a pointer to the Spec's limit with the ceiling's name.
func (c *ceiling) limit(s *nsjail.Spec) any {
	for i := range limitTable() {
		if r := &limitTable()[i]; r.Name == c.name {
			return r.Field(&s.Limits)
		}
	}
	return new(int64)
}

// bound returns the policy's bound, or 0 for none.
func (c *ceiling) bound(l *Limits) int64 {
	if c.of != nil {
		return c.of(l)
	}
	return number(c.field(l))
}

// read returns the Spec's limit, and whether the Spec sets it.
func (c *ceiling) read(s *nsjail.Spec) (v int64, asked bool) {
	if c.get != nil {
		return c.get(s)
	}
	if v = number(c.limit(s)); v == 0 {
		return math.MaxInt64, false
	}
	return v, true
}

func (c *ceiling) write(s *nsjail.Spec, v int64) {
	if c.set != nil {
		c.set(s, v)
		return
	}
	switch to := c.limit(s).(type) {
	case *nsjail.Duration:
		*to = nsjail.Duration(v)
	case *nsjail.Bytes:
		*to = nsjail.Bytes(v)
	case *int64:
		*to = v
	}
}

const millionths = 1e6

// number converts a bound or a limit to an int64.
func number(field any) int64 {
	switch v := field.(type) {
	case *nsjail.Duration:
		return int64(*v)
	case *nsjail.Bytes:
		return int64(*v)
	case *int64:
		return *v
	case *float64:
		return int64(math.Round(min(*v*millionths, math.MaxInt64/4)))
	}
	return 0
}

// show formats a value according to the type of the policy's field.
func (c *ceiling) show(v int64) string {
	switch c.field(&Limits{}).(type) {
	case *nsjail.Duration:
		return showTime(v)
	case *nsjail.Bytes:
		return showBytes(v)
	case *float64:
		return fmt.Sprint(float64(v) / millionths)
	}
	return showCount(v)
}

func (c *ceiling) showOr(v int64) string {
	if v == math.MaxInt64 {
		return "none"
	}
	return c.show(v)
}

func showBytes(v int64) string { return nsjail.Bytes(v).String() }
func showCount(v int64) string { return fmt.Sprint(v) }
func showTime(v int64) string  { return nsjail.Duration(v).String() }

// fields returns the keys of Limits.
func (l *Limits) fields() []field {
	var list []field
	for _, c := range ceilings {
		list = append(list, key(c.name, c.doc, c.field(l)))
	}
	return append(list, key("refuse", "ceilings above which a run is refused instead of narrowed", &l.Refuse))
}

// narrow lowers limits to the ceilings. It returns a sentence for each lowered limit that the Spec sets, and one for
// all others.
func (p *Policy) narrow(s *nsjail.Spec) (said []string) {
	var unasked []string
	for i := range ceilings {
		c := &ceilings[i]
		most := c.bound(&p.Limits)
		v, asked := c.read(s)
		if most == 0 || v <= most {
			continue
		}
		c.write(s, most)
		if asked {
			said = append(said, fmt.Sprintf("%s: %s lowered from %s to %s.", p.label(), c.name, c.showOr(v), c.show(most)))
		} else {
			unasked = append(unasked, c.name+" "+c.show(most))
		}
	}
	if len(unasked) > 0 {
		said = append(said, fmt.Sprintf("%s: limits where none was asked for: %s.", p.label(), strings.Join(unasked, ", ")))
	}
	return said
}

// tooMuch refuses a limit above a ceiling that Refuse names.
func (p *Policy) tooMuch(s *nsjail.Spec) *nsjail.Refusal {
	for i := range ceilings {
		c := &ceilings[i]
		most := c.bound(&p.Limits)
		v, asked := c.read(s)
		if most != 0 && asked && v > most && slices.Contains(p.Limits.Refuse, c.name) {
			return p.refusal("limits."+c.name, "limit_exceeded",
				fmt.Sprintf("%s of %s is above the ceiling of %s", c.name, c.showOr(v), c.show(most)),
				fmt.Sprintf("Ask for at most %s, or leave %s out.", c.show(most), c.name))
		}
	}
	return nil
}

package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"brig/brigd/job"
	"brig/internal/strictjson"
	"brig/nsjail"
)

// Limits are ceilings for a Spec's limits. A higher limit is lowered to the ceiling, and a missing limit is set to it.
// Zero means no ceiling. They are applied in the order of the fields.
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

// DefaultGrace is the ceiling of grace if the policy has only one of wall, so that the total time is bounded.
const DefaultGrace = nsjail.Duration(10 * time.Second)

// implied returns the ceilings, including those that follow from others.
func (l Limits) implied() Limits {
	if l.Grace == 0 && l.Wall > 0 {
		l.Grace = DefaultGrace
	}
	l.MemorySwap = max(l.MemorySwap, l.Memory)
	return l
}

// limitRules are ceilings, by which limits are lowered or refused.
type limitRules struct {
	rule
	Limits
}

func (p *Policy) limits() *limitRules { return &limitRules{p.rule(), p.Limits} }

func (l *limitRules) check(c *checker) {
	var names []string
	for _, k := range l.ceilings() {
		names = append(names, k.Name)
		if number(k.To) < 0 {
			c.add("limits."+k.Name, "it is negative", "write a bound, or leave it out for none")
		}
	}
	c.oneOf("limits.refuse", l.Refuse, names)
	switch {
	case !(l.CPUs >= 0 && l.CPUs <= 1<<16):
		c.add("limits.cpus", fmt.Sprint(l.CPUs, " is not a number of processors"), "write it as in 0.5 or 2")
	case l.CPUs > 0 && l.CPUs < 0.01:
		c.add("limits.cpus", "it is less than the 1ms in 100ms that the kernel gives at least", "write at least 0.01")
	case l.Memory > 0 && l.Memory < 128<<10:
		c.add("limits.memory", l.Memory.String()+" is less than the kernel's own needs for one process",
			"write at least 128k")
	case l.MemorySwap > 0 && l.Memory == 0:
		c.add("limits.memory_swap", "it counts memory and swap together, and there is no ceiling of memory",
			"set memory as well")
	case l.MemorySwap > 0 && l.MemorySwap < l.Memory:
		c.add("limits.memory_swap", "it counts memory and swap together, and is below memory", "write at least "+
			l.Memory.String())
	}
}

// sets reports whether a ceiling sets the limit for every run.
func (l *limitRules) sets(limit string) bool {
	return slices.ContainsFunc(l.ceilings(), func(c strictjson.Field) bool {
		byDefault, _ := limitOf(&nsjail.Spec{}, limit)
		return c.Name == limit && byDefault > 0 && number(c.To) > 0
	})
}

// ceilingNames returns the names of all ceilings, in their order. Refuse, the last field of Limits, is none.
var ceilingNames = sync.OnceValue(func() (names []string) {
	for _, f := range strictjson.Fields(&Limits{}) {
		names = append(names, f.Name)
	}
	return names[:len(names)-1]
})

// ceilings returns all ceilings, including the implied ones: their names, and pointers to copies of them.
func (l *limitRules) ceilings() []strictjson.Field {
	all := l.implied()
	v := reflect.ValueOf(&all).Elem()
	list := make([]strictjson.Field, len(ceilingNames()))
	for i, name := range ceilingNames() {
		list[i] = strictjson.Field{Name: name, To: v.Field(i).Addr().Interface()}
	}
	return list
}

// narrow lowers limits to the ceilings. It returns a sentence for each lowered limit that the Spec sets, and one for
// all others.
func (l *limitRules) narrow(s *nsjail.Spec) (said []string) {
	var unasked []string
	for _, c := range l.ceilings() {
		most := number(c.To)
		v, asked := limitOf(s, c.Name)
		if most == 0 || v <= most {
			continue
		}
		lower(s, c.Name, most)
		if asked {
			said = append(said, fmt.Sprintf("%s: %s lowered from %s to %s.", l.policy, c.Name, showOr(c.To, v),
				show(c.To, most)))
		} else {
			unasked = append(unasked, c.Name+" "+show(c.To, most))
		}
	}
	if len(unasked) > 0 {
		said = append(said, fmt.Sprintf("%s: limits where none was asked for: %s.", l.policy, strings.Join(unasked, ", ")))
	}
	return said
}

// judge refuses a limit above a ceiling that Refuse names.
func (l *limitRules) judge(s *nsjail.Spec) *job.Refusal {
	if len(l.Refuse) == 0 {
		return nil
	}
	for _, c := range l.ceilings() {
		most := number(c.To)
		v, asked := limitOf(s, c.Name)
		if most != 0 && asked && v > most && slices.Contains(l.Refuse, c.Name) {
			return l.refusal("limits."+c.Name, "limit_exceeded",
				fmt.Sprintf("%s of %s is above the ceiling of %s", c.Name, showOr(c.To, v), show(c.To, most)),
				fmt.Sprintf("Ask for at most %s, or leave %s out.", show(c.To, most), c.Name))
		}
	}
	return nil
}

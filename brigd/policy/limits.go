package policy

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"brig/brigd/job"
	"brig/internal/strictjson"
	egress "brig/netns/egress/policy"
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

// ceilingNames returns the names of all ceilings, in their order. Refuse, the last field of Limits, is none.
var ceilingNames = sync.OnceValue(func() (names []string) {
	for _, f := range strictjson.Fields(&Limits{}) {
		names = append(names, f.Name)
	}
	return names[:len(names)-1]
})

// ceilings returns all ceilings, including the implied ones: their names, and pointers to copies of them.
func (p *Policy) ceilings() []strictjson.Field {
	l := p.Limits.implied()
	v := reflect.ValueOf(&l).Elem()
	list := make([]strictjson.Field, len(ceilingNames()))
	for i, name := range ceilingNames() {
		list[i] = strictjson.Field{Name: name, To: v.Field(i).Addr().Interface()}
	}
	return list
}

// narrow lowers limits to the ceilings. It returns a sentence for each lowered limit that the Spec sets, and one for
// all others.
func (p *Policy) narrow(s *nsjail.Spec) (said []string) {
	var unasked []string
	for _, c := range p.ceilings() {
		most := number(c.To)
		v, asked := limitOf(s, c.Name)
		if most == 0 || v <= most {
			continue
		}
		lower(s, c.Name, most)
		if asked {
			said = append(said, fmt.Sprintf("%s: %s lowered from %s to %s.", p.label(), c.Name, showOr(c.To, v),
				show(c.To, most)))
		} else {
			unasked = append(unasked, c.Name+" "+show(c.To, most))
		}
	}
	if len(unasked) > 0 {
		said = append(said, fmt.Sprintf("%s: limits where none was asked for: %s.", p.label(), strings.Join(unasked, ", ")))
	}
	return said
}

// tooMuch refuses a limit above a ceiling that Refuse names.
func (p *Policy) tooMuch(s *nsjail.Spec) *job.Refusal {
	if len(p.Limits.Refuse) == 0 {
		return nil
	}
	for _, c := range p.ceilings() {
		most := number(c.To)
		v, asked := limitOf(s, c.Name)
		if most != 0 && asked && v > most && slices.Contains(p.Limits.Refuse, c.Name) {
			return p.refusal("limits."+c.Name, "limit_exceeded",
				fmt.Sprintf("%s of %s is above the ceiling of %s", c.Name, showOr(c.To, v), show(c.To, most)),
				fmt.Sprintf("Ask for at most %s, or leave %s out.", show(c.To, most), c.Name))
		}
	}
	return nil
}

// millionths of a processor are how number counts processors.
const millionths = 1e6

// number returns the bound or limit that field points to.
func number(field any) int64 {
	v := reflect.ValueOf(field).Elem()
	if v.CanFloat() {
		return int64(math.Round(min(v.Float()*millionths, math.MaxInt64/4)))
	}
	return v.Int()
}

// setNumber is the reverse of number.
func setNumber(field any, n int64) {
	if v := reflect.ValueOf(field).Elem(); v.CanFloat() {
		v.SetFloat(float64(n) / millionths)
	} else {
		v.SetInt(n)
	}
}

// show formats a number according to the type of field.
func show(field any, n int64) string {
	switch field.(type) {
	case *nsjail.Duration, *egress.Duration:
		return nsjail.Duration(n).String()
	case *nsjail.Bytes, *egress.Bytes:
		return nsjail.Bytes(n).String()
	case *float64:
		return fmt.Sprint(float64(n) / millionths)
	}
	return fmt.Sprint(n)
}

// showOr is show, for a limit that may be missing.
func showOr(field any, n int64) string {
	if n == math.MaxInt64 {
		return "none"
	}
	return show(field, n)
}

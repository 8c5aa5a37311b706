package cgroup

import "testing"

// BenchmarkCreate makes and removes a group: what a jail's limits cost before and after it. CreateAlone has the
// directories resolved already, as a start has.
func BenchmarkCreate(b *testing.B) {
	l, _ := yard(b)
	for name, want := range map[string]*Limits{
		"memory": {Memory: 64 << 20, Swap: Swap{Set: true, Implied: true}}, "memory-pids-cpu": {Memory: 64 << 20, Swap: Swap{Set: true, Implied: true}, Processes: 64, CPUQuota: DefaultPeriod}} {
		b.Run(name, func(b *testing.B) {
			p := Resolve(want, l)
			if len(p.Missing) > 0 {
				b.Skip(p.Missing)
			}
			for b.Loop() {
				g, err := p.Create()
				if err == nil {
					err = g.Remove()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRead reads all counters, as is done at the end of a jail.
func BenchmarkRead(b *testing.B) {
	l, _ := yard(b)
	g := makeGroup(b, l, all(l))
	for b.Loop() {
		g.Read()
	}
}

func BenchmarkDetect(b *testing.B) {
	for b.Loop() {
		if _, err := Detect(""); err != nil {
			b.Fatal(err)
		}
	}
}

package cgroup

// All asks for every limit that a group can hold, for Resolve to tell which of them there are.
func All() *Limits {
	return &Limits{Memory: 1 << 30, MemoryHigh: 1 << 30, MemoryLow: 1, MemoryMin: 1, Swap: Swap{Set: true}, Processes: 1,
		CPUQuota: DefaultPeriod, CPUBurst: DefaultPeriod, CPUWeight: 100, CPUTime: true, CPUs: "0", IO: []Device{{ReadBps: 1}}, IOWeight: 100,
		HugeTLB: map[string]int64{"2MB": 0}}
}

// Try makes an empty group in every hierarchy that limits would use, and removes it: nothing but mkdir(2) proves that
// it can be made. It enables no controller and moves no process.
func (l *Layout) Try() error {
	p := Resolve(All(), l)
	kept := p.steps[:0]
	for _, s := range p.steps {
		if s.verb == makeDir {
			kept = append(kept, s)
		}
	}
	p.steps = kept
	g, err := p.Create()
	if err != nil {
		return err
	}
	return g.Remove()
}

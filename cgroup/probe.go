package cgroup

// All returns limits that set every mechanism with a field, so that Resolve reports which of them a layout can hold.
func All() *Limits {
	l := &Limits{}
	for i := range mechanisms {
		if ask := mechanisms[i].ask; ask != nil {
			ask(l)
		}
	}
	return l
}

// Try makes an empty group in every hierarchy that limits would use, and removes it: only mkdir(2) proves that it can
// be made. It enables no controller and moves no process.
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

package host

// Prepared is what the keeper has made for a jail after it has looked: directories for changes on disk, in the places
// that Look has found for them, and volumes.
type Prepared struct {
	Sources Sources // instead of Look's, or beside them
	Scratch string  // instead of Look's; "" for none
}

// With returns a Host that shows what the keeper has prepared. It shares the open files of h, which need no Close of
// their own then.
func (h *Host) With(p Prepared) *Host {
	if p.Sources.IsZero() && p.Scratch == "" {
		return h
	}
	c := *h
	c.Sources = h.Sources.with(&p.Sources)
	if p.Scratch != "" {
		c.Scratch = p.Scratch
	}
	return &c
}

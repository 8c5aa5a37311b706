package measure

// inner are the dimensions of what runs and of who embeds brig, after those of the start.
func inner() []Dimension {
	var all []Dimension
	for _, list := range [][]Dimension{memory(), inside(), {pipe()}, {mounts()}, {heap()}, growth(), {pauses()}} {
		all = append(all, list...)
	}
	return all
}

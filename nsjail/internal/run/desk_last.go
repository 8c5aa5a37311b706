package run

// maxLast is how many bytes of the end of the output a desk remembers.
const maxLast = 2 << 10

// remember keeps the end of the output.
func (d *desk) remember(b []byte) {
	b = b[max(0, len(b)-maxLast):]
	d.last = append(d.last[max(0, len(d.last)+len(b)-maxLast):], b...)
}

// Last returns the end of what a payload has shown at a terminal in place of the caller's, or nil.
func (s *Streams) Last() []byte {
	if s.desk == nil {
		return nil
	}
	return s.desk.last
}

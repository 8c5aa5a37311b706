package run

// Reading is how much of the payload's streams the keeper copies.
type Reading uint8

const (
	// Lends: the caller's files become streams where they can.
	Lends Reading = iota
	// Copies: the keeper reads the output.
	Copies
	// Pipes: the payload gets pipes only, and they are read as long as there is a process that may write. Open returns -1
	// for a stream that is not set (Null).
	Pipes
)

// Null tells which streams are not set. A terminal takes the place of all three.
func (s *Streams) Null() [3]bool {
	return [3]bool{s.TTY || s.In == nil, s.TTY || s.Out[0] == nil, s.TTY || s.Out[1] == nil}
}

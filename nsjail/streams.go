package nsjail

import "io"

// openStreams opens the payload's streams: see run.Streams.
func (c *Cmd) openStreams() ([]int, error) {
	h, s := c.plan.Host, &c.streams
	c.setStreams()
	s.Chown, s.UID, s.GID, s.Same = h.Drop, h.PayloadUID, h.PayloadGID, c.plan.SameFiles
	return s.Open()
}

// setStreams sets what the caller asks for.
func (c *Cmd) setStreams() {
	l, s := &c.Spec.Limits, &c.streams
	s.In, s.Out, s.Terminal, s.TTY = c.Stdin, [2]io.Writer{c.Stdout, c.Stderr}, c.Terminal, c.Spec.TTY
	s.Keep, s.Read, s.Count = int64(l.Output), l.NeedsCopies() || c.parked, c.countOutput
}

// endStreams ends the copies and closes the files that the Cmd holds until the jail ends.
func (c *Cmd) endStreams() {
	c.streams.End()
	for _, f := range c.closers {
		f.Close()
	}
}

// outputCounts returns the number of bytes that the keeper has copied and dropped.
func (c *Cmd) outputCounts() Output {
	bytes, dropped := c.streams.Counts()
	return Output{StdoutBytes: bytes[0], StderrBytes: bytes[1], StdoutDropped: dropped[0], StderrDropped: dropped[1]}
}

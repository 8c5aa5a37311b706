package workspace

// Bounds are those of StoreOptions of the same names. Zero means none.
type Bounds struct {
	Max, MaxPerAgent           int
	MaxBytes, MaxBytesPerAgent int64
}

// fit returns an error unless an account may have one more sandbox of a size.
func (b *Bounds) fit(size int64, own, all account) error {
	within := func(most, has int64) bool { return most == 0 || has < most }
	switch {
	case !within(int64(b.MaxPerAgent), int64(own.count)):
		return refuse(CodeTooMany, "The agent has %d sandboxes, as many as it may have", own.count)
	case !within(int64(b.Max), int64(all.count)):
		return refuse(CodeTooMany, "There are %d sandboxes, as many as there may be", all.count)
	case !within(b.MaxBytesPerAgent, own.bytes+size-1):
		return refuse(CodeTooBig, "%d bytes are more than the %d that are left for the agent's sandboxes", size,
			b.MaxBytesPerAgent-own.bytes)
	case !within(b.MaxBytes, all.bytes+size-1):
		return refuse(CodeTooBig, "%d bytes are more than the %d that are left for all sandboxes", size, b.MaxBytes-all.bytes)
	}
	return nil
}

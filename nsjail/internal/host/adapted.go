package host

// WithPayload returns a copy of the Host for a payload of other ids.
func (h *Host) WithPayload(uid, gid int) *Host {
	c := *h
	c.PayloadUID, c.PayloadGID = uid, gid
	return &c
}

// Keeping returns a copy of the Host whose launcher keeps one more capability.
func (h *Host) Keeping(capability int) *Host {
	c := *h
	c.Kept |= 1 << capability
	return &c
}

// OnPrepared returns a copy of the Host for a launcher that was made by what Look found before. With shown, a jail
// shows what its prepared root has, which may differ from the host by now.
func (h *Host) OnPrepared(was *Host, shown bool) *Host {
	c := *h
	c.PayloadUID, c.PayloadGID, c.Kept = was.PayloadUID, was.PayloadGID, was.Kept
	if shown {
		c.System, c.Files, c.CPUs = was.System, was.Files, was.CPUs
	}
	return &c
}

// WithEnv returns a copy of the Host for a process of a box: the caller's variables that it asks for, and its TERM.
func (h *Host) WithEnv(passed []string, term string) *Host {
	c := *h
	c.Env, c.Term = passed, term
	return &c
}

package host

// LookVersion returns a Host with the caller's ids and the kernel's version only.
func LookVersion() (*Host, error) {
	h := newHost()
	return h, h.lookVersion()
}

// LookIdentity returns a Host with the ids of the caller and of the payload only.
func LookIdentity() (*Host, error) {
	h := newHost()
	return h, h.lookIdentity(h.Missing)
}

package run

import "golang.org/x/sys/unix"

// Owner is the payload's user on the host.
type Owner struct {
	Other    bool // it is not the caller
	UID, GID int
}

// own makes the payload the owner of a file that was made for it, since it may open the file again: /dev/stdout.
func (o Owner) own(fd int) error {
	if !o.Other {
		return nil
	}
	return unix.Fchown(fd, o.UID, o.GID)
}

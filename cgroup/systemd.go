package cgroup

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// foreignUnit says why a group is systemd's and not ours to divide, or "". systemd owns every group of its units and
// changes their controllers as it likes, but for what a unit with Delegate=yes holds: systemd.resource-control(5).
func foreignUnit(dir string) string {
	unit := unitOf(dir)
	switch {
	case unit == "" && !strings.Contains(dir, ".slice"):
		return "" // the root of what we can see: a container's, or not systemd's
	case unit == "":
		return quote(dir) + " is a slice of systemd's"
	case delegated(unit):
		return ""
	case notDelegated(unit):
		return quote(unit) + " is a unit of systemd's without Delegate=yes"
	}
	return "" // an old systemd does not say; the directory's owner decides, and mkdir(2) will
}

// unitOf is the innermost unit with processes that a group belongs to, or "".
func unitOf(dir string) string {
	for ; dir != "/" && dir != "."; dir = path.Dir(dir) {
		if strings.HasSuffix(dir, ".scope") || strings.HasSuffix(dir, ".service") {
			return dir
		}
	}
	return ""
}

// delegated reads the mark that systemd leaves: user.delegate from version 251 on, trusted.delegate, which only
// CAP_SYS_ADMIN may read, from 236 on.
func delegated(unit string) bool {
	var b [8]byte
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(unit, name, b[:]); err == nil && string(b[:n]) == "1" {
			return true
		}
	}
	return false
}

// notDelegated says whether the missing mark is a proof: the caller could read trusted.delegate, or the user's own
// manager, which always has its group delegated, has the newer mark.
func notDelegated(unit string) bool {
	if unix.Geteuid() == 0 {
		return true
	}
	for dir := path.Dir(unit); dir != "/" && dir != "."; dir = path.Dir(dir) {
		if strings.HasPrefix(path.Base(dir), "user@") && strings.HasSuffix(dir, ".service") {
			return delegated(dir)
		}
	}
	return false
}

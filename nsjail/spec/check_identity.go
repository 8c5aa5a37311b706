package spec

import (
	"fmt"
	"strconv"
	"strings"

	"brig/internal/words"
)

const (
	maxHostname = 64        // HOST_NAME_MAX: uts_namespaces(7)
	maxID       = 1<<32 - 2 // 2^32-1 means "no change" in chown(2) and setresuid(2)
)

// checkIdentity checks where and as whom the payload starts, and the name of its machine.
func checkIdentity(workdir, user, hostname string) (c problems) {
	if workdir != "" && c.text("workdir", workdir) {
		c.cleanPath("workdir", workdir)
	}
	if user != "" {
		if _, _, err := ParseUser(user); err != nil {
			c.add("user", err.Error(), `write UID[:GID] in digits, as in "1000:1000"`)
		}
	}
	switch {
	case hostname == "" || !c.text("hostname", hostname):
	case len(hostname) > maxHostname:
		c.add("hostname", fmt.Sprintf("%s is longer than %d bytes", words.Quote(hostname), maxHostname), "shorten it")
	case strings.Trim(hostname, hostnameBytes) != "" || strings.IndexByte("-.", hostname[0]) >= 0:
		c.add("hostname", words.Quote(hostname)+" is not a host name",
			"use letters, digits, - and ., and begin with a letter or digit")
	}
	return c
}

const hostnameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-"

// ParseUser parses "UID[:GID]". The GID defaults to the UID. Names are rejected: the jail has its own /etc/passwd,
// which is generated from these numbers.
func ParseUser(s string) (uid, gid uint32, err error) {
	first, second, two := strings.Cut(s, ":")
	if !two {
		second = first
	}
	ids := [2]uint32{}
	for i, t := range []string{first, second} {
		v, err := strconv.ParseUint(t, 10, 32)
		if err != nil || strings.TrimLeft(t, "0123456789") != "" {
			return 0, 0, fmt.Errorf("%s is not a number (user and group names are not looked up)", words.Quote(t))
		}
		if v > maxID {
			return 0, 0, fmt.Errorf("%s is more than %d", words.Quote(t), uint32(maxID))
		}
		ids[i] = uint32(v)
	}
	return ids[0], ids[1], nil
}

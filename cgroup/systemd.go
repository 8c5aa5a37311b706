package cgroup

import (
	"os"
	"path"
	"path/filepath"
	"strconv"
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

// notDelegated says whether the missing mark is a proof. It is to root, who can read trusted.delegate. A user's manager
// never leaves one: there the unit's files say.
func notDelegated(unit string) bool {
	if unix.Geteuid() == 0 {
		return true
	}
	for dir := path.Dir(unit); dir != "/" && dir != "."; dir = path.Dir(dir) {
		if strings.HasPrefix(path.Base(dir), "user@") && strings.HasSuffix(dir, ".service") {
			return !delegatedIn(userUnitDirs(), path.Base(unit))
		}
	}
	return false
}

// userUnitDirs are where the user's manager finds units, the strongest last: systemd.unit(5).
func userUnitDirs() []string {
	run := os.Getenv("XDG_RUNTIME_DIR")
	if run == "" {
		run = "/run/user/" + strconv.Itoa(unix.Getuid())
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = path.Join(os.Getenv("HOME"), ".config")
	}
	return []string{"/usr/lib/systemd/user", "/usr/local/lib/systemd/user", "/run/systemd/user", "/etc/systemd/user", config + "/systemd/user",
		run + "/systemd/transient", run + "/systemd/user.control", config + "/systemd/user.control"}
}

// delegatedIn reads Delegate= of a unit: its strongest file, then its drop-ins.
func delegatedIn(dirs []string, unit string) (yes bool) {
	names := []string{unit}
	if prefix, _, ok := strings.Cut(unit, "@"); ok { // of a template
		names = []string{prefix + "@" + path.Ext(unit), unit}
	}
	for _, name := range names {
		for _, dir := range dirs {
			if b, err := os.ReadFile(path.Join(dir, name)); err == nil {
				yes = delegate(string(b), false)
			}
		}
	}
	for _, name := range names {
		for _, dir := range dirs {
			parts, err := filepath.Glob(path.Join(dir, name+".d", "*.conf"))
			if err != nil {
				continue // only a bad pattern: a unit with [ in its name
			}
			for _, part := range parts {
				if b, err := os.ReadFile(part); err == nil {
					yes = delegate(string(b), yes)
				}
			}
		}
	}
	return yes
}

// delegate reads the last Delegate= of a unit's text: a boolean, or the controllers.
func delegate(text string, yes bool) bool {
	for _, line := range strings.Split(text, "\n") {
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(key) != "Delegate" {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(value)) {
		case "no", "n", "0", "false", "f", "off":
			yes = false
		default:
			yes = true
		}
	}
	return yes
}

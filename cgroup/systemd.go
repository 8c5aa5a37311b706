package cgroup

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// foreignUnit returns a reason if systemd manages a group, so that brig may not divide it; else "". systemd owns every
// group of its units and changes their controllers, except inside a unit with Delegate=yes:
// systemd.resource-control(5).
func foreignUnit(dir string) string {
	unit := unitOf(dir)
	switch {
	case unit == "" && !strings.Contains(dir, ".slice"):
		return "" // the visible root, as in a container, or not systemd's
	case unit == "":
		return quote(dir) + " is a slice of systemd's"
	case delegated(unit):
		return ""
	case notDelegated(unit):
		return quote(unit) + " is a unit of systemd's without Delegate=yes"
	}
	return "" // an old systemd leaves no mark: mkdir(2) decides
}

// unitOf returns the innermost unit with processes that a group belongs to, or "".
func unitOf(dir string) string {
	for ; dir != "/" && dir != "."; dir = path.Dir(dir) {
		if strings.HasSuffix(dir, ".scope") || strings.HasSuffix(dir, ".service") {
			return dir
		}
	}
	return ""
}

// delegated reads systemd's mark: user.delegate (systemd ≥ 251), or trusted.delegate (≥ 236), which only
// CAP_SYS_ADMIN may read.
func delegated(unit string) bool {
	var b [8]byte
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(unit, name, b[:]); err == nil && string(b[:n]) == "1" {
			return true
		}
	}
	return false
}

// notDelegated reports whether the missing mark proves that the unit is not delegated. It does for root, who can read
// trusted.delegate. A user's manager sets no mark, and the unit's files decide.
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

// userUnitDirs returns the unit directories of the user's manager, by rising priority: systemd.unit(5).
func userUnitDirs() []string {
	run := cmp.Or(os.Getenv("XDG_RUNTIME_DIR"), "/run/user/"+strconv.Itoa(unix.Getuid()))
	config := cmp.Or(os.Getenv("XDG_CONFIG_HOME"), path.Join(os.Getenv("HOME"), ".config"))
	return []string{"/usr/lib/systemd/user", "/usr/local/lib/systemd/user", "/run/systemd/user", "/etc/systemd/user",
		config + "/systemd/user", run + "/systemd/transient", run + "/systemd/user.control", config + "/systemd/user.control"}
}

// delegatedIn reads Delegate= of a unit: the file of the highest priority, then the drop-ins.
func delegatedIn(dirs []string, unit string) (yes bool) {
	names := []string{unit}
	if prefix, _, ok := strings.Cut(unit, "@"); ok { // of a template
		names = []string{prefix + "@" + path.Ext(unit), unit}
	}
	var files, dropIns []string
	for _, name := range names {
		for _, dir := range dirs {
			files = append(files, path.Join(dir, name))
			parts, _ := filepath.Glob(path.Join(dir, name+".d", "*.conf")) // a unit with [ in its name has none
			dropIns = append(dropIns, parts...)
		}
	}
	for i, file := range append(files, dropIns...) {
		if b, err := os.ReadFile(file); err == nil {
			yes = delegate(string(b), yes && i >= len(files))
		}
	}
	return yes
}

// delegate reads the last Delegate= of a unit's text: a boolean, or the controllers.
func delegate(text string, yes bool) bool {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, "=")
		if ok && strings.TrimSpace(key) == "Delegate" {
			no := []string{"no", "n", "0", "false", "f", "off"}
			yes = !slices.Contains(no, strings.ToLower(strings.TrimSpace(value)))
		}
	}
	return yes
}

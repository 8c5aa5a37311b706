package sys

import (
	"os"
	"path/filepath"
	"strings"
)

// Under reports whether a path is dir or below it. Both are absolute and clean.
func Under(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}

// MountPath decodes a path of a mount table: space, tab, newline and backslash are octal there (proc_pid_mountinfo(5)).
func MountPath(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// UserDir returns a directory of the basedir-spec: the value of variable (XDG_STATE_HOME), or else below (.local/state)
// in HOME. A relative value is ignored. It returns "" if neither variable has an absolute path.
func UserDir(variable, below string) string {
	dir, home := os.Getenv(variable), os.Getenv("HOME")
	if !filepath.IsAbs(dir) && filepath.IsAbs(home) {
		dir = home + "/" + below
	}
	if abs, err := Abs(dir); err == nil && filepath.IsAbs(dir) {
		return abs
	}
	return "" // "..", behind a directory that does not exist, leads nowhere
}

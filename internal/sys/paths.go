package sys

import "strings"

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

package cgroup

import (
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// overflowUID is how a user namespace shows an owner that it does not know: user_namespaces(7). It may be root.
const overflowUID = 65534

// stranger says whose a group, or one above it, is, if neither the caller's nor root's; else "". Who owns a version 2
// group can take the controllers from its children, and move processes out of them, whoever has made those: cgroups(7).
// In version 1 he can rename them.
func stranger(dir string) string {
	for ; ; dir = path.Dir(dir) {
		for _, name := range []string{"cgroup.procs", "", "cgroup.subtree_control"} {
			var st unix.Stat_t
			err := unix.Lstat(path.Join(dir, name), &st)
			if err != nil && name == "cgroup.procs" {
				return "" // above the hierarchy's root, or not to be reached
			}
			if err == nil && st.Uid != 0 && st.Uid != overflowUID && int(st.Uid) != unix.Geteuid() {
				return fmt.Sprintf("%s belongs to user %d, who could take a jail's limits away", quote(path.Join(dir, name)), st.Uid)
			}
		}
		if dir == "/" || dir == "." {
			return ""
		}
	}
}

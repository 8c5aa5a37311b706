package cgroup

import (
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// overflowUID is the owner in a user namespace without a mapping for it: user_namespaces(7). It may be root.
const overflowUID = 65534

// foreignOwner returns a reason if a group, or one above it, belongs to a user other than the caller and root; else "".
// The owner of a version 2 group can take controllers from its children and move processes out of them: cgroups(7). In
// version 1 the owner can rename them.
func foreignOwner(dir string, version int) string {
	files := []string{""}
	if version == 2 {
		files = []string{"", "cgroup.procs", "cgroup.subtree_control"}
	}
	var mount uint64
	for first := true; ; first, dir = false, path.Dir(dir) {
		for _, name := range files {
			var st unix.Stat_t
			if unix.Lstat(path.Join(dir, name), &st) != nil {
				continue // the files of a removed group are missing; writable reports unreachable ones
			}
			if name == "" && !first && st.Dev != mount {
				return "" // above the hierarchy
			}
			mount = st.Dev
			if st.Uid != 0 && st.Uid != overflowUID && int(st.Uid) != unix.Geteuid() {
				return fmt.Sprintf("%s belongs to user %d, who could take a jail's limits away",
					quote(path.Join(dir, name)), st.Uid)
			}
		}
		if dir == "/" || dir == "." {
			return ""
		}
	}
}

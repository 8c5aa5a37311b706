package gitview

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// foreign returns the name of a file that git(1) changes and that the payload could not change in an overlay of an open
// git directory, and its owner: one of ids that the jail does not map (EOVERFLOW). The jail maps the caller's, and for
// root those of the directory. Not all of a directory is looked at: that would take longer than the start.
func foreign(f *os.File) (name, owner string) {
	uid, gid := os.Geteuid(), os.Getegid()
	for _, name := range []string{".", "objects", "refs", "refs/heads", "logs", "logs/HEAD", "HEAD", "index"} {
		var st unix.Stat_t
		if unix.Fstatat(int(f.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue // an absent one belongs to whoever makes it
		}
		if name == "." && uid == 0 {
			uid, gid = int(st.Uid), int(st.Gid)
		}
		if int(st.Uid) != uid || int(st.Gid) != gid {
			return name, fmt.Sprintf("user %d and group %d", st.Uid, st.Gid)
		}
	}
	return "", ""
}

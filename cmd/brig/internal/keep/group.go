package keep

import (
	"os"

	"brig/internal/owned"
	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// maxLooked bounds the files that foreignGroup looks at.
const maxLooked = 2000

// foreignGroup returns a file in the two upper levels of a directory that has another group than an ordinary caller:
// an overlay in the caller's user namespace, which has one group, cannot copy it up (EOVERFLOW). It returns "" for root
// and for none.
func foreignGroup(dir *os.File) (name string, gid uint32) {
	if os.Geteuid() == 0 {
		return "", 0
	}
	looked, own := 0, uint32(os.Getegid())
	var look func(fd int, path string, deeper bool) bool
	look = func(fd int, path string, deeper bool) bool {
		list, err := owned.Names(fd)
		if err != nil { // it cannot be read in the jail either
			return false
		}
		for _, n := range list {
			var st unix.Stat_t
			if looked++; looked > maxLooked || unix.Fstatat(fd, n, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue
			}
			if st.Gid != own {
				name, gid = path+n, st.Gid
				return true
			}
			if !deeper || st.Mode&unix.S_IFMT != unix.S_IFDIR {
				continue
			}
			below, err := sys.OpenBeneath(fd, n, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
			if err != nil {
				continue
			}
			found := look(below, path+n+"/", false)
			unix.Close(below)
			if found {
				return true
			}
		}
		return false
	}
	_ = sys.Control(dir, func(fd int) error { look(fd, "", true); return nil }) // it is open
	return name, gid
}

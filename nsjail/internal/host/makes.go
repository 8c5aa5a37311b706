package host

import "golang.org/x/sys/unix"

// makes knows in which directories of the host the payload could make a file.
type makes struct {
	uid   int // of the payload
	known map[string]bool
}

// in reports whether the payload could make a file in a directory: not on a read-only file system, nor in another
// user's directory that this user cannot write to.
func (m *makes) in(dir string) bool {
	can, known := m.known[dir]
	if !known {
		var st unix.Stat_t
		err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK, unix.AT_EACCESS)
		can = err != unix.EROFS && (err != unix.EACCES || unix.Lstat(dir, &st) == nil && int(st.Uid) == m.uid)
		m.known[dir] = can
	}
	return can
}

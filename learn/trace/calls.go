package trace

import (
	"brig/learn"

	"golang.org/x/sys/unix"
)

// call is what a system call does with its arguments. An argument is given as its number + 1; 0 means none.
type call struct {
	name string
	kind learn.Kind
	dir  int // a directory's descriptor, or AT_FDCWD
	path int
	flag int // open(2)'s flags: with O_WRONLY, O_RDWR, O_CREAT or O_TRUNC it writes
	fd   int // the descriptor that is written
	addr int // struct sockaddr, and its size behind it
	data int // bytes to send, and their number behind it
	msg  int // struct msghdr or struct mmsghdr
}

// calls returns the calls that are recorded. Those of which arm64 has no number are in the list of amd64.
func calls() map[uint64]call {
	const read, write = learn.Read, learn.Write
	at := func(name string, kind learn.Kind) call { return call{name: name, kind: kind, dir: 1, path: 2} }
	one := func(name string, kind learn.Kind) call { return call{name: name, kind: kind, path: 1} }
	fd := func(name string) call { return call{name: name, kind: learn.Full, fd: 1} }
	all := map[uint64]call{
		unix.SYS_OPENAT:            {name: "openat", dir: 1, path: 2, flag: 3},
		unix.SYS_OPENAT2:           at("openat2", read),
		unix.SYS_STATX:             at("statx", read),
		unix.SYS_FACCESSAT:         at("faccessat", read),
		unix.SYS_FACCESSAT2:        at("faccessat2", read),
		unix.SYS_READLINKAT:        at("readlinkat", read),
		unix.SYS_CHDIR:             one("chdir", read),
		unix.SYS_STATFS:            one("statfs", read),
		unix.SYS_EXECVE:            one("execve", learn.Exec),
		unix.SYS_EXECVEAT:          at("execveat", learn.Exec),
		unix.SYS_MKDIRAT:           at("mkdirat", write),
		unix.SYS_MKNODAT:           at("mknodat", write),
		unix.SYS_UNLINKAT:          at("unlinkat", write),
		unix.SYS_RENAMEAT2:         {name: "renameat2", kind: write, dir: 3, path: 4},
		unix.SYS_RENAMEAT:          {name: "renameat", kind: write, dir: 3, path: 4},
		unix.SYS_LINKAT:            {name: "linkat", kind: write, dir: 3, path: 4},
		unix.SYS_SYMLINKAT:         {name: "symlinkat", kind: write, dir: 2, path: 3},
		unix.SYS_TRUNCATE:          one("truncate", write),
		unix.SYS_UTIMENSAT:         at("utimensat", write),
		unix.SYS_INOTIFY_ADD_WATCH: {name: "inotify_add_watch", path: 2},
		unix.SYS_WRITE:             {name: "write", kind: learn.Full, fd: 1, data: 2},
		unix.SYS_WRITEV:            fd("writev"),
		unix.SYS_PWRITE64:          fd("pwrite64"),
		unix.SYS_FALLOCATE:         fd("fallocate"),
		unix.SYS_FTRUNCATE:         fd("ftruncate"),
		unix.SYS_COPY_FILE_RANGE:   {name: "copy_file_range", kind: learn.Full, fd: 3},
		unix.SYS_SENDFILE:          fd("sendfile"),
		unix.SYS_CONNECT:           {name: "connect", kind: learn.Connect, fd: 1, addr: 2},
		unix.SYS_SENDTO:            {name: "sendto", kind: learn.Connect, fd: 1, addr: 5, data: 2},
		unix.SYS_SENDMSG:           {name: "sendmsg", kind: learn.Connect, fd: 1, msg: 2},
		unix.SYS_SENDMMSG:          {name: "sendmmsg", kind: learn.Connect, fd: 1, msg: 2},
		unix.SYS_CLONE:             {name: "clone", kind: learn.Count},
		unix.SYS_CLONE3:            {name: "clone3", kind: learn.Count},
	}
	older(all, at, one)
	return all
}

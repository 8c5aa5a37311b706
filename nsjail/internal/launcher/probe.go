package launcher

/*
#include "launcher.h"
#include <sys/vfs.h>

// A process that asks a file system for a file, and exits with 0 or the error. It is a process of its own, since a call
// that a server does not answer may not even end with the process, which then cannot be reaped (fs/fuse/dev.c). It
// holds no file of this one. A signal to it is none for this one's handlers.
static int probe(const char *path) {
	sigset_t all, was;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	int pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid) {
		if (pid < 0) pid = -errno;
		pthread_sigmask(SIG_SETMASK, &was, 0);
		return pid;
	}
	struct statfs fs;
	enum { FORCE_SYNC = 0x2000, BASIC_STATS = 0x7ff }; // AT_STATX_FORCE_SYNC: musl has no statx(2)
	char names[4096]; // more than a struct statx
	syscall(SYS_close_range, 0, ~0u, 0);
	if (statfs(path, &fs) || syscall(SYS_statx, AT_FDCWD, path, FORCE_SYNC, BASIC_STATS, names)) _exit(errno);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) syscall(SYS_getdents64, fd, names, sizeof names);
	_exit(0);
}
*/
import "C"

import (
	"os"
	"syscall"
	"unsafe"
)

// Probe starts a child process that looks at a file or directory, with requests that reach the server of its file
// system: statfs(2), statx(2), getdents64(2). It exits with 0 or an errno. The caller waits for it, or kills it and
// goes on without it. The child holds no descriptor.
func Probe(path string) (pid int, err error) {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return 0, err
	}
	pid = int(C.probe((*C.char)(unsafe.Pointer(name))))
	if pid < 0 {
		return 0, os.NewSyscallError("clone", syscall.Errno(-pid))
	}
	return pid, nil
}

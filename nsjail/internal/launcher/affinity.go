package launcher

/*
#include "launcher.h"
*/
import "C"

import (
	"sync"
	"syscall"
	"unsafe"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

var restore sync.Once

// restoreAffinity allows every thread the processors that the process had before its constructor bound it to one
// (keeper.c): sched_setaffinity(2). A thread inherits the processors of its creator, so restoreAffinity reads the list
// of threads again until all have been changed.
func restoreAffinity() {
	all := (*unix.CPUSet)(unsafe.Pointer(&C.brig_processors))
	if all.Count() == 0 || C.brig_early.id == C.WANTS_PARENT { // a keeper that leaves gains nothing by them
		return
	}
	restoreFiles()
	done := map[int]bool{}
	for more := true; more; {
		more = false
		tasks, _ := sys.Numbers("/proc/self/task") // no jail can be made without /proc
		for _, tid := range tasks {
			if !done[tid] {
				done[tid] = true
				more = unix.SchedSetaffinity(tid, all) == nil || more // the thread may have ended
			}
		}
	}
}

// restoreFiles sets RLIMIT_NOFILE to its present value, so that children inherit it: setrlimit(2). Otherwise package
// syscall would restore in them the 0 that the constructor had set.
func restoreFiles() {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files) // setting an unchanged limit cannot fail
	}
}

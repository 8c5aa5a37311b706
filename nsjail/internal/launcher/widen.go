package launcher

/*
#include "launcher.h"
*/
import "C"

import (
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

var widen sync.Once

// widenAll gives every thread the processors that the process had before its constructor put it on one (keeper.c). A
// thread that is made meanwhile has those of its maker, so it looks until all have them.
func widenAll() {
	all := (*unix.CPUSet)(C.brig_processors())
	if all == nil {
		return
	}
	raised()
	wide := map[int]bool{}
	for more := true; more; {
		more = false
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return // no /proc: the keeper stays on one processor, and says why it cannot make a jail
		}
		for _, t := range tasks {
			tid, err := strconv.Atoi(t.Name())
			if err != nil || wide[tid] {
				continue
			}
			wide[tid] = true
			more = unix.SchedSetaffinity(tid, all) == nil || more // it may have ended
		}
	}
}

// raised has children inherit the limit on open files as it is now: package syscall would give them back what the
// constructor has left, none. A launcher sets its own.
func raised() {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files) // to what it is: no error is to be had
	}
}

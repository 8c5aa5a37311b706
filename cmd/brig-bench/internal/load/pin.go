package load

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Pin keeps the calling goroutine on the first or the last of the processors that it may use, until unpin is called: two
// ends of a pipe are fast on one processor and slow on two, or the other way round, and where the scheduler puts them
// would decide the figure. It does nothing where there is one processor.
func Pin(last bool) (unpin func() error, err error) {
	runtime.LockOSThread()
	unpin = func() error {
		runtime.UnlockOSThread()
		return nil
	}
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return nil, os.NewSyscallError("sched_getaffinity", err)
	}
	cpu, ok := pick(&may, last)
	if !ok {
		return unpin, nil
	}
	var one unix.CPUSet
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return nil, os.NewSyscallError("sched_setaffinity", err)
	}
	return func() error {
		defer runtime.UnlockOSThread()
		return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(0, &may))
	}, nil
}

// pick gives the first or the last processor of a set with several.
func pick(may *unix.CPUSet, last bool) (cpu int, ok bool) {
	if may.Count() < 2 {
		return 0, false
	}
	for i, left := 0, may.Count(); ; i++ {
		if may.IsSet(i) {
			if left--; !last || left == 0 {
				return i, true
			}
		}
	}
}

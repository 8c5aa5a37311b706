package isolate

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"brig/internal/sys"
)

// interval is the time between two looks at the processor time.
const interval = 50 * time.Millisecond

// watchTime ends the run when the program has used more than a time of the processor. Without a control group that is
// the time of the program's own process, as in isolate.
func (r *running) watchTime(limit time.Duration) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if used(r.cmd.Pid()) > limit {
				r.overTime.Store(true)
				r.end()
				return
			}
		}
	}()
	return func() { close(done) }
}

// used returns the processor time of the first process that a jail's init has started: proc_pid_stat(5).
func used(init int) time.Duration {
	dir := "/proc/" + strconv.Itoa(init)
	children, err := sys.ReadFile(dir + "/task/" + strconv.Itoa(init) + "/children")
	if err != nil {
		return 0 // the jail has ended
	}
	first, _, _ := bytes.Cut(children, []byte(" "))
	stat, err := sys.ReadFile("/proc/" + string(first) + "/stat")
	if err != nil || len(first) == 0 {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	const perTick = time.Second / 100 // USER_HZ is 100 on all architectures of Linux that Go has
	return time.Duration(user+system) * perTick
}

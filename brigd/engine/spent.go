package engine

import (
	"strconv"
	"strings"
	"time"

	"brig/internal/sys"
)

// spent is the processor time that a box had taken when it was looked at last.
type spent struct {
	time time.Duration
	at   time.Time
}

// works reports whether the processes of the box have taken more than a hundredth of a processor since it was asked
// last: a long job that writes nothing is not idle, and a server that waits is.
func (l *life) works() bool {
	before := l.spent
	l.spent = spent{takenBy(l.box.Pid()), time.Now()}
	taken := l.spent.time - before.time
	// The sum falls if a process has ended that its parent has not waited for: something has happened.
	return taken < 0 || 100*taken > l.spent.at.Sub(before.at)
}

// tick is the unit of proc_pid_stat(5): USER_HZ of the kernel's interface, on each architecture that brig is for.
const tick = time.Second / 100

// takenBy returns the processor time of a process, of those below it, and of those that they have waited for.
func takenBy(pid int) (all time.Duration) {
	for _, p := range append(sys.Descendants(pid), pid) {
		text, err := sys.ReadFile("/proc/" + strconv.Itoa(p) + "/stat")
		if err != nil {
			continue // it has ended
		}
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // its name may have any bytes
		for i := 11; i < 15 && i < len(f); i++ {                                       // utime, stime, cutime, cstime
			n, _ := strconv.ParseInt(f[i], 10, 64) // the kernel writes numbers
			all += time.Duration(n) * tick
		}
	}
	return all
}

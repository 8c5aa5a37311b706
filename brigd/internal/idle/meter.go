package idle

import (
	"strconv"
	"strings"
	"time"

	"brig/internal/sys"
)

// Meter tells whether a process and those below it work. The zero value is ready.
type Meter struct {
	taken time.Duration // when it was asked last
	at    time.Time
}

// Works reports whether they have taken more than a hundredth of a processor since it was asked last: a long job that
// writes nothing is not idle, and a server that waits is.
func (m *Meter) Works(pid int) bool {
	before := *m
	*m = Meter{takenBy(pid), time.Now()}
	taken := m.taken - before.taken
	// The sum falls if a process has ended that its parent has not waited for: something has happened.
	return taken < 0 || 100*taken > m.at.Sub(before.at)
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
		all += inStat(string(text))
	}
	return all
}

// inStat returns the processor time in a line of proc_pid_stat(5).
func inStat(line string) (all time.Duration) {
	f := strings.Fields(line[strings.LastIndexByte(line, ')')+1:]) // the process's name may have any bytes
	for i := 11; i < 15 && i < len(f); i++ {                       // utime, stime, cutime, cstime
		n, _ := strconv.ParseInt(f[i], 10, 64) // the kernel writes numbers
		all += time.Duration(n) * tick
	}
	return all
}

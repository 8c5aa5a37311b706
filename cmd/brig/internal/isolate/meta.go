package isolate

import (
	"fmt"
	"time"
)

// ended is what is known about a run.
type ended struct {
	time, wall        time.Duration
	rss               int64 // KiB
	voluntary, forced int64
	group             bool
	groupMem          int64 // KiB; negative if unknown
	oom               bool
	exit              int // the exit code, or -1
	signal            int // the signal that ended the program, or 0
	overTime          bool
	overWall          bool
	interrupted       int // the signal to isolate that ended the run, or 0
}

// verdict returns the lines of the meta file, the line for stderr and the exit code, in isolate's words and order.
func (e *ended) verdict(o *limits) (meta []string, line string, code int) {
	add := func(format string, args ...any) { meta = append(meta, fmt.Sprintf(format, args...)) }
	fail := func(status, format string, args ...any) {
		line = fmt.Sprintf(format, args...)
		add("status:%s", status)
		add("message:%s", line)
	}
	killed := true
	switch {
	case e.interrupted != 0:
		add("exitsig:%d", e.interrupted)
		fail("SG", "Interrupted")
	case e.overWall:
		fail("TO", "Time limit exceeded (wall clock)")
	case e.overTime:
		fail("TO", "Time limit exceeded")
	default:
		killed = false
	}
	if killed {
		add("killed:1")
	}
	add("time:%s", millis(e.time))
	add("time-wall:%s", millis(e.wall))
	add("max-rss:%d", e.rss)
	add("csw-voluntary:%d", e.voluntary)
	add("csw-forced:%d", e.forced)
	if e.group && e.groupMem >= 0 {
		add("cg-mem:%d", e.groupMem)
	}
	if e.group && e.oom {
		add("cg-oom-killed:1")
	}
	switch {
	case killed:
	case o.Time > 0 && e.time > o.Time:
		fail("TO", "Time limit exceeded")
	case o.Wall > 0 && e.wall > o.Wall:
		fail("TO", "Time limit exceeded (wall clock)")
	case e.signal != 0:
		add("exitsig:%d", e.signal)
		fail("SG", "Caught fatal signal %d", e.signal)
	case e.exit != 0:
		add("exitcode:%d", e.exit)
		fail("RE", "Exited with error status %d", e.exit)
	default:
		add("exitcode:0")
		return meta, fmt.Sprintf("OK (%s sec real, %s sec wall)", millis(e.time), millis(e.wall)), 0
	}
	return meta, line, 1
}

// internal returns the lines of the meta file for an error of the sandbox itself.
func internal(message string) []string {
	return []string{"status:XX", "message:" + message}
}

// millis writes a time in seconds with three decimals, cut off as isolate does.
func millis(d time.Duration) string {
	ms := max(0, d.Milliseconds())
	return fmt.Sprintf("%d.%03d", ms/1000, ms%1000)
}

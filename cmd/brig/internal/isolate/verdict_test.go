package isolate

import (
	"strings"
	"testing"
	"time"
)

// The meta file has isolate's keys, in its order.
func TestVerdict(t *testing.T) {
	run := ended{time: 1234567 * time.Microsecond, wall: 2 * time.Second, rss: 100, voluntary: 1, forced: 2}
	const usage = "time:1.234 time-wall:2.000 max-rss:100 csw-voluntary:1 csw-forced:2"
	for _, tt := range []struct {
		name string
		edit func(e *ended, o *limits)
		meta string
		line string
		code int
	}{
		{"ok", func(*ended, *limits) {}, usage + " exitcode:0", "OK (1.234 sec real, 2.000 sec wall)", 0},
		{"exit", func(e *ended, _ *limits) { e.exit = 3 }, usage + " exitcode:3 status:RE message:Exited with error status 3",
			"Exited with error status 3", 1},
		{"signal", func(e *ended, _ *limits) { e.signal = 11 }, usage + " exitsig:11 status:SG message:Caught fatal signal 11",
			"Caught fatal signal 11", 1},
		{"late", func(e *ended, o *limits) { o.Time = time.Second }, usage + " status:TO message:Time limit exceeded",
			"Time limit exceeded", 1},
		{"killed", func(e *ended, o *limits) { o.Time, e.overTime = time.Second, true },
			"status:TO message:Time limit exceeded killed:1 " + usage, "Time limit exceeded", 1},
		{"wall", func(e *ended, o *limits) { e.overWall = true },
			"status:TO message:Time limit exceeded (wall clock) killed:1 " + usage, "Time limit exceeded (wall clock)", 1},
		{"interrupted", func(e *ended, o *limits) { e.interrupted = 15 },
			"exitsig:15 status:SG message:Interrupted killed:1 " + usage, "Interrupted", 1},
		{"group", func(e *ended, o *limits) { e.group, e.groupMem, e.oom, e.signal = true, 65536, true, 9 },
			usage + " cg-mem:65536 cg-oom-killed:1 exitsig:9 status:SG message:Caught fatal signal 9", "Caught fatal signal 9", 1},
		{"not executable", func(e *ended, o *limits) { e.group, e.exit = true, 127 },
			usage + " cg-mem:0 exitcode:127 status:RE message:Exited with error status 127", "Exited with error status 127", 1},
		{"unknown", func(e *ended, o *limits) { e.group, e.groupMem = true, -1 }, usage + " exitcode:0",
			"OK (1.234 sec real, 2.000 sec wall)", 0},
	} {
		e, o := run, limits{}
		tt.edit(&e, &o)
		meta, line, code := e.verdict(&o)
		if got := strings.Join(meta, " "); got != tt.meta || line != tt.line || code != tt.code {
			t.Errorf("%s: %d %q\n got %s\nwant %s", tt.name, code, line, got, tt.meta)
		}
	}
	if got := oneLine("a\nb\x1b[0m"); strings.ContainsAny(got, "\n\x1b") {
		t.Errorf("%q", got)
	}
}

package isolate

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"brig/internal/words"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// notStarted reports a program that cannot be executed as isolate does, and any other reason as an error.
func (r *running) notStarted(err error) (int, error) {
	why := error(unix.ENOENT)
	var e *nsjail.Error
	switch {
	case r.interrupted.Load() != 0:
		return r.finish(&ended{interrupted: int(r.interrupted.Load())}), nil
	case errors.Is(err, nsjail.ErrNotFound):
	case errors.Is(err, nsjail.ErrNotExecutable):
		if why = unix.EACCES; errors.As(err, &e) && e.Errno != 0 {
			why = e.Errno
		}
	case errors.As(err, &e):
		return 0, errors.New(r.named(e))
	default:
		return 0, err
	}
	var out io.Writer = r.tell.std.Err
	if w := r.cmd.Stderr; w != nil {
		out = w
	}
	_, _ = fmt.Fprintf(out, "execve(\"%s\"): %s\n", r.o.Args[0], strerror(why))
	return r.finish(&ended{exit: 127, group: r.o.CG}), nil
}

// optionWords is the dialect of isolate's command line, which has no options for what messages refer to: to run without
// a limit, say.
func optionWords(words.Ref) (string, bool) { return "", false }

// named returns the text of a failed start, with isolate's option in place of the field.
func (r *running) named(e *nsjail.Error) string {
	name := e.Op
	switch {
	case r.o.CG && (strings.HasPrefix(e.Op, "limits.") || e.Op == "cgroup"):
		name = "--cg"
	case strings.HasPrefix(e.Op, "mounts["):
		name = "--dir"
	case e.Op == "workdir":
		name = "--chdir"
	}
	return e.Named(name).In(optionWords)
}

// report converts a Result.
func (r *running) report(result *nsjail.Result) int {
	u := &result.Usage
	e := &ended{time: time.Duration(u.User + u.System), wall: time.Duration(u.Wall), rss: u.MaxRSS / 1024,
		voluntary: u.VoluntarySwitches, forced: u.ForcedSwitches, group: r.o.CG, groupMem: int64(u.MemoryPeak) >> 10,
		oom: u.OOMKills > 0 || result.Status == nsjail.StatusMemory, exit: result.ExitCode,
		interrupted: int(r.interrupted.Load())}
	e.overWall = result.TimedOut
	e.overTime = r.overTime.Load() || r.o.CG && result.Status == nsjail.StatusCPU
	switch {
	case r.overSize.Load():
		e.signal = int(unix.SIGXFSZ)
	case result.Signal != "":
		e.signal = result.SignalNumber()
	case result.ExitCode < 0:
		e.signal = int(unix.SIGKILL)
	}
	return r.finish(e)
}

func (r *running) finish(e *ended) int {
	meta, line, code := e.verdict(&r.o.limits)
	r.tell.write(meta)
	if !r.tell.Silent {
		_, _ = fmt.Fprintln(r.tell.std.Err, line)
	}
	return code
}

package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/explain"
	"brig/nsjail/process"

	"golang.org/x/sys/unix"
)

// running is a run of a program in a box.
type running struct {
	*call
	cmd         *nsjail.Cmd
	end         context.CancelFunc
	interrupted atomic.Int32 // the signal to isolate
	overTime    atomic.Bool
	overSize    atomic.Bool // inherited output is above --fsize
	files       []*os.File  // to be closed at the end
}

// run performs --run: the box's files become the program's, and the caller's again at the end.
func (c *call) run(b *box) (code int, err error) {
	signal.Ignore(unix.SIGPIPE, unix.SIGXFSZ, unix.SIGUSR1, unix.SIGUSR2)
	j, err := c.translate(c.facts(b))
	if err != nil {
		return 0, err
	}
	id, err := program(c.Box)
	if err != nil {
		return 0, err
	}
	there, back := &walk{uid: -1, special: c.Special}, &walk{uid: -1, special: c.Special}
	if id > 0 {
		there.uid, there.gid, back.uid, back.gid = int(id), int(id), b.uid, b.gid
	}
	if b.uid != os.Getuid() { // that user may have linked another user's file into the box
		there.owners = []int{b.uid, int(id)}
		back.owners = there.owners
	}
	if err = b.hand(j.temps, there); err == nil {
		code, err = c.execute(j, id)
	}
	end := b.hand(j.temps, back)
	if err != nil && end != nil && end.Error() == err.Error() { // one file has stopped both
		return 0, err
	}
	return code, errors.Join(err, end)
}

// execute runs the program and reports how it ended.
func (c *call) execute(j *job, id identity) (int, error) {
	r := &running{call: c}
	defer r.close()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	r.end = end
	defer r.catchSignals()()
	runner, err := nsjail.ForkedRunner()
	if err != nil {
		return 0, err
	}
	defer runner.Close()
	view, err := r.views(ctx, j)
	if err != nil {
		return 0, err
	}
	r.cmd = runner.CommandSpec(ctx, j.spec)
	if err := r.streams(ctx, j, id); err != nil {
		return 0, err
	}
	if err := r.cmd.Start(); err != nil {
		return r.notStarted(err)
	}
	c.say("Started " + strings.Join(c.Args, " "))
	if c.Time > 0 && !c.CG {
		stop := r.watchTime(max(c.Time, c.Extra))
		defer stop()
	}
	if err := runner.Retire(); err != nil {
		return 0, err
	}
	result, err := r.cmd.Wait()
	if view != nil {
		err = errors.Join(err, r.bringBack(view, result))
	}
	if err == nil && r.interrupted.Load() == int32(unix.SIGABRT) { // isolate's own, and not the program's end
		err = errorf("Sandbox keeper received fatal signal %d", unix.SIGABRT)
	}
	if err != nil {
		return 0, err
	}
	return r.report(result), nil
}

// catchSignals ends the run when isolate is asked to end. Ctrl-Z stops isolate alone, and not the clocks.
func (r *running) catchSignals() (stop func()) {
	caught := process.CatchSignals()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sig, ok := caught.Next(); ok; sig, ok = caught.Next() {
			switch sig {
			case unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGABRT:
				r.interrupted.CompareAndSwap(0, int32(sig))
				r.end()
			case unix.SIGTSTP:
				_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
			}
		}
	}()
	return func() {
		_ = caught.Close()
		<-done
	}
}

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
	var out io.Writer = r.std.Err
	if w := r.cmd.Stderr; w != nil {
		out = w
	}
	_, _ = fmt.Fprintf(out, "execve(\"%s\"): %s\n", r.Args[0], strerror(why))
	return r.finish(&ended{exit: 127, group: r.CG}), nil
}

// optionWords is the dialect of isolate's command line, which has no options for what messages refer to: to run without
// a limit, say.
func optionWords(words.Ref) (string, bool) { return "", false }

// named returns the text of a failed start, with isolate's option in place of the field.
func (r *running) named(e *nsjail.Error) string {
	name := e.Op
	switch {
	case r.CG && (strings.HasPrefix(e.Op, "limits.") || e.Op == "cgroup"):
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
		voluntary: u.VoluntarySwitches, forced: u.ForcedSwitches, group: r.CG, groupMem: int64(u.MemoryPeak) >> 10,
		oom: u.OOMKills > 0 || result.Status == nsjail.StatusMemory, exit: result.ExitCode,
		interrupted: int(r.interrupted.Load())}
	e.overWall = result.TimedOut
	e.overTime = r.overTime.Load() || r.CG && result.Status == nsjail.StatusCPU
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
	meta, line, code := e.verdict(r.Options)
	r.write(meta)
	if !r.Silent {
		_, _ = fmt.Fprintln(r.std.Err, line)
	}
	return code
}

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

// program returns who the program is on the host, or 0 for the caller. Called by root, each box has an id of its own:
// what a run has written to a directory of --dir belongs to the next run in the box as well, and to no other box.
func program(box int64) (identity, error) {
	if os.Geteuid() != 0 {
		return 0, nil
	}
	if err := process.SetPayloadID(process.FirstPayloadID + int(box)); err != nil { // cmd/brig/early.go guesses it
		return 0, err
	}
	h, err := explain.LookIdentity()
	if err != nil || !h.Drop {
		return 0, err
	}
	return identity(h.PayloadUID), nil
}

func (c *call) facts(b *box) *facts {
	f := &facts{dir: b.dir, environ: os.Environ(), config: c.config, below: mountedBelow}
	f.exists = func(dir string) bool {
		st, err := os.Stat(dir)
		return err == nil && st.IsDir()
	}
	f.hard = func(resource int) int64 {
		l := unix.Rlimit{Max: unix.RLIM_INFINITY} // -1
		_ = unix.Getrlimit(resource, &l)          // it fails for a resource that does not exist
		return int64(l.Max)
	}
	return f
}

// mountedBelow reports whether something is mounted below a directory: proc_pid_mountinfo(5). It reports so as well if
// that cannot be known.
func mountedBelow(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false // the start will say so
	}
	table, err := sys.Mounts()
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], strings.TrimSuffix(real, "/")+"/") {
			return true
		}
	}
	return false
}

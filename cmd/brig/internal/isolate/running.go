package isolate

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"

	"brig/nsjail"
	"brig/nsjail/process"

	"golang.org/x/sys/unix"
)

// running is a run of a program in a box.
type running struct {
	o           *Options
	tell        *teller
	cmd         *nsjail.Cmd
	end         context.CancelFunc
	interrupted atomic.Int32 // the signal to isolate
	overTime    atomic.Bool
	overSize    atomic.Bool // inherited output is above --fsize
	files       []*os.File  // to be closed at the end
}

// execute runs the program and reports how it ended.
func (r *running) execute(j *job, id identity) (int, error) {
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
	r.tell.say("Started " + strings.Join(r.o.Args, " "))
	if r.o.Time > 0 && !r.o.CG {
		stop := r.watchTime(max(r.o.Time, r.o.Extra))
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

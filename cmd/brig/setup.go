package main

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"brig/cmd/brig/internal/console"
	"brig/nsjail/process"

	"golang.org/x/sys/unix"
)

// patience is how long a jail that is being made may still begin after a signal that asks for its end, which the
// payload then gets. Afterwards nothing of the host is waited for, and after as long again brig ends without it.
const patience = time.Second

// setUp holds signals back until the payload runs.
type setUp struct {
	context.Context // ends when the jail is to be made no more
	cancel          func()
	restore         func() // of the terminal
	std             *console.Console

	mu      sync.Mutex
	started bool
	held    []unix.Signal
	timers  []*time.Timer
}

func newSetUp(std *console.Console) *setUp {
	u := &setUp{restore: func() {}, std: std}
	u.Context, u.cancel = context.WithCancel(context.Background())
	return u
}

// due returns the signals that the payload is to have when one has come, or 0: none until it runs, and then first those
// that were held back.
func (u *setUp) due(sig unix.Signal) (list []unix.Signal) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if sig == unix.SIGCONT { // as the kernel does with a pending one: signal(7)
		u.held = slices.DeleteFunc(u.held, func(s unix.Signal) bool { return s == unix.SIGTSTP })
	}
	if sig != 0 {
		u.held = append(u.held, sig)
	}
	if u.started {
		list, u.held = u.held, nil
		return list
	}
	if slices.Contains([]unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT}, sig) {
		u.timers = append(u.timers, time.AfterFunc(patience, u.cancel), time.AfterFunc(2*patience, u.abandon))
	}
	return nil
}

// begin is called when the payload runs.
func (u *setUp) begin(caught *process.Signals) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.started = true
	for _, t := range u.timers {
		t.Stop()
	}
	if len(u.held) > 0 {
		caught.Wake()
	}
}

// abandon ends brig. A thread of it may be in a call that does not return.
func (u *setUp) abandon() {
	u.mu.Lock()
	if u.started {
		u.mu.Unlock()
		return
	}
	u.restore()
	os.Exit(u.std.Fail("the jail could not be made in time: a file system of a flag does not answer; unmount it, or " +
		"start its server again"))
}

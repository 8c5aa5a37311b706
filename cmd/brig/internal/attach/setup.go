package attach

import (
	"context"
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

// SetUp holds signals back until the payload runs.
type SetUp struct {
	context.Context // ends when the jail is to be made no more
	cancel          func()
	restore         func() // of the terminal
	std             *console.Console

	escaped bool // the user has typed ~. to end the jail

	mu      sync.Mutex
	started bool
	held    []unix.Signal
	timers  []*time.Timer
}

// NewSetUp returns one.
func NewSetUp(std *console.Console) *SetUp {
	u := &SetUp{restore: func() {}, std: std}
	u.Context, u.cancel = context.WithCancel(context.Background())
	return u
}

// Escaped reports whether the user has typed ~. to end the jail.
func (u *SetUp) Escaped() bool { return u.escaped }

// due returns the signals that the payload is to have when one has come, or 0: none until it runs, and then first those
// that were held back.
func (u *SetUp) due(sig unix.Signal) (list []unix.Signal) {
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

// Begin is called when the payload runs.
func (u *SetUp) Begin(caught *process.Signals) {
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
func (u *SetUp) abandon() {
	u.mu.Lock()
	if u.started {
		u.mu.Unlock()
		return
	}
	u.restore()
	u.std.Exit(u.std.Fail("the jail could not be made in time: a file system of a flag does not answer; unmount it, or " +
		"start its server again"))
}

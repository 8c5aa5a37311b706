package engine

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"brig/brigd/internal/feed"
	"brig/brigd/internal/ring"
	"brig/brigd/job"
	"brig/internal/sys"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// process is a process of a living sandbox that a call has started, and what it has written.
type process struct {
	out    ring.Ring
	tag    string
	cmd    []string
	tty    bool
	life   *life
	cancel context.CancelCauseFunc

	stdin *feed.Feed // nil for none

	started chan struct{} // closed when it runs
	ended   chan struct{} // closed when result is set

	mu     sync.Mutex
	size   TerminalSize
	master *os.File    // of its terminal
	jail   *nsjail.Cmd // once it runs
	id     string
	pid    int
	begun  time.Time
	result *Response
}

// event takes an Event of the process's run.
func (p *process) event(e Event) {
	switch e.Type {
	case "start":
		p.mu.Lock()
		p.id, p.pid, p.begun = e.ID, p.jail.Pid(), time.Now()
		p.mu.Unlock()
		close(p.started)
	case "stdout", "stderr":
		p.out.Add(e.Type, e.Data)
		p.life.idle.Touch()
	}
}

// attach sets what a Cmd of a process has beside that of a run. It is called before the start.
func (p *process) attach(c *nsjail.Cmd) {
	if p.tty {
		c.Terminal = func(master *os.File) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.master = master
			_ = p.resized() // a size in range: cannot fail
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jail = c
}

// resized sets the size of the terminal: ioctl_tty(2) TIOCSWINSZ. The caller holds the lock.
func (p *process) resized() error {
	return sys.Control(p.master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ,
			&unix.Winsize{Row: uint16(p.size.Rows), Col: uint16(p.size.Cols)})
	})
}

// resize changes the size of its terminal.
func (p *process) resize(size TerminalSize) *job.Refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.master == nil {
		return bad("no_terminal", "tty", "the process has no terminal", "start it with tty")
	}
	p.size = size
	if p.resized() != nil {
		return processEnded()
	}
	return nil
}

// signal sends it a signal. SIGKILL ends its whole session.
func (p *process) signal(s unix.Signal) *job.Refusal {
	p.mu.Lock()
	c := p.jail
	p.mu.Unlock()
	if c == nil || c.Signal(s) != nil {
		return processEnded()
	}
	return nil
}

// write sends input until that ends, and returns how many bytes the process has taken.
func (p *process) write(ctx context.Context, in io.Reader, eof bool) (int64, *job.Refusal) {
	release, ok := p.stdin.Lock(ctx)
	if !ok {
		return 0, inputClosed()
	}
	defer release()
	n, err := io.Copy(fed{p.stdin, ctx}, in)
	switch {
	case errors.Is(err, os.ErrClosed):
		return n, inputClosed()
	case err != nil:
		return n, asRefusal(err, "request", "stdin_failed")
	case eof && p.tty && !p.stdin.Write(ctx, []byte{4}): // ^D: termios(3) VEOF
		return n, inputClosed()
	case eof && !p.tty:
		p.stdin.Finish()
	}
	return n, nil
}

// fed writes to a Feed as long as a context lives.
type fed struct {
	to  *feed.Feed
	ctx context.Context
}

// Write implements io.Writer.
func (f fed) Write(b []byte) (int, error) {
	if !f.to.Write(f.ctx, b) {
		return 0, os.ErrClosed
	}
	return len(b), nil
}

func inputClosed() *job.Refusal {
	return refuse("sandbox", "stdin_closed", "stdin", "the process's input has ended, or the process has",
		"read its output, or start another one")
}

// finish records how it has ended.
func (p *process) finish(a *Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id, p.result, p.master = a.ID, a, nil
	if p.stdin != nil {
		p.stdin.End()
	}
	p.out.End()
	close(p.ended)
	p.life.idle.Touch()
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// info describes it.
func (p *process) info() ProcessInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := ProcessInfo{ID: p.id, PID: p.pid, Tag: p.tag, Cmd: slices.Clone(p.cmd), Started: p.begun,
		Running: p.result == nil, Result: p.result}
	if p.tty {
		size := p.size
		i.TTY = &size
	}
	i.Next, i.Kept = p.out.Bounds()
	return i
}

// named reports whether a name in a request is its.
func (p *process) named(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return name == p.id || p.tag != "" && name == p.tag || p.pid > 0 && name == strconv.Itoa(p.pid)
}

func processEnded() *job.Refusal {
	return refuse("sandbox", "process_ended", "", "the process has ended", "read its output, or start another one")
}

// Bounds of the processes of one sandbox.
const (
	maxProcesses = 64      // that run
	maxEnded     = 64      // that have ended, and can still be read
	maxOutput    = 8 << 20 // bytes that are kept of the latter
)

// procTable has the processes of a living sandbox. It forgets those first that have ended first.
type procTable struct {
	mu  sync.Mutex
	all []*process // in the order of their start
}

// add adds a process, unless there are too many, or another one that runs has its tag.
func (t *procTable) add(p *process) *job.Refusal {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, other := range t.all {
		if !other.running() {
			continue
		}
		if n++; p.tag != "" && other.tag == p.tag {
			return refuse("sandbox", "tag_in_use", "tag", "tag: another process of the sandbox that runs has it",
				"choose another one, or end that process")
		}
	}
	if n >= maxProcesses {
		return refuse("quota", "too_many_processes", "",
			"the sandbox has "+strconv.Itoa(n)+" processes that calls have started", "end some of them")
	}
	t.all = append(t.all, p)
	return nil
}

// drop forgets a process.
func (t *procTable) drop(p *process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = slices.DeleteFunc(t.all, func(other *process) bool { return other == p })
}

// trim forgets ended processes that are too many, or too large.
func (t *procTable) trim() {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, size := 0, int64(0)
	for i := len(t.all) - 1; i >= 0; i-- {
		if t.all[i].running() {
			continue
		}
		_, kept := t.all[i].out.Bounds()
		if n, size = n+1, size+kept; n > maxEnded || size > maxOutput {
			t.all = slices.Delete(t.all, i, i+1)
		}
	}
}

// find returns the process with a pid, tag or id: one that runs before one that has ended, and the latest of those.
func (t *procTable) find(name string) *process {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found *process
	for _, p := range slices.Backward(t.all) {
		if p.named(name) && (found == nil || !found.running() && p.running()) {
			found = p
		}
	}
	return found
}

func (t *procTable) list() []*process {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.all)
}

func (t *procTable) running() (n int) {
	for _, p := range t.list() {
		if p.running() {
			n++
		}
	}
	return n
}

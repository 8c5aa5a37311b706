package warm

import (
	"sync"
	"time"

	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"

	"golang.org/x/sys/unix"
)

// NetPool keeps network namespaces ready, each with lo up: making one takes a third of a start. It is refilled in the
// background. A jail that finds it empty gets a new namespace.
type NetPool struct {
	Helper *MountHelper
	Want   int
	Reuse  bool

	Mu      sync.Mutex
	Ready   []*Namespace
	Filling bool
	closed  bool
	fillers sync.WaitGroup
}

// Namespace is a network namespace of the pool.
type Namespace struct {
	Fd   int
	pool *NetPool
	View *netView // its state when new; nil: it is used once
}

// Take returns a namespace, or nil if none is ready.
func (p *NetPool) Take() *Namespace {
	if p == nil {
		return nil
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	var e *Namespace
	if n := len(p.Ready); n > 0 {
		e, p.Ready = p.Ready[n-1], p.Ready[:n-1]
	}
	p.refill()
	return e
}

// refill starts the background work, at once where nothing is ready. The caller holds the lock.
func (p *NetPool) refill() {
	if p.Filling || p.closed || !Low(len(p.Ready), p.target()) {
		return
	}
	p.Filling = true
	p.fillers.Add(1)
	if len(p.Ready) == 0 {
		go p.fill()
	} else {
		time.AfterFunc(RefillPause, p.fill)
	}
}

// fill makes namespaces until enough are ready. After an error it stops until the next Take.
func (p *NetPool) fill() {
	defer p.fillers.Done()
	for {
		e, err := p.Make()
		p.Mu.Lock()
		if err == nil && !p.closed {
			p.Ready = append(p.Ready, e)
			e = nil
		}
		stop := err != nil || p.closed || len(p.Ready) >= p.target()
		if stop {
			p.Filling = false
		}
		p.Mu.Unlock()
		e.Drop()
		if stop {
			return
		}
	}
}

// target returns how many namespaces to keep ready: a quarter of Want if they come back after use.
func (p *NetPool) target() int {
	if p.Reuse {
		return (p.Want + 3) / 4
	}
	return p.Want
}

// Make makes a namespace with lo up.
func (p *NetPool) Make() (*Namespace, error) {
	e := &Namespace{pool: p}
	look := func(pid int) (err error) {
		if p.Reuse {
			e.View, err = viewNet(pid)
		}
		return err
	}
	list := plan.NetProgram()
	fd, err := p.Helper.do(list, look)
	if err != nil {
		return nil, launcher.StepError("pool", list, err)
	}
	e.Fd = fd
	return e, nil
}

// Back takes a namespace whose jail has ended. It is used again only if nothing in it differs from when it was new.
func (e *Namespace) Back() {
	if e == nil {
		return
	}
	p := e.pool
	if e.View != nil && e.View.Unchanged() {
		p.Mu.Lock()
		if !p.closed && len(p.Ready) < p.Want {
			p.Ready = append(p.Ready, e)
			e = nil
		}
		p.Mu.Unlock()
	}
	e.Drop()
}

// Handle returns a descriptor of the namespace for a launcher, which closes it.
func (e *Namespace) Handle() (int, error) {
	if e.View == nil {
		fd := e.Fd
		e.Fd = -1
		return fd, nil
	}
	return unix.FcntlInt(uintptr(e.Fd), unix.F_DUPFD_CLOEXEC, 0)
}

// Drop closes the namespace.
func (e *Namespace) Drop() {
	if e == nil {
		return
	}
	if e.Fd >= 0 {
		unix.Close(e.Fd)
	}
	e.View.close()
}

// Close closes all namespaces that are ready, and waits for the background work.
func (p *NetPool) Close() error {
	if p == nil {
		return nil
	}
	p.Mu.Lock()
	p.closed = true
	list := p.Ready
	p.Ready = nil
	p.Mu.Unlock()
	for _, e := range list {
		e.Drop()
	}
	p.fillers.Wait()
	return nil
}

// RefillPause is how long the background work waits for the start that it follows, so that both do not compete for the
// processors. A start takes less.
const RefillPause = 2 * time.Millisecond

// Low reports whether a pool has to be refilled: a pool of 8 or more at half its size.
func Low(ready, want int) bool { return ready < want && (want < 8 || ready <= want/2) }

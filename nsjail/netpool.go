package nsjail

import (
	"sync"
	"time"

	"brig/nsjail/internal/plan"

	"golang.org/x/sys/unix"
)

// netPool keeps network namespaces ready, each with lo up: making one is a third of a start. It refills in the
// background; a jail that finds it empty has its own made.
type netPool struct {
	outfit *outfitter
	want   int
	reuse  bool

	mu      sync.Mutex
	ready   []*netEntry
	filling bool
	closed  bool
	fillers sync.WaitGroup
}

// netEntry is a network namespace that stands ready.
type netEntry struct {
	fd   int
	pool *netPool
	view *netView // as it was when new; nil where it is not to be used again
}

// take gives one, or nil.
func (p *netPool) take() *netEntry {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var e *netEntry
	if n := len(p.ready); n > 0 {
		e, p.ready = p.ready[n-1], p.ready[:n-1]
	}
	p.refill()
	return e
}

// refill starts the background work, at once where nothing is ready. The caller holds the lock.
func (p *netPool) refill() {
	if p.filling || p.closed || !low(len(p.ready), p.target()) {
		return
	}
	p.filling = true
	p.fillers.Add(1)
	if len(p.ready) == 0 {
		go p.fill()
	} else {
		time.AfterFunc(refillPause, p.fill)
	}
}

// fill makes namespaces until enough are ready. An error ends it until the next take: jails are made without.
func (p *netPool) fill() {
	defer p.fillers.Done()
	for {
		e, err := p.make()
		p.mu.Lock()
		if err == nil && !p.closed {
			p.ready = append(p.ready, e)
			e = nil
		}
		stop := err != nil || p.closed || len(p.ready) >= p.target()
		if stop {
			p.filling = false
		}
		p.mu.Unlock()
		e.drop()
		if stop {
			return
		}
	}
}

// target is how many it makes. Where they come back, few: most of those that a jail takes have had another one.
func (p *netPool) target() int {
	if p.reuse {
		return (p.want + 3) / 4
	}
	return p.want
}

func (p *netPool) make() (*netEntry, error) {
	e := &netEntry{pool: p}
	look := func(pid int) (err error) {
		if p.reuse {
			e.view, err = viewNet(pid)
		}
		return err
	}
	list := plan.NetProgram()
	fd, err := p.outfit.do(list, look)
	if err != nil {
		return nil, opError("pool", list, err)
	}
	e.fd = fd
	return e, nil
}

// back takes a namespace whose jail has ended. It is used again only if nothing in it differs from when it was new.
func (e *netEntry) back() {
	if e == nil {
		return
	}
	p := e.pool
	if e.view != nil && e.view.unchanged() {
		p.mu.Lock()
		if !p.closed && len(p.ready) < p.want {
			p.ready = append(p.ready, e)
			e = nil
		}
		p.mu.Unlock()
	}
	e.drop()
}

// handle is a descriptor for the launcher, which it closes.
func (e *netEntry) handle() (int, error) {
	if e.view == nil {
		fd := e.fd
		e.fd = -1
		return fd, nil
	}
	return unix.FcntlInt(uintptr(e.fd), unix.F_DUPFD_CLOEXEC, 0)
}

func (e *netEntry) drop() {
	if e == nil {
		return
	}
	if e.fd >= 0 {
		unix.Close(e.fd)
	}
	e.view.close()
}

// Close drops all.
func (p *netPool) Close() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	p.closed = true
	list := p.ready
	p.ready = nil
	p.mu.Unlock()
	for _, e := range list {
		e.drop()
	}
	p.fillers.Wait()
	return nil
}

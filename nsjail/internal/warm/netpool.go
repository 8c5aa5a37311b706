package warm

import (
	"sync/atomic"

	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"

	"golang.org/x/sys/unix"
)

// NetPool keeps network namespaces ready, each with lo up: making one takes a third of a start. A jail that finds it
// empty gets a new namespace.
type NetPool struct {
	Pool[*Namespace]
	most   int
	reuse  bool
	helper *MountHelper
	closed atomic.Bool // ports below 1024 cannot be opened: /proc/sys is read-only, as in a container
}

// Namespace is a network namespace of the pool.
type Namespace struct {
	Fd   int
	pool *NetPool
	View *netView // its state when new; nil: it is used once
}

// NewNetPool returns a pool of most namespaces, with one ready: that shows whether the machine allows it. With reuse
// they come back after use, and a quarter is enough to keep ready.
func NewNetPool(helper *MountHelper, most int, reuse bool) (*NetPool, error) {
	p := &NetPool{most: most, reuse: reuse, helper: helper}
	p.Make, p.Drop, p.Want = p.create, (*Namespace).Drop, most
	if reuse {
		p.Want = (most + 3) / 4
	}
	return p, p.Prime(most)
}

// create makes a namespace with lo up.
func (p *NetPool) create() (*Namespace, error) {
	e := &Namespace{pool: p}
	look := func(pid int) (err error) {
		if p.reuse {
			e.View, err = viewNet(pid)
		}
		return err
	}
	free := !p.closed.Load()
	list := plan.NetProgram(free)
	fd, err := p.helper.do(list, look)
	if err != nil && free {
		p.closed.Store(true)
		return p.create()
	}
	if err != nil {
		return nil, launcher.StepError("pool", list, err)
	}
	e.Fd = fd
	return e, nil
}

// Back takes a namespace whose jail has ended. It is used again only if nothing in it differs from when it was new.
func (e *Namespace) Back() {
	if e != nil && (e.View == nil || !e.View.Unchanged() || !e.pool.put(e, e.pool.most)) {
		_ = e.Drop()
	}
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
func (e *Namespace) Drop() error {
	if e == nil {
		return nil
	}
	e.View.close()
	if e.Fd < 0 { // a launcher has it
		return nil
	}
	return unix.Close(e.Fd)
}

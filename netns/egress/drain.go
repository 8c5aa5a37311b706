package egress

import (
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	settleTime = 250 * time.Millisecond // at the end, to read what has already arrived
	settleStep = 100 * time.Microsecond
	sendTime   = time.Second // at the end, for bytes of the payload that its server has not received yet
)

// sending counts the connections on which bytes of the payload may still have to be forwarded.
type sending struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed when n is 0; nil if there is no waiter
}

func (s *sending) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n += n; s.n == 0 && s.zero != nil {
		close(s.zero)
		s.zero = nil
	}
}

// wait waits until n is 0, but no longer than d.
func (s *sending) wait(d time.Duration) {
	s.mu.Lock()
	zero := s.zero
	if s.n > 0 && zero == nil {
		zero = make(chan struct{})
		s.zero = zero
	}
	idle := s.n == 0
	s.mu.Unlock()
	if idle {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-zero:
	case <-t.C:
	}
}

// busy records whether bytes of the payload may still have to be forwarded.
func (k *conn) busy(yes bool) {
	if k.sending.Swap(yes) == yes {
		return
	}
	if yes {
		k.s.sending.add(1)
	} else {
		k.s.sending.add(-1)
	}
}

// passedOn records that all bytes from the payload so far were written to its server.
func (k *conn) passedOn(up *net.TCPConn) {
	k.s.whole(up, true)
	k.busy(false)
}

// settle waits until the goroutines have read what had arrived when the jail ended, so that an attempt just before the
// end is logged.
func (s *Server) settle() {
	for end := time.Now().Add(settleTime); s.pending() && time.Now().Before(end); {
		time.Sleep(settleStep)
	}
}

// hush makes the readers return after the connection or packet that they handle, so that it is counted before anything
// is closed.
func (s *Server) hush() {
	s.hushed.Store(true)
	for _, c := range s.ready {
		switch c := c.(type) {
		case *net.TCPListener:
			_ = c.SetDeadline(time.Unix(0, 1)) // wakes it; if it is closed, the reader has returned
		case interface{ SetReadDeadline(time.Time) error }:
			_ = c.SetReadDeadline(time.Unix(0, 1))
		}
	}
	s.readers.Wait()
}

// pending reports whether one of the sockets has unread data: poll(2).
func (s *Server) pending() bool {
	var list []unix.PollFd
	for _, c := range s.ready {
		raw, err := c.SyscallConn()
		if err != nil {
			continue // closed
		}
		_ = raw.Control(func(fd uintptr) { // closed: nothing to wait for
			list = append(list, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		})
	}
	n, err := unix.Poll(list, 0)
	return err == unix.EINTR || n > 0
}

// arriving returns the sockets that receive the payload's connections and packets.
func (k *Sockets) arriving() (list []syscall.Conn) {
	for _, l := range append([]*net.TCPListener{k.CatchAll, k.DNSTCP}, k.TCP...) {
		if l != nil {
			list = append(list, l)
		}
	}
	for _, c := range append([]*net.UDPConn{k.DNS}, k.UDP...) {
		if c != nil {
			list = append(list, c)
		}
	}
	for _, c := range k.Taps {
		list = append(list, c)
	}
	return list
}

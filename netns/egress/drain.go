package egress

import (
	"net"
	"syscall"
	"time"
	"unsafe"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

const (
	settleTime = 250 * time.Millisecond // at the end, to read what has already arrived
	settleStep = 100 * time.Microsecond
	sendTime   = time.Second // at the end, for bytes of the payload that its server has not received yet
)

// until waits until done returns true, but no longer than d.
func until(d time.Duration, done func() bool) {
	for end := time.Now().Add(d); !done() && time.Now().Before(end); {
		time.Sleep(settleStep)
	}
}

// busy records whether bytes of the payload may still have to be forwarded.
func (k *conn) busy(yes bool) {
	switch {
	case k.sending.Swap(yes) == yes:
	case yes:
		k.s.sending.Add(1)
	default:
		k.s.sending.Add(-1)
	}
}

// forwardedAll records that all bytes from the payload so far were written to its server.
func (k *conn) forwardedAll(up *net.TCPConn) {
	k.s.closeInOrder(up, true)
	k.busy(false)
}

// stopReaders makes the readers return after the connection or packet that they handle, so that it is counted before
// anything is closed.
func (s *Server) stopReaders() {
	s.stopping.Store(true)
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
		_ = sys.Control(c, func(fd int) error { // closed: nothing to wait for
			list = append(list, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
			return nil
		})
	}
	n, err := unix.Poll(list, 0)
	return err == unix.EINTR || n > 0
}

// lostPackets returns the number of packets that the sockets had no room for: datagrams, and connections beyond the
// accept queue. socket(7) SO_MEMINFO (>= 4.12), the last of its nine numbers.
func lostPackets(list []syscall.Conn) (n int) {
	for _, c := range list {
		_ = sys.Control(c, func(fd int) error { // closed: nothing is known
			var info [9]uint32
			size := uint32(unsafe.Sizeof(info))
			_, _, errno := syscall.Syscall6(syscall.SYS_GETSOCKOPT, uintptr(fd), syscall.SOL_SOCKET, unix.SO_MEMINFO,
				uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
			if errno == 0 {
				n += int(info[8])
			}
			return nil
		})
	}
	return n
}

package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// answerIn is how long a client waits for anything.
const answerIn = 30 * time.Second

// What a client asks the server for, by the first byte that it sends. A number of bytes follows in eight.
const (
	askDown = 'd' // send so many
	askUp   = 'u' // read so many, then answer with a byte
	askEcho = 'e' // answer with a byte and close
	askHold = 'h' // answer with a byte, wait for the end and close
)

// block is how much one system call transfers, at both ends.
const block = 256 << 10

// Serve answers the connections of payloads until the listener is closed.
func Serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go func() {
			// a client that fails returns the error itself
			_ = serveConn(c)
			_ = c.Close()
		}()
	}
}

func serveConn(c io.ReadWriter) error {
	ask := make([]byte, 9)
	if _, err := io.ReadFull(c, ask[:1]); err != nil {
		return err
	}
	switch ask[0] {
	case askEcho:
		_, err := c.Write(ask[:1])
		return err
	case askHold:
		_, err := c.Write(ask[:1])
		_, cerr := io.Copy(io.Discard, c)
		return errors.Join(err, cerr)
	case askDown, askUp:
		if _, err := io.ReadFull(c, ask[1:]); err != nil {
			return err
		}
	default:
		return fmt.Errorf("no request begins with %q", ask[0])
	}
	n := int64(binary.BigEndian.Uint64(ask[1:]))
	if ask[0] == askDown {
		return move(c.Write, n)
	}
	err := move(c.Read, n)
	_, werr := c.Write(ask[:1])
	return errors.Join(err, werr)
}

// move reads or writes so many bytes.
func move(f func([]byte) (int, error), bytes int64) error {
	for data := make([]byte, block); bytes > 0; {
		n, err := f(data[:min(bytes, block)])
		if bytes -= int64(n); err != nil {
			return fmt.Errorf("%d bytes early: %w", bytes, err)
		}
	}
	return nil
}

// dial connects and bounds how long anything on the connection may take.
func dial(to string) (net.Conn, error) {
	c, err := net.DialTimeout("tcp4", to, answerIn)
	if err != nil {
		return nil, err
	}
	return c, c.SetDeadline(time.Now().Add(answerIn))
}

// transfer times N bytes from the server, from the connect to the last of them, or to it, from the connect to the
// server's answer that it has them all.
func transfer(r Request) ([]int64, error) {
	ask := byte(askDown)
	if r.Op == "net-up" {
		ask = askUp
	}
	start := time.Now()
	c, err := dial(r.Arg)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	_, err = c.Write(binary.BigEndian.AppendUint64([]byte{ask}, uint64(r.N)))
	switch {
	case err != nil:
	case ask == askDown:
		err = move(c.Read, int64(r.N))
	default:
		if err = move(c.Write, int64(r.N)); err == nil {
			err = move(c.Read, 1)
		}
	}
	return []int64{time.Since(start).Nanoseconds()}, err
}

// dials makes N connections one after the other, each for one byte there and one back, and times connect(2) alone.
// System calls are made without package net, so that the figure holds the kernel's and the relay's part alone.
func dials(r Request) (all []int64, err error) {
	a, err := netip.ParseAddrPort(r.Arg)
	if err != nil {
		return nil, err
	}
	to := &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}
	for range r.N {
		start := time.Now()
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, os.NewSyscallError("socket", err)
		}
		err = unix.Connect(fd, to)
		for err == unix.EINTR || err == unix.EALREADY { // a signal of the Go scheduler's
			err = unix.Connect(fd, to)
		}
		took := time.Since(start)
		if err != nil && err != unix.EISCONN {
			return nil, errors.Join(os.NewSyscallError("connect", err), unix.Close(fd))
		}
		c := os.NewFile(uintptr(fd), "connection")
		_, err = c.Write([]byte{askEcho})
		if err == nil {
			_, err = io.ReadFull(c, make([]byte, 1))
		}
		if err := errors.Join(err, c.Close()); err != nil {
			return nil, err
		}
		all = append(all, took.Nanoseconds())
	}
	return all, nil
}

// hold opens N connections at once, waits for a byte on each, and holds them until in ends. It prints a line before
// that, and one after it.
func hold(r Request, in io.Reader, out io.Writer) error {
	if _, err := io.WriteString(out, "\n"); err != nil {
		return err
	}
	if _, err := io.ReadFull(in, make([]byte, 1)); err != nil {
		return err
	}
	type answer struct {
		c   net.Conn
		err error
	}
	answers := make(chan answer)
	for range r.N {
		go func() {
			c, err := dial(r.Arg)
			if err == nil {
				_, err = c.Write([]byte{askHold})
			}
			if err == nil {
				_, err = io.ReadFull(c, make([]byte, 1))
			}
			answers <- answer{c, err}
		}()
	}
	var open []net.Conn
	var last error
	for range r.N {
		if a := <-answers; a.err != nil {
			last = a.err
		} else {
			open = append(open, a.c)
		}
	}
	if last != nil {
		return fmt.Errorf("%s: %d of %d connections are not answered: %w", r.Op, r.N-len(open), r.N, last)
	}
	if _, err := io.WriteString(out, "\n"); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, in)
	runtime.KeepAlive(open) // a connection that nobody refers to is closed
	return err
}

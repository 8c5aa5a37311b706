package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// answerIn is how long a client waits for anything.
const answerIn = 30 * time.Second

// net performs an operation on the network; ok says that there is one of that name. Arg is the server's address and port;
// N is a number of bytes (net-down, net-up) or of connections.
func (w *worker) net(r Request) (reply Reply, ok bool, err error) {
	f, ok := map[string]func(Request) ([]int64, error){"net-down": netDown, "net-up": netUp, "net-dial": netDial,
		"net-connect": netConnect, "net-many": netMany, "net-hold": w.netHold}[r.Op]
	if !ok {
		return reply, false, nil
	}
	reply.Nanos, err = f(r)
	return reply, true, err
}

// socketTo connects to an address. System calls are made without package net, so that little but the
// kernel and the relay is in the figure.
func socketTo(to string) (fd int, err error) {
	a, err := netip.ParseAddrPort(to)
	if err != nil {
		return -1, err
	}
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	limit := unix.NsecToTimeval(answerIn.Nanoseconds())
	err = errors.Join(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit), unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit),
		os.NewSyscallError("connect", connect(fd, &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())})))
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// connect goes on waiting after a signal, which the Go scheduler sends.
func connect(fd int, to unix.Sockaddr) error {
	for {
		switch err := unix.Connect(fd, to); err {
		case unix.EINTR, unix.EALREADY:
		case unix.EISCONN:
			return nil
		default:
			return err
		}
	}
}

func sendAll(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("write", err)
		}
		data = data[n:]
	}
	return nil
}

// receive reads so many bytes.
func receive(fd int, data []byte, bytes int64) error {
	for bytes > 0 {
		n, err := unix.Read(fd, data[:min(bytes, int64(len(data)))])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return os.NewSyscallError("read", err)
		case n == 0:
			return fmt.Errorf("the connection ends %d bytes early: %w", bytes, io.ErrUnexpectedEOF)
		default:
			bytes -= int64(n)
		}
	}
	return nil
}

// netDown has the server send N bytes: from the connect to the last of them.
func netDown(r Request) ([]int64, error) {
	return transfer(r, askDown, func(fd int, data []byte) error { return receive(fd, data, int64(r.N)) })
}

// netUp sends N bytes: from the connect to the server's word that it has them all.
func netUp(r Request) ([]int64, error) {
	return transfer(r, askUp, func(fd int, data []byte) error {
		for left := r.N; left > 0; left -= len(data) {
			if err := sendAll(fd, data[:min(left, len(data))]); err != nil {
				return err
			}
		}
		return receive(fd, data[:1], 1)
	})
}

func transfer(r Request, ask byte, move func(fd int, data []byte) error) ([]int64, error) {
	data := make([]byte, block)
	start := time.Now()
	fd, err := socketTo(r.Arg)
	if err != nil {
		return nil, err
	}
	if err = sendAll(fd, binary.BigEndian.AppendUint64([]byte{ask}, uint64(r.N))); err == nil {
		err = move(fd, data)
	}
	took := time.Since(start).Nanoseconds()
	return []int64{took}, errors.Join(err, unix.Close(fd))
}

// netDial makes N connections one after the other and times connect(2) alone.
func netDial(r Request) ([]int64, error) {
	return exchanges(r, func(_, connected, _ time.Time) time.Time { return connected })
}

// netConnect makes N connections one after the other, each for one byte there and one back, and times it all.
func netConnect(r Request) ([]int64, error) {
	return exchanges(r, func(_, _, closed time.Time) time.Time { return closed })
}

// exchanges times each connection from its beginning to the moment that until chooses.
func exchanges(r Request, until func(start, connected, closed time.Time) time.Time) (all []int64, err error) {
	data := make([]byte, 1)
	for range r.N {
		start := time.Now()
		fd, err := socketTo(r.Arg)
		if err != nil {
			return nil, err
		}
		connected := time.Now()
		data[0] = askEcho
		if err := errors.Join(sendAll(fd, data), receive(fd, data, 1), unix.Close(fd)); err != nil {
			return nil, err
		}
		all = append(all, until(start, connected, time.Now()).Sub(start).Nanoseconds())
	}
	return all, nil
}

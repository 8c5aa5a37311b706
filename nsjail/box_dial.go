package nsjail

import (
	"context"
	"errors"
	"net"
	"os"
	"path"
	"strconv"
	"time"

	"brig/internal/program"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Dial connects to a server in the box. network is "tcp" with an address such as ":8000" or "[::1]:8000", a port of the
// box's loopback interface, or "unix" with a path of the box. Init makes the socket; the keeper connects one of TCP.
// The peer is a process of the box: do not believe what it sends.
func (b *Box) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if network == "unix" {
		if !path.IsAbs(address) || len(address) > maxSocketPath {
			return nil, spec.CallerError("address", "it is no absolute path of at most 107 bytes",
				"name a socket of the box")
		}
		return b.open(ctx, unix.AF_UNIX, address, func(*os.File) error { return nil }) // init has connected it
	}
	hosts, port, err := splitAddress(network, address)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, at := range hosts {
		conn, err := b.dialTCP(ctx, at, port)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errs[0]
}

const maxSocketPath = 107 // unix(7)

// splitAddress returns the loopback addresses that an address means, and the port.
func splitAddress(network, address string) (hosts []net.IP, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if network != "tcp" || err != nil {
		return nil, 0, spec.CallerError("address", "it is not tcp with a port, or unix with a path", "name it as :8000")
	}
	if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
		return nil, 0, spec.CallerError("address", "no port from 1 to 65535", "name it as :8000")
	}
	ip := net.ParseIP(host)
	switch {
	case host == "" || host == "localhost":
		return []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, port, nil
	case ip != nil && ip.IsLoopback():
		return []net.IP{ip}, port, nil
	}
	return nil, 0, spec.CallerError("address", "it is no address of the box's loopback interface", "name it as :8000")
}

// dialTCP connects to a port of an address.
func (b *Box) dialTCP(ctx context.Context, ip net.IP, port int) (net.Conn, error) {
	family, to := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: port, Addr: [16]byte(ip.To16())})
	if v4 := ip.To4(); v4 != nil {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: [4]byte(v4)}
	}
	return b.open(ctx, family, "", func(f *os.File) error {
		if err := connect(ctx, f, to); err != nil {
			return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: ip, Port: port}, Err: err}
		}
		return nil
	})
}

// open has init make a socket, and connects it. Init itself connects one that has a path.
func (b *Box) open(ctx context.Context, family int, path string, connect func(*os.File) error) (net.Conn, error) {
	fd, err := b.dial(ctx, family, path)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "box") // not blocking: the runtime's poller waits
	defer f.Close()
	if err := connect(f); err != nil {
		return nil, err
	}
	return net.FileConn(f)
}

// connect connects a socket that does not block: connect(2) EINPROGRESS.
func connect(ctx context.Context, f *os.File, to unix.Sockaddr) error {
	defer expire(ctx, f)()
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	begun, failed := false, error(nil)
	err = rc.Write(func(fd uintptr) bool {
		if !begun {
			begun = true
			failed = unix.Connect(int(fd), to)
			return failed != unix.EINPROGRESS
		}
		n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		if failed = err; err == nil && n != 0 {
			failed = unix.Errno(n)
		}
		return true
	})
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(err, failed)
}

// dial has init make a socket.
func (b *Box) dial(ctx context.Context, family int, path string) (fd int, err error) {
	report, theirs, err := launcher.ReportSocket()
	if err != nil {
		return -1, err
	}
	defer report.Close()
	defer expire(ctx, report)()
	p := plan.Socket(family, path)
	if b.frozen.Load() {
		err = errFrozen()
	} else {
		err = b.perform(p, theirs)
	}
	unix.Close(theirs)
	if err != nil {
		return -1, err
	}
	if fd, err = receiveSocket(report, p); errors.Is(err, os.ErrDeadlineExceeded) {
		err = ctx.Err()
	}
	return fd, err
}

// expire has what waits for a file return when the context ends, until the caller calls stop.
func expire(ctx context.Context, f *os.File) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = f.SetDeadline(time.Unix(1, 0)) })
}

// receiveSocket receives the socket that a program makes, or the error.
func receiveSocket(report *os.File, p *program.Program) (int, error) {
	rep, fds, err := run.Receive(report)
	switch {
	case errors.Is(err, run.ErrNoReport):
		return -1, os.ErrProcessDone
	case err != nil:
		return -1, err
	case len(fds) > 0:
		launcher.CloseAll(fds[1:])
		return fds[0], nil
	}
	return -1, launcher.StepError("socket", p, &launcher.OpError{Op: rep.A, Errno: unix.Errno(rep.B)})
}

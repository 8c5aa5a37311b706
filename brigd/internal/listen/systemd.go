package listen

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// firstFD is SD_LISTEN_FDS_START of sd_listen_fds(3).
const firstFD = 3

// maxFDs bounds the number of descriptors that a service manager may pass.
const maxFDs = 64

// Inherited returns the sockets that systemd(1) has opened for this process, if any, and removes the variables of
// sd_listen_fds(3) from the environment.
func Inherited(o UnixOptions) (list []net.Listener, err error) {
	pid, fds := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID"} {
		if err := os.Unsetenv(name); err != nil {
			return nil, err
		}
	}
	if pid == "" || fds == "" || pid != strconv.Itoa(os.Getpid()) {
		return nil, nil // meant for another process
	}
	n, err := strconv.Atoi(fds)
	if err != nil || n < 0 || n > maxFDs {
		return nil, fmt.Errorf("LISTEN_FDS is %q; the service manager has to set a number from 0 to %d", fds, maxFDs)
	}
	for fd := firstFD; fd < firstFD+n; fd++ {
		l, err := inherit(fd, o)
		if err != nil {
			errs := []error{fmt.Errorf("descriptor %d of LISTEN_FDS: %w; the unit's .socket file has to name a stream socket "+
				"that listens", fd, err)}
			for _, l := range list {
				errs = append(errs, l.Close())
			}
			return nil, errors.Join(errs...)
		}
		list = append(list, l)
	}
	return list, nil
}

func inherit(fd int, o UnixOptions) (net.Listener, error) {
	unix.CloseOnExec(fd)
	listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN) // socket(7)
	if err != nil {
		return nil, err
	}
	if listens == 0 {
		return nil, errors.New("it does not listen")
	}
	f := os.NewFile(uintptr(fd), "LISTEN_FDS "+strconv.Itoa(fd))
	l, err := net.FileListener(f) // of a duplicate
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	switch l.(type) {
	case *net.UnixListener:
		return guard(l, o), nil
	case *net.TCPListener:
		return l, nil
	}
	return nil, errors.Join(fmt.Errorf("it is of the kind %s", l.Addr().Network()), l.Close())
}

// Notify sends a state to the service manager (sd_notify(3)): "READY=1", "STOPPING=1", "STATUS=...". Without a service
// manager it does nothing.
func Notify(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	if path[0] != '/' && path[0] != '@' {
		return fmt.Errorf("NOTIFY_SOCKET is %q; the service manager has to set an absolute path or an abstract name", path)
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("the service manager at %q is not told %q: %w", path, state, err)
	}
	_, err = c.Write([]byte(state))
	return errors.Join(err, c.Close())
}

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sys/unix"

	"brig/internal/words"
)

// Files in the directory, and the user who reads the secret: package brigd/internal/queue connects with them.
const (
	socketFile = "socket"
	secretFile = "secret"
	lockFile   = "lock"
	localUser  = "brig-local"
)

// queue is a server that runs.
type queue struct {
	server *server.Server
	socket net.Listener
	lock   *os.File
	failed chan error // has room for one
}

// startTime is how long a server may take to read its files.
const startTime = 5 * time.Minute

// start starts the server of a directory.
func start(s settings, log io.Writer) (q *queue, err error) {
	q = &queue{failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, q.stop())
		}
	}()
	if err := private(s.dir); err != nil {
		return q, err
	}
	if q.lock, err = lock(filepath.Join(s.dir, lockFile)); err != nil {
		return q, err
	}
	secret, err := secretOf(filepath.Join(s.dir, secretFile))
	if err != nil {
		return q, err
	}
	o, err := options(s, secret)
	if err != nil {
		return q, err
	}
	if q.server, err = server.NewServer(o); err != nil {
		return q, fmt.Errorf("the server: %w", err)
	}
	q.server.SetLoggerV2(logger{log, q.failed}, false, false, false)
	q.server.Start()
	if !q.server.ReadyForConnections(startTime) {
		return q, errors.New("the server is not ready; the lines before this one have the reason")
	}
	path := filepath.Join(s.dir, socketFile)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of one that was killed; we hold the lock
		return q, err
	}
	if q.socket, err = net.Listen("unix", path); err != nil {
		return q, fmt.Errorf("the socket: %w; a socket's path has at most 107 bytes", err)
	}
	go q.accept()
	return q, nil
}

// stop ends the server. Its files are complete at any moment, also after a kill.
func (q *queue) stop() error {
	var errs []error
	if q.socket != nil {
		errs = append(errs, q.socket.Close())
	}
	if q.server != nil {
		q.server.Shutdown()
		q.server.WaitForShutdown()
	}
	if q.lock != nil {
		errs = append(errs, q.lock.Close())
	}
	return errors.Join(errs...)
}

// accept passes connections at the socket to the server, which by itself has no Unix sockets.
func (q *queue) accept() {
	for {
		c, err := q.socket.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			q.failed <- fmt.Errorf("the socket: %w", err)
			return
		}
		go q.relay(c)
	}
}

func (q *queue) relay(outer net.Conn) {
	inner, err := q.server.InProcessConn()
	if err != nil {
		_ = outer.Close() // the server ends
		return
	}
	for _, way := range [][2]net.Conn{{outer, inner}, {inner, outer}} {
		go func() {
			_, _ = io.Copy(way[0], way[1]) // any end of one is the end of both
			_, _ = outer.Close(), inner.Close()
		}()
	}
}

// private makes the directory, or checks that no other user can enter it.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("--dir: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil { // stat(2)
		return fmt.Errorf("--dir %s: %w", words.Quote(dir), err)
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		return fmt.Errorf("--dir %s: other users may enter it, or it is another's; chmod 700, or name another directory",
			words.Quote(dir))
	}
	return nil
}

// lockTime is how long a server may take to end whose brigd was killed.
const lockTime = 10 * time.Second

// lock makes sure that one server has the directory: two would damage its files.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockTime); ; time.Sleep(20 * time.Millisecond) {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil || time.Now().After(end) { // flock(2)
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("another brigd-queue has %s (%w); end it, or name another directory",
			words.Quote(filepath.Dir(path)), err), f.Close())
	}
	return f, nil
}

// secretOf returns the password of the local user, which is made once.
func secretOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err == nil && len(text) > 20 {
		return string(text), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	secret := rand.Text()
	return secret, os.WriteFile(path, []byte(secret), 0o600)
}

// logger writes what the server warns of; its other lines are about each connection.
type logger struct {
	to     io.Writer
	failed chan<- error
}

func (l logger) line(kind, format string, v []any) {
	_, _ = fmt.Fprintf(l.to, "brigd-queue: %s: %s\n", kind, words.Printable(fmt.Sprintf(format, v...)))
}

// Noticef implements server.Logger, as the other methods do.
func (l logger) Noticef(string, ...any) {}

// Debugf drops a line.
func (l logger) Debugf(string, ...any) {}

// Tracef drops a line.
func (l logger) Tracef(string, ...any) {}

// Warnf writes a line.
func (l logger) Warnf(format string, v ...any) {
	if !strings.HasPrefix(format, "Plaintext passwords") { // the local user's is one, in a file that its user alone reads
		l.line("warning", format, v)
	}
}

// Errorf writes a line. After a failed write, as on a full disk, the server refuses all writes until it is started
// again.
func (l logger) Errorf(format string, v ...any) {
	l.line("error", format, v)
	if strings.Contains(format, "Critical write error") || strings.Contains(format, "will be DISABLED") {
		select {
		case l.failed <- errors.New("its files cannot be written"):
		default: // it ends already
		}
	}
}

// Fatalf writes a line. The server ends by itself.
func (l logger) Fatalf(format string, v ...any) { l.line("fatal", format, v) }

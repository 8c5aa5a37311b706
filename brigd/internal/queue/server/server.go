// Package server runs brigd-queue, the server of a queue in a directory of this machine.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
	"brig/internal/words"
)

// Files of a brigd-queue in its directory: its socket, and the password of its local user.
const (
	SocketFile = "socket"
	SecretFile = "secret"
	LocalUser  = "brig-local"
)

// Server is a brigd-queue that this process has started, and starts again if it ends.
type Server struct {
	dir, config string
	stderr      io.Writer
	log         *slog.Logger
	stop        context.CancelFunc
	done        sync.WaitGroup
	pid         atomic.Int64 // of the server
}

// program is the server's, beside this one.
const program = "brigd-queue"

// restartAfter is the pause before a server that has ended is started again.
const restartAfter = time.Second

// Start starts the server of a directory and waits until it can be connected to. It ends with this process, even
// if that is killed: the server reads standard input until its end. config is a file for nats-server, or "".
func Start(ctx context.Context, dir, config string, stderr io.Writer, log *slog.Logger) (*Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(filepath.Dir(self), program)
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%s is neither beside brigd nor on PATH: %w; install it (make install), or name the "+
				"address of a nats-server", program, err)
		}
	}
	s := &Server{dir: dir, config: config, stderr: stderr, log: log}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	ended := make(chan error, 1)
	s.done.Go(func() { s.keep(run, path, ended) })
	for {
		if s.serves() {
			return s, nil
		}
		select {
		case err := <-ended:
			return nil, errors.Join(fmt.Errorf("%s --dir %s has ended (%w); the lines before this one have "+
				"the reason", program, words.Quote(dir), err), s.Close())
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), s.Close())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// serves reports whether the server that this process has started listens, and not one that another has started in the
// same directory.
func (s *Server) serves() bool {
	c, err := net.Dial("unix", filepath.Join(s.dir, SocketFile))
	if err != nil {
		return false
	}
	defer c.Close()
	var peer *unix.Ucred
	err = sys.Control(c.(*net.UnixConn), func(fd int) (err error) {
		peer, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED) // unix(7)
		return err
	})
	return err == nil && int64(peer.Pid) == s.pid.Load()
}

// keep runs the server, again and again until ctx ends. ended gets the first end.
func (s *Server) keep(ctx context.Context, path string, ended chan<- error) {
	for {
		err := s.run(ctx, path)
		if ctx.Err() != nil {
			return
		}
		s.log.Error("the queue's server has ended and is started again", "error", err)
		select {
		case ended <- fmt.Errorf("%w", err):
		default:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(restartAfter):
		}
	}
}

// run runs the server once. When ctx ends, so does its standard input.
func (s *Server) run(ctx context.Context, path string) error {
	args := []string{"--dir", s.dir, "--until-eof"}
	if s.config != "" {
		args = append(args, "--config", s.config)
	}
	cmd := exec.Command(path, args...)
	cmd.Stderr = s.stderr
	// the processors are for jails: more than some would only wake each other up
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(max(1, runtime.GOMAXPROCS(0)/4)))
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.pid.Store(int64(cmd.Process.Pid))
	stop := context.AfterFunc(ctx, func() { _ = in.Close() }) // fails only if it is closed
	defer stop()
	if err := cmd.Wait(); err != nil {
		return err
	}
	return errors.New("without an error")
}

// Close ends the server and waits for its end.
func (s *Server) Close() error {
	s.stop()
	s.done.Wait()
	return nil
}

// StoreOf returns how many bytes the server of a directory keeps at most: what brigd-queue takes of the disk.
func StoreOf(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil { // statfs(2)
		return 0, fmt.Errorf("the disk of %s: %w", dir, err)
	}
	return int64(st.Blocks) * st.Bsize / 4 * 3, nil
}

package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"brig/cmd/brig-bench/internal/peers"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// payload is what each start executes.
const payload = "/bin/true"

// Namespaces is a way to start a payload that is no tool's: with package os/exec, in the namespaces of a default jail.
// Nothing is mounted, dropped or filtered in it.
const Namespaces = "os/exec, namespaces"

// spawner starts payloads with tools, each prepared at its first start.
type spawner struct {
	cfg     Config
	tools   []*peers.Tool // all, looked for at the first start
	opened  []*peers.Tool
	readies map[string]*peers.Ready
}

// times starts and awaits a payload N times with the tool that Arg names, and gives the nanoseconds of each.
func (s *spawner) times(ctx context.Context, r Request) (reply Reply, err error) {
	once, err := s.way(ctx, r.Arg)
	if err != nil {
		return reply, err
	}
	for range r.N {
		start := time.Now()
		if err := once(); err != nil {
			return reply, err
		}
		reply.Nanos = append(reply.Nanos, time.Since(start).Nanoseconds())
	}
	return reply, nil
}

// way gives the function that starts and awaits one payload.
func (s *spawner) way(ctx context.Context, name string) (func() error, error) {
	if name == Namespaces {
		return func() error { return cloned(ctx).Run() }, nil
	}
	if r := s.readies[name]; r != nil {
		return r.Run, nil
	}
	if s.tools == nil {
		s.tools = peers.All(&peers.Host{Dir: s.cfg.Scratch, Brig: s.cfg.Brig, Root: os.Geteuid() == 0, Runner: nsjail.NewRunnerWith})
		s.readies = map[string]*peers.Ready{}
	}
	i := slices.IndexFunc(s.tools, func(t *peers.Tool) bool { return t.Info.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no tool has that name")
	}
	s.tools[i].Open(ctx)
	if why := s.tools[i].Info.Absent; why != "" {
		return nil, errors.New(why)
	}
	s.opened = append(s.opened, s.tools[i])
	r, err := s.tools[i].Prepare(peers.Job{Args: []string{payload}})
	if err != nil {
		return nil, err
	}
	s.readies[name] = r
	return r.Run, nil
}

func cloned(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, payload)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL,
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP}
	return cmd
}

func (s *spawner) close() (err error) {
	for _, r := range s.readies {
		err = errors.Join(err, r.Close())
	}
	for _, t := range s.opened {
		err = errors.Join(err, t.Close())
	}
	return err
}

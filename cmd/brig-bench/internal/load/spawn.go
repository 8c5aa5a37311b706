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

	"golang.org/x/sys/unix"
)

// payload is what each start executes.
const payload = "/bin/true"

// Namespaces is a way to start a payload without a tool: with package os/exec, in the namespaces of a default jail.
// Nothing is mounted, dropped or filtered in it.
const Namespaces = "os/exec, namespaces"

// spawner starts payloads with tools, each prepared at its first start.
type spawner struct {
	cfg     Config
	tools   []*peers.Tool // all, looked for at the first start
	readies map[string]*peers.Ready
}

// times starts and awaits a payload N times with the tool that Arg names, and returns the nanoseconds of each.
func (s *spawner) times(ctx context.Context, r Request) (nanos []int64, err error) {
	once, err := s.way(ctx, r.Arg)
	if err != nil {
		return nil, err
	}
	for range r.N {
		start := time.Now()
		if err := once(); err != nil {
			return nil, err
		}
		nanos = append(nanos, time.Since(start).Nanoseconds())
	}
	return nanos, nil
}

// way returns the function that starts and awaits one payload.
func (s *spawner) way(ctx context.Context, name string) (func() error, error) {
	if name == Namespaces {
		return func() error {
			cmd := exec.CommandContext(ctx, payload)
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL, Cloneflags: peers.Namespaces}
			return cmd.Run()
		}, nil
	}
	if r := s.readies[name]; r != nil {
		return r.Run, nil
	}
	if s.tools == nil {
		s.tools = peers.All(&peers.Host{Dir: s.cfg.Scratch, Brig: s.cfg.Brig, Root: os.Geteuid() == 0})
		s.readies = map[string]*peers.Ready{}
	}
	i := slices.IndexFunc(s.tools, func(t *peers.Tool) bool { return t.Info.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no tool has that name")
	}
	if why := s.tools[i].Info.Absent; why != "" {
		return nil, errors.New(why)
	}
	r, err := s.tools[i].Prepare(peers.Job{Args: []string{payload}})
	if err != nil {
		return nil, err
	}
	s.readies[name] = r
	return r.Run, nil
}

func (s *spawner) close() (err error) {
	for _, r := range s.readies {
		err = errors.Join(err, r.Close())
	}
	return err
}

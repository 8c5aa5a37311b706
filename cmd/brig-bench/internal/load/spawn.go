package load

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"brig/cmd/brig-bench/internal/peers"
)

// payload is what each start executes.
const payload = "/bin/true"

// Namespaces is the name of a way to start a payload without a tool: see peers.Namespaces.
const Namespaces = "os/exec, namespaces"

// spawner starts payloads with tools, each prepared at its first start.
type spawner struct {
	cfg     Config
	tools   []*peers.Tool // all, looked for at the first start
	readies map[string]*peers.Ready
}

// times starts and awaits a payload N times with the tool that Arg names, and returns the nanoseconds of each.
func (s *spawner) times(r Request) (nanos []int64, err error) {
	ready, err := s.ready(r.Arg)
	if err != nil {
		return nil, err
	}
	for range r.N {
		start := time.Now()
		if err := ready.Run(); err != nil {
			return nil, err
		}
		nanos = append(nanos, time.Since(start).Nanoseconds())
	}
	return nanos, nil
}

// ready prepares a tool at the first call.
func (s *spawner) ready(name string) (*peers.Ready, error) {
	if r := s.readies[name]; r != nil {
		return r, nil
	}
	if s.tools == nil {
		h := &peers.Host{Dir: s.cfg.Scratch, Brig: s.cfg.Brig, Root: os.Geteuid() == 0}
		s.tools = append(peers.All(h), peers.Namespaces(h, Namespaces))
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
	if err == nil {
		s.readies[name] = r
	}
	return r, err
}

func (s *spawner) close() (err error) {
	for _, r := range s.readies {
		err = errors.Join(err, r.Close())
	}
	return err
}

package load

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"brig/cmd/brig-bench/internal/peers"
)

// Namespaces is the name of a way to start a payload without a tool: see peers.Namespaces.
const Namespaces = "os/exec, namespaces"

// spawner starts payloads with tools, each prepared at its first start.
type spawner struct {
	cfg     Config
	tools   []*peers.Tool // all, looked for at the first start
	readies map[string]*peers.Ready
}

// find returns the tool of a name; in the arena it may be one with a network, or the same without.
func (s *spawner) find(name string) (*peers.Tool, error) {
	if s.tools == nil {
		h := &peers.Host{Dir: s.cfg.Scratch, Brig: s.cfg.Brig, Root: os.Geteuid() == 0}
		s.readies = map[string]*peers.Ready{}
		if !s.cfg.Arena {
			s.tools = append(peers.All(h), peers.Namespaces(h, Namespaces))
		} else {
			for _, r := range peers.Relays(h) {
				s.tools = append(s.tools, r)
				if r.Without != nil {
					s.tools = append(s.tools, r.Without)
				}
			}
		}
	}
	i := slices.IndexFunc(s.tools, func(t *peers.Tool) bool { return t.Info.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no tool %q", name)
	}
	if why := s.tools[i].Info.Absent; why != "" {
		return nil, errors.New(why)
	}
	return s.tools[i], nil
}

// times starts and awaits a payload N times with the tool that Arg names, and returns the nanoseconds of each. In the
// arena the payload waits until its network is ready.
func (s *spawner) times(r Request) (nanos []int64, err error) {
	tool, err := s.find(r.Arg)
	if err != nil {
		return nil, err
	}
	ready := s.readies[r.Arg]
	if ready == nil {
		payload := "/bin/true"
		if s.cfg.Arena {
			payload = "/bin/cat"
		}
		if ready, err = tool.Prepare(peers.Job{Args: []string{payload}}); err != nil {
			return nil, err
		}
		s.readies[r.Arg] = ready
	}
	for range r.N {
		took, err := ready.Time()
		if err != nil {
			return nil, err
		}
		nanos = append(nanos, took.Nanoseconds())
	}
	return nanos, nil
}

func (s *spawner) close() (err error) {
	for _, r := range s.readies {
		err = errors.Join(err, r.Close())
	}
	return err
}

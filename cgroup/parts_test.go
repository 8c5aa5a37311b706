package cgroup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

const (
	partVar = "BRIG_CGROUP_PART"
	argVar  = "BRIG_CGROUP_ARG"
)

// play is what a child does. Each part prints a line when it is ready, and ends when its input does.
func play(part string) error {
	arg := os.Getenv(argVar)
	switch part {
	case "wait":
		return ready("ready")
	case "create":
		return playCreate(arg)
	case "churn":
		return playChurn(arg)
	case "sweep":
		return playSweep(arg)
	case "allocate":
		return playAllocate(arg)
	case "spin":
		return playSpin()
	case "fork":
		return playFork()
	case "join":
		return playJoin(arg)
	}
	return errors.New("there is no such part")
}

// ready prints a line and waits for the end of the input.
func ready(line string) error {
	fmt.Println(line)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// order is what playCreate is to do.
type order struct {
	Layout *Layout // nil for the process's own
	Seed   uint64
	Limits Limits
	Rounds int  // how often to make and remove one before it stays
	Wait   bool // for a byte first
}

// made is the line that it prints.
type made struct {
	Dirs  []string
	Group string // its own afterwards
	Err   string
}

func playCreate(arg string) error {
	var o order
	if err := json.Unmarshal([]byte(arg), &o); err != nil {
		return err
	}
	if o.Wait {
		var b [1]byte
		if _, err := os.Stdin.Read(b[:]); err != nil {
			return err
		}
	}
	var out made
	for range o.Rounds {
		if g, err := create(o.Layout, &o.Limits); err != nil {
			out.Err = err.Error()
		} else if err := g.Remove(); err != nil {
			out.Err = err.Error()
		}
	}
	g, err := create(o.Layout, &o.Limits)
	if err != nil {
		out.Err = err.Error()
	} else {
		out.Dirs = dirsOf(g)
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	out.Group = groups(string(self))[""]
	line, err := json.Marshal(out)
	if err != nil {
		return err
	}
	if err := ready(string(line)); err != nil || g == nil {
		return err
	}
	return g.Remove()
}

func create(l *Layout, want *Limits) (*Group, error) {
	if l == nil {
		var err error
		if l, err = Detect(""); err != nil {
			return nil, err
		}
	}
	p := Resolve(want, l)
	if len(p.Missing) > 0 {
		return nil, fmt.Errorf("missing: %v", p.Missing)
	}
	return p.Create()
}

// dirsOf are the directories of a group in the order of its branches.
func dirsOf(g *Group) (list []string) {
	for _, d := range g.dirs {
		if d.fd >= 0 {
			list = append(list, d.path())
		}
	}
	return list
}

// playSweep sweeps until its input ends.
func playSweep(arg string) error {
	var o order
	if err := json.Unmarshal([]byte(arg), &o); err != nil {
		return err
	}
	fmt.Println("ready")
	done := ended()
	for {
		if _, _, err := o.Layout.Sweep(0); err != nil {
			return err
		}
		select {
		case <-done:
			return nil
		default:
		}
	}
}

// ended tells of the end of the input.
func ended() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	return done
}

// playChurn makes groups, each with a process that must live for as long as the group is in use, and in the end kills
// itself over a last one.
func playChurn(arg string) error {
	var o order
	if err := json.Unmarshal([]byte(arg), &o); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(o.Seed, 0))
	for round := 0; ; round++ {
		g, err := create(o.Layout, &o.Limits)
		if err != nil {
			return err
		}
		cmd := exec.Command("/bin/cat")
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		for _, d := range g.dirs {
			if err := d.put("cgroup.procs", strconv.Itoa(cmd.Process.Pid)); err != nil {
				return fmt.Errorf("the group is lost before its process came: %w", err)
			}
		}
		time.Sleep(time.Duration(r.IntN(3000)) * time.Microsecond) // at random, for the sweepers
		for _, d := range g.dirs {
			if in, err := (&Group{dirs: []*directory{d}}).Populated(); err != nil || !in {
				return fmt.Errorf("%s: populated %v, %v", d.path(), in, err)
			}
		}
		if round == o.Rounds {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		in.Close()
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("the process in it: %w", err)
		}
		if r.IntN(2) == 0 {
			runtime.Gosched()
		}
		if err := g.Remove(); err != nil {
			return err
		}
	}
}

// playAllocate waits for a byte and then takes memory, so many MiB.
func playAllocate(arg string) error {
	var n int
	if _, err := fmt.Sscan(arg, &n); err != nil {
		return err
	}
	fmt.Println("ready")
	var b [1]byte
	if _, err := os.Stdin.Read(b[:]); err != nil {
		return err
	}
	var keep [][]byte
	for range n {
		p := make([]byte, 1<<20)
		for i := 0; i < len(p); i += 4096 {
			p[i] = 1
		}
		keep = append(keep, p)
	}
	err := ready("done")
	runtime.KeepAlive(keep)
	return err
}

func playSpin() error {
	fmt.Println("ready")
	done := ended()
	for n := 0; ; n++ {
		select {
		case <-done:
			return nil
		default:
		}
	}
}

// playFork makes processes all the time, one after the other.
func playFork() error {
	fmt.Println("ready")
	done := ended()
	for {
		_ = exec.Command("/bin/true").Run() // a limit may refuse it
		select {
		case <-done:
			return nil
		default:
		}
	}
}

// playJoin writes itself into the groups whose files it has inherited.
func playJoin(arg string) error {
	var n int
	if _, err := fmt.Sscan(arg, &n); err != nil {
		return err
	}
	for fd := range n {
		if _, err := syscall.Write(3+fd, []byte("0")); err != nil {
			return err
		}
	}
	return ready("ready")
}

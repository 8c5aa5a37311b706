package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"brig/cmd/brig-bench/internal/result"

	"golang.org/x/sys/unix"
)

// Contenders of the network measurements: the same process without a jail, the same namespaces without a network, and brig.
const (
	Direct   = "direct loopback"
	Isolated = "namespaces"
	Egress   = "brig run, egress"
)

// Relay is a way from a jail to a server outside. Info.Absent says why it takes no part.
type Relay struct {
	Info result.Tool
	// Without names the same jail without the network: what a start is compared with.
	Without string
	jail    func(network bool, j Job) []string // the whole command line; nil: the job runs in namespaces of its own
	attach  func(pid int, ready *Link) error   // gives those of a process a network; nil: the jail has it
	host    *Host
}

// Link is a network that a jail has.
type Link struct {
	// Pid is that of the process that relays, and Tree says that those below it do so, too: 0 where nothing relays.
	Pid   int
	Tree  bool
	close func() error
}

// Close takes the network back and waits for who relays.
func (l *Link) Close() error {
	if l.close == nil {
		return nil
	}
	return l.close()
}

// Relays looks for every way to a server at an address ("192.0.2.1:80"), in the order in which they are shown. The caller
// is in a network namespace in which the server listens.
func Relays(h *Host, server string) []*Relay {
	return []*Relay{direct(h), egress(h, server), slirp4netns(h), pasta(h)}
}

func direct(h *Host) *Relay {
	return &Relay{Info: result.Tool{Name: Direct}, host: h, jail: func(_ bool, j Job) []string { return j.outside() }}
}

// installed finds a relay's program, or says why it takes no part: both there are make a device in the jail.
func (r *Relay) installed(program, pkg string) (path string, ok bool) {
	path, err := lookPath(program)
	if err != nil {
		r.Info.Absent = notInstalled(pkg)
		return "", false
	}
	if err := unix.Access("/dev/net/tun", unix.R_OK|unix.W_OK); err != nil {
		r.Info.Absent = "makes no network here: /dev/net/tun: " + err.Error()
		return "", false
	}
	return path, true
}

// outside is the job's command where nothing is bound: what is shown at its target is at its source.
func (j Job) outside() []string {
	args := append([]string(nil), j.Args...)
	for _, b := range j.Binds {
		if args[0] == b.Target {
			args[0] = b.Source
		}
	}
	return args
}

// Command is a job in the jail, or in namespaces that wait for a network, not yet started.
func (r *Relay) Command(ctx context.Context, network bool, j Job) *exec.Cmd {
	argv := j.outside()
	attr := &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if r.jail != nil {
		argv = r.jail(network, j)
	} else {
		attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.SysProcAttr, cmd.WaitDelay = r.host.env(), attr, patience
	return cmd
}

// Attach gives a started Command its network and returns when that is there.
func (r *Relay) Attach(pid int) (*Link, error) {
	if r.attach == nil {
		l := &Link{}
		if r.Info.Name != Direct {
			l.Pid = pid // the keeper
		}
		return l, nil
	}
	l := &Link{Tree: true}
	if err := r.attach(pid, l); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", r.Info.Name, err), l.Close())
	}
	return l, nil
}

// Time starts a payload in the jail, with the network ready or without one, and waits for its end: /bin/true, and in
// namespaces cat, which ends when it may, after the network is there. Taking the network back afterwards does not count.
func (r *Relay) Time(ctx context.Context, network bool) (took time.Duration, err error) {
	if r.jail != nil {
		cmd := r.Command(ctx, network, Job{Args: []string{"/bin/true"}})
		start := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, oneLine(string(out)))
		}
		return time.Since(start), err
	}
	cmd := r.Command(ctx, network, Job{Args: []string{"/bin/cat"}})
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	l := &Link{}
	if network {
		if l, err = r.Attach(cmd.Process.Pid); err != nil {
			return 0, errors.Join(err, in.Close(), ignoreExit(cmd.Wait()))
		}
	}
	err = errors.Join(in.Close(), cmd.Wait())
	took = time.Since(start)
	return took, errors.Join(err, l.Close())
}

// ignoreExit is an error less that of a process that was killed.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"brig/cmd/brig-bench/internal/result"

	"golang.org/x/sys/unix"
)

// Contenders of the network measurements: the process without a jail, namespaces without a network, and brig.
const (
	Direct   = "direct loopback"
	Isolated = "namespaces"
	Egress   = "brig run, egress"
	slirp    = "slirp4netns"
)

// Relay is a way from a jail to a server outside. Info.Absent is the reason why it takes no part.
type Relay struct {
	Info    result.Tool
	Without string // the same jail without the network, with which a start is compared

	net  string // the command line; "" for namespaces that are given a network
	path string // of the program
	host *Host
}

// egressLine is brig's, for a jail that may reach one server. Its defaults are lower than the connections that are
// measured.
var egressLine = strings.Replace(brigLine, "run\n",
	"run --net egress --allow tcp://$server --net-limit max_connections=4096 --ulimit nofile=4096:4096\n", 1)

// slirpLine is that of engines. Descriptor 3 is written to when the network is ready; at the end of descriptor 4
// slirp4netns ends.
const slirpLine = `$program --configure --mtu=65520 --disable-host-loopback --enable-sandbox --enable-seccomp
	--ready-fd=3 --exit-fd=4 $pid tap0`

// Namespaces are those of a default jail: namespaces(7).
const Namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
	unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// Relays looks for every way to a server, in the order in which they are shown.
func Relays(h *Host) []*Relay {
	all := []*Relay{
		{Info: result.Tool{Name: Direct}, net: "@arg $1"},
		{Info: result.Tool{Name: Egress, Differs: []string{
			"allowed is one address and port; --net-limit and --ulimit raise two bounds for a thousand connections"}},
			net: egressLine, Without: "brig run"},
		{Info: result.Tool{Name: slirp, Differs: []string{"a device and an address in namespaces of their own, as engines " +
			"set it up; nothing is mounted, dropped or filtered in them", "any address and port may be reached"}},
			Without: Isolated},
	}
	for i, program := range []string{"", "brig", slirp} {
		r := all[i]
		var err error
		r.host = h
		if r.path, err = h.find(program); err != nil {
			r.Info.Absent = absent(program, program)
		} else if program == slirp && unix.Access("/dev/net/tun", unix.R_OK|unix.W_OK) != nil {
			r.Info.Absent = "makes no network here: /dev/net/tun cannot be opened"
		} else if program != "" {
			r.Info.Version = version(h.env(), r.path, map[string]string{"brig": "version", slirp: "--version"}[program])
		}
	}
	return all
}

// Command is a job in the jail, or in namespaces that wait for a network, not yet started.
func (r *Relay) Command(ctx context.Context, network bool, server string, j Job) *exec.Cmd {
	line, attr := r.net, &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if line == "" {
		line, attr.Cloneflags = "@arg $1", Namespaces
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	} else if line != "@arg $1" && !network {
		line = brigLine
	}
	if line == "@arg $1" {
		j.Args = j.outside()
	}
	v := r.host.vars(r.path, j)
	v.set("server", server)
	argv := expand(line, v)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.SysProcAttr, cmd.WaitDelay = r.host.env(), attr, patience
	return cmd
}

// Link is a network that a jail has.
type Link struct {
	Pid   int // of the process that relays; 0 for none
	close func() error
}

// Close removes the network and waits for the process that relays.
func (l *Link) Close() error {
	if l.close == nil {
		return nil
	}
	return l.close()
}

// Attach returns when a started Command has its network.
func (r *Relay) Attach(pid int) (*Link, error) {
	switch r.Info.Name {
	case Direct:
		return &Link{}, nil
	case Egress: // the keeper relays
		return &Link{Pid: pid}, nil
	}
	l, err := r.slirp(pid)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Info.Name, err)
	}
	return l, nil
}

// slirp starts slirp4netns and waits until the network is ready.
func (r *Relay) slirp(pid int) (_ *Link, err error) {
	ready, theirReady, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ready.Close()) }()
	theirEnd, end, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirReady.Close())
	}
	v := vars{}
	v.set("program", r.path)
	v.set("pid", fmt.Sprint(pid))
	argv := expand(slirpLine, v)
	var said strings.Builder
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = r.host.env(), &said, &said, patience
	cmd.ExtraFiles = []*os.File{theirReady, theirEnd}
	err = cmd.Start()
	if err = errors.Join(err, theirReady.Close(), theirEnd.Close()); err != nil {
		return nil, errors.Join(err, end.Close())
	}
	l := &Link{Pid: cmd.Process.Pid, close: func() error {
		stop := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // Wait returns the error
		defer stop.Stop()
		return errors.Join(end.Close(), cmd.Wait())
	}}
	if err := ready.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if n, err := ready.Read(make([]byte, 1)); n != 1 {
		return nil, fmt.Errorf("no network: %w: %w: %s", err, l.Close(), oneLine(said.String()))
	}
	return l, nil
}

// Time starts a payload in the jail, with the network ready or without one, and waits for its end: /bin/true, and in
// namespaces cat, which ends when it may, after the network is ready. Removing the network does not count.
func (r *Relay) Time(ctx context.Context, network bool, server string) (took time.Duration, err error) {
	payload := "/bin/true"
	if r.net == "" {
		payload = "/bin/cat"
	}
	cmd := r.Command(ctx, network, server, Job{Args: []string{payload}})
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
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed
			return 0, errors.Join(err, in.Close())
		}
	}
	err = errors.Join(in.Close(), cmd.Wait())
	took = time.Since(start)
	return took, errors.Join(err, l.Close())
}

package peers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Contenders of the network measurements: the process without a jail, namespaces without a network, and brig.
const (
	Direct   = "direct loopback"
	Isolated = "namespaces"
	Egress   = "brig run, egress"
	slirp    = "slirp4netns"
)

// Server is the address that the jails with a network may reach: no loopback one, which relays treat as their own.
const Server = "10.9.9.9:17000"

// egressLine is brig's, for a jail that may reach one server. Its defaults are lower than the connections that are
// measured.
var egressLine = strings.Replace(brigLine, "run\n",
	"run --net egress --allow tcp://"+Server+" --net-limit max_connections=4096 --ulimit nofile=4096:4096\n", 1)

// slirpLine is that of engines. Descriptor 3 is written to when the network is ready; at the end of descriptor 4
// slirp4netns ends.
const slirpLine = `$program --configure --mtu=65520 --disable-host-loopback --enable-sandbox --enable-seccomp
	--ready-fd=3 --exit-fd=4 $pid tap0`

// Relays looks for every way to a server, in the order in which they are shown.
func Relays(h *Host) []*Tool {
	direct := peer{name: Direct, binds: true, line: bareLine}.tool(h)
	egress := peer{name: Egress, program: "brig", version: "version", binds: true, line: egressLine, differs: []string{
		"allowed is one address and port; --net-limit and --ulimit raise two bounds for a thousand connections"}}.tool(h)
	egress.Without = peer{name: "brig run", program: "brig", binds: true, line: brigLine}.tool(h)
	slirp := peer{name: slirp, program: slirp, pkg: slirp, version: "--version", device: "/dev/net/tun", binds: true,
		line: bareLine, namespaces: true, differs: []string{
			"a device and an address in namespaces of their own, as engines set it up; " +
				"nothing is mounted, dropped or filtered in them", "any address and port may be reached"}}.tool(h)
	slirp.Without = peer{name: Isolated, line: bareLine, namespaces: true}.tool(h)
	return []*Tool{direct, egress, slirp}
}

// inNamespaces makes the namespaces of a default jail: namespaces(7). The caller is their root.
func inNamespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true,
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
			unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}}
}

// runSlirp starts slirp4netns for the namespaces of a process and waits until the network is ready.
func runSlirp(env []string, program string, pid int) (_ int, _ func() error, err error) {
	ready, theirReady, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, ready.Close()) }()
	theirEnd, end, err := os.Pipe()
	if err != nil {
		return 0, nil, errors.Join(err, theirReady.Close())
	}
	v := vars{}
	v.set("program", program)
	v.set("pid", fmt.Sprint(pid))
	argv := expand(slirpLine, v)
	var said strings.Builder
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, &said, &said, patience
	cmd.ExtraFiles = []*os.File{theirReady, theirEnd}
	err = cmd.Start()
	if err = errors.Join(err, theirReady.Close(), theirEnd.Close()); err != nil {
		return 0, nil, errors.Join(err, end.Close())
	}
	closeAll := func() error {
		stop := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // Wait returns the error
		defer stop.Stop()
		return errors.Join(end.Close(), cmd.Wait())
	}
	if err := ready.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, nil, errors.Join(err, closeAll())
	}
	if n, err := ready.Read(make([]byte, 1)); n != 1 {
		return 0, nil, fmt.Errorf("%s: no network: %w: %w: %s", slirp, err, closeAll(), oneLine(said.String()))
	}
	return cmd.Process.Pid, closeAll, nil
}

// Time starts a payload in the jail and waits for its end. The payload may begin when its standard input ends: its
// network is ready then. out receives what it prints. Removing the network does not count.
func (r *Ready) Time(out io.Writer) (took time.Duration, err error) {
	in, hold, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	p, err := r.Start(Streams{In: in, Out: out})
	if err = errors.Join(err, hold.Close(), in.Close()); p == nil {
		return 0, err
	}
	err = errors.Join(err, p.Wait())
	took = time.Since(start)
	return took, errors.Join(err, p.Close())
}

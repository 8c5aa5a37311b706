package peers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"brig/cmd/brig-bench/internal/result"
)

func slirp4netns(h *Host) *Relay {
	r := &Relay{Info: result.Tool{Name: "slirp4netns", Differs: []string{
		"a device and an address in namespaces of their own, as engines set it up; nothing is mounted, dropped or filtered in them",
		"any address and port may be reached"}}, Without: Isolated, host: h}
	path, ok := r.installed("slirp4netns", "slirp4netns")
	if !ok {
		return r
	}
	r.Info.Version = version(h.env(), path, "--version")
	r.attach = func(pid int, l *Link) error { return r.slirp(path, pid, l) }
	return r
}

// slirpArgs is the command line of engines. Descriptor 3 is written to when the network is there; at the end of descriptor
// 4 slirp4netns ends.
func slirpArgs(path string, pid int) []string {
	return []string{path, "--configure", "--mtu=65520", "--disable-host-loopback", "--enable-sandbox", "--enable-seccomp",
		"--ready-fd=3", "--exit-fd=4", strconv.Itoa(pid), "tap0"}
}

func (r *Relay) slirp(path string, pid int, l *Link) (err error) {
	ready, theirReady, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ready.Close()) }()
	theirEnd, end, err := os.Pipe()
	if err != nil {
		return errors.Join(err, theirReady.Close())
	}
	var said strings.Builder
	argv := slirpArgs(path, pid)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles, cmd.WaitDelay = r.host.env(), &said, &said, []*os.File{theirReady, theirEnd}, patience
	err = cmd.Start()
	err = errors.Join(err, theirReady.Close(), theirEnd.Close())
	if err != nil {
		return errors.Join(err, end.Close())
	}
	l.Pid = cmd.Process.Pid
	l.close = func() error {
		stop := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // whatever goes wrong shows in Wait
		defer stop.Stop()
		return errors.Join(end.Close(), cmd.Wait())
	}
	if err := ready.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if n, err := ready.Read(make([]byte, 1)); n != 1 {
		ended := l.Close()
		l.close = nil
		return fmt.Errorf("no network: %w: %w: %s", err, ended, oneLine(said.String()))
	}
	return nil
}

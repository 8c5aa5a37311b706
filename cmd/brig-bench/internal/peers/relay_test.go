package peers

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/must"
)

// A missing peer is listed with the reason, and the bare process always is.
func TestRelaysAreAbsent(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, r := range Relays(&Host{Dir: t.TempDir(), Brig: "/no/brig"}) {
		switch r.Info.Name {
		case Direct:
			if r.Info.Absent != "" || r.Without != nil {
				t.Errorf("%+v", r)
			}
		case Egress:
			if !strings.Contains(r.Info.Absent, "--brig") || r.Without.Info.Name != "brig run" {
				t.Errorf("%+v", r)
			}
		default:
			if !strings.Contains(r.Info.Absent, "Debian's package is ") {
				t.Errorf("%+v", r)
			}
		}
	}
}

// If the network cannot be made, Start returns an error and ends the jail.
func TestNoNetwork(t *testing.T) {
	var pid int
	c := &command{name: "t", argv: func(string) []string { return []string{"/bin/sleep", "60"} },
		network: func(of int) (int, func() error, error) { pid = of; return 0, nil, errors.New("no network") }}
	r := must.Get(c.ready())(t)
	defer r.Close()
	if p, err := r.Start(Streams{}); err == nil || p != nil || err.Error() != "no network" {
		t.Errorf("%+v, %v", p, err)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("the process goes on: %v", err)
	}
}

// slirp4netns is no network for a process that has ended.
func TestSlirpFails(t *testing.T) {
	path, err := lookPath(slirp)
	if err != nil {
		t.Skip(err)
	}
	gone := exec.Command("/bin/true")
	must.Do(t, gone.Run())
	if _, _, err := runSlirp(nil, path, gone.Process.Pid); err == nil {
		t.Error("a process that has ended has a network")
	}
}

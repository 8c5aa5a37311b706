package peers

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestOutside(t *testing.T) {
	j := Job{Args: []string{"/program", "/data"}, Binds: []Bind{{Source: "/host/data", Target: "/data"}, {Source: "/host/program", Target: "/program"}}}
	if got := j.outside(); !slices.Equal(got, []string{"/host/program", "/data"}) || j.Args[0] != "/program" {
		t.Errorf("%q of %q", got, j.Args)
	}
}

// A missing peer is listed with the reason, and the bare process always is.
func TestRelaysAreAbsent(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, r := range Relays(&Host{Dir: t.TempDir(), Brig: "/no/brig"}) {
		switch r.Info.Name {
		case Direct:
			if r.Info.Absent != "" || r.Without != "" {
				t.Errorf("%+v", r)
			}
		case Egress:
			if !strings.Contains(r.Info.Absent, "--brig") || r.Without != "brig run" {
				t.Errorf("%+v", r)
			}
		default:
			if !strings.Contains(r.Info.Absent, "Debian's package is ") {
				t.Errorf("%+v", r)
			}
		}
	}
}

// A relay that cannot be attached reports it, and the jail does not go on.
func TestAttachFails(t *testing.T) {
	h := &Host{Dir: t.TempDir(), Brig: "/no/brig", Root: os.Geteuid() == 0}
	for _, r := range Relays(h) {
		if r.Info.Absent != "" || r.net != "" {
			continue
		}
		gone := exec.Command("/bin/true")
		if err := gone.Run(); err != nil {
			t.Fatal(err)
		}
		if l, err := r.Attach(gone.Process.Pid); err == nil || l != nil {
			t.Errorf("%s gives a process a network that has ended: %+v", r.Info.Name, l)
		}
	}
}

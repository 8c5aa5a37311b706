package peers

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRelayCommandLines(t *testing.T) {
	for _, tt := range []struct {
		got  []string
		want string
	}{
		{egressArgs("/bin/brig", "192.0.2.1:80", plain), "/bin/brig run --net egress --allow tcp://192.0.2.1:80 --net-limit max_connections=4096 -- /bin/true"},
		{egressArgs("/bin/brig", "192.0.2.1:80", Job{Args: []string{"/p"}, Binds: []Bind{{Source: "/host/p", Target: "/p"}}}),
			"/bin/brig run --net egress --allow tcp://192.0.2.1:80 --net-limit max_connections=4096 --ro-bind /host/p /p -- /p"},
		{slirpArgs("/bin/s", 12), "/bin/s --configure --mtu=65520 --disable-host-loopback --enable-sandbox --enable-seccomp --ready-fd=3 --exit-fd=4 12 tap0"},
		{pastaArgs("/bin/p", false, "/f", 12), "/bin/p --config-net --quiet -4 -t none -u none -T none -U none --no-map-gw --pid /f 12"},
		{pastaArgs("/bin/p", true, "/f", 12), "/bin/p --config-net --quiet -4 -t none -u none -T none -U none --no-map-gw --pid /f --runas 0 12"},
	} {
		if got := strings.Join(tt.got, " "); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

func TestOutside(t *testing.T) {
	j := Job{Args: []string{"/program", "/data"}, Binds: []Bind{{Source: "/host/data", Target: "/data"}, {Source: "/host/program", Target: "/program"}}}
	if got := j.outside(); !slices.Equal(got, []string{"/host/program", "/data"}) || j.Args[0] != "/program" {
		t.Errorf("%q of %q", got, j.Args)
	}
}

func TestPastaVersion(t *testing.T) {
	for said, want := range map[string]string{
		"pasta unknown version\nCopyright Red Hat\nLicense GPL version 3 or later": "",
		"pasta 0.0~git20230309.7c7625d-1\nCopyright":                               "0.0~git20230309.7c7625d-1",
		"Failed to send\npasta 2023_12_30.f091893":                                 "2023_12_30.f091893",
		"": "",
	} {
		if got := pastaVersion(said); got != want {
			t.Errorf("%q: %q", said, got)
		}
	}
}

// Who is not there says why, and the bare process always is.
func TestRelaysAreAbsent(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, r := range Relays(&Host{Dir: t.TempDir(), Brig: "/no/brig"}, "192.0.2.1:80") {
		switch r.Info.Name {
		case Direct:
			if r.Info.Absent != "" || r.Without != "" {
				t.Errorf("%+v", r)
			}
		case Egress:
			if !strings.Contains(r.Info.Absent, "--brig") {
				t.Errorf("%+v", r)
			}
		default:
			if !strings.Contains(r.Info.Absent, "Debian's package is ") {
				t.Errorf("%+v", r)
			}
		}
	}
}

// A relay that cannot be attached says so, and the jail does not go on.
func TestAttachFails(t *testing.T) {
	h := &Host{Dir: t.TempDir(), Brig: "/no/brig", Root: os.Geteuid() == 0}
	for _, r := range Relays(h, "192.0.2.1:80") {
		if r.Info.Absent != "" || r.attach == nil {
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

func TestEndProcess(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := endProcess(fd); err != nil {
		t.Error(err)
	}
	if err := unix.PidfdSendSignal(fd, 0, nil, 0); err != unix.ESRCH {
		t.Errorf("it is not reaped: %v", err)
	}
	if err := endProcess(fd); err != nil {
		t.Errorf("one that has ended: %v", err)
	}
}

package rig

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// TestMain runs the tests as root and as an ordinary user; Enter's own processes are already one of them.
func TestMain(m *testing.M) {
	if Inside() {
		os.Exit(m.Run())
	}
	os.Exit(asuser.Main(m))
}

func newRig(t *testing.T) *Rig {
	t.Helper()
	return must.Get(New(t.TempDir()))(t)
}

// TestServers reaches every server of W from H, without any jail: a suite that reaches nothing would prove nothing.
func TestServers(t *testing.T) {
	if !Enter(t, Self) {
		return
	}
	r := newRig(t)
	before := must.Get(TakeSnapshot(true))(t)
	for _, c := range []struct{ network, address, send, want string }{
		{"tcp", GoodAddr + ":17000", "x\n", "good " + GoodAddr},
		{"tcp", evilAddr + ":22", "x\n", "EVIL"},
		{"tcp", "169.254.169.254:80", "GET / HTTP/1.0\r\nHost: good.example\r\n\r\n", "EVIL site"},
		{"tcp", "10.0.0.1:80", "GET / HTTP/1.0\r\n\r\n", "EVIL"},
		{"tcp", "good.example:80", "GET / HTTP/1.0\r\nHost: good.example\r\n\r\n", "good site good.example"},
		{"tcp", "good.example:80", "GET / HTTP/1.0\r\nHost: evil.example\r\n\r\n", "EVIL site evil.example"},
		{"tcp", "unheard.of:80", "GET / HTTP/1.0\r\n\r\n", "EVIL"},
		{"tcp", "127.0.0.1:80", "GET / HTTP/1.0\r\n\r\n", "SECRET"},
		{"tcp", hostPublic + ":80", "GET / HTTP/1.0\r\n\r\n", "SECRET"},
		{"udp", GoodAddr + ":123", "time", "good time"},
		{"udp", "8.8.8.8:443", "quic", "EVIL quic"},
		{"tcp6", "[" + GoodAddr6 + "]:17000", "x\n", "good"},
		{"tcp6", "[fd00::1]:80", "GET / HTTP/1.0\r\n\r\n", "EVIL"},
		{"tcp6", "[64:ff9b::a00:1]:22", "x\n", "EVIL"},
	} {
		if c.network == "tcp6" && !r.IPv6 {
			continue
		}
		if got := exchange(t, c.network, c.address, c.send); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: got %q, want %q in it", c.network, c.address, got, c.want)
		}
	}
	visits := r.Visits.Take()
	for _, want := range []Visit{{"dns", WorldAddr + ":53", "unheard.of", true}, {"secret", "127.0.0.1:80", "", true},
		{"dns", WorldAddr + ":53", "good.example", false}, {"udp", "8.8.8.8:443", "quic", true}, {"tcp", GoodAddr + ":17000", "", false}} {
		if !slices.Contains(visits, want) {
			t.Errorf("no server has seen %v; they saw %v", want, visits)
		}
	}
	after := must.Get(TakeSnapshot(true))(t)
	if diff := before.Diff(after); diff != "" {
		t.Errorf("nothing was changed, and the snapshots differ:\n%s", diff)
	}
}

func exchange(t *testing.T, network, address, send string) string {
	t.Helper()
	c, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		t.Errorf("%s %s: %v", network, address, err)
		return ""
	}
	defer c.Close()
	must.Do(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	if _, err := io.WriteString(c, send); err != nil {
		t.Error(err)
	}
	buf := make([]byte, 4096)
	n, err := c.Read(buf)
	if err != nil {
		t.Errorf("%s %s: %v", network, address, err)
	}
	return string(buf[:n])
}

// TestCapture: what leaves is seen, what does not leave is not.
func TestCapture(t *testing.T) {
	if !Enter(t, Self) {
		return
	}
	r := newRig(t)
	must.Get(r.Capture.Take())(t)
	exchange(t, "tcp", evilAddr+":22", "x\n")
	exchange(t, "tcp", GoodAddr+":22", "x\n")
	exchange(t, "udp", "8.8.8.8:9999", "x")
	exchange(t, "tcp", "127.0.0.1:80", "x\n")
	exchange(t, "tcp", HostAddr+":80", "x\n")
	want := []string{"udp 8.8.8.8:9999", "tcp " + GoodAddr + ":22", "tcp " + evilAddr + ":22"}
	if r.IPv6 {
		exchange(t, "tcp6", "[fd00::1]:22", "x\n")
		want = append(want, "tcp [fd00::1]:22")
	}
	packets, err := r.Capture.Take()
	if err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(packets); got != fmt.Sprint(want) {
		t.Errorf("captured %s, want %s", got, want)
	}
	if packets, err := r.Capture.Take(); len(packets) > 0 || err != nil {
		t.Errorf("Take has not forgotten: %v %v", packets, err)
	}
}

// TestSnapshotSeesChanges: each kind of change shows.
func TestSnapshotSeesChanges(t *testing.T) {
	if !Enter(t, Self) {
		return
	}
	newRig(t)
	var tcp, udp io.Closer // keeps the listeners open
	defer func() { tcp.Close(); udp.Close() }()
	const forwarding = "/proc/sys/net/ipv4/conf/h0/forwarding" // as the host's: docker turns that on
	was := must.Get(os.ReadFile(forwarding))(t)
	for what, change := range map[string]func() error{
		"ip -o link":                     func() error { return ip("link set h0 mtu 1400") },
		"ip -o addr":                     func() error { return ip("addr add 100.127.0.9/32 dev h0") },
		"ip -4 route show table all":     func() error { return ip("route add 192.0.2.0/24 dev h0") },
		"ip -4 rule":                     func() error { return ip("rule add from 192.0.2.7 table 7") },
		"sysctls: net/ipv4/conf/h0/forw": func() error { return os.WriteFile(forwarding, []byte{was[0] ^ 1}, 0) },
		"listeners: tcp":                 func() (err error) { tcp, err = net.Listen("tcp4", "127.0.0.1:0"); return err },
		"listeners: udp":                 func() (err error) { udp, err = net.ListenPacket("udp4", "127.0.0.1:0"); return err },
	} {
		before := must.Get(TakeSnapshot(true))(t)
		if err := change(); err != nil {
			if os.IsPermission(err) {
				continue // a sysctl's file is the real root's
			}
			t.Fatal(what, err)
		}
		after := must.Get(TakeSnapshot(true))(t)
		if diff := before.Diff(after); !strings.Contains(diff, what) {
			t.Errorf("%s: the snapshots differ only in %q", what, diff)
		}
	}
}

// TestCurl: the sites, by name and over TLS, as curl(1) sees them; started as the caller's programs are.
func TestCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl here")
	}
	if !Enter(t, Self) {
		return
	}
	r := newRig(t)
	for url, want := range map[string]string{
		"http://good.example/":         "good site good.example",
		"https://good.example/":        "good site good.example",
		"https://evil.example/":        "EVIL site evil.example",
		"https://shared.example:8443/": "good site shared.example:8443",
		"http://good.example/bytes/10": "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
	} {
		cmd := exec.Command("curl", "-sS", "-m", "10", "--output", "-", "--cacert", r.caFile(), url)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		must.Do(t, Start(cmd))
		if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v %q, want %q in it", url, err, out.String(), want)
		}
	}
	cmd := exec.Command("sh", "-c", "grep CapEff /proc/self/status; id -u")
	var out bytes.Buffer
	cmd.Stdout = &out
	must.Do(t, Start(cmd))
	if err := cmd.Wait(); err != nil || os.Getuid() != 0 && !strings.Contains(out.String(), "0000000000000000\n"+strconv.Itoa(os.Getuid())) {
		t.Errorf("H's programs run with %q, %v", out.String(), err)
	}
	if _, err := http.Get("https://good.example/"); err == nil {
		t.Error("the rig's authority is trusted without being named")
	}
}

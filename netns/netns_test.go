package netns

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"brig/internal/program"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

func TestLoopback(t *testing.T) {
	p := program.New(3)
	Loopback(p, 0)
	want := []string{
		"socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, 0) = $3",
		`ioctl($3, SIOCSIFFLAGS, {ifr_name="lo", ifr_flags=IFF_UP|IFF_RUNNING})`,
		"close($3)",
	}
	if len(p.Ops) != len(want) {
		t.Fatalf("%d operations:\n%s", len(p.Ops), p)
	}
	for i := range want {
		if got := p.Ops[i].Call(); got != want[i] || p.Ops[i].Label != "net" {
			t.Errorf("operation %d: got %s %s, want net %s", i+1, p.Ops[i].Label, got, want[i])
		}
		if p.Ops[i].Trial {
			t.Errorf("operation %d may fail: a jail without lo would pass for one with it", i+1)
		}
	}
	// the slot is free again, so that many steps do not exhaust them
	if s := p.Open("after", 0); s != 3 {
		t.Errorf("the next slot is %d", s)
	}
	blob := must.Get(p.Encode(program.Request{Cgroup: -1}))(t)
	// struct ifreq as netdevice(7) has it: the text of an operation is not what the launcher performs
	ifr := append([]byte("lo"), make([]byte, unix.IFNAMSIZ-2)...)
	ifr = binary.NativeEndian.AppendUint16(ifr, unix.IFF_UP|unix.IFF_RUNNING)
	if !bytes.Contains(blob, ifr) {
		t.Error("the program has no struct ifreq for lo with IFF_UP")
	}
	if strings.Contains(p.String(), "\x00") {
		t.Error("a NUL byte in the text")
	}
}

func TestDescriptor(t *testing.T) {
	p := program.New(3)
	if ns := Descriptor(p); ns != 4 || p.Open("after", 0) != 3 {
		t.Errorf("the namespace has slot %d, or the socket's slot is not free again", ns)
	}
	want := []string{"socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, 0) = $3", "ioctl($3, SIOCGSKNS, 0) = $4", "close($3)"}
	for i := range want {
		if got := p.Ops[i].Call(); got != want[i] {
			t.Errorf("operation %d: %s, want %s", i+1, got, want[i])
		}
	}
}

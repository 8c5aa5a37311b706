package plan

import (
	"fmt"
	"strings"
	"testing"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// allNamed fails if a call of a program has no name: an error would tell a number.
func allNamed(t *testing.T, what string, p *program.Program) {
	t.Helper()
	for i := range p.Ops {
		if name := program.Name(p.Ops[i].NR); strings.HasPrefix(name, "syscall_") {
			t.Errorf("%s: operation %d is %s", what, i+1, name)
		}
	}
}

// A box's init makes the sockets by which its caller reaches servers in it. A path is the box's, with any bytes.
func TestSocket(t *testing.T) {
	for name, c := range map[string]struct {
		family int
		path   string
		want   []string
	}{
		"for a port": {unix.AF_INET, "", []string{"socket", "sendmsg"}},
		"by path":    {unix.AF_UNIX, "/run/\xff\n.sock", []string{"socket", "connect", "sendmsg"}},
	} {
		p := Socket(c.family, c.path)
		var got []string
		for i := range p.Ops {
			if name := program.Name(p.Ops[i].NR); name != "dup3" && name != "close" {
				got = append(got, name)
			}
		}
		same(t, name, got, c.want)
		allNamed(t, name, p)
		if call := p.Ops[0].Call(); !strings.Contains(call, fmt.Sprintf("socket(%d, ", c.family)) || !strings.Contains(call, "SOCK_CLOEXEC") {
			t.Errorf("%s: %s", name, call)
		}
		if c.path != "" && (!strings.Contains(p.Ops[1].Call(), fmt.Sprintf(", %d)", 2+len(c.path)+1)) || strings.Contains(p.String(), "\xff")) {
			t.Errorf("%s: %s", name, p.Ops[1].Call())
		}
	}
}

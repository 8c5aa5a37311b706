package machine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
)

func TestLook(t *testing.T) {
	m := Look()
	if m.CPU == "" || m.Processors < 1 || m.Memory < 1<<20 || !strings.Contains(m.Kernel, ".") || m.LoadBefore < 0 {
		t.Errorf("%+v", m)
	}
	if !slices.Contains([]string{"v1", "v2", "hybrid", "none"}, m.Cgroups) {
		t.Errorf("cgroups: %q", m.Cgroups)
	}
	if want := map[bool]string{true: "root", false: "user"}[os.Geteuid() == 0]; m.User != want {
		t.Errorf("user: %q, want %q", m.User, want)
	}
	if name, err := os.Hostname(); err == nil && len(name) > 3 && strings.Contains(strings.Join([]string{m.CPU, m.Kernel, m.OS, m.Virtual}, " "), name) {
		t.Errorf("%+v names the machine", m)
	}
}

func TestField(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	must.Do(t, os.WriteFile(name, []byte("a=1\nmodel name\t: A CPU\nmodel name\t: another\n"), 0o600))
	if got := field(name, "model name", ":"); got != "A CPU" {
		t.Errorf("%q", got)
	}
	if got := field(name, "b", "="); got != "" {
		t.Errorf("%q", got)
	}
}

package nsjail

import (
	"strings"
	"testing"

	"brig/internal/test/must"
)

// TestLowPorts: in a network namespace of its own a payload binds any port, in every kind of start.
func TestLowPorts(t *testing.T) {
	pooled, err := NewRunnerWith(RunnerOptions{Pool: 1})
	must.Do(t, err)
	defer pooled.Close()
	for name, r := range map[string]*Runner{"new": nil, "prepared": warmRunner(t), "pooled": pooled} {
		for _, user := range []string{"", "0:0"} {
			c := python(t, `import socket; s = socket.socket(); s.bind(("127.0.0.1", 80)); s.listen(); print("bound")`)
			c.Spec.User, c.runner = user, r
			if out, _ := mustRun(t, c); strings.TrimSpace(out) != "bound" {
				t.Errorf("%s, user %q: %s", name, user, out)
			}
		}
	}
}

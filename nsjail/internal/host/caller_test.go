package host

import (
	"errors"
	"strings"
	"testing"

	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// TestRootCan: a root that cannot become another user has no payload, and one without the capabilities for mappings maps
// no ids.
func TestRootCan(t *testing.T) {
	const all = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYS_PTRACE
	for name, c := range map[string]struct {
		effective uint32
		noIdmap   spec.Text
		refused   bool
	}{
		"all":               {1<<32 - 1, "", false},
		"what it needs":     {all, "", false},
		"docker's default":  {all &^ (1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYS_PTRACE), "CAP_SYS_ADMIN is missing", false},
		"no CAP_SYS_PTRACE": {all &^ (1 << unix.CAP_SYS_PTRACE), "CAP_SYS_PTRACE is missing", false},
		"no CAP_SETUID":     {all &^ (1 << unix.CAP_SETUID), "", true},
		"no CAP_SETGID":     {all &^ (1 << unix.CAP_SETGID), "", true},
		"none":              {0, "", true},
	} {
		noIdmap, err := rootCan(c.effective)
		e, ok := errors.AsType[*spec.Error](err)
		if noIdmap != c.noIdmap || ok != c.refused || ok && (e.Op != "identity" || e.Fault != spec.FaultHost || !strings.Contains(e.Remedy.String(), "as an ordinary user")) {
			t.Errorf("%s: %q, %v", name, noIdmap, err)
		}
	}
}

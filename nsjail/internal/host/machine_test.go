package host

import (
	"os"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"
)

func TestParseKernel(t *testing.T) {
	for release, want := range map[string]Kernel{
		"6.12.9-cloud-amd64": {6, 12}, "5.4": {5, 4}, "5.14-rc3": {5, 14}, "4.18.0-553.el8_10.x86_64": {4, 18}, "10.0.0": {10, 0},
	} {
		if k := must.Get(parseKernel(release))(t); k != want {
			t.Errorf("%s: %+v", release, k)
		}
	}
	for _, release := range []string{"", "6", "x.y", "-1", "6.x"} {
		if k, err := parseKernel(release); err == nil {
			t.Errorf("%q: %+v", release, k)
		}
	}
}

func TestKernelAtLeast(t *testing.T) {
	k := Kernel{5, 12}
	for want, other := range map[Kernel]bool{{5, 12}: true, {5, 11}: true, {4, 99}: true, {5, 13}: false, {6, 0}: false} {
		if k.AtLeast(want.Major, want.Minor) != other {
			t.Errorf("5.12 is at least %d.%d: %v", want.Major, want.Minor, !other)
		}
	}
}

// The kernel's Landlock scopes are trusted only where they are complete.
func TestHasTier(t *testing.T) {
	for abi, want := range map[int]bool{0: false, 5: false, 6: true, 9: true} {
		if m := (Machine{Landlock: abi}); m.HasTier() != want {
			t.Errorf("ABI %d: %v", abi, m.HasTier())
		}
	}
}

func TestLookLabels(t *testing.T) {
	m := &Machine{Missing: map[string]spec.Text{}}
	must.Do(t, m.lookLabels(&spec.Spec{}))
	if len(m.Missing) > 0 {
		t.Errorf("nothing is asked for: %v", m.Missing)
	}
	must.Do(t, m.lookLabels(&spec.Spec{SELinuxLabel: "x"}))
	if ReadText("/sys/fs/selinux/enforce") != "1" && m.Missing["selinux"] == "" {
		t.Error("a label of SELinux where it is not in force")
	}
}

// Only the variables that the Spec names are read, and TERM only for a terminal.
func TestLookEnv(t *testing.T) {
	t.Setenv("TERM", "vt100")
	t.Setenv("BRIG_X", "1")
	t.Setenv("BRIG_Y", "2")
	t.Setenv("TZ", "UTC")
	env, term, err := LookEnv(&spec.Spec{PassEnv: []string{"BRIG_X"}})
	if got := strings.Join(env, " "); err != nil || term != "" || !strings.Contains(got, "BRIG_X=1") || strings.Contains(got, "BRIG_Y") || !strings.Contains(got, "TZ=UTC") {
		t.Errorf("%q, TERM %q, %v", got, term, err)
	}
	if _, term, _ = LookEnv(&spec.Spec{TTY: true}); term != "vt100" {
		t.Errorf("TERM of a terminal is %q", term)
	}
}

// A caller is itself to the payload, unless it is root.
func TestLookIdentity(t *testing.T) {
	h := must.Get(LookIdentity())(t)
	switch root := os.Geteuid() == 0; {
	case root && (!h.Drop || h.PayloadUID == 0 || h.PayloadUID != h.PayloadGID):
		t.Errorf("root's payload: %+v", h.Caller)
	case !root && (h.Drop || h.PayloadUID != os.Geteuid() || h.PayloadGID != os.Getegid()):
		t.Errorf("a user's payload: %+v", h.Caller)
	}
	if len(h.HardLimits) != len(spec.RlimitNumbers()) {
		t.Errorf("%d limits of %d", len(h.HardLimits), len(spec.RlimitNumbers()))
	}
}

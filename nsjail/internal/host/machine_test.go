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
	for _, release := range []string{"", "6", "x.y", "-1", "6.x", "6.", ".6", "6.99999999999999999999", "6 .1", "\x00.1"} {
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

// files returns settings with values by path; a path without one has "".
func files(values map[string]string) settings {
	return func(path string) string { return values[path] }
}

// A label is missing where nothing enforces it; only what the Spec asks for is read.
func TestLookLabels(t *testing.T) {
	const enforce, enabled, current = "/sys/fs/selinux/enforce", "/sys/module/apparmor/parameters/enabled", "/proc/self/attr/apparmor/current"
	both := spec.Spec{AppArmor: "brig", SELinuxLabel: "u:r:t:s0"}
	for name, c := range map[string]struct {
		spec     spec.Spec
		settings map[string]string
		missing  map[string]string // a beginning of why
		confined bool
	}{
		"nothing asked":   {spec.Spec{}, map[string]string{}, nil, false},
		"neither":         {both, map[string]string{}, map[string]string{"apparmor": "AppArmor is not in force here", "selinux": "SELinux is not in force here"}, false},
		"permissive":      {both, map[string]string{enforce: "0", enabled: "N"}, map[string]string{"apparmor": "AppArmor is not in force here", "selinux": "SELinux is permissive here"}, false},
		"both":            {both, map[string]string{enforce: "1", enabled: "Y", current: "unconfined"}, nil, false},
		"in a profile":    {both, map[string]string{enforce: "1", enabled: "Y", current: "docker-default (enforce)"}, nil, true},
		"brig's own":      {both, map[string]string{enforce: "1", enabled: "Y", current: "brig (unconfined)"}, nil, false},
		"odd values":      {both, map[string]string{enforce: "11", enabled: "y"}, map[string]string{"apparmor": "AppArmor is not in force here", "selinux": "SELinux is not in force here"}, false},
		"only AppArmor's": {spec.Spec{AppArmor: "x"}, map[string]string{enabled: "Y"}, nil, true}, // a kernel before 5.8 does not tell
	} {
		m := &Machine{Missing: map[string]spec.Text{}}
		must.Do(t, m.lookLabels(&c.spec, files(c.settings)))
		for mechanism, why := range c.missing {
			if !strings.HasPrefix(m.Missing[mechanism].String(), why) {
				t.Errorf("%s: %s: %q", name, mechanism, m.Missing[mechanism])
			}
		}
		if len(m.Missing) != len(c.missing) || m.Confined != c.confined {
			t.Errorf("%s: %q, confined %v", name, m.Missing, m.Confined)
		}
	}
}

// TestNoUserNamespaces: each setting that forbids them is named with the command that allows them.
func TestNoUserNamespaces(t *testing.T) {
	const most, clone, current = "/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/unprivileged_userns_clone", "/proc/self/attr/current"
	const apparmor = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
	for name, c := range map[string]struct {
		settings map[string]string
		uid      int
		want     string // in the reason; "" for none
	}{
		"no settings":          {map[string]string{}, 5, ""},
		"the usual":            {map[string]string{most: "15000", clone: "1", apparmor: "0", current: "unconfined"}, 5, ""},
		"none":                 {map[string]string{most: "0"}, 5, "run `sysctl -w user.max_user_namespaces=15000` as root"},
		"none for root either": {map[string]string{most: "0"}, 0, "user.max_user_namespaces is 0"},
		"Debian's switch":      {map[string]string{clone: "0"}, 5, "run `sysctl -w kernel.unprivileged_userns_clone=1` as root"},
		"it is not for root":   {map[string]string{clone: "0"}, 0, ""},
		"Ubuntu's":             {map[string]string{apparmor: "1", current: "unconfined"}, 5, "kernel.apparmor_restrict_unprivileged_userns is 1, and no AppArmor profile allows brig user namespaces; `brig doctor` prints the profile to install"},
		"in a profile":         {map[string]string{apparmor: "1", current: "brig (unconfined)"}, 5, ""},
		"all":                  {map[string]string{most: "0", clone: "0", apparmor: "1", current: "unconfined"}, 5, "kernel.apparmor"},
		"not a number":         {map[string]string{most: "", clone: "off", apparmor: "Y", current: "unconfined"}, 5, ""},
	} {
		if why := noUserNamespaces(files(c.settings), c.uid).String(); (why == "") != (c.want == "") || !strings.Contains(why, c.want) {
			t.Errorf("%s: %q, want %q", name, why, c.want)
		}
	}
}

// A vendor's older kernel claims an ABI of Landlock of which it has a part.
func TestKernelLandlock(t *testing.T) {
	for _, c := range []struct {
		k         Kernel
		abi, want int
	}{{Kernel{5, 12}, 0, 0}, {Kernel{5, 14}, 6, 5}, {Kernel{5, 14}, 4, 4}, {Kernel{6, 11}, 7, 5}, {Kernel{6, 12}, 6, 6}, {Kernel{7, 0}, 9, 9}} {
		if got := c.k.landlock(c.abi); got != c.want {
			t.Errorf("%+v with ABI %d: %d, want %d", c.k, c.abi, got, c.want)
		}
	}
}

func TestReadText(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(dir+"/f", []byte("\n 15000\t\n"), 0o600))
	if got := ReadText(dir + "/f"); got != "15000" {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"/gone", "", "/f/x"} {
		if got := ReadText(dir + name); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if v, ok := settings(ReadText).number(dir + "/f"); v != 15000 || !ok {
		t.Errorf("%d, %v", v, ok)
	}
	if got := SysctlPath("net.ipv4.ping_group_range"); got != "/proc/sys/net/ipv4/ping_group_range" {
		t.Error(got)
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

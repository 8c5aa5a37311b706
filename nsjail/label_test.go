package nsjail

import (
	"errors"
	"os"
	"strings"
	"testing"

	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// TestLabels: the payload has the label that its Spec names, in each way in which a jail is started. The lanes apparmor
// and selinux of scripts/vm load a policy and name a label of it.
func TestLabels(t *testing.T) {
	apparmor, selinux := os.Getenv("BRIG_TEST_APPARMOR"), os.Getenv("BRIG_TEST_SELINUX")
	name := apparmor + selinux
	if name == "" {
		t.Skip("no lane has loaded a policy and named a label of it in BRIG_TEST_APPARMOR or BRIG_TEST_SELINUX")
	}
	label := func(s spec.Spec) spec.Spec {
		s.AppArmor, s.SELinuxLabel = apparmor, selinux
		return s
	}
	is := func(way string, got []byte, err error) {
		t.Helper()
		text := strings.TrimSuffix(strings.Trim(string(got), "\x00\n"), " (enforce)")
		if err != nil || text != name {
			t.Errorf("%s: the label is %q, want %q: %v", way, text, name, err)
		}
	}
	usr := []spec.Mount{{Type: spec.MountBind, Source: "/usr", Target: "/usr"}}
	kinds := map[string]spec.Spec{"default": {}, "unconfined": {Seccomp: "unconfined"}, "strict": {Seccomp: "strict"},
		"mounts": {Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/work"}}},
		"image":  {Rootfs: spec.Rootfs{Path: imageOfUsr(t)}, Mounts: usr, Optional: []string{"idmap"}}}
	pool := warmRunner(t)
	for way, r := range map[string]*Runner{"cold": runnerWith(t, RunnerOptions{Cold: true}),
		"a Runner's": runnerWith(t, RunnerOptions{}), "with pools": pool} {
		for kind, s := range kinds {
			s.Args = []string{"cat", "/proc/self/attr/current"}
			for range 2 { // the second may be one that was made ahead
				out, _, err := r.CommandSpec(t.Context(), label(s)).Output()
				is(way+", "+kind, out, err)
			}
		}
	}
	s := label(readerSpec())
	if err := pool.PrestartRunning(s, 1); err != nil {
		t.Fatal(err)
	}
	awaitParked(t, pool, s, 1)
	c := handed(pool, "cat /proc/self/attr/current")
	c.Spec = label(c.Spec)
	out, _, res := runHanded(t, c)
	if is("parked", []byte(out), nil); !res.Warm {
		t.Error("it was not run by the parked payload")
	}
}

// TestLabelIsMissing: a label that the kernel does not enforce is an error before anything has run, unless it may be
// missing.
func TestLabelIsMissing(t *testing.T) {
	c := Command("true")
	if c.Spec.AppArmor = "brig-no-such-profile"; unix.Access("/sys/kernel/security/apparmor", unix.F_OK) == nil {
		t.Skip("the kernel has AppArmor: the lane apparmor tries it")
	}
	_, err := c.Run()
	var e *Error
	if !errors.As(err, &e) || e.Op != "apparmor" || e.Fault != spec.FaultHost {
		t.Errorf("without AppArmor: %v", err)
	}
	c = Command("true")
	c.Spec.AppArmor, c.Spec.Optional = "brig-no-such-profile", []string{"apparmor"}
	if res, err := c.Run(); err != nil || !strings.HasPrefix(res.Enforced["apparmor"].String(), "not enforced: AppArmor is not in force") {
		t.Errorf("optional: %v, %v", res.Enforced, err)
	}
}

package egress

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"brig/internal/rig"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// parts is the number of rigs that share the attacks: most of the time is waiting.
const parts = 6

// TestEgressBypass runs every attack of testdata/egress with --net egress. The jail must hold, the log must be exactly
// that of the attack's header, and no other packet may leave. With --net host the attack must succeed: this proves that
// it can.
func TestEgressBypass(t *testing.T) {
	inParts(t, rig.Self, func(t *testing.T, part int) { bypass(t, newSuite(t), part, true) })
}

// TestEgressBypassAsMappedRoot is the same as uid 0 of an ordinary user's namespace.
func TestEgressBypassAsMappedRoot(t *testing.T) {
	if !rig.Inside() && os.Geteuid() == 0 {
		t.Skip("root needs no user namespace to be root")
	}
	inParts(t, rig.AsRoot0, func(t *testing.T, part int) { bypass(t, newSuite(t), part, false) })
}

// TestEgressBypassAsUserOfRootsHost is the same as an ordinary user in a network of root's, as on any machine.
func TestEgressBypassAsUserOfRootsHost(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	inParts(t, rig.Self, func(t *testing.T, part int) {
		s := newSuite(t)
		s.credential = &syscall.Credential{Uid: asuser.UID, Gid: asuser.UID, Groups: []uint32{}}
		s.use(t, openDir(t))
		bypass(t, s, part, false)
	})
}

// inParts runs f once for each part, each in its own rig.
func inParts(t *testing.T, who rig.Caller, f func(t *testing.T, part int)) {
	for part := range parts {
		t.Run(fmt.Sprintf("part-%d", part), func(t *testing.T) {
			t.Parallel()
			if rig.Enter(t, who) {
				f(t, part)
			}
		})
	}
}

// openDir returns a directory that the other user can write to.
func openDir(t *testing.T) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("", "brig-rig-"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must.Do(t, os.Chown(dir, asuser.UID, asuser.UID))
	return dir
}

func bypass(t *testing.T, s *suite, part int, off bool) {
	attacks := loadAttacks(t)
	if len(attacks) < 70 {
		t.Errorf("%d attacks are fewer than the 70 that the suite promises", len(attacks))
	}
	before := must.Get(rig.TakeSnapshot(true))(t)
	each := func(suffix string, f func(t *testing.T, a *rig.Attack)) {
		for i, a := range attacks {
			if i%parts != part {
				continue
			}
			t.Run(strings.TrimSuffix(a.Name, ".py")+suffix, func(t *testing.T) {
				if a.Needs6 && !s.IPv6 {
					t.Skip("this machine has no IPv6")
				}
				f(t, a)
			})
		}
	}
	each("", s.contain)
	each("-off", func(t *testing.T, a *rig.Attack) { // afterwards, since the last packets of an escape may come late
		if off && a.Off {
			s.escape(t, a)
		}
	})
	after := must.Get(rig.TakeSnapshot(true))(t)
	if diff := before.Diff(after); diff != "" {
		t.Errorf("the host's network has changed:\n%s", diff)
	}
}

// contain runs the attack in a jail that must hold.
func (s *suite) contain(t *testing.T, a *rig.Attack) {
	t.Helper()
	s.Visits.Take()
	o := s.run(t, jailOf(a))
	if v := verdict(o); v != "CONTAINED" && !a.Kill {
		t.Errorf("%s\n%s: exit %d, %s\n%.600s\n%.600s", a.Claim, v, o.exit, o.report.Status, o.out, o.errOut)
	}
	events := readLog(t, o.log)
	switch {
	case a.MaxLines > 0 && len(events) > a.MaxLines:
		t.Errorf("%s\nthe log has %d lines", a.Claim, len(events))
	case !a.Kill:
		checkLog(t, a, events)
		checkSummary(t, o.report.Network, events)
	case !strings.Contains(o.out, "READY") || strings.Contains(o.out, "ESCAPED"):
		t.Errorf("%s\n%.600s\n%.600s", a.Claim, o.out, o.errOut)
	}
	s.checkWorld(t, a)
	if t.Failed() {
		t.Logf("the log:\n%.3000s", o.log)
	}
}

// checkWorld checks what the payload has reached, and the packets on the wire.
func (s *suite) checkWorld(t *testing.T, a *rig.Attack) {
	t.Helper()
	list, err := s.Reached(a)
	if err != nil {
		t.Error(err)
	}
	for _, what := range list {
		t.Errorf("%s\nbut: %s", a.Claim, what)
	}
}

// escape runs the attack in the host's network, where it must succeed.
func (s *suite) escape(t *testing.T, a *rig.Attack) {
	t.Helper()
	j := jailOf(a)
	j.network = "host"
	var o *outcome
	for tries := 0; tries < 3; tries++ { // on a busy machine an attack may miss; one success is enough
		if o = s.run(t, j); verdict(o) == "ESCAPED" {
			break
		}
	}
	if verdict(o) != "ESCAPED" {
		t.Errorf("%s\nwith --net host: %s: the attack proves nothing\n%.600s\n%.600s", a.Claim, verdict(o), o.out, o.errOut)
	}
	s.Visits.Take()
	if _, err := s.Capture.Take(); err != nil { // packets of --net host prove nothing
		t.Error(err)
	}
}

// verdict returns the payload's last word if its exit code agrees: a crash is no verdict.
func verdict(o *outcome) string {
	lines := strings.Split(strings.TrimRight(o.out, "\n"), "\n")
	word, _, _ := strings.Cut(lines[len(lines)-1], " ")
	if word == "CONTAINED" && o.exit == 0 || word == "ESCAPED" && o.exit == 1 {
		return word
	}
	return fmt.Sprintf("unclear (%s, exit %d)", o.report.Status, o.exit)
}

package plan

import (
	"slices"
	"strings"
	"testing"

	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// An ordinary user's launcher takes a user namespace, in which it stays itself; root's makes files as its payloads'
// user, and keeps its privileges until the root is complete.
func TestPrepare(t *testing.T) {
	for name, c := range map[string]struct {
		in    *input
		home  bool
		flags string
		with  []string
		lacks []string
	}{
		"a user": {asked(), false, "CLONE_NEWUSER|CLONE_NEWNS", []string{`"1000 1000 1"`, `"deny"`}, []string{"setfsuid", "self/ns/net"}},
		"with a network to return to": {asked(), true, "CLONE_NEWUSER|CLONE_NEWNS|CLONE_NEWNET", []string{`"/proc/self/ns/net"`},
			[]string{"setfsuid"}},
		"root": {asked(called), false, "CLONE_NEWNS", []string{"setfsgid(0x77359400)", "setfsuid(0x77359400)"},
			[]string{"uid_map", "self/ns/net"}},
		"root with a network": {asked(called), true, "CLONE_NEWNS|CLONE_NEWNET", []string{"setfsuid(0x77359400)", `"/proc/self/ns/net"`}, []string{"uid_map"}},
	} {
		w := Prepare(c.in.host, c.home, nil)
		if len(w.Steps) != 3 || w.Host != c.in.host {
			t.Fatalf("%s: %d steps", name, len(w.Steps))
		}
		tree := w.Steps[0].Program
		if first := tree.Ops[0].Call(); first != "unshare("+c.flags+")" {
			t.Errorf("%s: it begins with %s", name, first)
		}
		text := tree.String()
		for _, s := range c.with {
			if !strings.Contains(text, s) {
				t.Errorf("%s: no %s", name, s)
			}
		}
		for _, s := range c.lacks {
			if strings.Contains(text, s) {
				t.Errorf("%s: %s", name, s)
			}
		}
		for _, step := range w.Steps {
			allNamed(t, name+", "+step.What, step.Program)
		}
		if proc := w.Steps[1]; proc.Request.CloneFlags != unix.CLONE_NEWPID || w.Steps[0].Request.Kind != program.Self || w.Steps[2].Request.Kind != program.Self {
			t.Errorf("%s: the procfs is of %#x", name, proc.Request.CloneFlags)
		}
		if last := w.Steps[1].Program.Ops; last[len(last)-1].NR != unix.SYS_EXIT_GROUP {
			t.Errorf("%s: the process of the procfs goes on", name)
		}
	}
}

// The prepared root has the complete /etc of a default jail if all its directories are copies; otherwise each jail makes
// its own.
func TestPrepareEtc(t *testing.T) {
	made := func(names ...string) map[string][]rootfs.Entry {
		copies := map[string][]rootfs.Entry{}
		for _, name := range names {
			copies[name] = []rootfs.Entry{{Kind: rootfs.File, Target: name + "/made"}}
		}
		return copies
	}
	h := ordinaryHost()
	h.System = append(h.System, host.SystemDir{Name: "etc/ssl"})
	for name, c := range map[string]struct {
		copies map[string][]rootfs.Entry
		whole  bool
		bound  []string
	}{
		"nothing is copied": {nil, false, []string{"usr", "etc/alternatives", "etc/fonts", "etc/ssl"}},
		"some":              {made("etc/alternatives", "etc/ssl"), false, []string{"usr", "etc/fonts"}},
		"all of /etc":       {made("etc/alternatives", "etc/ssl", "etc/fonts"), true, []string{"usr"}},
	} {
		w := &PreparedRoot{Host: h}
		list := preparedEntries(h, w, c.copies)
		var bound, files []string
		for _, e := range list {
			if e.Kind == rootfs.Bind && !strings.HasPrefix(e.Target, "dev/") {
				bound = append(bound, e.Target)
				if e.Attr&unix.MOUNT_ATTR_RDONLY == 0 {
					t.Errorf("%s: %s can be written", name, e.Target)
				}
			}
			files = append(files, e.Target)
		}
		if same(t, name, bound, c.bound); w.etc != c.whole {
			t.Errorf("%s: /etc is whole: %v", name, w.etc)
		}
		for copied := range c.copies {
			if !slices.Contains(files, copied+"/made") {
				t.Errorf("%s: no copy of %s", name, copied)
			}
		}
		for _, must := range []string{"bin", "lib", "etc/localtime", "etc/passwd", "etc/hosts", "etc/services", "dev/null", "proc"} {
			if !slices.Contains(files, must) {
				t.Errorf("%s: no %s", name, must)
			}
		}
	}
	same(t, "the Host is as it was", len(h.System), 7)
}

// Helpers pass what they make to the keeper, and nothing else.
func TestHelpers(t *testing.T) {
	for name, c := range map[string]struct {
		p    *program.Program
		last uint32
		with []string
	}{
		"a pooled network":  {NetProgram(true), unix.SYS_SENDMSG, []string{"unshare(CLONE_NEWNET)", "ip_unprivileged_port_start"}},
		"with closed ports": {NetProgram(false), unix.SYS_SENDMSG, []string{"unshare(CLONE_NEWNET)"}},
		"a mount": {MountProgram(&host.Source{Path: "/s/\xff", Dev: 0x801, Ino: 77}, attrRead), unix.SYS_SENDMSG,
			[]string{"same_file(", "2049, 77", "RDONLY|NOSUID|NODEV"}},
		"a trial of setns": {SetnsTrial().Program, unix.SYS_EXIT_GROUP, []string{"setns("}},
	} {
		allNamed(t, name, c.p)
		text := c.p.String()
		for _, s := range c.with {
			if !strings.Contains(text, s) {
				t.Errorf("%s: no %s in\n%s", name, s, text)
			}
		}
		last := len(c.p.Ops) - 1
		for c.p.Ops[last].NR == unix.SYS_CLOSE {
			last--
		}
		if c.p.Ops[last].NR != c.last {
			t.Errorf("%s: it ends with %s", name, c.p.Ops[last].Call())
		}
	}
	if strings.Contains(NetProgram(false).String(), "ip_unprivileged_port_start") {
		t.Error("ports are opened without a /proc/sys that can be written")
	}
	if flags := SetnsTrial().Request.CloneFlags; flags != unix.CLONE_NEWUSER|unix.CLONE_NEWNET {
		t.Errorf("the trial is made in %v", FlagNames(flags))
	}
}

// Root's launcher becomes the payload's user, groups first, and keeps what it is to keep, out of effect.
func TestDrop(t *testing.T) {
	if DropFor(ordinaryHost()) != nil {
		t.Error("an ordinary user has nothing to drop")
	}
	in := asked(called)
	in.host.Kept = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_DAC_OVERRIDE
	text := DropFor(in.host).String()
	at := 0
	for _, s := range []string{"PR_SET_KEEPCAPS", "setgroups(0, NULL)", "setresgid(0x77359400, 0x77359400, 0x77359400)",
		"setresuid(0x77359400, 0x77359400, 0x77359400)", "{0, CAP_DAC_OVERRIDE|CAP_SYS_ADMIN, 0}", "PR_SET_DUMPABLE"} {
		i := strings.Index(text[at:], s)
		if i < 0 {
			t.Fatalf("no %s after byte %d of\n%s", s, at, text)
		}
		at += i
	}
	helper := DropProgram(in.host, RootCaps, RootCaps).String()
	if !strings.Contains(helper, "{CAP_NET_ADMIN|CAP_SYS_ADMIN, CAP_NET_ADMIN|CAP_SYS_ADMIN, 0}") {
		t.Errorf("a helper keeps\n%s", helper)
	}
	in.host.Kept = 0
	if text := DropFor(in.host).String(); !strings.Contains(text, "{0, 0, 0}") {
		t.Errorf("nothing is kept:\n%s", text)
	}
}

// A jail in a prepared root has the facts of that root, and root's launcher is the user that it has become.
func TestFacts(t *testing.T) {
	now, was := ordinaryHost(), ordinaryHost()
	now.Files, was.Files = []string{"etc/new"}, []string{"etc/old"}
	now.PayloadUID = 1
	for name, c := range map[string]struct {
		m     Mode
		image string
		files string
		uid   int
	}{
		"as it is":             {Mode{}, "", "etc/new", 1},
		"of a prepared root":   {Mode{Root: &PreparedRoot{Host: was}}, "", "etc/old", 1000},
		"of an image in one":   {Mode{Root: &PreparedRoot{Host: was}}, "/image", "etc/new", 1000},
		"of root's launcher":   {Mode{UID: 7, GID: 8}, "", "etc/new", 7},
		"a launcher of no one": {Mode{UID: 0, GID: 8}, "", "etc/new", 1},
	} {
		h := c.m.facts(&spec.Spec{Rootfs: spec.Rootfs{Path: c.image}}, now)
		if h.Files[0] != c.files || h.PayloadUID != c.uid {
			t.Errorf("%s: files %q, payload %d", name, h.Files, h.PayloadUID)
		}
	}
	same(t, "the Host is as it was", now.PayloadUID, 1)
}

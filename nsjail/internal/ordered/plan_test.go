package ordered

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/golden"
	"brig/internal/test/must"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
	"brig/nsjail/steps"
)

// bare returns a Jail that shares everything.
func bare(list ...steps.Step) *steps.Jail {
	for i := range list {
		if list[i].FD == 0 {
			list[i].FD = steps.NoFD
		}
	}
	return &steps.Jail{Args: []string{"sh", "-c", "id"}, Env: []string{"PATH=/usr/bin::/bin"}, Steps: list, UID: -1, GID: -1,
		Userns: steps.NoFD, Userns2: steps.NoFD, PIDNS: steps.NoFD, SyncFD: steps.NoFD, BlockFD: steps.NoFD}
}

// machine returns the facts of a caller.
func machine(uid int, j *steps.Jail) *Facts {
	f := &Facts{UID: uid, GID: uid, LastCap: 1, Cwd: "/home/a", Highest: 9, Files: spec.Rlimit{Soft: 256, Hard: 4096},
		Covers: []string{"sys"}, Kernel: host.MinKernel, Caps: 3, Parent: uid != 0}
	for i := range j.Steps {
		s := &j.Steps[i]
		f.Sources = append(f.Sources, Source{Path: s.Source, Dir: !strings.HasSuffix(s.Source, ".txt"), Root: s.Source == "/",
			Missing: s.Try, Layers: append([]string{s.Source, s.Work}, s.Lower...)})
	}
	return f
}

// cases are the jails of the golden files testdata/NAME.txt.
func cases() map[string]struct {
	uid int
	j   *steps.Jail
} {
	type c = struct {
		uid int
		j   *steps.Jail
	}
	list := map[string]c{
		"shared-root": {0, bare(steps.Step{Kind: steps.ROBind, Source: "/", Target: "/"})},
		"steps": {1000, bare(steps.Step{Kind: steps.Bind, Source: "/usr", Target: "/usr"}, steps.Step{Kind: steps.Symlink, Source: "usr/bin", Target: "/bin"},
			steps.Step{Kind: steps.Bind, Source: "/gone", Target: "/gone", Try: true}, steps.Step{Kind: steps.DevBind, Source: "/a.txt", Target: "/x/../y/a"},
			steps.Step{Kind: steps.Dir, Target: "/d/e", Perms: 0o700}, steps.Step{Kind: steps.Tmpfs, Target: "/d", Perms: 0o1777, Size: 4096},
			steps.Step{Kind: steps.File, Target: "/d/f", Data: []byte("abc"), Perms: 0o640}, steps.Step{Kind: steps.ROBindData, Target: "/d/g", Perms: 0o600},
			steps.Step{Kind: steps.Chmod, Target: "/d", Perms: 0o755}, steps.Step{Kind: steps.RemountRO, Target: "/d"}, steps.Step{Kind: steps.Mqueue, Target: "/q"},
			steps.Step{Kind: steps.Hostname, Target: "box"})},
		"overlays": {1000, bare(steps.Step{Kind: steps.TmpOverlay, Target: "/t", Lower: []string{"/home/a/rel", "/b"}},
			steps.Step{Kind: steps.Overlay, Source: "/up", Work: "/work", Target: "/o", Lower: []string{"/b"}})},
		"devices": {1000, bare(steps.Step{Kind: steps.Proc, Target: "/proc"}, steps.Step{Kind: steps.Dev, Target: "/dev"})},
		"joined":  {1000, bare(steps.Step{Kind: steps.Bind, Source: "/", Target: "/"})},
		"root":    {0, bare(steps.Step{Kind: steps.Proc, Target: "/proc"}, steps.Step{Kind: steps.Bind, Source: "/", Target: "/r", FD: 7})},
		"held":    {1000, bare(steps.Step{Kind: steps.ROBind, Source: "/", Target: "/"})},
	}
	d := list["devices"].j
	d.NewUser, d.NewPID, d.NewNet, d.NewIPC, d.NewUTS, d.NewCgroup, d.DisableUserns = true, true, true, true, true, true, true
	d.Filters = [][]byte{make([]byte, 16)}
	o := list["joined"].j
	o.ExecLabel = "u:r:web_t"
	o.Userns, o.Userns2, o.PIDNS, o.UID, o.AssertUserns, o.Waits, o.CloseFDs = 5, 6, 8, 7, true, true, []int{9}
	r := list["root"].j
	r.Caps, r.NewPID, r.NoInit, r.NewSession = []steps.CapOp{{Set: ^uint64(0)}, {Add: true, Set: 1}}, true, true, true
	h := list["held"].j
	h.LockFiles, h.SyncFD, h.DieWithParent, h.BlockFD, h.Chdir = []string{"/lock"}, 4, true, 3, "/usr"
	for _, name := range []string{"steps", "overlays", "held"} {
		list[name].j.NewUser = true
	}
	return list
}

func resolve(uid int, j *steps.Jail) (*plan.Plan, error) {
	h := &host.Host{Caller: host.Caller{UID: uid, GID: uid}, Machine: host.Machine{Kernel: host.MinKernel, Missing: map[string]spec.Text{}}}
	p, err := plan.Bounds(&spec.Spec{Args: j.Args, Limits: j.Limits}, h)
	if err != nil {
		return nil, err
	}
	return Resolve(j, machine(uid, j), p)
}

func TestPlans(t *testing.T) {
	for name, c := range cases() {
		p, err := resolve(c.uid, c.j)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := "clone3 " + strings.Join(plan.FlagNames(p.Flags), "|") + "\n"
		if p.Drop != nil {
			got += "launcher\n" + p.Drop.String()
		}
		got += p.Jail.String() + strings.Join(p.Env, "\n") + "\n"
		golden.File(t, filepath.Join("testdata", name+".txt"), got)
	}
}

func TestRefused(t *testing.T) {
	change := func(f func(j *steps.Jail)) *steps.Jail {
		j := bare()
		f(j)
		return j
	}
	for want, j := range map[string]*steps.Jail{
		"Specifying option uid requires":   change(func(j *steps.Jail) { j.UID = 5 }),
		"Specifying option gid requires":   change(func(j *steps.Jail) { j.GID = 5 }),
		"more than 7 of them":              change(func(j *steps.Jail) { j.LockFiles = slices.Repeat([]string{"/l"}, 8) }),
		"limits end a jail with all":       change(func(j *steps.Jail) { j.Limits.Wall = 1 }),
		"RLIMIT_NPROC does not bound":      change(func(j *steps.Jail) { j.Limits.Processes, j.NewPID = 5, true }),
		"there is no step fly":             bare(steps.Step{Kind: "fly", Target: "/x"}),
		"the data of all such options":     bare(steps.Step{Kind: steps.File, Target: "/x", Data: make([]byte, maxData+1)}),
		"option overlay-src: more than 60": bare(steps.Step{Kind: steps.ROOverlay, Target: "/x", Lower: make([]string, 61)}),
	} {
		if _, err := resolve(1000, j); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestLook reads what the steps refer to, in a tree of the test's.
func TestLook(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, errors.Join(os.Mkdir(filepath.Join(dir, "d"), 0o755), os.Symlink("d", filepath.Join(dir, "l")),
		os.WriteFile(filepath.Join(dir, "f"), nil, 0o644), os.WriteFile(filepath.Join(dir, "d", "in"), nil, 0o644)))
	j := bare(steps.Step{Kind: steps.Bind, Source: dir, Target: "/w"}, steps.Step{Kind: steps.Symlink, Source: "d", Target: "/w/l"},
		steps.Step{Kind: steps.Bind, Source: "/", Target: "/"}, steps.Step{Kind: steps.Bind, Source: dir + "/nowhere", Target: "/x", Try: true},
		steps.Step{Kind: steps.Bind, Source: dir + "/f", Target: "/f"}, steps.Step{Kind: steps.Tmpfs, Target: "/home/b"})
	j.Chdir, j.Env = "", []string{"HOME=/home/b"}
	h, err := host.LookVersion()
	must.Do(t, err)
	f, err := Look(j, h, os.Getpid())
	must.Do(t, err)
	if s := f.Sources; !s[0].Dir || !s[1].Same || !s[2].Root || !s[3].Missing || s[4].Dir || f.Home != "/home/b" || !f.CwdThere {
		t.Errorf("%+v", f)
	}
	const noLink = "destination exists and is not a symlink"
	for _, c := range []struct {
		text  string
		steps []steps.Step
	}{{"existing destination is d", []steps.Step{{Kind: steps.Symlink, Source: "e", Target: "/w/l"}}},
		{noLink, []steps.Step{{Kind: steps.Symlink, Source: "e", Target: "/w/f"}}},
		{noLink, []steps.Step{{Kind: steps.DevBind, Source: dir + "/l", Target: "/l"}, {Kind: steps.Symlink, Source: "d", Target: "/l"}}},
		{noLink, []steps.Step{{Kind: steps.Tmpfs, Target: "/t"}, {Kind: steps.Symlink, Source: "d", Target: "/t"}}},
		{"", []steps.Step{{Kind: steps.Symlink, Source: "d", Target: "/l"}, {Kind: steps.Bind, Source: dir, Target: "/l"},
			{Kind: steps.Symlink, Source: "d", Target: "/l"}}},
		{noLink, []steps.Step{{Kind: steps.Tmpfs, Target: "/w/new"}, {Kind: steps.Symlink, Source: "e", Target: "/w/d/in"}}},
		{"", []steps.Step{{Kind: steps.Tmpfs, Target: "/w/l"}, {Kind: steps.Symlink, Source: "e", Target: "/w/d/in"}}},
		{"Can't find source path " + dir + "/nowhere", []steps.Step{{Kind: steps.ROBind, Source: dir + "/nowhere", Target: "/x"}}}} {
		_, err := Look(bare(append(j.Steps[:1:1], c.steps...)...), h, os.Getpid())
		if (err == nil) != (c.text == "") || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v: %v, want %s", c.steps, err, c.text)
		}
	}
	j = bare(steps.Step{Kind: steps.Tmpfs, Target: "/"}, steps.Step{Kind: steps.Dir, Target: "/a/b"})
	if f, err = Look(j, h, os.Getpid()); err != nil || f.CwdThere || !f.there(j, "/a") || !f.there(j, "/a/b") || f.there(j, "/a/c") {
		t.Errorf("%+v, %v", f, err)
	}
}

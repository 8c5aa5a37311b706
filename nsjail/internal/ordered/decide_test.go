package ordered

import (
	"slices"
	"strings"
	"testing"

	"brig/cgroup"
	"brig/netns"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
	"brig/nsjail/steps"
	"brig/rootfs"
)

// situation is a jail, what Look has found for it, and the plan of its bounds.
type situation struct {
	*steps.Jail
	f *Facts
	p *plan.Plan
}

// asked returns a caller's situation with changes.
func asked(uid int, changes ...func(*situation)) *situation {
	s := &situation{Jail: bare(), p: &plan.Plan{Spec: &spec.Spec{}, Enforced: map[string]spec.Text{}}}
	s.f = machine(uid, s.Jail)
	for _, change := range changes {
		change(s)
	}
	s.f.Sources = machine(uid, s.Jail).Sources
	return s
}

// text resolves, and returns the programs of the launcher and the jail, without the numbers of their operations.
func (s *situation) text() (string, error) {
	p, err := Resolve(s.Jail, s.f, s.p)
	if err != nil {
		return "", err
	}
	text := p.Jail.String()
	if p.Drop != nil {
		text = p.Drop.String() + text
	}
	return text, nil
}

// has reports an error where a program lacks one of the texts, or has one that begins with "!".
func has(t *testing.T, name, program string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		text, absent := strings.CutPrefix(text, "!")
		if strings.Contains(program, text) == absent {
			t.Errorf("%s: %q is there: %v\n%s", name, text, !absent, program)
		}
	}
}

func newUser(s *situation) { s.NewUser = true }
func newPID(s *situation)  { s.NewPID = true }
func step(list ...steps.Step) func(*situation) {
	return func(s *situation) { s.Steps = bare(list...).Steps }
}

// What a caller cannot have is refused by the name of what asks for it, and nothing else is.
func TestCheck(t *testing.T) {
	high := func(n int) func(*situation) { return func(s *situation) { s.f.Highest = n } }
	hard := func(n int64) func(*situation) { return func(s *situation) { s.f.Files.Hard = n } }
	bounded := func(s *situation) { s.Limits.Wall, s.NewPID = 1, true }
	few := func(s *situation) {
		s.Limits.Processes, s.NewPID, s.f.Kernel = 5, true, host.Kernel{Major: 5, Minor: 14}
	}
	old := func(s *situation) { s.f.Kernel = host.Kernel{Major: 5, Minor: 13} }
	uid := func(n int) func(*situation) { return func(s *situation) { s.UID = n } }
	gid := func(n int) func(*situation) { return func(s *situation) { s.GID = n } }
	userns := func(s *situation) { s.Userns = 5 }
	sync := func(s *situation) { s.SyncFD = 4 }
	locks := func(n int) func(*situation) {
		return func(s *situation) { s.LockFiles = slices.Repeat([]string{"/l"}, n) }
	}
	for name, c := range map[string]struct {
		in *situation
		op string
	}{
		"nothing":                     {asked(1000), ""},
		"the caller's uid":            {asked(1000, uid(1000), gid(1000)), ""},
		"root's uid":                  {asked(1000, uid(0)), steps.Option + "uid"},
		"root's gid":                  {asked(1000, gid(0)), steps.Option + "gid"},
		"in a namespace":              {asked(1000, newUser, uid(0), gid(0)), ""},
		"in the caller's namespace":   {asked(1000, userns, uid(5), gid(5)), ""},
		"seven locks":                 {asked(1000, locks(launcher.MaxDisks-1)), ""},
		"eight locks":                 {asked(1000, locks(launcher.MaxDisks)), steps.Option + "lock-file"},
		"a high descriptor":           {asked(1000, high(launcher.HomeFD)), ""},
		"and init with locks":         {asked(1000, high(launcher.HomeFD), locks(1)), "descriptors"},
		"and init with a descriptor":  {asked(1000, high(launcher.HomeFD), sync), "descriptors"},
		"and init with limits":        {asked(1000, high(launcher.HomeFD), bounded), "descriptors"},
		"the highest with init":       {asked(1000, high(launcher.HomeFD-1), bounded), ""},
		"no limit on files":           {asked(1000, hard(-1)), ""},
		"enough files":                {asked(1000, hard(minFirst+rootfs.Numbers)), ""},
		"too few files":               {asked(1000, hard(minFirst+rootfs.Numbers-1)), "descriptors"},
		"few processes":               {asked(1000, few, newUser), ""},
		"on an old kernel":            {asked(1000, few, newUser, old), "BRIG_PIDS"},
		"in the host's namespace":     {asked(1000, few), "BRIG_PIDS"},
		"of root":                     {asked(0, few, newUser), "BRIG_PIDS"},
		"of root, in a control group": {asked(0, few, func(s *situation) { s.p.Enforced["processes"] = "pids.max" }), ""},
		"a limit without init":        {asked(1000, func(s *situation) { s.Limits.Wall = 1 }), "BRIG_*"},
		"a limit":                     {asked(1000, bounded), ""},
	} {
		op := ""
		if _, err := c.in.text(); err != nil {
			op = err.(*spec.Error).Op
		}
		if op != c.op {
			t.Errorf("%s: %q, want %q", name, op, c.op)
		}
	}
}

// What the keeper is to know of the jail.
func TestResolveTellsTheKeeper(t *testing.T) {
	s := asked(1000, newPID, func(s *situation) { s.Limits.Wall, s.Env = 7, []string{"PWD=/old", "A=b"} })
	p, err := Resolve(s.Jail, s.f, s.p)
	if err != nil || p.Stays || p.Spec.NoInit || p.Wall != 7 || !slices.Equal(p.Env, []string{"A=b", "PWD=/"}) {
		t.Errorf("%v, %+v", err, p)
	}
	s = asked(1000)
	if p, err = Resolve(s.Jail, s.f, s.p); err != nil || !p.Stays || !p.Spec.NoInit {
		t.Errorf("without limits and init: %v, %+v", err, p)
	}
}

// Each option has its operations, and they are there for it alone.
func TestOperations(t *testing.T) {
	group := func(s *situation) {
		s.p.Group, s.NewPID, s.Limits.Wall = &cgroup.Plan{Branches: []cgroup.Branch{{Version: 1}, {Version: 1}}}, true, 1
	}
	files := func(soft int64) func(*situation) { return func(s *situation) { s.f.Files.Soft = soft } }
	at := func(home, cwd string) func(*situation) { return func(s *situation) { s.f.Home, s.f.Cwd = home, cwd } }
	const raised, uidMap = "{4096, 4096}", `"self/uid_map"`
	for name, c := range map[string]struct {
		in    *situation
		texts []string
	}{
		"a low limit on files":       {asked(1000, files(minFirst+rootfs.Numbers-1)), []string{raised}},
		"a limit that does":          {asked(1000, files(minFirst+rootfs.Numbers)), []string{"!" + raised}},
		"no soft limit":              {asked(1000, files(-1)), []string{"!" + raised}},
		"a group":                    {asked(1000, group), []string{`write($2, "0", 1)`, `write($3, "0", 1)`, "unshare(CLONE_NEWCGROUP)", "PR_SET_DUMPABLE, 0", "!INIT_STAYS"}},
		"no group":                   {asked(1000, newPID), []string{"!CLONE_NEWCGROUP", "!PR_SET_DUMPABLE, 0", "INIT_STAYS"}},
		"the first slot":             {asked(1000), []string{"= $2\n"}},
		"slots of a group":           {asked(1000, group), []string{"!= $2\n", "!= $3\n", "= $4\n"}},
		"the parent's death":         {asked(0, func(s *situation) { s.DieWithParent, s.NewUser = true, true }), []string{"PR_SET_PDEATHSIG"}},
		"of a launcher's child":      {asked(0, func(s *situation) { s.DieWithParent, s.Userns = true, 5 }), []string{"userns setns(5, CLONE_NEWUSER)\nprocess"}},
		"of the caller's child":      {asked(1000, func(s *situation) { s.DieWithParent, s.Userns = true, 5 }), []string{"die-with-parent prctl(PR_SET_PDEATHSIG, SIGKILL)\noption userns setns"}},
		"sockets":                    {asked(1000, func(s *situation) { s.p.Sockets = &netns.Sockets{} }), []string{"SCM_RIGHTS: [0 sockets]"}},
		"ids of its own":             {asked(1000, newUser), []string{uidMap, `"1000 1000 1\n"`, "!unshare(CLONE_NEWUSER)"}},
		"ids that the caller writes": {asked(1000, newUser, func(s *situation) { s.Unmapped, s.UID, s.DisableUserns = true, 5, true }), []string{"!" + uidMap, "!unshare(CLONE_NEWUSER), 5"}},
		"no users below": {asked(1000, newUser, func(s *situation) { s.DisableUserns = true }),
			[]string{`"sys/user/max_user_namespaces"`, "unshare(CLONE_NEWUSER)"}},
		"ids of a devpts": {asked(1000, newUser, step(steps.Step{Kind: steps.Dev, Target: "/dev"})),
			[]string{`"0 1000 1\n"`, "unshare(CLONE_NEWUSER)", `"1000 0 1\n"`, "!/dev/console"}},
		"the caller's ids in a namespace": {asked(1000, func(s *situation) { s.Userns = 5 }), []string{"!setresuid", "!setresgid"}},
		"others":                          {asked(1000, func(s *situation) { s.Userns, s.UID, s.GID = 5, 0, 0 }), []string{"setresuid(0, 0, 0)", "setresgid(0, 0, 0)"}},
		"of a new one":                    {asked(1000, newUser, func(s *situation) { s.UID, s.GID = 7, 8 }), []string{"!setresuid", "!setresgid", `"7 1000 1\n"`, `"8 1000 1\n"`}},
		"the home is second": {asked(1000, at("/home", "/cwd")),
			[]string{"chdir(\"/home\") or go on\n"}},
		"another name": {asked(1000, func(s *situation) { name := "-sh"; s.Argv0 = &name }),
			[]string{`execve("/usr/bin/sh", ["-sh", "-c", "id"]`}},
		"processes by a limit": {asked(1000, newUser, newPID, func(s *situation) { s.Limits.Processes, s.f.Kernel.Minor = 5, 14 }), []string{"RLIMIT_NPROC, {5, 5}"}},
		"by a group": {asked(1000, newUser, newPID, func(s *situation) { s.Limits.Processes, s.p.Enforced["processes"] = 5, "pids.max" }),
			[]string{"!RLIMIT_NPROC"}},
		"a descriptor above": {asked(1000, func(s *situation) { s.f.Highest = 700 }, step(steps.Step{Kind: steps.ROOverlay, Target: "/o", Lower: []string{"/a", "/b"}})),
			[]string{", 701, O_CLOEXEC", "!, 600, O_CLOEXEC", "!, 700, O_CLOEXEC", "!upperdir"}},
	} {
		text, err := c.in.text()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var lines []string
		for _, line := range strings.Split(text, "\n") {
			lines = append(lines, strings.TrimLeft(line, " 0123456789"))
		}
		has(t, name, strings.Join(lines, "\n"), c.texts...)
	}
}

// The payload tries HOME before the caller's directory, and is in the last of them that there is.
func TestWorkdir(t *testing.T) {
	text, err := asked(1000, func(s *situation) { s.f.Home, s.f.Cwd = "/home", "/cwd" }).text()
	if home, cwd := strings.Index(text, `chdir("/home")`), strings.Index(text, `chdir("/cwd")`); err != nil || home < 0 || cwd < home {
		t.Errorf("%v\n%s", err, text)
	}
	for want, c := range map[string]struct {
		chdir string
		Facts
	}{
		"/c":    {"/c", Facts{Cwd: "/cwd", CwdThere: true, Home: "/home"}},
		"/cwd":  {"", Facts{Cwd: "/cwd", CwdThere: true, Home: "/home"}},
		"/home": {"", Facts{Cwd: "/cwd", Home: "/home"}},
		"/":     {"", Facts{Cwd: "/cwd"}},
	} {
		if got := c.workdir(&steps.Jail{Chdir: c.chdir}); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
}

func TestPayloadCaps(t *testing.T) {
	all, one, drop := steps.CapOp{Add: true, Set: ^uint64(0)}, steps.CapOp{Add: true, Set: 1}, steps.CapOp{Set: 1}
	for name, c := range map[string]struct {
		uid  int
		ops  []steps.CapOp
		want uint64
	}{
		"a user's":                {1000, nil, 0},
		"root's":                  {0, nil, 3},
		"root's without one":      {0, []steps.CapOp{drop}, 2},
		"all that the kernel has": {1000, []steps.CapOp{all}, 7},
		"one":                     {1000, []steps.CapOp{one}, 1},
		"the last counts":         {1000, []steps.CapOp{one, drop}, 0},
		"dropped, and back":       {0, []steps.CapOp{drop, one}, 3},
	} {
		r := &resolver{Jail: &steps.Jail{Caps: c.ops}, f: &Facts{UID: c.uid, Caps: 3, LastCap: 2}}
		if got := r.payloadCaps(); got != c.want {
			t.Errorf("%s: %b, want %b", name, got, c.want)
		}
	}
}

// As execvp(3) tries them.
func TestCandidates(t *testing.T) {
	for _, c := range []struct {
		name, env string
		want      string
	}{
		{"sh", "PATH=/a:/b", "/a/sh /b/sh"}, {"sh", "PATH=:/b", "sh /b/sh"}, {"sh", "PATH=", "sh"},
		{"sh", "HOME=/", "/bin/sh /usr/bin/sh"}, {"./sh", "PATH=/a", "./sh"}, {"/bin/sh", "PATH=/a", "/bin/sh"}, {"a/sh", "PATH=/a", "a/sh"},
	} {
		if got := strings.Join(candidates(c.name, []string{c.env}), " "); got != c.want {
			t.Errorf("%s, %s: %s, want %s", c.name, c.env, got, c.want)
		}
	}
}

// A directory above a target is as closed to the group and to others as the target.
func TestParentMode(t *testing.T) {
	for mode, want := range map[uint32]uint32{0o755: 0o755, 0o700: 0o700, 0o750: 0o750, 0o705: 0o705, 0o722: 0o755, 0o020: 0o750, 0o002: 0o705, 0: 0o700} {
		if got := parentMode(mode); got != want {
			t.Errorf("%o: %o, want %o", mode, got, want)
		}
	}
}

// Each kind of step has its mount and its attributes.
func TestSteps(t *testing.T) {
	const read, private = "RDONLY|NOSUID|NODEV", "{attr_set=NOSUID|NODEV}"
	proc := step(steps.Step{Kind: steps.Proc, Target: "/proc"})
	for name, c := range map[string]struct {
		in    *situation
		texts []string
	}{
		"data":              {asked(1000, step(steps.Step{Kind: steps.BindData, Target: "/f"})), []string{private, "!" + read}},
		"read-only data":    {asked(1000, step(steps.Step{Kind: steps.ROBindData, Target: "/f"})), []string{read}},
		"the root's mode":   {asked(1000, step(steps.Step{Kind: steps.Dir, Target: "/"})), []string{"!(1) mkdirat"}},
		"no parents":        {asked(1000, step(steps.Step{Kind: steps.Chmod, Target: "/a/b"})), []string{`!"a", 0`}},
		"nor of a remount":  {asked(1000, step(steps.Step{Kind: steps.RemountRO, Target: "/a/b"})), []string{`!"a", 0`}},
		"nor of a name":     {asked(1000, step(steps.Step{Kind: steps.Hostname, Target: "a/b"})), []string{`!"a", 0`, `sethostname("a/b", 3)`}},
		"parents of others": {asked(1000, step(steps.Step{Kind: steps.Dir, Target: "/a/b", Perms: 0o700})), []string{`"a", 0700`}},
		"layers to read":    {asked(1000, step(steps.Step{Kind: steps.ROOverlay, Target: "/o", Lower: []string{"/a", "/b"}})), []string{"lowerdir", "!upperdir", `!"workdir"`}},
		"a procfs":          {asked(1000, newPID, proc), []string{`fsopen("proc"`}},
		"of a namespace":    {asked(1000, func(s *situation) { s.PIDNS = 5 }, proc), []string{`fsopen("proc"`}},
		"the host's":        {asked(1000, proc), []string{`!fsopen("proc"`, `open_tree(AT_FDCWD, "/proc"`, `"proc/sys"`}},
		"nothing to cover":  {asked(1000, newUser, proc), []string{`!"proc/sys"`}},
		"a root's":          {asked(1000, newUser, func(s *situation) { s.UID = 0 }, proc), []string{`"proc/sys"`}},
		"a console": {asked(1000, func(s *situation) { s.f.Terminal = "/dev/pts/3" }, step(steps.Step{Kind: steps.Dev, Target: "/dev"})),
			[]string{`"/dev/pts/3"`, `"dev/console"`}},
	} {
		text, err := c.in.text()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		has(t, name, text, c.texts...)
	}
	half := steps.Step{Kind: steps.File, Target: "/x", Data: make([]byte, maxData/2+1)}
	if _, err := asked(1000, step(half, half)).text(); err == nil {
		t.Error("the data of two files is too much, and was taken")
	}
	if _, err := asked(1000, step(steps.Step{Kind: steps.ROOverlay, Target: "/x", Lower: make([]string, rootfs.MaxLayers)})).text(); err != nil {
		t.Errorf("as many layers as there may be: %v", err)
	}
}

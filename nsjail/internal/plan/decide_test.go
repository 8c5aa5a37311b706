package plan

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// asked is what a decision of a test is made from: the default jail of an ordinary user, changed by each function.
func asked(changes ...func(*spec.Spec, *host.Host, *Mode)) *input {
	in := &input{&spec.Spec{Args: []string{"id"}}, ordinaryHost(), &Mode{}}
	for _, change := range changes {
		change(in.Spec, in.host, in.mode)
	}
	return in
}

// prepared makes the launcher one with a prepared root.
func prepared(_ *spec.Spec, h *host.Host, m *Mode) { m.Root = &PreparedRoot{Host: h, etc: true} }

// called makes the caller the host's root.
func called(_ *spec.Spec, h *host.Host, _ *Mode) {
	h.UID, h.GID, h.Drop, h.PayloadUID, h.PayloadGID = 0, 0, true, 2000000000, 2000000000
}

func inTier(s *spec.Spec, h *host.Host, _ *Mode) {
	s.Tier, h.Guard, h.Landlock, h.Scratch = spec.TierProcess, make([]byte, 8), 6, "/var/tmp/x"
}

// without makes the machine lack something.
func without(mechanism, why string) func(*spec.Spec, *host.Host, *Mode) {
	return func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Missing[mechanism] = words.Plain(why) }
}

// op returns what an error is about, or "".
func op(err error) string {
	var e *spec.Error
	if errors.As(err, &e) {
		return e.Op
	}
	return ""
}

func same[T any](t *testing.T, name string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n%+v, want\n%+v", name, got, want)
	}
}

// A missing mechanism is an error, unless the Spec can do without it or there is a fallback that it does not refuse.
func TestEnforce(t *testing.T) {
	for name, c := range map[string]struct {
		optional, required []string
		missing, fallback  string
		how                holding
		text, op           string
	}{
		"there":              {how: held, text: "by"},
		"missing":            {missing: "no", how: lacking, op: "x"},
		"optional":           {missing: "no", optional: []string{"x"}, how: waived, text: "not enforced: no (optional)"},
		"replaced":           {missing: "no", fallback: "other", how: replaced, text: "other (no)"},
		"required":           {missing: "no", fallback: "other", required: []string{"x"}, how: lacking, op: "x"},
		"optional wins":      {missing: "no", fallback: "other", optional: []string{"x"}, how: waived, text: "not enforced: no (optional)"},
		"another's optional": {missing: "no", optional: []string{"y"}, how: lacking, op: "x"},
	} {
		out := newReport()
		how, err := out.enforce(&spec.Spec{Optional: c.optional, Require: c.required}, "x", "by", words.Plain(c.missing), words.Plain(c.fallback))
		if how != c.how || out.enforced["x"].String() != c.text || (err == nil) != (c.op == "") || err != nil && err.Op != c.op {
			t.Errorf("%s: %v, %q, %v", name, how, out.enforced["x"], err)
		}
	}
}

// The first error is the one that is told.
func TestReportKeepsTheFirstError(t *testing.T) {
	out := newReport()
	out.fail(spec.HostError("first", "", ""))
	out.fail(spec.HostError("second", "", ""))
	same(t, "op", op(out.err), "first")
	copied := out.copy()
	copied.note("x")
	copied.enforced["y"] = "z"
	same(t, "notes of the other", len(out.notes)+len(out.enforced), 0)
}

func TestDecideSession(t *testing.T) {
	forked := func(_ *spec.Spec, _ *host.Host, m *Mode) { m.Forked = true }
	for name, c := range map[string]struct {
		in   *input
		want session
	}{
		"cold":            {asked(), session{own: true}},
		"forked early":    {asked(forked), session{own: true, endsWithLauncher: true}},
		"prepared":        {asked(prepared), session{}},
		"without init":    {asked(prepared, func(s *spec.Spec, _ *host.Host, _ *Mode) { s.NoInit = true }), session{own: true}},
		"a terminal":      {asked(func(_ *spec.Spec, _ *host.Host, m *Mode) { m.Terminal = 2 }), session{own: true, group: true}},
		"keyring":         {asked(func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Optional = []string{"keyring"} }), session{own: true, mayKeepKeyring: true}},
		"process tier":    {asked(inTier), session{own: true, endsWithInit: true}},
		"forked in tier":  {asked(inTier, forked), session{own: true, endsWithInit: true}},
		"of the caller's": {asked(called), session{own: true}},
	} {
		out := newReport()
		same(t, name, decideSession(c.in, &out), c.want)
	}
}

func TestDecideIdentity(t *testing.T) {
	named := func(user, host_ string) func(*spec.Spec, *host.Host, *Mode) {
		return func(s *spec.Spec, _ *host.Host, _ *Mode) { s.User, s.Hostname = user, host_ }
	}
	for name, c := range map[string]struct {
		in       *input
		want     identity
		op, user string
	}{
		"default": {asked(), identity{uid: 1000, gid: 1000, hostUID: 1000, hostGID: 1000, hostname: "brig"}, "", "new namespace; 1000:1000 is 1000:1000 on the host"},
		"named": {asked(named("0:5", "box")), identity{uid: 0, gid: 5, hostUID: 1000, hostGID: 1000, hostname: "box"}, "",
			"new namespace; 0:5 is 1000:1000 on the host"},
		"root's": {asked(called), identity{uid: 1000, gid: 1000, hostUID: 2000000000, hostGID: 2000000000, hostname: "brig"}, "",
			"new namespace; 1000:1000 is 2000000000:2000000000 on the host"},
		"no namespaces": {asked(without("user", "off")), identity{uid: 1000, gid: 1000, hostUID: 1000, hostGID: 1000, hostname: "brig"}, "user",
			"new namespace; 1000:1000 is 1000:1000 on the host"},
		"old": {asked(func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Kernel = host.Kernel{Major: 5, Minor: 11} }),
			identity{uid: 1000, gid: 1000, hostUID: 1000, hostGID: 1000, hostname: "brig"}, "kernel", "new namespace; 1000:1000 is 1000:1000 on the host"},
	} {
		out := newReport()
		same(t, name, decideIdentity(c.in, &out), c.want)
		same(t, name+", told", []string{op(out.err), out.enforced["user"].String()}, []string{c.op, c.user})
	}
}

func TestDecideNetwork(t *testing.T) {
	on := func(n spec.Net) func(*spec.Spec, *host.Host, *Mode) {
		return func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Net = n }
	}
	ready := func(_ *spec.Spec, _ *host.Host, m *Mode) { m.Net = true }
	for name, c := range map[string]struct {
		in      *input
		own, lo bool
		sockets bool
		text    string
	}{
		"default":             {asked(), true, true, false, "new namespace, loopback"},
		"none":                {asked(on(spec.NetNone)), true, false, false, "new namespace, none"},
		"the host's":          {asked(on(spec.NetHost)), false, false, false, "not enforced: "},
		"made ahead":          {asked(ready), false, false, false, "new namespace, loopback, made ahead"},
		"made ahead, no loop": {asked(ready, on(spec.NetNone)), true, false, false, "new namespace, none"},
		"by name":             {asked(on(spec.NetEgress)), true, true, true, "new namespace, egress: 0 rules allow, 0 deny"},
	} {
		out := newReport()
		n := decideNetwork(c.in, &out)
		if n.own != c.own || n.lo != c.lo || (n.sockets != nil) != c.sockets || !strings.HasPrefix(out.enforced["net"].String(), c.text) {
			t.Errorf("%s: %+v, %q", name, n, out.enforced["net"])
		}
	}
	few := decideNetwork(asked(func(_ *spec.Spec, h *host.Host, _ *Mode) { h.HardLimits["nofile"] = 64 }), &report{enforced: map[string]spec.Text{}})
	same(t, "with few descriptors nothing hears of lookups", few.lookups, 0)
}

func TestDecideLabels(t *testing.T) {
	apparmor := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.AppArmor = "p" }
	selinux := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.SELinuxLabel = "c" }
	stacks := func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Confined = true }
	for name, c := range map[string]struct {
		in   *input
		want []execLabel
		op   string
	}{
		"none":           {asked(), nil, ""},
		"a profile":      {asked(apparmor), []execLabel{{"apparmor", "apparmor/exec", "exec p", "p (enforce)\n"}}, ""},
		"on another":     {asked(apparmor, stacks), []execLabel{{"apparmor", "apparmor/exec", "stack p", "p (enforce)\n"}}, ""},
		"a context":      {asked(selinux), []execLabel{{"selinux", "exec", "c", "c"}}, ""},
		"not in force":   {asked(apparmor, without("apparmor", "off")), nil, "apparmor"},
		"without a proc": {asked(selinux, without("proc", "masked")), nil, "selinux"},
	} {
		out := newReport()
		same(t, name, decideLabels(c.in, &out), c.want)
		same(t, name+", error", op(out.err), c.op)
	}
}

func TestDecideCommand(t *testing.T) {
	run := func(path string, args ...string) func(*spec.Spec, *host.Host, *Mode) {
		return func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Args, s.Env = args, []string{"PATH=" + path} }
	}
	for name, c := range map[string]struct {
		in    *input
		paths []string
		last  string // args[0] of the last file
	}{
		"in PATH":        {asked(run("/a:/b", "id")), []string{"/a/id", "/b/id"}, "id"},
		"a path":         {asked(run("/a", "./id")), []string{"./id"}, "./id"},
		"relative PATH":  {asked(run("b:/a", "id")), []string{"/a/id"}, "id"},
		"nowhere":        {asked(run("b", "id")), []string{"/id"}, "id"},
		"another name":   {asked(run("/a", "python", "-c")), []string{"/a/python", "/a/python3"}, "python3"},
		"of a long name": {asked(run("/a", "python3")), []string{"/a/python3"}, "python3"},
	} {
		got := decideCommand(c.in)
		same(t, name, got.paths(), c.paths)
		same(t, name+", args", got.files[len(got.files)-1].Args[0], c.last)
		same(t, name+", directory", got.dir, "/work")
	}
	same(t, "the tier's directory", decideCommand(asked(inTier)).dir, "/var/tmp/x")
	own := decideCommand(asked(inTier, func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Workdir = "/d" }))
	same(t, "the caller's directory", own.dir, "/d")
}

// The payload begins a session of its own, or where it has a terminal in the caller's place a group in init's.
func TestBeginPayload(t *testing.T) {
	for name, c := range map[string]struct {
		s    session
		want []string
	}{
		"a session":    {session{}, []string{"setsid()"}},
		"a group":      {session{group: true}, []string{"setpgid(0, 0)"}},
		"with its end": {session{endsWithInit: true}, []string{"umask", "prctl(PR_SET_PDEATHSIG", "setsid()"}},
	} {
		p := program.New(2)
		c.s.beginPayload(p)
		text, at := p.String(), 0
		for _, want := range c.want {
			i := strings.Index(text[at:], want)
			if i < 0 {
				t.Fatalf("%s: no %s after byte %d of\n%s", name, want, at, text)
			}
			at += i
		}
		if strings.Contains(text, "setsid") == c.s.group {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

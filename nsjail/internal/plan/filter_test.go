package plan

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"brig/internal/program"
	"brig/internal/test/must"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// preset sets the default filter.
func preset(t *testing.T) func(*spec.Spec, *host.Host, *Mode) {
	bpf := must.Get(seccomp.PresetFilter("default", seccomp.Target{Arch: runtime.GOARCH}, true))(t)
	return func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Filter = bpf }
}

func TestDecideListening(t *testing.T) {
	filtered := preset(t)
	for name, c := range map[string]struct {
		in                     *input
		heard, counted, traces bool
		note                   string
	}{
		"default":        {asked(filtered), true, true, false, ""},
		"debug":          {asked(filtered, func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Seccomp = "debug" }), true, true, true, ""},
		"nothing to say": {asked(), false, false, false, ""},
		"without init":   {asked(filtered, func(s *spec.Spec, _ *host.Host, _ *Mode) { s.NoInit = true }), false, false, false, ""},
		"unconfined":     {asked(filtered, func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Seccomp = "unconfined" }), false, false, false, ""},
		"another hears":  {asked(filtered, func(_ *spec.Spec, h *host.Host, _ *Mode) { h.NoListener = "EBUSY" }), false, false, false, "EBUSY"},
		"few files": {asked(filtered, func(s *spec.Spec, _ *host.Host, _ *Mode) {
			s.Limits.Rlimits = map[string]spec.Rlimit{"nofile": {Soft: 3, Hard: 3}}
		}), false, false, false, "the limit of 3 open files"},
		"it also kills": {asked(filtered, func(_ *spec.Spec, h *host.Host, _ *Mode) { h.FilterKills = true }), true, false, false, "also kills"},
	} {
		out := newReport()
		l := decideListening(c.in, &out)
		if (l.heard != nil) != c.heard || l.counted != c.counted || l.traces != c.traces || !strings.Contains(words.Join(out.notes, "").String(), c.note) || (c.note == "") != (out.notes == nil) {
			t.Errorf("%s: heard %v, %+v, %q", name, l.heard != nil, l.counted, out.notes)
		}
	}
}

func TestDecideFilter(t *testing.T) {
	set := func(name string) func(*spec.Spec, *host.Host, *Mode) {
		return func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Seccomp = name }
	}
	guarded := func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Guard = []byte("12345678") }
	require := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Require = []string{"seccomp"} }
	heard := []byte("87654321")
	for name, c := range map[string]struct {
		in                            *input
		heard                         []byte
		first                         bool
		guard, load, listener, closes bool
		text, op                      string
	}{
		"default":                {in: asked(), load: true, text: "default, 100 instructions"},
		"heard":                  {in: asked(), heard: heard, load: true, listener: true, closes: true, text: "default, 100 instructions"},
		"loaded before the run":  {in: asked(), heard: heard, first: true, load: true, listener: true, text: "default, 100 instructions"},
		"a profile":              {in: asked(set("/p.json"), guarded), load: true, guard: true, text: "/p.json, 100 instructions"},
		"unconfined":             {in: asked(set("unconfined")), text: "not enforced: unconfined was asked for"},
		"unconfined, a bind":     {in: asked(set("unconfined"), guarded), guard: true, text: "not enforced: unconfined was asked for"},
		"required, unconfined":   {in: asked(set("unconfined"), require), text: "not enforced: unconfined was asked for", op: "seccomp"},
		"not there":              {in: asked(without("seccomp", "no filter")), op: "seccomp"},
		"not there and optional": {in: asked(without("seccomp", "none"), func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Optional = []string{"seccomp"} }), text: "not enforced: none (optional)"},
	} {
		out := newReport()
		f := decideFilter(c.in, c.heard, c.first, &out)
		if (f.guard != nil) != c.guard || (f.load != nil) != c.load || f.heard != c.listener || f.closes != c.closes || out.enforced["seccomp"].String() != c.text || op(out.err) != c.op {
			t.Errorf("%s: guard %v, load %v, %+v, %q, %v", name, f.guard != nil, f.load != nil, f.closes, out.enforced["seccomp"], out.err)
		}
		if c.heard != nil && (!bytes.Equal(f.load, heard) || f.flags&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER == 0) {
			t.Errorf("%s: init does not listen", name)
		}
	}
}

// The arguments of the fork name init's operations, its answer and its terminal, each at its place.
func TestForkArgs(t *testing.T) {
	for want, c := range map[string]struct {
		l          listening
		own, disks int
	}{
		"$1 0 2":                                      {listening{}, 0, 2},
		"$1 0 0 7 ":                                   {listening{}, 7, 0},
		"$1 &$9 1 0 EPERM":                            {listening{heard: []byte{1}, counted: true}, 0, 1},
		"$1 &$9 1 7 EPERM process":                    {listening{heard: []byte{1}, counted: true, traces: true}, 7, 1},
		"$1 0 1 0 0 0 | 6 << 8 the slot":              {listening{terminal: 2}, 0, 1},
		"$1 &$9 1 0 EPERM 0 | 5 << 8 the slot":        {listening{heard: []byte{1}, counted: true, terminal: 1}, 0, 1},
		"$1 &$9 1 0 EPERM 1 | 5 << 8 the slot of the": {listening{heard: []byte{1}, counted: true, traces: true, terminal: 1}, 0, 1},
	} {
		var text []string
		for _, a := range c.l.args(c.own, c.disks, 9, 5) {
			text = append(text, a.String())
		}
		got := strings.Join(text, " ")
		at := 0
		for _, word := range strings.Fields(want) {
			i := strings.Index(got[at:], word)
			if i < 0 {
				t.Errorf("%q has no %q of %q", got, word, want)
				break
			}
			at += i + len(word)
		}
	}
}

// init's descriptor of the filter is saved where the fork has told the payload's process to.
func TestFilterSavesTheListener(t *testing.T) {
	p := program.New(2)
	l := listening{heard: []byte("87654321")}
	slot := l.fork(p, 0)
	f := filter{load: l.heard, heard: true}
	f.write(p, slot)
	if last := p.Ops[len(p.Ops)-1]; slot == 0 || last.NR != unix.SYS_SECCOMP || last.Save != slot {
		t.Errorf("slot %d, %+v", slot, last)
	}
}

func TestDecideLandlock(t *testing.T) {
	abi := func(n int) func(*spec.Spec, *host.Host, *Mode) {
		return func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Landlock = n }
	}
	require := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Require = []string{"landlock"} }
	open := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Seccomp = "unconfined" }
	none := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Net = spec.NetNone }
	for name, c := range map[string]struct {
		in       *input
		abi      int
		net      bool
		text, op string
	}{
		"default":       {asked(), 2, false, "ABI 2: files as the mounts say, but for truncate(2) and ioctl(2) of devices", ""},
		"no kernel":     {asked(abi(0)), 0, false, "not enforced: the kernel has no Landlock", ""},
		"an old one":    {asked(abi(1)), 0, false, "not enforced: Landlock of before Linux 5.19", ""},
		"a required":    {asked(abi(0), require), 0, false, "", "landlock"},
		"unconfined":    {asked(open), 0, false, "not enforced: it forbids mount(2)", ""},
		"and required":  {asked(open, require), 2, false, "ABI 2: files as the mounts say", ""},
		"no network":    {asked(abi(5), none), 5, true, "ABI 5: files as the mounts say; no TCP port", ""},
		"signals":       {asked(abi(6)), 6, false, "ABI 6: files as the mounts say; no signal or abstract socket out of the jail", ""},
		"sockets":       {asked(abi(9)), 9, false, "ABI 9: files as the mounts say; no signal or abstract socket out of the jail; no socket of the host by path", ""},
		"sockets by us": {asked(abi(9), func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Optional = []string{"sockets"} }), 9, false, "ABI 9: files as the mounts say; no signal or abstract socket out of the jail", ""},
	} {
		out := newReport()
		d := decideLandlock(c.in, &out)
		if d.rules.ABI != c.abi || (d.rules.HandledNet != 0) != c.net || !strings.HasPrefix(out.enforced["landlock"].String(), c.text) || op(out.err) != c.op {
			t.Errorf("%s: ABI %d, net %v, %q, %v", name, d.rules.ABI, d.rules.HandledNet, out.enforced["landlock"], out.err)
		}
	}
	if n := streamsOf(&spec.Spec{TTY: true}); n != 0 {
		t.Errorf("a payload with a terminal may open %d streams again", n)
	}
}

// A rule that adds nothing to one above it is left out: each takes three system calls.
func TestLandlockPaths(t *testing.T) {
	in := asked(mounted(
		spec.Mount{Type: spec.MountBind, Source: "/s", Target: "/w", Writable: true},
		spec.Mount{Type: spec.MountBind, Source: "/s", Target: "/w/below", Writable: true},
		spec.Mount{Type: spec.MountBind, Source: "/s", Target: "/in"},
		spec.Mount{Type: spec.MountTmpfs, Target: "/t"}))
	out, fds := newReport(), newIntake()
	d := decide(in, &fds, &out)
	d.decideMounts(in, &fds, &out)
	names := map[string]bool{}
	for _, path := range d.domain.rules.Paths {
		names[path.Name] = true
	}
	for name, want := range map[string]bool{"/": true, "/dev": true, "/w": true, "/t": true, "/work": true, "/proc": true, "/w/below": false, "/in": false} {
		if names[name] != want {
			t.Errorf("%s: %v, want %v", name, names[name], want)
		}
	}
}

// What a jail is made of decides its order.
func TestShapeOf(t *testing.T) {
	filtered := preset(t)
	forked := func(_ *spec.Spec, _ *host.Host, m *Mode) { m.Forked = true }
	pooled := func(_ *spec.Spec, _ *host.Host, m *Mode) { m.Net = true }
	bound := mounted(spec.Mount{Type: spec.MountBind, Source: "/s", Target: "/in"})
	terminal := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.TTY = true }
	noSetns := func(_ *spec.Spec, _ *host.Host, m *Mode) { m.Root.NoSetns = true }
	for name, c := range map[string]struct {
		in      *input
		sockets bool
		want    shape
	}{
		"cold":                 {asked(), false, shape{}},
		"early":                {asked(forked), false, shape{ahead: true}},
		"early, in the tier":   {asked(inTier, forked), false, shape{noNamespaces: true}},
		"a Runner":             {asked(filtered, prepared), false, shape{prepared: true, filterFirst: true, side: canShare, makesNet: canShare}},
		"with a pool":          {asked(filtered, prepared, pooled), false, shape{prepared: true, filterFirst: true, side: canShare}},
		"with mounts":          {asked(filtered, prepared, bound), false, shape{prepared: true, mountsLater: true}},
		"with a terminal":      {asked(filtered, prepared, terminal), false, shape{prepared: true}},
		"with sockets":         {asked(filtered, prepared), true, shape{prepared: true, filterFirst: true}},
		"below another filter": {asked(filtered, prepared, noSetns), false, shape{prepared: true, filterFirst: true}},
	} {
		same(t, name, shapeOf(c.in, false, false, c.sockets), c.want)
	}
}

func TestCanDetachMounts(t *testing.T) {
	forked := func(_ *spec.Spec, _ *host.Host, m *Mode) { m.Forked = true }
	bound := mounted(spec.Mount{Type: spec.MountBind, Source: "/s", Target: "/in"})
	stays := func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Sources.Of(0).Stays = true }
	for name, c := range map[string]struct {
		in   *input
		want bool
	}{
		"early":             {asked(forked), true},
		"a Runner":          {asked(), false},
		"files that may go": {asked(forked, bound), false},
		"files that stay":   {asked(forked, bound, stays), true},
		"a ghost":           {asked(forked, func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Protected = []host.Protected{{Absent: true}} }), false},
		"without init":      {asked(forked, func(s *spec.Spec, _ *host.Host, _ *Mode) { s.NoInit = true }), false},
		"without a procfs":  {asked(forked, without("proc", "masked")), false},
	} {
		if got := canDetachMounts(c.in); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A directory is not below itself, nor is a name that only begins like it.
func TestBelow(t *testing.T) {
	for _, c := range []struct {
		name, dir string
		want      bool
	}{{"/a/b", "/a", true}, {"/a", "/a", false}, {"/ab", "/a", false}, {"/a", "/", true}, {"/a/b", "/a/b/c", false}, {"/", "/", true}} {
		if below(c.name, c.dir) != c.want {
			t.Errorf("%s below %s: %v", c.name, c.dir, !c.want)
		}
	}
}

// Init cannot listen to a filter that asks it about the calls by which a payload starts, and the guard tells what it
// refuses.
func TestFilterNotes(t *testing.T) {
	filtered := preset(t)
	in := asked(filtered)
	l := decideListening(in, &report{enforced: map[string]spec.Text{}})
	if why := noListener(in, l.heard); why != "" || startNotifies(l.heard) {
		t.Errorf("the default filter: %q", why)
	}
	always := []byte{6, 0, 0, 0, 0, 0, 0xc0, 0x7f} // BPF_RET: SECCOMP_RET_USER_NOTIF
	if why := noListener(in, always); !strings.Contains(why, "execve or exit_group") {
		t.Errorf("a filter that asks about all: %q", why)
	}
	plain := guardNote(&spec.Spec{})
	writes := guardNote(&spec.Spec{Mounts: []spec.Mount{{Type: spec.MountBind, Source: "/s", Target: "/w", Writable: true}}})
	if strings.Contains(plain, "S_ISUID") || !strings.Contains(writes, "S_ISUID") {
		t.Errorf("%q, %q", plain, writes)
	}
}

package ordered

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/nsjail/steps"

	"golang.org/x/sys/unix"
)

// shows returns what Look finds for steps in the caller's directory.
func shows(t *testing.T, list ...steps.Step) (*steps.Jail, *Facts) {
	t.Helper()
	j := bare(list...)
	return j, must.Get(Look(j, must.Get(host.LookVersion())(t), os.Getpid()))(t)
}

// What a path of the jail is on the host is decided by the last step that covers it.
func TestOnHost(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, errors.Join(os.MkdirAll(dir+"/a/b", 0o755), os.Mkdir(dir+"/c", 0o755), os.Symlink("a", dir+"/l")))
	bind := func(source, target string) steps.Step {
		return steps.Step{Kind: steps.Bind, Source: dir + source, Target: target}
	}
	for _, c := range []struct {
		name, path string
		steps      []steps.Step
		at         string // on the host, below dir where it begins with a slash
		from       int
	}{
		{"nothing", "/x", nil, "", -1},
		{"a bind", "/w/b", []steps.Step{bind("/a", "/w")}, dir + "/a/b", 0},
		{"itself", "/w/", []steps.Step{bind("/a", "/w")}, dir + "/a", 0},
		{"a name that begins alike", "/work", []steps.Step{bind("/a", "/w")}, "", -1},
		{"the last one", "/w/b", []steps.Step{bind("/a", "/w"), bind("/c", "/w")}, dir + "/c/b", 1},
		{"one above", "/w/b", []steps.Step{bind("/a", "/w"), bind("/c", "/w/b")}, dir + "/c", 1},
		{"one beside", "/w/b", []steps.Step{bind("/a", "/w"), bind("/c", "/w/c")}, dir + "/a/b", 0},
		{"one that is missing", "/w/b", []steps.Step{bind("/a", "/w"), {Kind: steps.Bind, Source: dir + "/no", Target: "/w", Try: true}}, dir + "/a/b", 0},
		{"covered by memory", "/w/b", []steps.Step{bind("/a", "/w"), {Kind: steps.Tmpfs, Target: "/w"}}, "", 1},
		{"a procfs", "/p/self", []steps.Step{{Kind: steps.Proc, Target: "/p"}}, "/proc/self", 0},
		{"by way of a link", "/w/l", []steps.Step{bind("", "/w"), bind("/c", "/w/l")}, dir + "/l", 0},
		{"of a link's target", "/w/a", []steps.Step{bind("", "/w"), bind("/c", "/w/l")}, dir + "/a", 0},
		{"a file changes nothing", "/w/f", []steps.Step{bind("/a", "/w"), {Kind: steps.File, Target: "/w/f"}}, dir + "/a/f", 0},
		{"a step's own link", "/n", []steps.Step{{Kind: steps.Symlink, Source: "x", Target: "/n"}, bind("/a", "/n")}, "", -1},
	} {
		j, f := shows(t, c.steps...)
		if at, from := f.onHost(j, c.path, len(j.Steps)); at != c.at || from != c.from {
			t.Errorf("%s: %q, %d, want %q, %d", c.name, at, from, c.at, c.from)
		}
	}
}

// A directory is in the jail if a source has it, or if a step makes it or something below it.
func TestThere(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, errors.Join(os.MkdirAll(dir+"/a/b", 0o755), os.WriteFile(dir+"/f", nil, 0o644)))
	all := steps.Step{Kind: steps.Bind, Source: dir, Target: "/w"}
	for _, c := range []struct {
		name, path string
		steps      []steps.Step
		want       bool
	}{
		{"the root", "/", nil, true},
		{"nothing", "/w", nil, false},
		{"of a source", "/w/a/b", []steps.Step{all}, true},
		{"a file of it", "/w/f", []steps.Step{all}, false},
		{"not in it", "/w/no", []steps.Step{all}, false},
		{"made in it", "/w/no", []steps.Step{all, {Kind: steps.Dir, Target: "/w/no"}}, true},
		{"above a target", "/x", []steps.Step{{Kind: steps.File, Target: "/x/y/f"}}, true},
		{"a file is no directory", "/x/f", []steps.Step{{Kind: steps.File, Target: "/x/f"}}, false},
		{"a name that begins alike", "/x", []steps.Step{{Kind: steps.Dir, Target: "/xy"}}, false},
		{"a host's name", "/box", []steps.Step{{Kind: steps.Hostname, Target: "box/a"}}, false},
		{"a mode", "/x", []steps.Step{{Kind: steps.Chmod, Target: "/x/y"}}, false},
		{"made, and covered", "/d/e", []steps.Step{{Kind: steps.Dir, Target: "/d/e"}, {Kind: steps.Tmpfs, Target: "/d"}}, false},
		{"covered, and made", "/d/e", []steps.Step{{Kind: steps.Tmpfs, Target: "/d"}, {Kind: steps.Dir, Target: "/d/e"}}, true},
	} {
		j, f := shows(t, c.steps...)
		if got := f.there(j, c.path); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// A source is found without links; what lacks is an error, or left out.
func TestBindSource(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, errors.Join(os.Mkdir(dir+"/d", 0o755), os.WriteFile(dir+"/f", nil, 0o644), os.Symlink("d", dir+"/l")))
	file := must.Get(os.Open(dir + "/f"))(t)
	defer file.Close()
	var st unix.Stat_t
	must.Do(t, unix.Fstat(int(file.Fd()), &st))
	in, gone := &Facts{Cwd: dir}, &Facts{}
	for name, c := range map[string]struct {
		f    *Facts
		step steps.Step
		want Source
		op   string
	}{
		"a directory":             {in, steps.Step{Source: dir + "/d"}, Source{Path: dir + "/d", Dir: true}, ""},
		"of the caller's":         {in, steps.Step{Source: "d"}, Source{Path: dir + "/d", Dir: true}, ""},
		"a file":                  {in, steps.Step{Source: "f"}, Source{Path: dir + "/f"}, ""},
		"behind a link":           {in, steps.Step{Source: "l"}, Source{Path: dir + "/d", Dir: true}, ""},
		"the root":                {in, steps.Step{Source: "/"}, Source{Path: "/", Dir: true, Root: true}, ""},
		"missing":                 {in, steps.Step{Source: "no"}, Source{}, "Can't find source path no"},
		"missing, tried":          {in, steps.Step{Source: "no", Try: true}, Source{Path: dir + "/no", Missing: true}, ""},
		"below a file, tried":     {in, steps.Step{Source: "f/x", Try: true}, Source{}, "Can't find source path f/x"},
		"of a removed directory":  {gone, steps.Step{Source: "d"}, Source{}, "Can't find source path d"},
		"likewise, tried":         {gone, steps.Step{Source: "d", Try: true}, Source{Path: "d", Missing: true}, ""},
		"open":                    {gone, steps.Step{FD: int(file.Fd())}, Source{Path: dir + "/f", Dev: uint64(st.Dev), Ino: st.Ino}, ""},
		"a descriptor that lacks": {gone, steps.Step{Kind: steps.Bind, FD: 999}, Source{}, steps.Option + "bind-fd"},
	} {
		if c.step.FD == 0 {
			c.step.FD = steps.NoFD
		}
		got, err := c.f.bindSource(&c.step)
		op := ""
		if err != nil {
			op = err.(*spec.Error).Op
		}
		if op != c.op || err == nil && (got.Path != c.want.Path || got.Missing != c.want.Missing || got.Dir != c.want.Dir || got.Root != c.want.Root || got.Dev != c.want.Dev || got.Ino != c.want.Ino) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// Layers are looked up as sources are; one that is not asked for has no path.
func TestLayersOfHost(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	_, f := shows(t, steps.Step{Kind: steps.TmpOverlay, Target: "/o", Lower: []string{dir, "/"}})
	if got := f.Sources[0].Layers; !slices.Equal(got, []string{"", "", dir, "/"}) {
		t.Error(got)
	}
	if _, err := f.look(bare(steps.Step{Kind: steps.ROOverlay, Target: "/o", Lower: []string{dir + "/no"}}), 0); err == nil {
		t.Error("a layer that is missing is no error")
	}
}

// The payload inherits what the caller has left open for it, and starts at home only if that is in the jail.
func TestLookCaller(t *testing.T) {
	kept := must.Get(unix.FcntlInt(0, unix.F_DUPFD, 700))(t)
	closed := must.Get(unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 800))(t)
	defer unix.Close(kept)
	defer unix.Close(closed)
	j := bare(steps.Step{Kind: steps.Tmpfs, Target: "/t"})
	j.Env = []string{"HOME=/nowhere"}
	f := must.Get(Look(j, must.Get(host.LookVersion())(t), os.Getpid()))(t)
	if f.Highest != kept || !slices.Contains(f.Inherited, kept) || slices.Contains(f.Inherited, closed) || f.Home != "" || f.CwdThere {
		t.Errorf("%+v", f)
	}
}

// A caller whose directory has been removed starts elsewhere.
func TestLookWithoutADirectory(t *testing.T) {
	dir := t.TempDir() + "/gone"
	must.Do(t, os.Mkdir(dir, 0o755))
	t.Chdir(dir)
	t.Setenv("PWD", "")
	must.Do(t, os.Remove(dir))
	if _, f := shows(t); f.CwdThere {
		t.Errorf("%q is there", f.Cwd)
	}
}

// A link that is there is compared with the step's, also one that an earlier step has made.
func TestSameLink(t *testing.T) {
	link := func(text string) steps.Step { return steps.Step{Kind: steps.Symlink, Source: text, Target: "/d/l"} }
	for name, c := range map[string]struct {
		steps      []steps.Step
		same, fail bool
	}{
		"new":               {[]steps.Step{link("a")}, false, false},
		"made before":       {[]steps.Step{link("a"), link("a")}, true, false},
		"another before":    {[]steps.Step{link("b"), link("a")}, false, true},
		"covered meanwhile": {[]steps.Step{link("b"), {Kind: steps.Tmpfs, Target: "/d"}, link("a")}, false, false},
		"a mount point":     {[]steps.Step{{Kind: steps.Tmpfs, Target: "/d/l"}, link("a")}, false, true},
	} {
		j := bare(c.steps...)
		f := &Facts{Sources: make([]Source, len(j.Steps))}
		for _, s := range j.Steps {
			f.targets = append(f.targets, s.Target)
		}
		if same, err := f.sameLink(j, len(j.Steps)-1); same != c.same || (err != nil) != c.fail {
			t.Errorf("%s: %v, %v", name, same, err)
		}
	}
}

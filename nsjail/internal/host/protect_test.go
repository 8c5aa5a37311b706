package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"brig/internal/sys"
	"brig/internal/test/must"
	"brig/internal/words"
	"brig/nsjail/internal/walk"
	"brig/nsjail/spec"
)

// grow makes files in a directory: "a" is a file, "a/" a directory, "a -> b" a symbolic link, "a = b" another name of b.
// In the text of a link "$" is the directory.
func grow(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		name, link, isLink := strings.Cut(name, " -> ")
		name, other, isName := strings.Cut(name, " = ")
		full := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(full), 0o755))
		switch {
		case isLink:
			must.Do(t, os.Symlink(strings.ReplaceAll(link, "$", dir), full))
		case isName:
			must.Do(t, os.Link(filepath.Join(dir, other), full))
		case strings.HasSuffix(name, "/"):
			must.Do(t, os.MkdirAll(full, 0o755))
		default:
			must.Do(t, os.WriteFile(full, []byte(name), 0o644))
		}
	}
}

var quoted = regexp.MustCompile(`"\$[^"]*"`)

// at returns a message with a directory for "$": messages cut long paths in quotation marks.
func at(dir, text string) string {
	text = quoted.ReplaceAllStringFunc(text, func(q string) string { return words.Quote(dir + q[2:len(q)-1]) })
	return strings.ReplaceAll(text, "$", dir)
}

// away has brig keep its own where no test looks.
func away(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, dir)
	}
	t.Setenv("BRIG_CHANGES", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

// protects returns what a Spec protects in its mounts.
func protects(t *testing.T, s *spec.Spec) (*Host, error) {
	t.Helper()
	l := looks(t, s)
	l.table = must.Get(sys.Mounts())(t)
	for i, m := range s.Mounts {
		if m.Type == spec.MountBind || m.Type == spec.MountCOW {
			must.Get(l.openMount(SourceOf(i), m))(t)
		}
	}
	return l.Host, l.lookProtect()
}

// told is a Protection in words: the targets with the paths of the host that they are, "?" after what is absent, "!"
// before what is taken back, and "+" before the places of ghosts.
func told(h *Host, dir string) (list []string) {
	for _, p := range h.Protected {
		what := p.Target
		if rel := strings.TrimPrefix(p.Path, dir+"/"); p.Path != "" && "/"+rel != p.Target {
			what += " is " + rel
		}
		if p.Absent {
			what += "?"
		}
		list = append(list, what)
	}
	for _, target := range h.Unprotected {
		list = append(list, "!"+target)
	}
	for _, g := range h.Ghosts {
		list = append(list, "+"+strings.TrimPrefix(g.Dir+"/"+g.Name, dir+"/"))
	}
	return list
}

func cow(source, target string) spec.Mount {
	return spec.Mount{Type: spec.MountCOW, Source: source, Target: target}
}

// TestProtect: what an entry of Spec.Protect names is protected by every name that leads to it.
func TestProtect(t *testing.T) {
	away(t)
	rw := []spec.Mount{bind("$/w", "/w", true)}
	for name, c := range map[string]struct {
		files   []string
		mounts  []spec.Mount
		protect []string
		want    []string
	}{
		"a file":                        {[]string{"w/f"}, rw, []string{"f"}, []string{"/w/f", "+w/f"}},
		"by its path in the jail":       {[]string{"w/a/f"}, rw, []string{"/w/a/f"}, []string{"/w/a/f", "+w/a/f"}},
		"a directory":                   {[]string{"w/d/x"}, rw, []string{"d"}, []string{"/w/d", "+w/d"}},
		"twice":                         {[]string{"w/f"}, rw, []string{"f", "/w/f"}, []string{"/w/f", "+w/f"}},
		"a name with a newline":         {[]string{"w/a\nb"}, rw, []string{"a\nb"}, []string{"/w/a\nb", "+w/a\nb"}},
		"an absent file":                {[]string{"w/"}, rw, []string{"f"}, []string{"/w/f?", "+w/f"}},
		"an absent directory on a path": {[]string{"w/"}, rw, []string{"a/b/c"}, []string{"/w/a?", "+w/a"}},
		"a link":                        {[]string{"w/f", "w/l -> f"}, rw, []string{"l"}, []string{"/w/l", "/w/f", "+w/l", "+w/f"}},
		"a link on the way":             {[]string{"w/d/f", "w/l -> d"}, rw, []string{"l/f"}, []string{"/w/l", "/w/d/f", "+w/l", "+w/d/f"}},
		"a link to what is not shown":   {[]string{"w/l -> $/out", "out"}, rw, []string{"l"}, []string{"/w/l", "+w/l"}},
		"a link that comes back":        {[]string{"w/l -> $/out/back", "out/back -> ../w/f", "w/f"}, rw, []string{"l"}, []string{"/w/l", "/w/f", "+w/l", "+w/f"}},
		"a link to nothing":             {[]string{"w/l -> gone"}, rw, []string{"l"}, []string{"/w/l", "/w/gone?", "+w/l", "+w/gone"}},
		"a link in a directory":         {[]string{"w/d/l -> ../f", "w/f"}, rw, []string{"d"}, []string{"/w/d", "/w/f", "+w/d", "+w/f"}},
		"a chain in a directory":        {[]string{"w/d/l -> ../m", "w/m -> f", "w/f"}, rw, []string{"d"}, []string{"/w/d", "/w/m", "/w/f", "+w/d", "+w/m", "+w/f"}},
		"taken back":                    {[]string{"w/f", "w/g"}, rw, []string{"f", "g", "!g"}, []string{"/w/f", "!/w/g", "+w/f"}},
		"taken back by another path":    {[]string{"w/d/g"}, rw, []string{"d/g", "!/w/d"}, []string{"!/w/d/g"}},
		"through a file":                {[]string{"w/f"}, rw, []string{"f/x"}, []string{"/w/f", "+w/f"}},
		"in a read-only bind":           {[]string{"w/f"}, []spec.Mount{bind("$/w", "/w", false)}, []string{"f"}, nil},
		"in a cow":                      {[]string{"w/f"}, []spec.Mount{cow("$/w", "/w")}, []string{"f", "g"}, []string{"/w/f", "/w/g?"}},
		"in a volume":                   {nil, []spec.Mount{{Type: spec.MountVolume, Target: "/v", Writable: true}}, []string{"f"}, []string{"/v/f"}},
		"in both":                       {[]string{"w/f", "x/"}, []spec.Mount{bind("$/w", "/w", true), bind("$/x", "/x", true)}, []string{"f"}, []string{"/w/f", "/x/f?", "+w/f", "+x/f"}},
		"shown twice": {[]string{"w/d/f"}, []spec.Mount{bind("$/w", "/w", true), bind("$/w/d", "/d", true)}, []string{"/w/d/f"},
			[]string{"/w/d/f", "/d/f is w/d/f", "+w/d/f"}},
		"hidden by another mount": {[]string{"w/d/f", "y/"}, []spec.Mount{bind("$/w", "/w", true), bind("$/y", "/w/d", true)}, []string{"/w/d/f"},
			[]string{"/w/d/f is y/f?", "+y/f"}},
		"by a link, and hidden": {[]string{"w/d/f", "w/l -> d/f", "y/f"}, []spec.Mount{bind("$/w", "/w", true), bind("$/y", "/w/d", true)}, []string{"/w/l"},
			[]string{"/w/l", "+w/l"}},
		"a read-only mount in it": {[]string{"w/d/f", "y/f"}, []spec.Mount{bind("$/w", "/w", true), bind("$/y", "/w/d", false)}, []string{"d/f"}, nil},
		"nothing":                 {[]string{"w/f"}, rw, nil, nil},
		"only taken back":         {[]string{"w/f"}, rw, []string{"!f"}, nil},
	} {
		dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
		grow(t, dir, c.files...)
		s := &spec.Spec{Protect: c.protect, Mounts: slices.Clone(c.mounts)}
		for i := range s.Mounts {
			s.Mounts[i].Source = strings.ReplaceAll(s.Mounts[i].Source, "$", dir)
		}
		h, err := protects(t, s)
		if got := told(h, dir); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v\nwant %q", name, got, err, c.want)
		}
	}
}

// TestProtectRefuses: a path that cannot be protected is an error that names it, with a remedy.
func TestProtectRefuses(t *testing.T) {
	away(t)
	rw := bind("$/w", "/w", true)
	for name, c := range map[string]struct {
		files       []string
		mounts      []spec.Mount
		protect     []string
		why, remedy string
	}{
		"a bind of it": {[]string{"w/d/f"}, []spec.Mount{rw, bind("$/w/d", "/d", true)}, []string{"/w/d"},
			`"$/w/d" is protected, and the mount at "/d" shows it writable`, `show it read-only, or take it back: protect: ["!/w/d"]`},
		"a bind in it": {[]string{"w/d/e/f"}, []spec.Mount{rw, bind("$/w/d/e", "/e", true)}, []string{"/w/d"},
			`"$/w/d" is protected, and the mount at "/e" shows "$/w/d/e" writable`, `show it read-only, or take it back: protect: ["!/w/d"]`},
		"a hard link": {[]string{"w/f", "w/d/g = w/f"}, []spec.Mount{rw}, []string{"f"},
			`"$/w/f" is the same file as "$/w/d/g" (a hard link), which is writable`, `break the link: cp -p '$/w/d/g' '$/w/d/g.new' && mv '$/w/d/g.new' '$/w/d/g'`},
		"a hard link in a directory": {[]string{"w/d/f", "w/g = w/d/f"}, []spec.Mount{rw}, []string{"d"},
			`"$/w/d/f" is the same file as "$/w/g" (a hard link), which is writable`, `break the link: cp -p '$/w/g' '$/w/g.new' && mv '$/w/g.new' '$/w/g'`},
		"a hard link in another bind": {[]string{"w/f", "x/g = w/f"}, []spec.Mount{rw, bind("$/x", "/x", true)}, []string{"/w/f"},
			`"$/w/f" is the same file as "$/x/g" (a hard link), which is writable`, `break the link: cp -p '$/x/g' '$/x/g.new' && mv '$/x/g.new' '$/x/g'`},
		"both names are protected": {[]string{"w/f", "w/g = w/f"}, []spec.Mount{rw}, []string{"f", "g"}, "", ""},
		"a hard link in a copy":    {[]string{"w/f", "x/g = w/f"}, []spec.Mount{rw, cow("$/x", "/x")}, []string{"/w/f"}, "", ""},
		"a hard link outside":      {[]string{"w/f", "x/g = w/f"}, []spec.Mount{rw}, []string{"f"}, "", ""},
	} {
		dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
		grow(t, dir, c.files...)
		s := &spec.Spec{Protect: c.protect, Mounts: slices.Clone(c.mounts)}
		for i := range s.Mounts {
			s.Mounts[i].Source = strings.ReplaceAll(s.Mounts[i].Source, "$", dir)
		}
		here := func(text string) string { return at(dir, text) }
		_, err := protects(t, s)
		if c.why == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		e, ok := errors.AsType[*spec.Error](err)
		if !ok || e.Op != "protect" || e.Fault != spec.FaultCaller || e.Detail.String() != here(c.why) || e.Remedy.String() != here(c.remedy) {
			t.Errorf("%s: %v\nwant %s; %s", name, err, here(c.why), here(c.remedy))
		}
		s.Optional = []string{"protect"}
		if h, err := protects(t, s); err != nil || len(h.Protected)+len(h.Ghosts) > 0 || !strings.Contains(h.Missing["protect"].String(), here(c.why)) {
			t.Errorf("%s, where that is optional: %q, %v, %v", name, told(h, dir), h.Missing, err)
		}
	}
}

// A Spec protects a bounded number of paths, since each costs a start its mounts.
func TestProtectTooMany(t *testing.T) {
	away(t)
	dir := t.TempDir()
	var names []string
	for i := range spec.MaxProtected + 1 {
		names = append(names, fmt.Sprint(i))
	}
	s := &spec.Spec{Protect: names[1:], Mounts: []spec.Mount{bind(dir, "/w", true)}}
	if h, err := protects(t, s); err != nil || len(h.Protected) != spec.MaxProtected {
		t.Errorf("%d, %v", len(h.Protected), err)
	}
	s.Protect = names
	if _, err := protects(t, s); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("is one of more than %d protected paths", spec.MaxProtected)) {
		t.Error(err)
	}
}

// An earlier payload of this user may have removed the permission to look at a protected path: chmod(2).
func TestProtectDenied(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root is denied nothing")
	}
	away(t)
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	grow(t, dir, "d/f")
	must.Do(t, os.Chmod(dir+"/d", 0))
	defer os.Chmod(dir+"/d", 0o700)
	_, err := protects(t, &spec.Spec{Protect: []string{"d/f"}, Mounts: []spec.Mount{bind(dir, "/w", true)}})
	if e, ok := errors.AsType[*spec.Error](err); !ok || e.Detail.String() != at(dir, `"$/d/f" cannot be looked at: permission denied`) || e.Remedy.String() != "chmod u+rwx '"+dir+"/d'" {
		t.Error(err)
	}
}

// What the payload of an ordinary user can neither make nor look at needs no protection: it is another user's.
func TestProtectOthers(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root is denied nothing")
	}
	away(t)
	s := &spec.Spec{Protect: []string{"etc/no-such-file", "etc/no/such"}, Mounts: []spec.Mount{bind("/", "/w", true)}}
	if _, err := os.Lstat("/root/x"); errors.Is(err, os.ErrPermission) {
		s.Protect = append(s.Protect, "root/x")
	}
	if h, err := protects(t, s); err != nil || slices.ContainsFunc(told(h, ""), func(what string) bool { return strings.Contains(what, "no") || strings.Contains(what, "root") }) {
		t.Errorf("%q, %v", told(h, ""), err)
	}
}

// TestProtectNotes: a link in a protected directory to a directory around it cannot be protected: that is noted.
func TestProtectNotes(t *testing.T) {
	away(t)
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	grow(t, dir, "w/d/up -> ..", "w/d/top -> $", "w/d/side -> ../e", "w/e/f")
	h := must.Get(protects(t, &spec.Spec{Protect: []string{"d"}, Mounts: []spec.Mount{bind(dir+"/w", "/w", true)}}))(t)
	var notes []string
	for _, note := range h.Partial {
		notes = append(notes, note.String())
	}
	want := []string{at(dir, `"$/w/d/top" is in a protected directory and leads to "$", which holds all of it and is not protected`),
		at(dir, `"$/w/d/up" is in a protected directory and leads to "$/w", which holds all of it and is not protected`)}
	slices.Sort(want)
	if slices.Sort(notes); !slices.Equal(notes, want) {
		t.Errorf("%q\nwant %q", notes, want)
	}
	if got, want := told(h, dir), []string{"/w/d", "/w/e", "+w/d", "+w/e"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A protected directory that is too large to search may hold another name of a file: it is refused.
func TestProtectLarge(t *testing.T) {
	away(t)
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	grow(t, dir, "w/d/f")
	for i := range walk.Max {
		must.Do(t, os.Link(dir+"/w/d/f", fmt.Sprintf("%s/w/d/%d", dir, i)))
	}
	_, err := protects(t, &spec.Spec{Protect: []string{"d"}, Mounts: []spec.Mount{bind(dir+"/w", "/w", true)}})
	e, ok := errors.AsType[*spec.Error](err)
	if !ok || e.Detail.String() != at(dir, `"$/w/d" holds 4096 entries or more, too many to look for hard links`) || e.Remedy.String() != `show it read-only, or take it back: protect: ["!/w/d"]` {
		t.Error(err)
	}
}

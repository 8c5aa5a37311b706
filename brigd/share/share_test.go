package share

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Share{
		"data=/srv/data:ro":   {Name: "data", Dir: "/srv/data", Mode: "ro"},
		"w-1_x=/a:b,c=/d/:rw": {Name: "w-1_x", Dir: "/a:b,c=/d", Mode: "rw"},
		"repo=/srv:cow":       {Name: "repo", Dir: "/srv", Mode: "cow"},
		"repo=/srv:cow,protect=.git/hooks,protect=a": {Name: "repo", Dir: "/srv", Mode: "cow",
			Protect: []string{".git/hooks", "a"}},
		"repo=/srv:cow,store=disk":         {Name: "repo", Dir: "/srv", Mode: "cow", Store: "disk"},
		"repo=/srv:cow,size=1m,inodes=100": {Name: "repo", Dir: "/srv", Mode: "cow", Size: 1 << 20, Inodes: 100},
	} {
		if s, err := Parse(text); err != nil || fmt.Sprint(s) != fmt.Sprint(want) {
			t.Errorf("%s: %+v %v", text, s, err)
		}
	}
	for text, want := range map[string]string{
		"":                          "NAME=DIR:MODE",
		"data":                      "NAME=DIR:MODE",
		"data=/srv/data":            "NAME=DIR:MODE",
		"data=:ro":                  "NAME=DIR:MODE",
		"data=/srv:":                "not a mode",
		"data=/srv:RW":              "not a mode",
		"Data=/srv:ro":              "not a share's name",
		"-d=/srv:ro":                "not a share's name",
		"*=/srv:ro":                 "not a share's name",
		"=/srv:ro":                  "not a share's name",
		"a\x1b[1m=/:ro":             "not a share's name",
		"data=/srv:ro,":             "not an option",
		"data=/srv:ro,rw":           "not an option",
		"data=/srv:ro,size=1m":      "takes nothing",
		"data=/srv:rw,size=1m":      "nothing holds a quota",
		"data=/srv:ro,protect=a":    "read-only share",
		"data=/srv:rw,protect=../a": "not a path below",
		"data=/srv:rw,protect=/a":   "not a path below",
		"data=/srv:rw,protect=.":    "not a path below",
		"data=/srv:cow,size=1":      "less than 64k",
		"data=/srv:cow,store=x":     "memory or disk",
		"data=/srv:rw,store=disk":   "nothing holds a quota",
		"data=/srv:cow,size=x":      "size",
		"data=/srv:cow,inodes=1":    "not a number from 16",
	} {
		if s, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%q: %+v %v", text, s, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("data=/srv/data:ro")
	f.Add("a=b:rw")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := Parse(text); err == nil && (!filepath.IsAbs(s.Dir) || s.Name == "" || s.Mode == "") {
			t.Errorf("%q: %+v", text, s)
		}
	})
}

// dirs makes directories below a new one, and returns that.
func dirs(t *testing.T, names ...string) string {
	t.Helper()
	top := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	for _, name := range names {
		must.Do(t, os.MkdirAll(filepath.Join(top, name), 0o755))
	}
	return top
}

func set(t *testing.T, shares ...Share) *Set {
	t.Helper()
	s := must.Get(Open(shares))(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	return s
}

// A share that could be changed through a writable one around it is none; a writable one inside of another is.
func TestOpen(t *testing.T) {
	top := dirs(t, "a/b", "ab")
	must.Do(t, os.Symlink("a/b", top+"/link"))
	share := func(name, dir, mode string) Share { return Share{Name: name, Dir: top + "/" + dir, Mode: mode} }
	keeps := func(s Share, paths ...string) Share { s.Protect = paths; return s }
	for name, c := range map[string]struct {
		list []Share
		want string
	}{
		"protected, by two names":     {[]Share{keeps(share("a", "a", "rw"), "b"), share("c", "a", "rw")}, "could be changed through c"},
		"below what is protected":     {[]Share{share("c", "a/b", "rw"), keeps(share("a", "a", "rw"), "b")}, "could be changed through c"},
		"above what is protected":     {[]Share{keeps(share("a", "a/b", "cow"), "x"), share("c", "a", "cow")}, "could be changed through c"},
		"protected in both":           {[]Share{keeps(share("a", "a/b", "rw"), "x/y"), keeps(share("c", "a", "rw"), "b/x")}, "could be changed through a"},
		"protected alike":             {[]Share{keeps(share("a", "a/b", "rw"), "x"), keeps(share("c", "a", "rw"), "b/x")}, ""},
		"protected by a link":         {[]Share{keeps(share("a", "", "rw"), "link/x"), share("c", "a/b", "rw")}, "could be changed through c"},
		"beside what is protected":    {[]Share{keeps(share("a", "a", "rw"), "x"), share("c", "a/b", "rw")}, ""},
		"read-only what is protected": {[]Share{keeps(share("a", "a", "rw"), "b"), share("c", "", "ro")}, ""},
		"both read-only":              {[]Share{share("a", "a", "ro"), share("b", "a/b", "ro")}, ""},
		"writable in read-only":       {[]Share{share("a", "a", "ro"), share("b", "a/b", "rw")}, ""},
		"the reverse":                 {[]Share{share("b", "a/b", "rw"), share("a", "a", "ro")}, ""},
		"read-only in writable":       {[]Share{share("a", "a", "rw"), share("b", "a/b", "ro")}, "through which"},
		"the other order":             {[]Share{share("b", "a/b", "ro"), share("a", "a", "rw")}, "through which"},
		"the same directory":          {[]Share{share("a", "a", "rw"), share("b", "a", "ro")}, "through which"},
		"the same, by a link":         {[]Share{share("b", "a/b", "ro"), share("a", "link", "rw")}, "through which"},
		"beside, with its prefix":     {[]Share{share("a", "a", "rw"), share("b", "ab", "ro")}, ""},
		"one name":                    {[]Share{share("a", "a", "ro"), share("a", "ab", "ro")}, "two of this name"},
		"missing":                     {[]Share{share("a", "c", "ro")}, "no such file"},
	} {
		s, err := Open(c.list)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			s.Close()
		}
	}
}

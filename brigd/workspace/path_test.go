package workspace

import (
	"slices"
	"strings"
	"testing"

	"brig/brigd/job"
)

func TestParse(t *testing.T) {
	long := strings.Repeat("n", 255)
	for _, c := range []struct{ path, want, code string }{
		{"a.txt", "/work/a.txt", ""},
		{"/work/a.txt", "/work/a.txt", ""},
		{"/input/./d//f", "/input/d/f", ""},
		{"./input/f", "/work/input/f", ""},
		{"input", "/work/input", ""},
		{"./a", "/work/a", ""},
		{"//output", "/output", ""},
		{"/output/d/", "/output/d", ""},
		{"/", "/", ""},
		{".", "/work", ""},
		{"a\nb\x1b[31m\xff\xfe", "/work/a\nb\x1b[31m\xff\xfe", ""},
		{"..a/.../b..", "/work/..a/.../b..", ""},
		{long, "/work/" + long, ""},
		{"", "", CodeBadPath},
		{"input/f", "", CodeBadPath}, // it reads as /input/f
		{"..", "", CodeBadPath},
		{"/work/../etc/passwd", "", CodeBadPath},
		{"/input/../work", "", CodeBadPath},
		{"a/..", "", CodeBadPath},
		{"a\x00b", "", CodeBadPath},
		{"\x00", "", CodeBadPath},
		{long + "n", "", CodeBadPath},
		{strings.Repeat("d/", 2048), "", CodeBadPath},
		{"/etc/passwd", "", CodeOutside},
		{"/.put-x", "", CodeOutside},
		{"/workx", "", CodeOutside},
		{"/proc/self/root", "", CodeOutside},
	} {
		p, err := parse(c.path)
		wantCode(t, c.path, err, c.code)
		if err == nil && p.String() != c.want || err != nil && len(err.Error()) > 1200 {
			t.Errorf("%q: %q, %v", c.path, p, err)
		}
	}
	for _, path := range []string{"/", "/work", "/input/", "."} {
		_, err := below(path)
		wantCode(t, path+" names something below an area", err, CodeBadPath)
	}
}

// Whatever is parsed is a path below the root in which every name is one, and parses to itself.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "/", "a", "/work/../x", "/input//./a/", "..", "a\x00", "/work/\xff\n",
		strings.Repeat("x", 300), "/work/a/."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := parse(path)
		if err != nil {
			if r, ok := err.(*job.Refusal); !ok || r.Message == "" || r.Code == "" {
				t.Errorf("%q: %+v", path, err)
			}
			return
		}
		if len(p.String()) >= pathMax+len("/work/") || strings.IndexByte(p.String(), 0) >= 0 {
			t.Errorf("%q: %q", path, p)
		}
		if len(p.names) > 0 && !slices.Contains(areas, p.names[0]) {
			t.Errorf("%q: %q in no area", path, p.names)
		}
		for _, name := range p.names {
			if name == "" || name == "." || name == ".." || strings.Contains(name, "/") || len(name) > nameMax {
				t.Errorf("%q: a name is %q", path, name)
			}
		}
		if again, r := parse(p.String()); len(p.String()) < pathMax && (r != nil || again.String() != p.String()) {
			t.Errorf("%q: %q is %q, %v", path, p, again, r)
		}
	})
}

// A name is shown as valid UTF-8, and a name that is that already stays as it is.
func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"", "a", "\xff", "é\xc3", "\\xff", "�", "a\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := printable(name)
		if valid := strings.ToValidUTF8(name, "") == name; valid && got != name || strings.ToValidUTF8(got, "") != got {
			t.Errorf("%q: %q", name, got)
		}
	})
}

func TestCheckAgent(t *testing.T) {
	for _, ok := range []string{"default", "a", "A-1_b.c:d@e", strings.Repeat("a", 64), "0"} {
		if err := CheckAgent(ok); err != nil {
			t.Error(ok, err)
		}
	}
	for _, bad := range []string{"", ".a", "-a", "a b", "a/b", "..", "a\n", "é", "a\x00", strings.Repeat("a", 65), `a"`} {
		wantCode(t, bad, CheckAgent(bad), CodeBadAgent)
	}
}

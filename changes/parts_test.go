package changes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"brig/internal/gitdata"
)

// TestDivide: one rename changes a name with all below it, and a directory that stays is a place.
func TestDivide(t *testing.T) {
	file, dir := regular("x"), folder(3)
	for name, c := range map[string]struct {
		tasks []task
		want  string // units with how many tasks, then places
		bad   bool
	}{
		"none":            {},
		"files":           {[]task{{&File{Path: "a", New: file}, nil}, {&File{Path: "b", Old: file}, file}}, "a:1 b:1", false},
		"new directory":   {[]task{{&File{Path: "d", New: dir}, nil}, {&File{Path: "d/a", New: file}, nil}, {&File{Path: "d/e", New: dir}, nil}, {&File{Path: "e", New: file}, nil}}, "d:3 e:1", false},
		"gone directory":  {[]task{{&File{Path: "d", Old: dir}, dir}, {&File{Path: "d/a", Old: file}, file}}, "d:2", false},
		"place":           {[]task{{&File{Path: "d", Old: dir, New: dir}, dir}, {&File{Path: "d/a", New: file}, nil}}, "d/a:1 [d]", false},
		"file to folder":  {[]task{{&File{Path: "d", Old: file, New: dir}, file}, {&File{Path: "d/a", New: file}, nil}}, "d:2", false},
		"a file in none":  {[]task{{&File{Path: "d", Old: file}, file}, {&File{Path: "d/a", New: file}, nil}}, "", true},
		"gone in new":     {[]task{{&File{Path: "d", New: dir}, nil}, {&File{Path: "d/a", Old: file}, file}}, "", true},
		"in their turns":  {[]task{{&File{Path: "z-late", New: file}, nil}, {&File{Path: "a", New: file}, nil}, {&File{Path: "late", New: file}, nil}}, "a:1 z-late:1 late:1", false},
		"a common prefix": {[]task{{&File{Path: "d", New: dir}, nil}, {&File{Path: "d-x", New: file}, nil}}, "d:1 d-x:1", false},
	} {
		p, err := divide(c.tasks, func(f *File) int { return strings.Count(string(f.Path), "late") })
		if (err != nil) != c.bad {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		if err == nil {
			for _, u := range p.units {
				got = append(got, fmt.Sprintf("%s:%d", u.file.Path, len(u.tasks)))
			}
			for _, p := range p.places {
				got = append(got, fmt.Sprintf("[%s]", p.file.Path))
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// TestTurn: objects come before what refers to them, which is removed before they are.
func TestTurn(t *testing.T) {
	object, ref := &inGit{kind: gitdata.Object}, &inGit{kind: gitdata.Ref}
	turns := []int{object.turn(false), ref.turn(false), ref.turn(true), object.turn(true)}
	if !slices.IsSorted(turns) || (*inGit)(nil).turn(true) > turns[0] {
		t.Error(turns)
	}
}

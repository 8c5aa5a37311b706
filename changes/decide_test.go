package changes

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// regular and folder return states whose owner is uid 7.
func regular(content string) *State {
	return &State{Kind: Regular, Mode: 0o644, Size: int64(len(content)), SHA256: digest([]byte(content)), stat: &unix.Stat_t{Uid: 7}}
}

func folder(inode uint64) *State {
	return &State{Kind: Directory, Mode: 0o755, Inode: inode, stat: &unix.Stat_t{Uid: 7}}
}

// TestDecide: a change is made where the directory has what the run has seen, or the caller forces it.
func TestDecide(t *testing.T) {
	old, now, new := regular("old"), regular("now"), regular("new")
	const own, other = 7, 8
	for name, c := range map[string]struct {
		file   File
		now    *State
		uid    int
		reason string // "" where the change is made
		made   bool
		forced string // the reason with force
	}{
		"as recorded":           {file: File{Old: old, New: new}, now: old, uid: own},
		"made already":          {file: File{Old: old, New: new}, now: new, uid: own, made: true},
		"another's file":        {file: File{Old: old, New: new}, now: old, uid: other, reason: "it belongs to uid 7, and would be yours"},
		"another's, for root":   {file: File{Old: old, New: new}, now: old},
		"changed since":         {file: File{Old: old, New: new}, now: now, uid: own, reason: "it has changed since the run"},
		"gone since":            {file: File{Old: old, New: new}, uid: own, reason: "it is gone since the run"},
		"raced":                 {file: File{Old: old, New: new, Raced: true}, now: old, uid: own, reason: "the host changed it while the payload ran"},
		"added":                 {file: File{New: new}, uid: own},
		"added, exists":         {file: File{New: new}, now: now, uid: own, reason: "it exists since the run"},
		"deleted":               {file: File{Old: old}, now: old, uid: own},
		"deleted already":       {file: File{Old: old}, uid: own, made: true},
		"deleted, changed":      {file: File{Old: old}, now: now, uid: own, reason: "it has changed since the run"},
		"a directory now":       {file: File{Old: old, New: new}, now: folder(1), uid: own, reason: "it is a directory now", forced: "it is a directory now"},
		"directory added twice": {file: File{New: folder(1)}, now: folder(2), uid: own, made: true},
		"another directory":     {file: File{Old: folder(1)}, now: folder(2), uid: own, reason: "it is another directory since the run"},
		"another's directory":   {file: File{Old: folder(1)}, now: folder(1), uid: other},
	} {
		reason, made := decide(&c.file, c.now, false, c.uid)
		if made != c.made || !strings.HasPrefix(reason.String(), c.reason) || (c.reason == "") != (reason == "") {
			t.Errorf("%s: %q, made: %t", name, reason, made)
		}
		if reason, made := decide(&c.file, c.now, true, c.uid); made != c.made || reason.String() != c.forced {
			t.Errorf("%s, forced: %q, made: %t", name, reason, made)
		}
	}
}

// TestLost: a change whose directory is missing is made with the change that makes or removes the directory.
func TestLost(t *testing.T) {
	set := map[string]*File{"made": {New: folder(1)}, "gone": {Old: folder(1)}, "replaced": {Old: folder(1), New: regular("x")}, "stays": {Old: folder(1), New: folder(1)}}
	for _, c := range []struct {
		file           File
		makes, removed bool
	}{
		{File{Path: "made/f", New: regular("x")}, true, false},
		{File{Path: "made/d/f", New: regular("x")}, false, false},
		{File{Path: "gone/f", Old: regular("x")}, false, true},
		{File{Path: "gone/d/f", Old: regular("x")}, false, true},
		{File{Path: "replaced/f", Old: regular("x")}, false, true},
		{File{Path: "gone/f", New: regular("x")}, false, false},
		{File{Path: "stays/f", Old: regular("x")}, false, false},
		{File{Path: "stays/f", New: regular("x")}, true, false},
		{File{Path: "top", Old: regular("x")}, false, false},
	} {
		if makes, removed := lost(&c.file, set); makes != c.makes || removed != c.removed {
			t.Errorf("%s: %t, %t", c.file.Path, makes, removed)
		}
	}
}

// TestProtects: a change concerns a protected path at and below it, and above it what takes its directory away.
func TestProtects(t *testing.T) {
	protected := []Name{".envrc", "a/.git"}
	for _, c := range []struct {
		path  Name
		new   *State
		allow string
		want  string
	}{
		{path: ".envrc", new: regular(""), want: ".envrc"},
		{path: ".ENVRC", new: regular(""), want: ".envrc"},
		{path: ".envrc", want: ".envrc"},
		{path: ".envrc/x", new: regular(""), want: ".envrc"},
		{path: ".envrc2", new: regular("")},
		{path: ".envrc", new: regular(""), allow: ".envrc"},
		{path: ".envrc", new: regular(""), allow: ".envrc/"},
		{path: "a/.git/hooks", new: folder(1), want: "a/.git"},
		{path: "a", new: folder(1)},
		{path: "a", new: regular(""), want: "a/.git"},
		{path: "a"},
	} {
		if got := protects(protected, &File{Path: c.path, New: c.new}, []string{c.allow}); got != c.want {
			t.Errorf("%s, %v: %q", c.path, c.new, got)
		}
	}
}

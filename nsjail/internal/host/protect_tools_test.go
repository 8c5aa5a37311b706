package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/internal/words"
	"brig/nsjail/spec"
)

// listingOf is the listing of a directory with names.
func listingOf(names ...string) *listing {
	l := &listing{names, map[string]bool{}}
	for _, name := range names {
		l.lower[strings.ToLower(name)] = true
	}
	return l
}

// TestListing: a name may exist in another case, and in a directory that is too large to list every name may.
func TestListing(t *testing.T) {
	l := listingOf("Makefile", "lefthook-local.yml", "LEFTHOOK.yml", ".husky", "a[b", "x*y", "mise.dev.toml")
	for name, want := range map[string]bool{"Makefile": true, "makefile": true, "MAKEFILE": true, "Makefile2": false, ".husky/pre-commit": true, ".Husky/x/y": true, ".huskyrc": false, "": false} {
		if l.has(name) != want {
			t.Errorf("has %q: %v", name, !want)
		}
	}
	for pattern, want := range map[string][]string{
		"makefile": {"makefile"}, "gone": nil, "lefthook*.yml": {"LEFTHOOK.yml", "lefthook-local.yml"}, "*": {".husky", "LEFTHOOK.yml", "Makefile", "a[b", "lefthook-local.yml", "mise.dev.toml", "x*y"},
		"[^_]*.toml": {"mise.dev.toml"}, "[": nil, "mise.*.toml": {"mise.dev.toml"}, "*y": {".husky", "x*y"},
	} {
		if got := l.match(pattern); !slices.Equal(got, want) {
			t.Errorf("match %q: %q, want %q", pattern, got, want)
		}
	}
	many := &listing{names: []string{"a.toml"}}
	if !many.has("anything") || !slices.Equal(many.match("anything"), []string{"anything"}) || !slices.Equal(many.match("*.toml"), []string{"a.toml"}) {
		t.Error("a directory that is too large to list")
	}
}

// TestTools: at the top of a work tree the files by which other programs of the host start something are protected: in
// an area where they are absent, too, and elsewhere, as those of ordinary work, while they exist.
func TestTools(t *testing.T) {
	away(t)
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	grow(t, dir, "r/.git/objects/", "r/.git/refs/", "r/.git/HEAD", "r/CLAUDE.md", "r/lefthook-x.yml", "r/.husky/_/husky.sh", "r/.husky/pre-commit", "r/.bashrc",
		"r/.config/lefthook.toml", "r/.mise.dev.toml", "r/crush.jsonx", "r/.vimrc -> other/vimrc", "r/other/vimrc", "r/sub/CLAUDE.md")
	must.Do(t, os.WriteFile(dir+"/r/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o644))
	s := &spec.Spec{Protect: []string{spec.ProtectGit}, Mounts: []spec.Mount{bind(dir+"/r", "/work", true)}}
	h := must.Get(protects(t, s))(t)
	protected := map[string]bool{} // and whether it is absent
	for _, p := range h.Protected {
		protected[strings.TrimPrefix(p.Path, dir+"/r/")] = p.Absent
	}
	for _, name := range []string{"CLAUDE.md", "lefthook-x.yml", ".husky/pre-commit", ".bashrc", ".config/lefthook.toml", ".mise.dev.toml", ".vimrc", "other/vimrc", ".git"} {
		if absent, ok := protected[name]; !ok || absent {
			t.Errorf("%s is not protected", name)
		}
	}
	for _, name := range []string{".husky/_", ".husky/_/husky.sh", "crush.jsonx", "sub/CLAUDE.md", "GEMINI.md", ".zshrc", ".ssh", "other", ".config"} {
		if _, ok := protected[name]; ok && !slices.Contains(spec.ToolFiles, name) {
			t.Errorf("%s is protected", name)
		}
	}
	for _, name := range spec.ToolFiles {
		first, _, _ := strings.Cut(name, "/")
		_, whole := protected[name]
		if _, top := protected[first]; !whole && !top {
			t.Errorf("%s could be made", name)
		}
	}
}

// Of a directory that cannot be listed every name may exist.
func TestToolsUnlisted(t *testing.T) {
	dir := t.TempDir()
	grow(t, dir, "a", "B/")
	p := &protector{h: looks(t, &spec.Spec{}), areas: &areas{}}
	for name, want := range map[string][2]bool{dir: {true, false}, dir + "/gone": {true, true}, dir + "/a": {true, true}} {
		l := p.listing(name)
		if got := [2]bool{l.has("b/x"), l.has("c")}; got != want || p.err != nil || len(p.h.Partial) > 0 {
			t.Errorf("%s: %v, want %v; %v", name, got, want, p.err)
		}
	}
}

// TestFolds: two names of one file are told from one name in two cases.
func TestFolds(t *testing.T) {
	dir := t.TempDir()
	grow(t, dir, "link", "LINK = link", "alone", "one", "ONE", "d/", "D/", "123", "Mixed", "MIXED = Mixed")
	for _, name := range []string{"link", "alone", "one", "d", "123", "Mixed", "gone"} {
		if err := Folds(dir, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Folds(dir+"/gone", "x"); err != nil {
		t.Error(err)
	}
}

// TestBreakLink: a shell takes the names as they are.
func TestBreakLink(t *testing.T) {
	want := `break the link: cp -p '/a'\''b
c; rm x' '/a'\''b
c; rm x.new' && mv '/a'\''b
c; rm x.new' '/a'\''b
c; rm x'`
	if got := breakLink("/a'b\nc; rm x"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestFieldError: the error has the errno of what failed, or its words; a path that looks like markup is text.
func TestFieldError(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&os.PathError{Op: "open", Path: "/x", Err: os.ErrNotExist}, `mounts[3].source: "/a\nb": open /x: file does not exist; do it`},
		{fmt.Errorf("wrapped: %w", errNotRegular), `mounts[3].source: "/a\nb": wrapped: is not a regular file; do it`},
		{must.Get[error](func() (error, error) { _, err := os.Open("/gone/x"); return err, nil }())(t), `mounts[3].source: "/a\nb": no such file or directory; do it`},
	} {
		if got := sourceError(SourceOf(3), "/a\nb", c.err, "do it").Error(); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
	if got := sourceError(UpperOf(spec.Root), "x\x00y", errNotRegular, words.Set("git", "rw")).Error(); got != `rootfs.upper: "x\x00y": is not a regular file; git: "rw"` {
		t.Error(got)
	}
}

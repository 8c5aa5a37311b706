package workspace

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

func TestApply(t *testing.T) {
	long := strings.Repeat("a", MaxEdit)
	for _, c := range []struct {
		text string
		Edit
		want string
		n    int
		code string
	}{
		{"a b c", Edit{"b", "x", false}, "a x c", 1, ""},
		{"a b c", Edit{"a b c", "", false}, "", 1, ""},
		{"a b b", Edit{"b", "x", false}, "", 2, CodeManyTexts},
		{"a b b", Edit{"b", "xx", true}, "a xx xx", 2, ""},
		{"aaa", Edit{"aa", "b", false}, "", 2, CodeManyTexts}, // they overlap
		{"aaa", Edit{"aa", "b", true}, "ba", 1, ""},
		{"a\r\nb", Edit{"a\nb", "x", false}, "", 0, CodeNoText},
		{"\xff\xfea\x00b\xff", Edit{"a", "é", false}, "\xff\xfeé\x00b\xff", 1, ""},
		{"", Edit{"a", "b", true}, "", 0, CodeNoText},
		{"a", Edit{"", "b", true}, "", 0, CodeBadOption},
		{"a", Edit{"a", "a", true}, "", 0, CodeBadOption},
		{"$1 .*", Edit{".*", "$1", false}, "$1 $1", 1, ""}, // it is no pattern
		{long, Edit{"a", "ab", true}, "", 0, CodeTooLarge},
		{long, Edit{"a", strings.Repeat("b", MaxEdit), true}, "", 0, CodeTooLarge},
		{long, Edit{"a", "b", true}, strings.Repeat("b", MaxEdit), MaxEdit, ""},
		{long[:MaxEdit-1] + "b", Edit{"b", "cd", false}, "", 0, CodeTooLarge},
	} {
		text, n, err := c.Edit.apply(place{names: []string{"work", "f"}}, []byte(c.text))
		what := fmt.Sprintf("%.20q: %.20q for %.20q", c.text, c.New, c.Old)
		wantCode(t, what, err, c.code)
		if err == nil && (string(text) != c.want || n != c.n) {
			t.Errorf("%s: %.20q, %d times", what, text, n)
		}
		if c.code == CodeManyTexts && !strings.Contains(err.Error(), fmt.Sprint(c.n, " times")) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func edit(tree *Tree, o *Tools, path string, e Edit) (*Entry, int, error) {
	return o.Edit(path, e, func(r io.Reader, perm fs.FileMode) (*Entry, error) { return tree.Put(path, r, perm, 0) })
}

// An edit replaces the file as Put does, with its mode; what is no text of bounded size is refused unread.
func TestEdit(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		put(t, tree, "f", "one two")
		must.Do(t, os.Chmod(at+"/work/f", 0o750))
		must.Do(t, os.Link(at+"/work/f", at+"/work/hard"))
		e, n, err := edit(tree, tools(tree), "f", Edit{Old: "two", New: "three"})
		if err != nil || n != 1 || e.Mode != "0750" || read(t, tree, "f") != "one three" || read(t, tree, "hard") != "one two" {
			t.Errorf("%+v, %d, %v", e, n, err)
		}
		put(t, tree, "sparse", "")
		must.Do(t, os.Truncate(at+"/work/sparse", 1<<42))
		must.Do(t, unix.Mkfifo(at+"/work/fifo", 0o666))
		must.Do(t, os.Symlink("f", at+"/work/link"))
		must.Do(t, mkdir(tree, "d"))
		put(t, tree, "deny", "one")
		must.Do(t, os.Chmod(at+"/work/deny", 0))
		deny := CodePermission
		if os.Getuid() == 0 {
			deny = ""
		}
		for path, code := range map[string]string{"sparse": CodeTooLarge, "fifo": CodeNotRegular, "link": CodeSymlink,
			"d": CodeIsDir, "d/": CodeBadPath, "none": CodeNotFound, "f/x": CodeNotDir, "link/x": CodeSymlink, "deny": deny,
			"hard": "", "/etc/passwd": CodeOutside} {
			_, _, err := edit(tree, tools(tree), path, Edit{Old: "o", New: "0", All: true})
			wantCode(t, path, err, code)
		}
		onlyAreas(t, at)
	})
}

// Of many edits at the same time, each is in the file afterwards.
func TestEditsAtOnce(t *testing.T) {
	v, _ := newDirIn(t, inMemory(t))
	tree := newTree(v)
	o := tools(tree)
	put(t, tree, "f", "<end>")
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if _, _, err := edit(tree, o, "f", Edit{Old: "<end>", New: fmt.Sprintf("[%d]<end>", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	text := read(t, tree, "f")
	for i := range 50 {
		if !strings.Contains(text, fmt.Sprintf("[%d]", i)) {
			t.Errorf("%d is lost: %s", i, text)
		}
	}
}

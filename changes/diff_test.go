package changes

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
)

func (w *world) diff(set *Set, o DiffOptions) string {
	w.t.Helper()
	var b strings.Builder
	must.Do(w.t, set.Diff(&b, &o))
	return b.String()
}

func TestDiff(t *testing.T) {
	w := newWorld(t, base, upper)
	set := w.capture()
	got := w.diff(set, DiffOptions{})
	for _, part := range []string{
		"diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n",
		"# bin: binary: 2 bytes, 0 before\ndiff --git a/bin b/bin\nnew file mode 100644\nBinary files /dev/null and b/bin differ\n",
		"diff --git a/dir/x b/dir/x\ndeleted file mode 100644\n--- a/dir/x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n",
		"# directory dir-to-file: deleted\ndiff --git a/dir-to-file b/dir-to-file\nnew file mode 100644\n",
		"# directory file-to-dir: added, mode 0755\ndiff --git a/file-to-dir b/file-to-dir\ndeleted file mode 100644\n",
		"diff --git a/link b/link\n--- a/link\n+++ b/link\n@@ -1,1 +1,1 @@\n-a.txt\n\\ No newline at end of file\n+run.sh\n\\ No newline at end of file\n",
		"# directory mode: mode 0700, was 0755\n",
		"diff --git a/old/deep/z b/moved/deep/z\nsimilarity index 100%\nrename from old/deep/z\nrename to moved/deep/z\n",
		"diff --git a/run.sh b/run.sh\nold mode 100755\nnew mode 100644\n",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
	if some := w.diff(set, DiffOptions{Paths: []string{"opq/", "bin"}}); strings.Count(some, "diff --git") != 3 {
		t.Errorf("paths:\n%s", some)
	}
	if c := w.diff(set, DiffOptions{Paths: []string{"a.txt"}, Color: true}); !strings.Contains(c, "\x1b[32m+four\x1b[m\n") {
		t.Errorf("%q", c)
	}
	if err := set.Diff(&strings.Builder{}, &DiffOptions{Paths: []string{"same.txt"}}); err == nil {
		t.Error("a file that has not changed is shown")
	}
}

// git-apply(1) makes of the output what Apply makes.
func TestDiffIsAPatch(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	evil := files{"sp ace": "1\n", "q\"uo\\te": "1\n", "tab\tnew\nline": "1\n", "\xff\xfe": "1\n", "é": "1", "empty": "", "a": "->b"}
	up := files{"sp ace": "2\n", "q\"uo\\te": "2\n", "tab\tnew\nline": "!", "\xff\xfe": "2\n", "é": "2\n", "empty": "0755:", "a": "->c",
		"new": "", "d/\x1b": "x\n- \n+++ y\n", "n o/m": "1\n", "a b": "->x y"}
	w := newWorld(t, evil, up)
	set := w.capture()
	patch := w.diff(set, DiffOptions{})
	other := evil.make(t, filepath.Join(t.TempDir(), "other"))
	cmd := exec.Command("git", "apply", "--whitespace=nowarn")
	cmd.Dir, cmd.Stdin = other, strings.NewReader(patch)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(other), "HOME="+other)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, patch)
	}
	must.Get(set.Apply(&ApplyOptions{}))(t)
	got, want := snapshot(t, other), snapshot(t, w.base)
	equal(t, got, want)
}

// Files that are too large, and those that the host has changed since, are said.
func TestDiffOfWhatCannotBeShown(t *testing.T) {
	large := strings.Repeat("x\n", maxDiff)
	w := newWorld(t, files{"large": "1\n", "since": "1\n", "gone": "1\n"}, files{"large": large, "since": "2\n", "gone": "2\n", "new": large})
	set := w.capture()
	must.Do(t, os.WriteFile(w.base+"/since", []byte("3\n"), 0o644))
	must.Do(t, os.Remove(w.base+"/gone"))
	got := w.diff(set, DiffOptions{})
	for _, part := range []string{"# large: too large: 8388608 bytes\n", "# new: too large: 8388608 bytes\n",
		"# since: the file of the host is not what the run saw any more\n", "# gone: the file of the host is not"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
	if strings.Contains(got, "Binary") {
		t.Errorf("a text is called binary:\n%s", got)
	}
	list := must.Get(set.Files())(t)
	if len(list) != 4 || !list[1].Binary || list[2].Added != maxDiff {
		t.Errorf("%q", summary(t, set))
	}
	must.Do(t, os.RemoveAll(w.base))
	if got := w.diff(set, DiffOptions{}); !strings.Contains(got, "cannot be opened") {
		t.Error(got)
	}
}

// A text of which no line is unique, the worst for a diff, takes no longer than others.
func TestDiffIsBounded(t *testing.T) {
	a, b := strings.Repeat("a\nb\n", maxDiff/8), strings.Repeat("b\na\na\n", maxDiff/12)
	hunks := unified([]byte(a), []byte(b))
	if added, removed := countLines(hunks); added == 0 || removed == 0 {
		t.Error(added, removed)
	}
}

// broken is a writer that takes nothing.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestDiffEndsEarly: when its reader has gone, a diff makes no more text.
func TestDiffEndsEarly(t *testing.T) {
	up := files{}
	for i := range 300 {
		up[fmt.Sprintf("f%d", i)] = strings.Repeat("some text\n", 1000)
	}
	set := newWorld(t, files{}, up).capture()
	whole := testing.AllocsPerRun(2, func() { must.Do(t, set.Diff(io.Discard, &DiffOptions{})) })
	var err error
	begun := testing.AllocsPerRun(2, func() { err = set.Diff(broken{}, &DiffOptions{}) })
	if err != io.ErrClosedPipe || begun > whole/2 {
		t.Errorf("%v allocations for a reader that has gone, %v for all, %v", begun, whole, err)
	}
}

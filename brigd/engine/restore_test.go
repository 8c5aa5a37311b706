package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/brigd/keep"
	"brig/internal/test/must"
)

// stored returns the files of a store, by their names.
func stored(t *testing.T, dir string) map[string]string {
	t.Helper()
	list := must.Get(os.ReadDir(dir))(t)
	files := map[string]string{}
	for _, f := range list {
		text := must.Get(os.ReadFile(filepath.Join(dir, f.Name())))(t)
		files[f.Name()] = string(text)
	}
	return files
}

// A sandbox is stored as a base and its changes since. Wherever a kill interrupts a save, the next brigd restores what
// there was before it or after it; changes of another base are refused.
func TestBaseAndChanges(t *testing.T) {
	o := Options{Store: filepath.Join(t.TempDir(), "store"), SaveEvery: time.Hour}
	e := newEngine(t, o)
	me := Caller{Agent: "me"}
	box := newSandbox(t, e, me, SandboxRequest{Disk: 8 << 20, Inodes: 500})
	b, no := e.boxes.find(me, box.ID)
	if no != nil {
		t.Fatal(no)
	}
	base, changes := box.ID, box.ID+keep.Changes
	after := []map[string]string{}
	for _, script := range []string{
		"cd /work; head -c 1000000 /dev/zero | tr '\\0' x >big; mkdir d; echo old >d/f; ln d/f hard; echo 1 >state",
		"cd /work; echo new >d/f; echo 2 >state; cat d/f hard",
		"cd /work; rm -r d; echo d >d; ln -sf state link; echo 3 >state; head -c 900000 /dev/zero >more; cat hard",
		"echo 4 >/work/state",
		"echo 5 >/work/state; rm /work/hard",
	} {
		inSandbox(t, e, me, box.ID, script)
		e.shelf.save(b)
		after = append(after, stored(t, o.Store))
	}
	if len(after[1][changes]) > 16<<10 || len(after[0][base]) < 1e6 || after[1][base] != after[0][base] {
		t.Errorf("%d bytes of %d for a small change", len(after[1][changes]), len(after[0][base]))
	}
	if _, ok := after[3][changes]; ok || after[2][base] != after[0][base] || after[3][base] == after[2][base] {
		t.Error("large changes have not become a base")
	}
	const temporary = ".new-"
	half := func(text string) string { return text[:len(text)/2] }
	for name, c := range map[string]struct {
		files map[string]string
		want  string // what the sandbox has, or
		told  string // why there is none
		left  []string
	}{
		"a base":             {after[0], "1 old old", "", []string{base}},
		"changes":            {after[1], "2 new new", "", []string{base, changes}},
		"a file for a tree":  {after[2], "3 d new", "", []string{base, changes}},
		"a second base":      {after[3], "4 d new", "", []string{base}},
		"changes of that":    {after[4], "5 d -", "", []string{base, changes}},
		"in changes":         {map[string]string{base: after[0][base], temporary + changes: half(after[1][changes])}, "1 old old", "", []string{base}},
		"in later changes":   {map[string]string{base: after[0][base], changes: after[1][changes], temporary + changes: half(after[2][changes])}, "2 new new", "", []string{base, changes}},
		"in a second base":   {map[string]string{base: after[0][base], changes: after[2][changes], temporary + base: half(after[3][base])}, "3 d new", "", []string{base, changes}},
		"after the base":     {map[string]string{base: after[3][base], changes: after[2][changes]}, "4 d new", "", []string{base}},
		"in a removal":       {map[string]string{changes: after[2][changes]}, "", "", nil},
		"an older base":      {map[string]string{base: after[0][base], changes: after[4][changes]}, "", "are those of another file", []string{base, changes}},
		"damaged changes":    {map[string]string{base: after[3][base], changes: half(after[4][changes])}, "", "damaged", []string{base, changes}},
		"a base for changes": {map[string]string{base: after[3][base], changes: after[0][base]}, "", "are those of another file", []string{base, changes}},
		"changes for a base": {map[string]string{base: after[1][changes]}, "", "has the changes", []string{base}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, told := filepath.Join(t.TempDir(), "store"), ""
			must.Do(t, os.Mkdir(dir, 0o700))
			for name, text := range c.files {
				must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			e := newEngine(t, Options{Store: dir, SaveEvery: time.Hour,
				StoreFailed: func(id, what string, err error) { told += err.Error() }})
			list := listSandboxes(e, me)
			if !strings.Contains(told, c.told) || (told == "") != (c.told == "") || len(list) != min(len(c.want), 1) {
				t.Fatalf("%q, %+v", told, list)
			}
			if got := stored(t, dir); len(got) != len(c.left) || slices.ContainsFunc(c.left, func(n string) bool { return got[n] == "" }) {
				t.Errorf("%d files are left, not %q", len(got), c.left)
			}
			if c.want == "" {
				return
			}
			got := inSandbox(t, e, me, box.ID, "cd /work; cat state; cat d/f 2>/dev/null || cat d; cat hard 2>/dev/null || echo -")
			if strings.Join(strings.Fields(got), " ") != c.want {
				t.Errorf("%q, not %q", got, c.want)
			}
			if err := e.DeleteSandbox(me, box.ID); err != nil || len(stored(t, dir)) > 0 {
				t.Errorf("%v; left: %d files", err, len(stored(t, dir)))
			}
		})
	}
}

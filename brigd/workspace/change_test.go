package workspace

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

// Files and directories are moved, made and described; what cannot be is refused, and everything is as it was.
func TestMove(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		furnish := func() {
			for _, area := range []string{"/work", "/output", "/input"} {
				list, _, err := tree.List(area, false, "", 0)
				must.Do(t, err)
				for _, e := range list {
					must.Do(t, tree.Remove(e.path))
				}
			}
			put(t, tree, "f", "f")
			put(t, tree, "g", "g")
			put(t, tree, "d/f", "d/f")
			must.Do(t, mkdir(tree, "empty"))
			must.Do(t, os.Symlink("/etc", at+"/work/link"))
			must.Do(t, unix.Mkfifo(at+"/work/fifo", 0o600))
		}
		for _, c := range []struct {
			from, to string
			over     bool
			code     string
		}{
			{"f", "h", false, ""}, {"f", "new/er/h", false, ""}, {"f", "/output/f", false, ""}, {"d", "/input/e", false, ""},
			{"d", "e/", false, ""}, {"d/", "e", false, ""}, {"link", "l", false, ""}, {"fifo", "l", false, ""},
			{"f", "g", true, ""}, {"f", "link", true, ""}, {"d", "empty", true, ""}, {"f", "f", true, ""},
			{"f", "g", false, CodeExists}, {"f", "f", false, CodeExists}, {"f", "link", false, CodeExists},
			{"f", "d", false, CodeExists}, {"empty", "d", true, CodeExists}, {"empty", "d", false, CodeExists},
			{"f", "d", true, CodeIsDir}, {"d", "f", true, CodeNotDir}, {"f", "h/", false, CodeNotDir},
			{"f/", "h", false, CodeNotDir}, {"link/", "h", false, CodeSymlink}, {"none", "h", false, CodeNotFound},
			{"d", "d/e", false, CodeBadPath}, {"d", "d/e/f/g", true, CodeBadPath}, {"f", "f/g", false, CodeNotDir},
			{"link/passwd", "h", false, CodeSymlink}, {"f", "link/h", true, CodeSymlink}, {"f", "../h", true, CodeBadPath},
			{"/work", "/output/h", true, CodeBadPath}, {"f", "/output", true, CodeBadPath}, {"f", "/h", true, CodeOutside},
			{"f", "/etc/h", true, CodeOutside}, {"/etc/passwd", "h", true, CodeOutside}, {"", "h", true, CodeBadPath},
		} {
			furnish()
			var was Entry
			if c.code == "" {
				was = *must.Get(tools(tree).Stat(c.from))(t)
			}
			e, err := tools(tree).Move(c.from, c.to, c.over)
			wantCode(t, c.from+" to "+c.to, err, c.code)
			if c.code != "" {
				if _, err := tools(tree).Stat("f"); err != nil || read(t, tree, "g") != "g" || read(t, tree, "d/f") != "d/f" {
					t.Errorf("%s to %s: something is missing: %v", c.from, c.to, err)
				}
				continue
			}
			if err != nil {
				continue
			}
			if e.Type != was.Type || e.Size != was.Size || e.Target != was.Target || c.from != c.to && exists(tree, c.from) {
				t.Errorf("%s to %s: %+v, was %+v", c.from, c.to, e, was)
			}
		}
		furnish()
		onlyAreas(t, at)
	})
}

func exists(tree *Tree, path string) bool {
	_, err := tools(tree).Stat(path)
	return err == nil
}

// Every name that a file may have can be the old and the new one of a move.
func TestMoveNames(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, _ string) {
		for _, name := range hostile {
			put(t, tree, name, name)
			e, err := tools(tree).Move(name, "/output/"+name+"/"+name, false)
			if err != nil || e.path != "/output/"+name+"/"+name || read(t, tree, e.path) != name || exists(tree, name) {
				t.Errorf("%q: %+v, %v", name, e, err)
			}
		}
	})
}

func TestMakeDir(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		put(t, tree, "f", "")
		must.Do(t, os.Symlink("/tmp", at+"/work/link"))
		for _, c := range []struct {
			path string
			perm os.FileMode
			mode string
			code string
		}{
			{"a/b/c", 0o700, "0700", ""}, {"a", 0o700, "0755", ""}, {"a/b/c/", 0o777, "0700", ""}, {"/output/x", 0o755, "0755", ""},
			{"s", os.ModeSetuid | 0o4711, "0711", ""}, {"f", 0o755, "", CodeNotDir}, {"f/x", 0o755, "", CodeNotDir},
			{"link", 0o755, "", CodeSymlink}, {"link/x", 0o755, "", CodeSymlink}, {"a/../x", 0o755, "", CodeBadPath},
			{"/work", 0o755, "", CodeBadPath}, {"/etc/x", 0o755, "", CodeOutside},
		} {
			e, err := tools(tree).MakeDir(c.path, c.perm)
			wantCode(t, c.path, err, c.code)
			if err == nil && (e.Mode != c.mode || e.Type != "dir") {
				t.Errorf("%s: %+v", c.path, e)
			}
		}
		if e := must.Get(tools(tree).Stat("a/b"))(t); e.Mode != "0755" {
			t.Errorf("%+v", e)
		}
		if uid, _ := tree.volume.Owner(); os.Getuid() == 0 {
			st := unix.Stat_t{}
			if err := unix.Lstat(at+"/work/a/b/c", &st); err != nil || int(st.Uid) != uid {
				t.Errorf("it belongs to %d, not %d: %v", st.Uid, uid, err)
			}
		}
	})
}

// The mode changes of the file itself, and only its nine bits.
func TestChmod(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, at string) {
		put(t, tree, "f", "")
		must.Do(t, mkdir(tree, "d"))
		must.Do(t, os.Chmod(at+"/work/f", os.ModeSetuid|0o644))
		must.Do(t, unix.Mkfifo(at+"/work/fifo", 0o600))
		must.Do(t, os.Symlink("f", at+"/work/link"))
		for _, c := range []struct{ path, mode, code string }{
			{"f", "0755", ""}, {"f", "0000", ""}, {"f", "0644", ""}, {"d", "0000", ""}, {"d", "0700", ""}, {"d/", "0755", ""},
			{"fifo", "0640", ""}, {"link", "", CodeSymlink}, {"link/", "", CodeSymlink}, {"f/", "", CodeNotDir},
			{"none", "", CodeNotFound}, {"/work", "", CodeBadPath}, {"/", "", CodeBadPath}, {"../f", "", CodeBadPath},
		} {
			var perm uint32
			for _, digit := range c.mode {
				perm = perm*8 + uint32(digit-'0')
			}
			e, err := tools(tree).Chmod(c.path, os.FileMode(perm|0o7000))
			wantCode(t, c.path, err, c.code)
			if err == nil && e.Mode != c.mode {
				t.Errorf("%s: %+v, want %s", c.path, e, c.mode)
			}
		}
		if e := must.Get(tools(tree).Stat("f"))(t); e.Mode != "0644" {
			t.Errorf("by its link it is %+v", e)
		}
	})
}

// What a call needs it leaves: no descriptor, and a refused call no change of the state.
func TestChangesLeaveNothingOpen(t *testing.T) {
	each(t, func(t *testing.T, tree *Tree, _ string) {
		put(t, tree, "f", "text")
		changes := 0
		tree.wrote = func() { changes++ }
		before := openFiles(t)
		for range 20 {
			for _, p := range []string{"f", "none/f", "f/x", "../x"} {
				_, err := tools(tree).Stat(p)
				_, err2 := tools(tree).Chmod(p, 0o700)
				_, err3 := tools(tree).Move(p, "g/h", true)
				_, err4 := tools(tree).MakeDir(p, 0o700)
				_, _, err5 := tools(tree).Edit(p, Edit{Old: "t"}, nil)
				if p == "../x" && strings.Count(errors.Join(err, err2, err3, err4, err5).Error(), "..") < 5 {
					t.Error(err, err2, err3, err4, err5)
				}
			}
			_, _ = tools(tree).Move("g/h", "f", true)
		}
		if after := openFiles(t); after != before || changes == 0 {
			t.Errorf("%d descriptors, were %d; %d changes", after, before, changes)
		}
		tree.Close()
		_, err := tools(tree).Move("f", "g", true)
		wantCode(t, "after the end", err, CodeNotFound)
	})
}

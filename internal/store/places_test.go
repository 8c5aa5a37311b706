package store

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStateDir: an ordinary user's state is in a directory that only this user can write to.
func TestStateDir(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root's state is in one place; the story state-home has ordinary users")
	}
	was := tempDirs
	t.Cleanup(func() { tempDirs = was })
	sticky, shared, squatted := t.TempDir(), t.TempDir(), t.TempDir()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.Chmod(sticky, 0o777|os.ModeSticky))
	check(os.Chmod(shared, 0o777)) //nolint:gosec // the fault
	check(os.Mkdir(ownTemp(squatted), 0o777))
	check(os.Chmod(ownTemp(squatted), 0o777)) //nolint:gosec // the fault
	home := t.TempDir()
	second := ownTemp(sticky)
	for _, c := range []struct{ xdg, home, want string }{
		{"", home, home + "/.local/state/brig"},
		{home + "/state", "/nonexistent", home + "/state/brig"},
		{"/nonexistent", home, "/nonexistent/brig"}, // what is named is taken, and an error says that it cannot be made
		{"", "/nonexistent", second},
		{"", "", second},
		{"", "relative", second},
		{"relative", "/proc", second},
	} {
		t.Setenv("XDG_STATE_HOME", c.xdg)
		t.Setenv("HOME", c.home)
		tempDirs = []string{"/nonexistent", shared, squatted, sticky}
		if got := StateDir(); got != c.want {
			t.Errorf("XDG_STATE_HOME=%s HOME=%s: %s, want %s", c.xdg, c.home, got, c.want)
		}
		if list := Places(); !slices.Contains(list, c.want) || !slices.Contains(list, ownTemp(sticky)) {
			t.Errorf("%v has not all places", list)
		}
	}
	check(Make(filepath.Join(ownTemp(sticky), "cow"), 0o700))
	if err := Make(filepath.Join(ownTemp(squatted), "cow"), 0o700); err == nil || !strings.Contains(err.Error(), "must be a directory of yours") {
		t.Errorf("a directory that others may write to: %v", err)
	}
}

// TestMakeLeavesTheUmask: many make directories at once, and others make files meanwhile: umask(2) is the whole process's.
func TestMakeLeavesTheUmask(t *testing.T) {
	defer unix.Umask(unix.Umask(0o022))
	dir := t.TempDir()
	var group sync.WaitGroup
	for i := range 8 {
		own := filepath.Join(dir, strconv.Itoa(i))
		group.Go(func() {
			for j := range 200 {
				if err := Make(filepath.Join(own, strconv.Itoa(j)), 0o700); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for j := range 200 {
				name := own + "-" + strconv.Itoa(j)
				err := os.WriteFile(name, nil, 0o644) //nolint:gosec // the mode is what the test is about
				if info, serr := os.Stat(name); err != nil || serr != nil || info.Mode() != 0o644 {
					t.Error(info, err, serr)
				}
			}
		})
	}
	group.Wait()
	if now := unix.Umask(0o022); now != 0o022 {
		t.Errorf("the umask is %#o afterwards", now)
	}
}

// TestMakeUnderAnyUmask: the directories are of use to this user even if umask(2) takes its own rights.
func TestMakeUnderAnyUmask(t *testing.T) {
	for _, mask := range []int{0o777, 0o277, 0o077, 0o022, 0} {
		top := t.TempDir()
		was := unix.Umask(mask)
		err := Make(filepath.Join(top, "a", "b", "c"), 0o700)
		again := Make(filepath.Join(top, "a", "b", "c"), 0o700)
		unix.Umask(was)
		if err != nil || again != nil {
			t.Fatalf("umask %#o: %v, %v", mask, err, again)
		}
		for name, want := range map[string]os.FileMode{"a": ParentMode()&^os.FileMode(mask) | 0o700, "a/b/c": 0o700} {
			if info, err := os.Stat(filepath.Join(top, name)); err != nil || info.Mode().Perm() != want {
				t.Errorf("umask %#o: %s is %v, %v; want %v", mask, name, info.Mode(), err, want)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if err := Make(dir, 0o700); err == nil {
			t.Errorf("%s is made where a file is", dir)
		}
	}
}

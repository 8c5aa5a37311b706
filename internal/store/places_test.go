package store

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestKillThawsAfterATimeout: a group of version 1 that does not freeze in time is thawed all the same, since a process
// that is being frozen does not die. The directory here is an ordinary one whose state never reads FROZEN.
func TestKillThawsAfterATimeout(t *testing.T) {
	defer func(was time.Duration) { freezeWait = was }(freezeWait)
	freezeWait = 20 * time.Millisecond
	dir := t.TempDir()
	for name, text := range map[string]string{"freezer.state": "..............", "cgroup.procs": ""} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	fd := must.Get(unix.Open(dir, openDir, 0))(t)
	defer unix.Close(fd)
	branch := &Branch{filepath.Dir(dir), 1, []string{"freezer"}}
	g := &Group{dirs: []*directory{{branch, -1, filepath.Base(dir), fd}}}
	if err := g.Kill(); err == nil {
		t.Error("a group that does not thaw is no error")
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "freezer.state")); !strings.HasPrefix(string(b), "THAWED") {
		t.Errorf("the state is %q", b)
	}
}

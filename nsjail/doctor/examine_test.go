package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/cgroup"
	"brig/internal/test/must"
	"brig/nsjail/spec"
)

func TestContainerOf(t *testing.T) {
	for env, want := range map[string]string{"": "", "A=1\x00container=lxc\x00API_KEY=secret\x00": "container=lxc", "API_KEY=secret\x00xcontainer=a": ""} {
		if got := containerOf(env); got != want {
			t.Errorf("%q: got %q", env, got)
		}
	}
}

// TestWithin: a reading that hangs is abandoned and named.
func TestWithin(t *testing.T) {
	r, hang, seven := &reader{}, make(chan bool), 0
	defer close(hang)
	readWithin(r, "a dead file system", time.Millisecond, func() bool { return <-hang }, func(bool) { t.Error("it has answered") })
	readWithin(r, "quick", time.Minute, func() int { return 7 }, func(v int) { seven = v })
	if len(r.unread) != 1 || r.unread[0] != "a dead file system" || seven != 7 {
		t.Errorf("got %q and %d", r.unread, seven)
	}
}

// TestWithoutFile: the files of a version 2 group show which limits the kernel has.
func TestWithoutFile(t *testing.T) {
	l := &cgroup.Layout{Mode: cgroup.V2, Dir: t.TempDir()}
	if got := withoutFile(l); got != nil {
		t.Errorf("the root of the tree: got %q", got)
	}
	for _, row := range append(slices.Collect(spec.LimitTable()), spec.Limit{Files: "cgroup.type"}) {
		for _, name := range strings.Fields(row.Files) {
			must.Do(t, os.WriteFile(filepath.Join(l.Dir, name), nil, 0o600))
		}
	}
	if got := withoutFile(l); got != nil {
		t.Errorf("with every file: got %q", got)
	}
	must.Do(t, os.Remove(filepath.Join(l.Dir, "memory.zswap.max")))
	if got := withoutFile(l); !slices.Equal(got, []string{"memory_zswap"}) {
		t.Errorf("got %q", got)
	}
}

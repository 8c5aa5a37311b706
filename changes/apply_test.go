package changes

import (
	"testing"

	"brig/internal/test/must"
)

func TestApply(t *testing.T) {
	w := newWorld(t, base, upper)
	set := w.capture()
	dry := must.Get(set.Apply(&ApplyOptions{DryRun: true}))(t)
	equal(t, snapshot(t, w.base), snapshot(t, base.make(t, t.TempDir())))
	done := must.Get(set.Apply(&ApplyOptions{}))(t)
	equal(t, snapshot(t, w.base), after)
	if !done.Removed || len(done.Files) != 23 || len(dry.Files) != 23 {
		t.Errorf("%+v, %d", done, len(dry.Files))
	}
	if left, err := w.store.dir.Names(func(string) bool { return true }); err != nil || len(left) > 0 {
		t.Errorf("the store has %q, %v", left, err)
	}
}

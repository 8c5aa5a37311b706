package disk

import (
	"os"
	"testing"
	"time"

	"brig/internal/test/must"
)

// TestBound: a directory is counted when the file system has given up enough, and after some time in any case.
func TestBound(t *testing.T) {
	dir := t.TempDir()
	f := must.Get(os.Open(dir))(t)
	defer f.Close()
	b := must.Get(NewBound(f, "/cache", 0, 64<<10))(t)
	defer b.Close()
	b.floor = 0
	must.Do(t, os.WriteFile(dir+"/x", make([]byte, 128<<10), 0o600))
	fs := must.Get(b.statfs())(t)
	b.free = freeOf(fs) // as if somebody had freed as much
	if b.Exceeded(time.Now()) || b.Over() {
		t.Error("it was counted")
	}
	b.free.Bytes += 64<<10 + 1
	if !b.Exceeded(time.Now()) || !b.Over() || b.used.Bytes < 64<<10 {
		t.Errorf("%+v", b)
	}
	must.Do(t, os.Truncate(dir+"/x", 0))
	if b.Exceeded(time.Now().Add(time.Hour)) || b.Over() || b.used.Bytes > 4096 {
		t.Errorf("%+v", b)
	}
	b.floor = 1 << 62
	if !b.Exceeded(time.Now()) {
		t.Error("a file system that is almost full")
	}
}

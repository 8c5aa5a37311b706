package nsjail

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/internal/disk"
	"brig/nsjail/internal/run"
)

// stored returns disks with one store of this process's, which may hold so many bytes and has a file of 64 KiB.
func stored(t *testing.T, most int64) *disks {
	t.Helper()
	s := must.Get(run.NewStore(t.TempDir()+"/cow", os.Geteuid(), os.Getegid(), 0o755))(t)
	s.Target, s.Most = "/work", disk.Usage{Bytes: most, Files: 10}
	must.Do(t, os.WriteFile(filepath.Join(s.Path, "upper", "file"), make([]byte, 64<<10), 0o600))
	return &disks{stores: map[int]*run.Store{0: s}}
}

// TestChangesOnDiskAreCounted: what is above the limit counts while the jail runs, with what is open and removed, and
// after the end.
func TestChangesOnDiskAreCounted(t *testing.T) {
	for _, tt := range []struct {
		name           string
		most, unlinked int64
		ended          bool // the keeper has ended the jail for it
		exceeded, over bool
	}{
		{"below the limit", 1 << 20, 0, false, false, false},
		{"above the limit", 4 << 10, 0, false, true, true},
		{"above it with what was removed", 1 << 20, 1 << 20, false, true, false},
		{"it was above the limit", 1 << 20, 0, true, false, true},
	} {
		d := stored(t, tt.most)
		asked := 0
		if got := d.exceeded(func() int64 { asked++; return tt.unlinked }); got != tt.exceeded || asked != 1 {
			t.Errorf("%s: exceeded %v, asked %d times", tt.name, got, asked)
		}
		at := disksAtEnd{bytes: -1}
		must.Do(t, d.count(&at, tt.ended))
		if at.over != tt.over || slices.Equal(at.full, []string{"/work"}) != tt.over || at.bytes < 64<<10 && !tt.over {
			t.Errorf("%s: %+v", tt.name, at)
		}
		path := d.stores[0].Path
		must.Do(t, d.drop())
		if _, err := os.Stat(path); err == nil || len(d.stores) > 0 {
			t.Errorf("%s: %s is left", tt.name, path)
		}
	}
}

// TestChangesAreTakenWithTheirStore: the store on disk lasts as long as the Change; changes not taken are removed.
func TestChangesAreTakenWithTheirStore(t *testing.T) {
	d := stored(t, 1<<20)
	other := stored(t, 1<<20).stores[0]
	d.stores[1] = other
	kept := d.stores[0].Path
	d.changes = []Change{{Mount: 0, Target: "/work", Base: must.Get(os.Open("/"))(t), Upper: must.Get(os.Open(kept))(t)}}
	list := must.Get(d.take())(t)
	_, gone := os.Stat(other.Path)
	_, there := os.Stat(kept)
	if len(list) != 1 || list[0].Target != "/work" || gone == nil || there != nil || len(d.stores)+len(d.changes) > 0 {
		t.Errorf("%+v, %v, %v", list, gone, there)
	}
	must.Do(t, list[0].Close())
	if _, err := os.Stat(kept); err == nil {
		t.Errorf("%s is left", kept)
	}
}

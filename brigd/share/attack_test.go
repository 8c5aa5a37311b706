package share

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"brig/internal/test/must"
)

// TestResolve: a path in a request leads to a directory of the share or nowhere.
func TestResolve(t *testing.T) {
	top := dirs(t, "data/sub/dir", "data/d", "secret")
	for link, to := range map[string]string{"out": "../secret", "abs": top + "/secret", "in": "sub", "loop": "loop",
		"d/up": "..", "magic": "/proc/self/root"} {
		must.Do(t, os.Symlink(to, top+"/data/"+link))
	}
	must.Do(t, os.WriteFile(top+"/data/file", nil, 0o644))
	s := set(t, Share{Name: "data", Dir: top + "/data", Mode: "ro"})
	for path, want := range map[string]string{"": "/data", "sub": "/data/sub", "sub/dir": "/data/sub/dir"} {
		dir, where, no := s.Resolve("data", path)
		if no != nil || where != top+want || dir.Name != "data" {
			t.Errorf("%q: %q %v", path, where, no)
			continue
		}
		if path != "" {
			dir.File.Close()
		}
	}
	for _, path := range []string{"..", "../secret", "sub/../../secret", "/", "/etc", top + "/data/sub", ".", "./sub", "sub/",
		"sub//dir", "out", "abs", "in", "in/dir", "loop", "d/up", "d/up/sub", "magic", "file", "file/x", "missing", "sub\x00",
		"\xff\xfe", strings.Repeat("a/", 3000) + "a", strings.Repeat("a", 300)} {
		if dir, where, no := s.Resolve("data", path); no == nil || no.Code != "bad_path" || len(no.NextSteps) == 0 {
			t.Errorf("%.40q: %q %v", path, where, no)
			if no == nil {
				dir.File.Close()
			}
		}
	}
	if _, _, no := s.Resolve("other", ""); no == nil || no.Code != "share_unknown" {
		t.Error(no)
	}
}

// TestReplaced: another directory at the path of a share is not that share, nor is a link to it; put back, it is.
func TestReplaced(t *testing.T) {
	top := dirs(t, "data/sub", "other/sub")
	s := set(t, Share{Name: "data", Dir: top + "/data", Mode: "rw"})
	must.Do(t, os.Rename(top+"/data", top+"/old"))
	check := func(what string) {
		t.Helper()
		if _, where, no := s.Resolve("data", "sub"); no == nil || no.Code != "share_replaced" {
			t.Errorf("%s: %s %v", what, where, no)
		}
	}
	check("moved away")
	for what, to := range map[string]string{"a link to another": "other", "a link to itself": "old"} {
		must.Do(t, os.Symlink(to, top+"/data"))
		check(what)
		must.Do(t, os.Remove(top+"/data"))
	}
	must.Do(t, os.Rename(top+"/other", top+"/data"))
	check("another directory")
	must.Do(t, os.Rename(top+"/data", top+"/other"))
	must.Do(t, os.Rename(top+"/old", top+"/data"))
	dir, _, no := s.Resolve("data", "sub")
	if no != nil {
		t.Fatal(no)
	}
	dir.File.Close()
}

// TestRaceOfLinks: while somebody exchanges a directory of the share with a link out of it, no descriptor leaves the
// share.
func TestRaceOfLinks(t *testing.T) {
	top := dirs(t, "data/a/in", "secret/in")
	must.Do(t, os.Symlink("../secret", top+"/data/b"))
	var secret unix.Stat_t
	must.Do(t, unix.Stat(top+"/secret/in", &secret))
	s := set(t, Share{Name: "data", Dir: top + "/data", Mode: "rw"})
	done, swaps := make(chan struct{}), sync.WaitGroup{}
	swaps.Go(func() {
		for {
			select {
			case <-done:
				return
			default: // renameat2(2)
				_ = unix.Renameat2(unix.AT_FDCWD, top+"/data/a", unix.AT_FDCWD, top+"/data/b", unix.RENAME_EXCHANGE)
			}
		}
	})
	found := 0
	for range 2000 {
		dir, _, no := s.Resolve("data", filepath.Join("a", "in"))
		if no != nil {
			continue
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(dir.File.Fd()), &st); err != nil || st.Ino == secret.Ino {
			t.Errorf("it has left the share: %v", err)
		}
		found++
		dir.File.Close()
	}
	close(done)
	swaps.Wait()
	if found == 0 {
		t.Error("no lookup has found the directory: the test has shown nothing")
	}
}

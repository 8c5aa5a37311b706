package nsjail

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBenignSymlinks makes mounts through links that lead to a place of the jail: the guard against planted links must
// not refuse them.
func TestBenignSymlinks(t *testing.T) {
	for name, link := range map[string]string{
		"relative": "real", "absolute": "/work/real", "upwards": "../work/real", "above the root": "../../../work/real", "chain": "again",
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(newScene(t).vars["DIR"], "work")
			if err := os.Mkdir(filepath.Join(dir, "real"), 0o711); err != nil {
				t.Fatal(err)
			}
			for from, to := range map[string]string{"link": link, "again": "real"} {
				if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
					t.Fatal(err)
				}
			}
			c := Command("sh", "-c", "cd /work/real && ls -d made sub/tmpfs && test $(stat -fc %T sub/tmpfs) = tmpfs && cat copy")
			c.Spec.Mounts = []Mount{
				{Type: MountBind, Source: dir, Target: "/work", Writable: true},
				{Type: MountDir, Target: "/work/link/made"},
				{Type: MountTmpfs, Target: "/work/link/sub/tmpfs"},
				{Type: MountFile, Source: filepath.Join(filepath.Dir(dir), "secret"), Target: "/work/link/copy"},
			}
			out, res, err := c.CombinedOutput()
			if err != nil {
				t.Fatal(err)
			}
			if res.Status != StatusOK || !strings.HasPrefix(string(out), "made\nsub/tmpfs\nhost-secret") {
				t.Errorf("%s: %q", res.Status, out)
			}
		})
	}
}

// TestRenameStorm makes jails while files are renamed all the time: openat2(2) then answers EAGAIN to a lookup with
// "..", and the stage has to ask again, or anybody on the machine could keep jails from being made.
func TestRenameStorm(t *testing.T) {
	s := newScene(t)
	dir, storm := s.path("work"), s.path("victim")
	if err := errors.Join(os.Mkdir(dir+"/real", 0o755), os.Symlink("../../../work/real", dir+"/link"), os.WriteFile(storm+"/a", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	done, ended := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-done:
				ended <- nil
				return
			default:
			}
			if err := errors.Join(os.Rename(storm+"/a", storm+"/b"), os.Rename(storm+"/b", storm+"/a")); err != nil {
				ended <- err
				return
			}
		}
	}()
	for range 15 {
		c := Command("true")
		c.Spec.Mounts = []Mount{{Type: MountBind, Source: dir, Target: "/work", Writable: true}}
		for _, name := range []string{"a", "b", "c", "d"} {
			c.Spec.Mounts = append(c.Spec.Mounts, Mount{Type: MountDir, Target: "/work/link/" + name})
		}
		if _, err := c.Run(); err != nil {
			t.Error(err)
		}
	}
	close(done)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

package nsjail

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/attack"
	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// TestBenignSymlinks: a directory is made through a link that leads to a place of the jail. A mount is not, since a
// payload that may write there could lead it elsewhere the next time: the error asks for the path that the link leads
// to, which works.
func TestBenignSymlinks(t *testing.T) {
	for name, link := range map[string]string{
		"relative": "real", "absolute": "/work/real", "upwards": "../work/real", "above the root": "../../../work/real", "chain": "again",
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(scene(t, &attack.Attack{}).Vars["DIR"], "work")
			must.Do(t, os.Mkdir(filepath.Join(dir, "real"), 0o711))
			for from, to := range map[string]string{"link": link, "again": "real"} {
				must.Do(t, os.Symlink(to, filepath.Join(dir, from)))
			}
			made := []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}, {Type: spec.MountDir, Target: "/work/link/made"}}
			mounts := func(below string) []spec.Mount {
				return []spec.Mount{{Type: spec.MountTmpfs, Target: below + "/sub/tmpfs"},
					{Type: spec.MountFile, Source: filepath.Join(filepath.Dir(dir), "secret"), Target: below + "/copy"}}
			}
			for _, m := range mounts("/work/link") {
				c := Command("true")
				c.Spec.Mounts = append(made[:2:2], m)
				if e := startError(t, c); e.Fault != spec.FaultCaller || !strings.Contains(e.Remedy.String(), "name the path that it leads to") {
					t.Errorf("%s: %+v", m.Type, e)
				}
			}
			c := Command("sh", "-c", "cd /work/real && ls -d made sub/tmpfs && test $(stat -fc %T sub/tmpfs) = tmpfs && cat copy")
			c.Spec.Mounts = append(made[:2:2], mounts("/work/real")...)
			out, res, err := c.CombinedOutput()
			must.Do(t, err)
			if res.Status != StatusOK || !strings.HasPrefix(string(out), "made\nsub/tmpfs\nhost-secret") {
				t.Errorf("%s: %q", res.Status, out)
			}
		})
	}
}

// TestRenameStorm makes jails while files are renamed all the time: openat2(2) then answers EAGAIN to a lookup with
// "..", and the launcher has to ask again, or anybody on the machine could keep jails from being made.
func TestRenameStorm(t *testing.T) {
	s := scene(t, &attack.Attack{})
	dir, storm := s.Path("work"), s.Path("victim")
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
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}}
		for _, name := range []string{"a", "b", "c", "d"} {
			c.Spec.Mounts = append(c.Spec.Mounts, spec.Mount{Type: spec.MountDir, Target: "/work/link/" + name})
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

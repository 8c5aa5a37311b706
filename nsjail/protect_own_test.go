package nsjail

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/store"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// TestOwnDirectories: brig's own directories below a writable mount stay as they are, existing or not, whatever the Spec
// protects or takes back.
func TestOwnDirectories(t *testing.T) {
	const forge = `cd /work; for d in state/brig share/brig; do
mkdir -p $d/ghosts && echo changed; touch $d/ghosts/run-x && echo changed; mv $d $d.old && echo changed; done
mv state x && echo changed; mv deep x && echo changed; touch free`
	for name, change := range map[string]func(*testing.T, *spec.Spec, string){
		"default":    func(t *testing.T, s *spec.Spec, dir string) { s.Protect = nil },
		"taken back": func(t *testing.T, s *spec.Spec, dir string) { s.Protect = []string{"!state", "!share", "!deep"} },
		"below a cow": func(t *testing.T, s *spec.Spec, dir string) {
			s.Mounts[0] = spec.Mount{Type: "cow", Source: dir, Target: "/work"}
		},
		"beside absent paths of a cow": func(t *testing.T, s *spec.Spec, dir string) {
			s.Mounts[0] = spec.Mount{Type: "cow", Source: dir, Target: "/work"}
			s.Protect = []string{"state/bin", "share/applications", "state/brig/x"}
		},
		"below a protected path": func(t *testing.T, s *spec.Spec, dir string) { s.Protect = []string{"state", "share"} },
		"below a protected path of a cow": func(t *testing.T, s *spec.Spec, dir string) {
			s.Mounts[0] = spec.Mount{Type: "cow", Source: dir, Target: "/work"}
			s.Protect = []string{"state", "share"}
		},
		"behind a link": func(t *testing.T, s *spec.Spec, dir string) { moveBehindLink(t, dir) },
		"optional": func(t *testing.T, s *spec.Spec, dir string) {
			s.Protect, s.Optional = []string{"file"}, []string{"protect"}
			must.Do(t, os.WriteFile(dir+"/file", nil, 0o600))
			must.Do(t, os.Link(dir+"/file", dir+"/same"))
		},
	} {
		for _, present := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				dir := ownDirectories(t, present)
				s := protectSpec(dir, forge)
				s.Args = []string{"sh", "-c", forge}
				change(t, &s, dir)
				c := alone(t, s)
				var out strings.Builder
				c.Stdout = &out
				res, err := c.Run()
				if err != nil || res.Status != StatusOK || out.Len() > 0 || !strings.Contains(res.Enforced["protect"].String(), "brig") {
					t.Errorf("%v, %+v\n%s", err, res, &out)
				}
				for _, d := range store.Places() {
					if list, err := os.ReadDir(d); err == nil && strings.HasPrefix(d, dir) && len(list) > 0 {
						t.Errorf("%s has %v", d, list)
					}
				}
			})
		}
	}
	t.Run("other places", func(t *testing.T) {
		dir := t.TempDir()
		if !asuser.Second() { // later jails of this process make the added store again
			dir = must.Get(os.MkdirTemp(asuser.Dir(), "stores"))(t)
		}
		t.Chdir(dir)
		t.Setenv("BRIG_CHANGES", "sets")
		must.Do(t, store.Protect("boxes/a"))
		s := protectSpec(dir, "")
		s.Args = []string{"sh", "-c", "cd /work; touch sets/x && echo changed; touch boxes/a/x && echo changed; mv boxes b && echo changed; touch free"}
		var out strings.Builder
		c := alone(t, s)
		c.Stdout = &out
		if res, err := c.Run(); err != nil || res.Status != StatusOK || out.Len() > 0 {
			t.Errorf("%v, %+v\n%s", err, res, &out)
		}
		want := os.FileMode(0o700)
		if os.Geteuid() == 0 {
			want = 0o711
		}
		if st, err := os.Stat(dir + "/sets"); err != nil || st.Mode().Perm() != want {
			t.Errorf("%v, %v", st, err)
		}
	})
	for _, below := range []string{"state/brig", "state/brig/ghosts"} {
		dir := ownDirectories(t, true)
		must.Do(t, os.MkdirAll(filepath.Join(dir, below), 0o700))
		s := protectSpec(filepath.Join(dir, below), "true")
		s.Protect = nil
		if _, err := alone(t, s).Run(); err == nil || !strings.Contains(err.Error(), "brig keeps its own files there") {
			t.Errorf("%s: %v", below, err)
		}
	}
}

// ownDirectories makes a directory to share that has brig's own ones in it, of root in state/brig.
func ownDirectories(t *testing.T, present bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	was := store.RootDir
	store.RootDir = dir + "/state/brig"
	t.Cleanup(func() { store.RootDir = was })
	t.Setenv("XDG_STATE_HOME", dir+"/state")
	t.Setenv("XDG_DATA_HOME", dir+"/share")
	if os.Geteuid() == 0 {
		t.Setenv("BRIG_CHANGES", dir+"/share/brig")
	}
	if present {
		for _, d := range store.Places() {
			must.Do(t, os.MkdirAll(d, 0o700))
		}
	}
	return dir
}

// moveBehindLink makes state a symbolic link to a directory beside it.
func moveBehindLink(t *testing.T, dir string) {
	t.Helper()
	must.Do(t, os.MkdirAll(dir+"/state", 0o700))
	must.Do(t, os.Rename(dir+"/state", dir+"/deep"))
	must.Do(t, os.Symlink("deep", dir+"/state"))
}

package nsjail

import (
	"errors"
	"os"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// TestHeld: a mount shows the directory that the caller holds open, or fails; never another one that was put at its
// path.
func TestHeld(t *testing.T) {
	runner := must.Get(NewRunner())(t)
	defer runner.Close()
	for _, kind := range []spec.MountType{spec.MountBind, spec.MountCOW} {
		top := t.TempDir()
		for _, dir := range []string{"/held", "/other"} {
			must.Do(t, os.Mkdir(top+dir, 0o755))
			must.Do(t, os.WriteFile(top+dir+"/name", []byte(dir), 0o644))
		}
		f := must.Get(os.Open(top + "/held"))(t)
		defer f.Close()
		run := func(make func(...string) *Cmd) (string, error) {
			c := make("cat", "/mnt/name")
			c.Spec.Mounts = []spec.Mount{{Type: kind, Source: top + "/held", Target: "/mnt", Held: &spec.Held{Name: "x", File: f}}}
			out, r, err := c.Output()
			for i := 0; r != nil && i < len(r.Changes); i++ {
				err = errors.Join(err, r.Changes[i].Close())
			}
			return string(out), err
		}
		cold := func(args ...string) *Cmd { return Command(args[0], args[1:]...) }
		warm := func(args ...string) *Cmd { return runner.Command(args[0], args[1:]...) }
		for _, way := range []func(...string) *Cmd{cold, warm} {
			out, err := run(way)
			if err != nil && strings.Contains(err.Error(), "Linux 6.6") {
				t.Skip(err)
			}
			if out != "/held" {
				t.Errorf("%s: %q %v", kind, out, err)
			}
		}
		must.Do(t, os.Rename(top+"/held", top+"/gone"))
		must.Do(t, os.Rename(top+"/other", top+"/held"))
		for _, way := range []func(...string) *Cmd{cold, warm} {
			if out, err := run(way); out == "/other" || out == "" && err == nil {
				t.Errorf("%s: it shows what has taken the place: %q %v", kind, out, err)
			}
		}
	}
}

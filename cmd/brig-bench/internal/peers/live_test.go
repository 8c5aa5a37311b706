package peers

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// live are the tools that this machine has, less those that need a program or an engine.
func live(t *testing.T) []*Tool {
	t.Helper()
	h := &Host{Dir: t.TempDir(), Brig: "/nonexistent", Root: os.Geteuid() == 0}
	for dir := h.Dir; dir != "/" && dir != os.TempDir(); dir = dir[:strings.LastIndexByte(dir, '/')] { // runc's stranger must get there
		must.Do(t, os.Chmod(dir, 0o755))
	}
	t.Cleanup(func() { must.Do(t, h.Remove()) })
	return slices.DeleteFunc(All(h), func(tool *Tool) bool {
		return tool.Info.Absent != "" || !slices.Contains([]string{"brig Runner", "brig Runner, pool", "bubblewrap, no filter", "bubblewrap", "runc", "crun"}, tool.Info.Name)
	})
}

// The jails that are compared are the same in what a jail can see of itself, but for those that say that they are less.
func TestJailsAreTheSame(t *testing.T) {
	for _, tool := range live(t) {
		if strings.HasPrefix(tool.Info.Name, "bubblewrap") {
			continue
		}
		t.Run(tool.Info.Name, func(t *testing.T) {
			if tool.Look(); tool.Info.Absent != "" {
				t.Skip(tool.Info.Absent)
			}
			for _, d := range tool.Info.Differs {
				if strings.HasPrefix(d, "checked: ") {
					t.Error(d)
				}
			}
		})
	}
}

// Streams, binds and exit codes work alike.
func TestJobs(t *testing.T) {
	dir := t.TempDir()
	err := os.WriteFile(dir+"/in", []byte("in"), 0o644)
	for _, name := range []string{"/input", "/work", "/output"} {
		err = errors.Join(err, os.Mkdir(dir+name, 0o755), os.Chmod(dir+name, 0o777))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range live(t) {
		t.Run(tool.Info.Name, func(t *testing.T) {
			ready, err := tool.Prepare(Job{Args: []string{"/bin/sh", "-c", `cat /brig-bench; cat; echo -n :$(pwd); touch /tmp/x || exit 4; test -e /etc/shadow && exit 5; touch /usr/x /input/x 2>/dev/null && exit 6; touch here /output/x`},
				Show: dir + "/in", Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer ready.Close()
			var out strings.Builder
			p, err := ready.Start(Streams{In: strings.NewReader("+stdin"), Out: &out})
			if err != nil {
				t.Skipf("makes no jail here: %v", err)
			}
			if err := p.Wait(); err != nil {
				if strings.Contains(err.Error(), "hybrid") {
					t.Skip(err)
				}
				t.Fatal(err)
			}
			written := errors.Join(os.Remove(dir+"/work/here"), os.Remove(dir+"/output/x"))
			if out.String() != "in+stdin:/work" || written != nil {
				t.Errorf("said %q, %v", out.String(), written)
			}
		})
	}
}

// A tool that accepts a limit enforces it.
func TestLimitsHold(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user may have no control group to give")
	}
	for _, tool := range live(t) {
		if !tool.Limits {
			continue
		}
		t.Run(tool.Info.Name, func(t *testing.T) {
			for size, fits := range map[string]bool{"4M": true, "200M": false} {
				ready, err := tool.Prepare(Job{Args: []string{"/bin/sh", "-c", "head -c " + size + " /dev/zero | tail | wc -c >/dev/null; test $(head -c " + size + " /dev/zero | tail | wc -c) -gt 0"},
					Limited: true})
				if err != nil {
					t.Fatal(err)
				}
				err = ready.Run()
				if cerr := ready.Close(); cerr != nil {
					t.Error(cerr)
				}
				if err != nil && strings.Contains(err.Error(), "hybrid") {
					t.Skip(err)
				}
				if (err == nil) != fits {
					t.Errorf("%s under 64 MiB: %v", size, err)
				}
			}
		})
	}
}

package nsjail

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// noCOW returns why the kernel cannot keep changes in memory, or "".
func noCOW(t *testing.T) string {
	t.Helper()
	h, err := host.Look(&spec.Spec{Mounts: []spec.Mount{{Type: spec.MountCOW, Source: t.TempDir(), Target: "/work"}}})
	must.Do(t, err)
	defer h.Close()
	src := h.Sources.Of(0)
	if why := src.NoUpper + src.NoOverlay; why != "" {
		return why
	}
	if h.Drop && !h.Kernel.AtLeast(5, 19) {
		return "root's overlays of idmapped mounts need Linux 5.19"
	}
	return ""
}

func needCOW(t *testing.T) {
	t.Helper()
	if why := noCOW(t); why != "" {
		t.Skip(why)
	}
}

// cowSource makes a directory with files, a link and directories.
func cowSource(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"keep", "gone"} {
		must.Do(t, os.Mkdir(filepath.Join(dir, d), 0o755))
	}
	for _, f := range []string{"file", "keep/a", "gone/b"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, f), []byte("old\n"), 0o644))
	}
	must.Do(t, os.Symlink("file", filepath.Join(dir, "link")))
	hour := time.Now().Add(time.Hour).Unix() // a read sets no time of access that is later than the others (relatime)
	for _, p := range []string{"keep/a", "keep", "gone/b", "gone", "file", "link", "."} {
		err := unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(dir, p), []unix.Timespec{{Sec: hour}, {Nsec: unix.UTIME_OMIT}},
			unix.AT_SYMLINK_NOFOLLOW)
		must.Do(t, err)
	}
	return dir
}

// cowJail runs a script in a jail with one cow mount at /work, and returns its only change.
func cowJail(t *testing.T, c *Cmd, m spec.Mount) (string, *Result, *Change) {
	t.Helper()
	m.Type = spec.MountCOW
	if m.Target == "" {
		m.Target = "/work"
	}
	c.Spec.Mounts = append([]spec.Mount{m}, c.Spec.Mounts...)
	out, r := mustRun(t, c)
	if len(r.Changes) != 1 {
		t.Fatalf("%d changes: %+v; %s", len(r.Changes), r, out)
	}
	ch := &r.Changes[0]
	t.Cleanup(func() {
		if err := ch.Close(); err != nil {
			t.Error(err)
		}
	})
	if ch.Mount != 0 || ch.Source != m.Source || ch.Target != m.Target {
		t.Errorf("%+v", ch)
	}
	return out, r, ch
}

// names lists a directory that is open.
func names(t *testing.T, dir *os.File) (list []string) {
	t.Helper()
	entries := must.Get(dir.ReadDir(-1))(t)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	slices.Sort(list)
	return list
}

// A payload changes a directory as if it were its own, the directory stays as it was, and the caller gets the upper
// directory: from every kind of launcher, for root and an ordinary user.
func TestCOW(t *testing.T) {
	needCOW(t)
	const script = `set -e
		test "$(cat link)" = old; echo more >>file; rm -r gone; mkdir gone; touch gone/new; echo x >added; chmod 700 keep
		test "$(cat file | tr '\n' ' ')" = "old more "; test "$(ls gone)" = new; stat -c '%u %g' . file added keep | sort -u`
	for name, r := range map[string]*Runner{"alone": nil, "cold": runnerWith(t, RunnerOptions{Cold: true}),
		"warm": runnerWith(t, RunnerOptions{}), "pool": runnerWith(t, RunnerOptions{Pool: 2})} {
		t.Run(name, func(t *testing.T) {
			dir := cowSource(t)
			was := snapshot(t, dir)
			for range 3 { // the third in a parked jail
				c := shell(script)
				if r != nil {
					c = r.Command("sh", "-c", script)
				}
				out, res, ch := cowJail(t, c, spec.Mount{Source: dir})
				if out != "1000 1000\n" || res.Status != StatusOK || !strings.HasPrefix(res.Enforced["cow"].String(), "overlay") {
					t.Fatalf("%q %+v", out, res)
				}
				if got := names(t, ch.Upper); !slices.Equal(got, []string{"added", "file", "gone", "keep"}) {
					t.Errorf("changed: %q", got)
				}
			}
			if now := snapshot(t, dir); !slices.Equal(now, was) {
				t.Errorf("the source was %q and is %q", was, now)
			}
		})
	}
}

// The kernel bounds what a payload writes.
func TestLimitCOW(t *testing.T) {
	needCOW(t)
	_, r, _ := cowJail(t, shell("head -c 3000000 /dev/zero >big"), spec.Mount{Source: cowSource(t), Size: 1 << 20})
	if r.Status != StatusDisk || !slices.Contains(r.LimitsHit, "disk") {
		t.Errorf("bytes: %+v", r)
	}
	_, r, ch := cowJail(t, shell("for i in $(seq 40); do : >f$i; done"), spec.Mount{Source: cowSource(t), Inodes: 20})
	if got := names(t, ch.Upper); len(got) == 0 || len(got) > 20 || !slices.Contains(r.LimitsHit, "disk") {
		t.Errorf("files: %q %+v", got, r)
	}
}

// The changes of a writable root come the same way, if they are asked for.
func TestRootfsKeep(t *testing.T) {
	needCOW(t)
	storeDir(t)
	for name, r := range map[string]*Runner{"cold": runnerWith(t, RunnerOptions{Cold: true}),
		"warm": runnerWith(t, RunnerOptions{Pool: 2})} {
		img, dir := image(t), cowSource(t)
		for range 3 {
			c := r.Command("sh", "-c", "touch /bin/new /work/x")
			c.Spec.Rootfs = spec.Rootfs{Path: img, Writable: true, Keep: true}
			c.Spec.Mounts = []spec.Mount{{Type: spec.MountCOW, Source: dir, Target: "/work"}}
			_, res := mustRun(t, c)
			if len(res.Changes) != 2 || res.Changes[0].Mount != -1 || res.Changes[0].Target != "/" ||
				res.Changes[0].Source != img {
				t.Fatalf("%s: %+v", name, res.Changes)
			}
			if root, work := names(t, res.Changes[0].Upper), names(t, res.Changes[1].Upper); !slices.Contains(root, "bin") ||
				!slices.Equal(work, []string{"x"}) {
				t.Errorf("%s: %q %q", name, root, work)
			}
			for i := range res.Changes {
				if err := res.Changes[i].Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

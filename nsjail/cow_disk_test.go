package nsjail

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/store"
	"brig/internal/test/must"
	"brig/internal/words"
	"brig/nsjail/spec"
)

// storeDir makes a state directory for one test, and returns where stores lie in it.
func storeDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o711))
	was := store.RootDir
	store.RootDir = filepath.Join(dir, "brig")
	t.Cleanup(func() { store.RootDir = was })
	t.Setenv("XDG_STATE_HOME", dir)
	return filepath.Join(dir, "brig/cow")
}

func stores(t *testing.T, dir string) int {
	t.Helper()
	list := must.Get(os.ReadDir(dir))(t)
	return len(list)
}

// Changes on disk are the same as changes in memory, in jails of every kind, and Close removes them.
func TestCOWOnDisk(t *testing.T) {
	at := storeDir(t)
	const script = `set -e
		echo more >>file; rm -r gone; mkdir gone; touch gone/new; mkdir deep
		head -c 100000 /dev/urandom >deep/big; chmod 0 deep
		test "$(cat file | tr '\n' ' ')" = "old more "; test "$(ls gone)" = new`
	for name, r := range map[string]*Runner{"alone": nil, "cold": runnerWith(t, RunnerOptions{Cold: true}),
		"pool": runnerWith(t, RunnerOptions{Pool: 2})} {
		t.Run(name, func(t *testing.T) {
			dir := cowSource(t)
			was := snapshot(t, dir)
			for range 3 {
				c := shell(script)
				if r != nil {
					c = r.Command("sh", "-c", script)
				}
				_, res, ch := cowJail(t, c, spec.Mount{Source: dir, Store: spec.StoreDisk})
				if res.Status != StatusOK || !strings.Contains(res.Enforced["cow"].String(), "on disk") || res.Usage.Disk < 100000 {
					t.Fatalf("%+v", res)
				}
				if got := names(t, ch.Upper); !slices.Equal(got, []string{"deep", "file", "gone"}) || stores(t, at) != 1 {
					t.Errorf("changed: %q", got)
				}
				if err := ch.Close(); err != nil || stores(t, at) != 0 {
					t.Fatalf("%v; %d stores are left", err, stores(t, at))
				}
			}
			if now := snapshot(t, dir); !slices.Equal(now, was) {
				t.Errorf("the source was %q and is %q", was, now)
			}
		})
	}
}

// The changes of a writable root are kept on disk if that is asked for, and on a kernel where only the disk can keep
// them. Those that nobody asked for are removed when the jail has ended.
func TestRootfsOnDisk(t *testing.T) {
	at, noMemory := storeDir(t), noCOW(t)
	for name, r := range map[string]*Runner{"cold": runnerWith(t, RunnerOptions{Cold: true}),
		"pool": runnerWith(t, RunnerOptions{Pool: 2})} {
		for _, root := range []spec.Rootfs{{Store: spec.StoreDisk}, {Store: spec.StoreDisk, Keep: true}, {Keep: true}} {
			img := image(t)
			must.Do(t, os.Mkdir(filepath.Join(img, "gone"), 0o755))
			c := r.Command("sh", "-c", "rmdir /gone && mkdir /gone && touch /gone/new && head -c 100000 /dev/zero >/bin/big")
			root.Path, root.Writable = img, true
			c.Spec.Rootfs = root
			out, res := mustRun(t, c)
			onDisk := root.Store == spec.StoreDisk || noMemory != ""
			if res.Status != StatusOK || strings.Contains(res.Enforced["cow"].String(), "on disk") != onDisk || res.Usage.Disk < 100000 {
				t.Fatalf("%s %+v: %q %+v", name, root, out, res)
			}
			chosen := strings.Contains(words.Join(res.Notes, "\n").String(), "the changes of the root are kept on disk")
			if chosen != (onDisk && root.Store == "") || len(res.Changes) == 1 != root.Keep {
				t.Errorf("%s %+v: notes %q, %d changes", name, root, res.Notes, len(res.Changes))
			}
			for i := range res.Changes {
				if got := names(t, res.Changes[i].Upper); !slices.Contains(got, "gone") || !slices.Contains(got, "bin") {
					t.Errorf("%s %+v: changed: %q", name, root, got)
				}
				if err := res.Changes[i].Close(); err != nil {
					t.Error(err)
				}
			}
			if _, err := os.Stat(at); err == nil && stores(t, at) != 0 {
				t.Errorf("%s %+v: %d stores are left", name, root, stores(t, at))
			}
		}
	}
}

// A root on disk has a limit of its own: the scratch directories are in memory.
func TestLimitRootfsOnDisk(t *testing.T) {
	storeDir(t)
	for _, file := range []string{"/big", "/tmp/big"} {
		c := shell("head -c 9000000 /dev/zero >" + file)
		c.Spec.Rootfs = spec.Rootfs{Path: image(t), Writable: true, Size: 4 << 20, Store: spec.StoreDisk}
		_, r := mustRun(t, c)
		if over := file == "/big"; slices.Contains(c.facts.disks.full, "/") != over || (r.Status == StatusDisk) != over {
			t.Errorf("%s: full %q, %+v", file, c.facts.disks.full, r)
		}
	}
}

// A payload that writes too much on disk is ended, wherever it hides what it writes.
func TestLimitCOWOnDisk(t *testing.T) {
	storeDir(t)
	for name, script := range map[string]string{
		"bytes":            "head -c 9000000 /dev/zero >big; sleep 100",
		"files":            "for i in $(seq 60); do : >f$i; done; sleep 100",
		"without a name":   "exec 5>gone5; rm gone5; head -c 9000000 /dev/zero >&5; sleep 100",
		"no permission":    "mkdir -p d/e; cd d/e; head -c 9000000 /dev/zero >big; chmod 0 . ..; sleep 100",
		"deep":             "for i in $(seq 300); do mkdir d; cd d; done; sleep 100",
		"and ends at once": "head -c 9000000 /dev/zero >big",
	} {
		t.Run(name, func(t *testing.T) {
			m := spec.Mount{Source: cowSource(t), Store: spec.StoreDisk, Size: 4 << 20, Inodes: 50}
			if name == "deep" {
				m.Inodes = 1000
			}
			_, r, _ := cowJail(t, shell(script), m)
			if r.Status != StatusDisk || !slices.Contains(r.LimitsHit, "disk") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A directory that holds brig's own cannot keep its changes there.
func TestCOWOfTheStateDirectory(t *testing.T) {
	at := storeDir(t)
	for _, dir := range []string{filepath.Dir(filepath.Dir(at)), at} {
		must.Do(t, os.MkdirAll(dir, 0o755))
		c := shell("true")
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountCOW, Source: dir, Target: "/work", Store: spec.StoreDisk}}
		if e := startError(t, c); e.Op != "cow" || !strings.Contains(e.Error(), "keeps changes on disk") {
			t.Errorf("%s: %v", dir, e)
		}
	}
}

package nsjail

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/internal/store"
	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// What a payload leaves, in number, depth and mode, does not hinder the keeper.
func TestCOWHostile(t *testing.T) {
	const script = `import os
for i in range(100):
    os.mkdir(f"many{i}")
    for k in range(100):
        os.mknod(f"many{i}/{k}")
os.mkdir("deep"); os.chdir("deep")
for i in range(3000 if STORE == "" else 200):
    os.mkdir("d" * 200); os.chdir("d" * 200)
os.chdir("/work"); os.mkdir("locked"); os.mkdir("locked/in"); os.chmod("locked/in", 0)
os.chmod("locked", 0); os.mkfifo("fifo")
os.symlink("/etc/passwd", "link2"); os.chmod(".", 0)
`
	for _, store := range []string{"", spec.StoreDisk} {
		at := storeDir(t)
		if store == "" {
			needCOW(t)
		}
		c := Command("python3", "-c", fmt.Sprintf("STORE=%q\n", store)+script)
		began := time.Now()
		out, r, ch := cowJail(t, c, spec.Mount{Source: cowSource(t), Store: store})
		if r.Status != StatusOK {
			t.Fatalf("%q %+v", out, r)
		}
		ran := time.Duration(r.Usage.Wall)
		if err := ch.Close(); err != nil {
			t.Error(err)
		}
		if end := time.Since(began) - ran; end > ran+5*time.Second {
			t.Errorf("%q: after %s the end took %s", store, ran, end)
		}
		if store != "" && stores(t, at) != 0 {
			t.Error("the store is still there")
		}
	}
}

// A protected path that the overlay hides is an error with the reason.
func TestCOWHidesProtected(t *testing.T) {
	needCOW(t)
	dir := cowSource(t)
	must.Do(t, os.Mkdir(dir+"/opaque", 0o700))
	if err := unix.Setxattr(dir+"/opaque", "user.overlay.opaque", []byte("y"), 0); err != nil {
		t.Skip("the file system of the tests has no user attributes: ", err)
	}
	s := protectSpec(dir, "true")
	s.Protect = []string{"opaque/absent"}
	s.Mounts[0] = spec.Mount{Type: spec.MountCOW, Source: dir, Target: "/work"}
	if e := startError(t, alone(t, s)); e.Fault != spec.FaultCaller || !strings.Contains(e.Remedy.String(), "user.overlay.opaque") {
		t.Errorf("%v", e)
	}
}

// A source that cannot be a layer is refused with the reason, and nothing is left behind.
func TestCOWErrors(t *testing.T) {
	file := filepath.Join(cowSource(t), "file")
	for source, want := range map[string]string{
		"/proc/self":   "is not known to work as a layer",
		file:           "not a directory",
		"/no/such/dir": "no such file",
	} {
		for _, store := range []string{"", spec.StoreDisk} {
			at := storeDir(t)
			c := shell("true")
			c.Spec.Mounts = []spec.Mount{{Type: spec.MountCOW, Source: source, Target: "/work", Store: store}}
			if e := startError(t, c); !strings.Contains(e.Error(), want) || e.Remedy == "" {
				t.Errorf("%s: %v, want %q", source, e, want)
			}
			if _, err := os.Stat(at); err == nil && stores(t, at) != 0 {
				t.Errorf("%s: a store is left", source)
			}
		}
	}
	c := shell("true")
	c.Spec.Optional = []string{"cow"}
	if e := startError(t, c); !strings.Contains(e.Error(), "would change its source") {
		t.Error(e)
	}
}

// Other mounts can be below a cow mount, and a cow mount below another or a bind.
func TestCOWWithOthers(t *testing.T) {
	needCOW(t)
	dir, other, plain := cowSource(t), cowSource(t), cowSource(t)
	was := snapshot(t, plain)
	for name, r := range map[string]*Runner{"cold": runnerWith(t, RunnerOptions{Cold: true}),
		"warm": runnerWith(t, RunnerOptions{})} {
		c := r.Command("sh", "-c", "echo 1 >keep/a; echo 2 >gone/in/file; echo 3 >gone/in/deep/file; cat gone/ro/keep/a; "+
			"echo x >gone/ro/file; perl -e 'for (\"gone\", \"gone/in\") { rename($_, \"x\") or print \"busy\\n\" }'; "+
			"echo 4 >/bind/cow/file")
		c.Spec.Mounts = []spec.Mount{
			{Type: spec.MountCOW, Source: dir, Target: "/work"},
			{Type: spec.MountCOW, Source: other, Target: "/work/gone/in"},
			{Type: spec.MountTmpfs, Target: "/work/gone/in/deep"},
			{Type: spec.MountBind, Source: other, Target: "/work/gone/ro"},
			{Type: spec.MountBind, Source: other, Target: "/bind", Writable: true},
			{Type: spec.MountCOW, Source: dir, Target: "/bind/cow"},
		}
		must.Do(t, os.MkdirAll(filepath.Join(other, "cow"), 0o755))
		out, res := mustRun(t, c)
		if len(res.Changes) != 3 || strings.Count(out, "Read-only file system") != 1 || strings.Count(out, "busy") < 2 {
			t.Fatalf("%s: %q %+v", name, out, res)
		}
		for i, want := range [][]string{{"gone", "keep"}, {"deep", "file"}, {"file"}} {
			if got := names(t, res.Changes[i].Upper); !slices.Equal(got, want) {
				t.Errorf("%s: mount %d has %q, want %q", name, res.Changes[i].Mount, got, want)
			}
			if err := res.Changes[i].Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if now := snapshot(t, plain); len(now) != len(was) {
		t.Error("another directory has changed")
	}
}

// The descriptors of the changes, of the network's sockets and of a terminal come one after the other.
func TestCOWWithNetworkAndTerminal(t *testing.T) {
	needCOW(t)
	for name, r := range map[string]*Runner{"cold": runnerWith(t, RunnerOptions{Cold: true}),
		"warm": runnerWith(t, RunnerOptions{})} {
		for _, img := range []string{"", image(t)} {
			c := r.Command("sh", "-c", "echo x >/work/new; test -t 0")
			c.Spec.Net, c.Spec.TTY, c.Spec.Rootfs.Path = spec.NetEgress, true, img
			c.Terminal = func(*os.File) {}
			_, res, ch := cowJail(t, c, spec.Mount{Source: cowSource(t)})
			if got := names(t, ch.Upper); res.Status != StatusOK || !slices.Equal(got, []string{"new"}) {
				t.Errorf("%s: %q %+v", name, got, res)
			}
		}
	}
}

// What a killed keeper leaves on disk is an orphan, which others remove; what a living one has is not.
func TestCOWOfAKilledKeeper(t *testing.T) {
	at := storeDir(t)
	c := runRole("cow-keeper", "^TestCOWKeeper$")
	c.Env = append(c.Env, "BRIG_TEST_STORE="+at, "BRIG_TEST_SOURCE="+cowSource(t))
	c.Stdout = nil
	pipe := must.Get(c.StdoutPipe())(t)
	must.Do(t, c.Start())
	for lines := bufio.NewScanner(pipe); lines.Text() != "up"; {
		if !lines.Scan() {
			t.Fatal("the keeper has ended")
		}
	}
	if removed, busy, err := CollectStores(); len(removed) != 0 || busy != 1 || err != nil {
		t.Errorf("alive: removed %q, %d in use, %v", removed, busy, err)
	}
	must.Do(t, c.Process.Kill())
	_ = c.Wait() // it was killed
	if removed, busy, err := CollectStores(); len(removed) != 1 || busy != 0 || err != nil || stores(t, at) != 0 {
		t.Errorf("killed: removed %q, %d in use, %v", removed, busy, err)
	}
}

// TestCOWKeeper is the keeper that is killed.
func TestCOWKeeper(t *testing.T) {
	if os.Getenv(roleVar) != "cow-keeper" {
		t.Skip("it is a role of TestCOWOfAKilledKeeper")
	}
	store.RootDir = filepath.Dir(os.Getenv("BRIG_TEST_STORE"))
	c := shell("mkdir d; echo x >d/f; chmod 0 d; echo up; sleep 1000")
	c.Stdout = os.Stdout
	c.Spec.Mounts = []spec.Mount{{Type: spec.MountCOW, Source: os.Getenv("BRIG_TEST_SOURCE"), Target: "/work",
		Store: spec.StoreDisk}}
	must.Get(c.Run())(t)
}

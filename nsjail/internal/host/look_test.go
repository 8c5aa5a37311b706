package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// image makes a tree with the mount points of a jail.
func image(t *testing.T) string {
	t.Helper()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	grow(t, dir, "dev/", "proc/", "tmp/", "work/", "etc/hosts", "etc/resolv.conf", "bin/sh")
	return dir
}

// TestLookImage: what is known of a root of one's own.
func TestLookImage(t *testing.T) {
	dir := image(t)
	h := must.Get(Look(&spec.Spec{Args: []string{"sh"}, Rootfs: spec.Rootfs{Path: dir}}))(t)
	defer h.Close()
	src := h.Sources.Of(spec.Root)
	if src == nil || !src.Dir || src.Path != dir || !h.ImageComplete || len(h.ImageLacks) > 0 || h.System != nil || h.CPUs != "" || src.Root {
		t.Errorf("%+v, %+v", src, h.Root)
	}
	for path, want := range map[string]string{
		dir + "/bin/sh": `rootfs.path: "$/bin/sh": not a directory; name a directory tree`,
		dir + "/gone":   `rootfs: "$/gone": no such file or directory; name a path that exists`,
	} {
		h, err := Look(&spec.Spec{Args: []string{"sh"}, Rootfs: spec.Rootfs{Path: path}})
		if h != nil || err == nil || err.Error() != at(dir, want) {
			t.Errorf("%s: %v\nwant %s", path, err, at(dir, want))
		}
	}
}

// open is the number of descriptors that this process has open.
func open(t *testing.T) int {
	t.Helper()
	return len(must.Get(os.ReadDir("/proc/self/fd"))(t))
}

// TestLookCloses: a Look that fails leaves no file open, and a Host can be closed twice.
func TestLookCloses(t *testing.T) {
	away(t)
	dir := t.TempDir()
	before := open(t)
	s := &spec.Spec{Args: []string{"true"}, Mounts: []spec.Mount{bind(dir, "/a", false), bind(dir+"/gone", "/b", false)}}
	if h, err := Look(s); h != nil || err == nil || open(t) != before {
		t.Errorf("%v, %v; %d of %d files are open", h, err, open(t), before)
	}
	s.Mounts = s.Mounts[:1]
	h := must.Get(Look(s))(t)
	if open(t) != before+1 {
		t.Errorf("%d of %d", open(t), before)
	}
	must.Do(t, errors.Join(h.Close(), h.Close()))
	if open(t) != before || h.Sources.Of(0).Fd != -1 {
		t.Errorf("%d of %d", open(t), before)
	}
}

// TestAgain: one more run sees the sources, the variables and the guard of now, and the rest as it was.
func TestAgain(t *testing.T) {
	away(t)
	dir, work := image(t), t.TempDir()
	for name, s := range map[string]*spec.Spec{
		"an image":      {Args: []string{"sh"}, Rootfs: spec.Rootfs{Path: dir}, PassEnv: []string{"BRIG_X"}},
		"the host's":    {Args: []string{"sh"}, PassEnv: []string{"BRIG_X"}},
		"a bind":        {Args: []string{"sh"}, PassEnv: []string{"BRIG_X"}, Mounts: []spec.Mount{bind(work, "/w", true)}},
		"both":          {Args: []string{"sh"}, Rootfs: spec.Rootfs{Path: dir}, PassEnv: []string{"BRIG_X"}, Mounts: []spec.Mount{bind(work, "/work", true)}},
		"a bind, guard": {Args: []string{"sh"}, Seccomp: "unconfined", PassEnv: []string{"BRIG_X"}, Mounts: []spec.Mount{bind(work, "/w", true)}},
	} {
		t.Setenv("BRIG_X", "1")
		was := must.Get(Look(s))(t)
		for _, unchanged := range []bool{true, false} {
			t.Setenv("BRIG_X", "2")
			now, err := Again(context.Background(), time.Time{}, s, was, unchanged)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if now.Env[len(now.Env)-1] != "BRIG_X=2" || was.Env[len(was.Env)-1] != "BRIG_X=1" {
				t.Errorf("%s: %q was %q", name, now.Env, was.Env)
			}
			for id, src := range was.Sources.All() {
				again := now.Sources.At(id)
				if again == nil || again == src || again.Fd == src.Fd || again.Fd < 0 {
					t.Errorf("%s: %v: %+v was %+v", name, id, again, src)
					continue
				}
				same := *again
				if same.Fd = src.Fd; !reflect.DeepEqual(same, *src) {
					t.Errorf("%s: %v: %+v was %+v", name, id, again, src)
				}
			}
			if !reflect.DeepEqual(now.System, was.System) || !reflect.DeepEqual(now.Guard, was.Guard) || now.ImageComplete != was.ImageComplete || now.Kernel != was.Kernel {
				t.Errorf("%s: the machine has changed", name)
			}
			must.Do(t, now.Close())
		}
		must.Do(t, was.Close())
	}
}

// A root that has changed meanwhile is looked at again; one that has gone is an error.
func TestAgainChanged(t *testing.T) {
	dir := image(t)
	s := &spec.Spec{Args: []string{"sh"}, Rootfs: spec.Rootfs{Path: dir + "/root"}}
	must.Do(t, os.Rename(image(t), dir+"/root"))
	was := must.Get(Look(s))(t)
	defer was.Close()
	must.Do(t, errors.Join(os.Rename(dir+"/root", dir+"/old"), os.Rename(image(t), dir+"/root"), os.Remove(dir+"/root/work")))
	now := must.Get(Again(context.Background(), time.Time{}, s, was, true))(t)
	if a, b := now.Sources.Of(spec.Root), was.Sources.Of(spec.Root); a.Ino == b.Ino || now.ImageComplete || !was.ImageComplete {
		t.Errorf("%+v, %+v, complete: %v", a, b, now.ImageComplete)
	}
	must.Do(t, errors.Join(now.Close(), os.RemoveAll(dir+"/root")))
	for _, unchanged := range []bool{true, false} {
		if _, err := Again(context.Background(), time.Time{}, s, was, unchanged); err == nil || !strings.HasPrefix(err.Error(), "rootfs: ") || !errors.Is(err, unix.ENOENT) {
			t.Error(err)
		}
	}
}

// TestAdapted: what adapts a Host leaves the Host as it was.
func TestAdapted(t *testing.T) {
	h := &Host{Caller: Caller{PayloadUID: 1, PayloadGID: 2, Kept: 1, Env: []string{"A=1"}, Term: "dumb"}, Root: Root{Files: []string{"f"}, CPUs: "0-3", System: []SystemDir{{Name: "usr"}}}}
	before := *h
	if c := h.WithPayload(7, 8); c.PayloadUID != 7 || c.PayloadGID != 8 || c.Kept != 1 {
		t.Errorf("%+v", c)
	}
	if c := h.Keeping(unix.CAP_SYS_PTRACE); c.Kept != 1|1<<unix.CAP_SYS_PTRACE || c.PayloadUID != 1 {
		t.Errorf("%+v", c)
	}
	if c := h.WithEnv([]string{"B=2"}, "vt100"); c.Env[0] != "B=2" || c.Term != "vt100" || c.PayloadUID != 1 {
		t.Errorf("%+v", c)
	}
	was := &Host{Caller: Caller{PayloadUID: 5, PayloadGID: 6, Kept: 4}, Root: Root{Files: []string{"g"}, CPUs: "0", System: nil}}
	if c := h.OnPrepared(was, false); c.PayloadUID != 5 || c.PayloadGID != 6 || c.Kept != 4 || c.Files[0] != "f" || c.CPUs != "0-3" || c.Term != "dumb" {
		t.Errorf("%+v", c)
	}
	if c := h.OnPrepared(was, true); c.Files[0] != "g" || c.CPUs != "0" || c.System != nil || c.Env[0] != "A=1" {
		t.Errorf("%+v", c)
	}
	if !reflect.DeepEqual(*h, before) {
		t.Errorf("%+v was %+v", *h, before)
	}
}

package nsjail

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/internal/words"
	"brig/nsjail/spec"
)

// image makes a small root: sh, cat, touch and head with the libraries that ldd(1) names.
func image(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o755))
	files := map[string]bool{}
	for _, p := range []string{"/bin/sh", "/bin/cat", "/bin/touch", "/bin/head", "/bin/ls", "/bin/stat", "/bin/mkdir", "/bin/rmdir"} {
		files[p] = true
		out, err := exec.Command("ldd", p).Output()
		if err != nil {
			t.Skipf("ldd %s: %v", p, err)
		}
		for _, w := range strings.Fields(string(out)) {
			if strings.HasPrefix(w, "/") {
				files[w] = true
			}
		}
	}
	for p := range files {
		b := must.Get(os.ReadFile(p))(t)
		to := filepath.Join(dir, p)
		must.Do(t, os.MkdirAll(filepath.Dir(to), 0o755))
		must.Do(t, os.WriteFile(to, b, 0o755))
	}
	return dir
}

func TestRootfs(t *testing.T) {
	img := image(t)
	c := shell("ls -d /usr /etc 2>/dev/null; touch /x 2>/dev/null && echo wrote; touch /tmp/x /work/x && cat /dev/null && ls /proc/self/exe")
	c.Spec.Rootfs.Path = img
	wantOutput(t, c, "/proc/self/exe")
	c = shell("touch /x /bin/new && echo changed >/bin/cat && ls /x /bin/new && stat -c %u /x")
	c.Spec.Rootfs = spec.Rootfs{Path: img, Writable: true}
	wantOutput(t, c, "/bin/new\n/x\n1000")
	for _, p := range []string{"x", "bin/new"} {
		if _, err := os.Lstat(filepath.Join(img, p)); err == nil {
			t.Errorf("%s was written to the host's tree", p)
		}
	}
	if b, err := os.ReadFile(filepath.Join(img, "bin/cat")); err != nil || string(b) == "changed\n" {
		t.Errorf("cat was changed in the host's tree: %v", err)
	}
	c = shell("head -c 10000000 /dev/zero >/big; stat -c %s /big")
	c.Spec.Rootfs = spec.Rootfs{Path: img, Writable: true, Size: 2 << 20}
	out, r := mustRun(t, c)
	if !strings.Contains(out, "No space left on device") || r.ExitCode != 0 {
		t.Errorf("%q %+v", out, r)
	}
}

// TestHostsOfAnotherOwner: a tree whose /etc is somebody else's is a root, without a file put there.
func TestHostsOfAnotherOwner(t *testing.T) {
	img := image(t)
	must.Do(t, os.Symlink("usr/share", filepath.Join(img, "etc")))
	c := shell("echo ran")
	c.Spec.Rootfs.Path = img
	wantOutput(t, c, "ran")
	if os.Geteuid() != 0 {
		return // only root can make it somebody else's
	}
	dir := filepath.Join(img, "usr/share")
	must.Do(t, errors.Join(os.MkdirAll(dir, 0o755), os.Chown(dir, 4711, 4711)))
	c = shell("echo ran")
	c.Spec.Rootfs.Path = img
	wantOutput(t, c, "ran")
}

// TestRemovedDirectory: a directory of a writable root that was removed can be made again and is empty, or the kernel
// refuses that, and the report has the reason.
func TestRemovedDirectory(t *testing.T) {
	img := image(t)
	must.Do(t, os.Mkdir(filepath.Join(img, "gone"), 0o755))
	c := shell("rmdir /gone && mkdir /gone && ls -d /gone")
	c.Spec.Rootfs = spec.Rootfs{Path: img, Writable: true}
	out, r := mustRun(t, c)
	notes := words.Join(r.Notes, "\n").String()
	if made := r.ExitCode == 0 && out == "/gone\n"; made == strings.Contains(notes, "a removed directory could not be made again") {
		t.Errorf("%q %d, notes %q", out, r.ExitCode, notes)
	}
}

func TestRootfsErrors(t *testing.T) {
	img := image(t)
	for _, p := range []string{"/no/such/tree", "/etc/passwd", filepath.Join(img, "bin/sh")} {
		c := shell("true")
		c.Spec.Rootfs.Path = p
		if e := startError(t, c); e.Fault != spec.FaultCaller {
			t.Errorf("%s: %v", p, e)
		}
	}
	c := Command("python3")
	c.Spec.Rootfs.Path = img
	if _, err := c.Run(); err == nil || !strings.Contains(err.Error(), "python3") {
		t.Errorf("%v", err)
	}
}

// TestHostileRootfs: a tree with links where brig puts its mounts leads nowhere on the host.
func TestHostileRootfs(t *testing.T) {
	for _, c := range []struct{ name, link, text string }{
		{"etc out", "etc", ""}, {"dev up", "dev", "../.."}, {"dev absolute", "dev", "/"}, {"tmp out", "tmp", ""}, {"work out", "work", ""},
		{"proc onto root", "proc", ".."}, {"dev onto root", "dev", ".."}, {"tmp onto root", "tmp", ".."}, {"work onto root", "work", "../"},
		{"proc itself", "proc", "."}, {"dev itself", "dev", "."}, {"proc", "proc", "/etc"}, {"proc magic", "tmp", "/proc/1/root"}, {"loop", "work", "work"}, {"in", "tmp", "bin/../bin"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			img, outside := image(t), t.TempDir()
			must.Do(t, os.Chmod(outside, 0o777))
			if c.text == "" {
				c.text = outside
			}
			must.Do(t, os.Symlink(c.text, filepath.Join(img, c.link)))
			for _, writable := range []bool{false, true} {
				cmd := shell("echo ran; touch /etc/y /dev/y /tmp/y /work/y 2>/dev/null; for d in / /.. /../..; do ls -d $d" + outside + " 2>/dev/null && echo reached; done")
				cmd.Spec.Rootfs = spec.Rootfs{Path: img, Writable: writable}
				out, r, err := cmd.CombinedOutput()
				t.Logf("writable %v: %v %q %v", writable, r != nil, out, err)
				if strings.Contains(string(out), "reached") || err == nil && !strings.Contains(string(out), "ran\n") {
					t.Errorf("writable %v: %q", writable, out)
				}
				if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
					t.Errorf("writable %v: the directory outside holds %v, %v", writable, list, err)
				}
			}
		})
	}
}

// TestTargetOntoTheRoot: a link in a shared directory leads a mount onto the root itself, under which the host's tree
// must not come to light.
func TestTargetOntoTheRoot(t *testing.T) {
	dir, src := shared(t, 0), shared(t, 0)
	must.Do(t, os.Symlink("..", filepath.Join(dir, "up")))
	for _, m := range []spec.Mount{{Type: spec.MountBind, Source: src, Target: "/work/up"}, {Type: spec.MountTmpfs, Target: "/work/up"}} {
		c := shell("for d in / /.. /../..; do ls -d $d" + src + " 2>/dev/null; done; echo ran")
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}, m}
		out, _, err := c.CombinedOutput()
		if err == nil && string(out) != "ran\n" {
			t.Errorf("%s: %q", m.Type, out)
		}
	}
}

// TestFileDoesNotOverwrite: --file is a private copy; it must not replace a file of the host through a shared
// directory.
func TestFileDoesNotOverwrite(t *testing.T) {
	dir, src := shared(t, 0), filepath.Join(shared(t, 0), "have")
	precious := filepath.Join(dir, "have")
	must.Do(t, os.WriteFile(precious, []byte("precious"), 0o644))
	c := shell("cat have; echo evil >have || chmod 666 have || rm have")
	c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}, {Type: spec.MountFile, Source: src, Target: "/work/have"}}
	if out, _, err := c.Output(); err != nil || string(out) != "host\n" {
		t.Errorf("%q, %v", out, err)
	}
	if b, err := os.ReadFile(precious); err != nil || string(b) != "precious" {
		t.Errorf("the host's file holds %q, %v", b, err)
	}
	c = shell("cat /etc/hosts")
	c.Spec.Mounts = []spec.Mount{{Type: spec.MountFile, Source: src, Target: "/etc/hosts"}}
	wantOutput(t, c, "host")
}

// TestTargetThroughALink puts a mount below a link in a shared directory: it lands nowhere, and not outside the jail.
func TestTargetThroughALink(t *testing.T) {
	dir, outside, src := shared(t, 0), t.TempDir(), shared(t, 0)
	must.Do(t, os.Symlink(outside, filepath.Join(dir, "out")))
	must.Do(t, os.Symlink("real", filepath.Join(dir, "in")))
	must.Do(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
	if os.Geteuid() == 0 {
		must.Do(t, os.Chmod(dir, 0o777))
	}
	for _, m := range []spec.Mount{{Type: spec.MountBind, Source: src, Target: "/work/out/sub"}, {Type: spec.MountDir, Target: "/work/out/sub"},
		{Type: spec.MountFile, Source: filepath.Join(src, "have"), Target: "/work/out/sub"}, {Type: spec.MountTmpfs, Target: "/work/out/sub"},
		{Type: spec.MountSymlink, Source: "/", Target: "/work/out/sub"}} {
		c := shell("true")
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}, m}
		_, err := c.Run()
		t.Logf("%s: %v", m.Type, err)
		if list, rerr := os.ReadDir(outside); rerr != nil || len(list) > 0 {
			t.Errorf("%s: the directory outside holds %v, %v", m.Type, list, rerr)
		}
	}
	c := shell("true")
	c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}, {Type: spec.MountBind, Source: src, Target: "/work/in"}}
	if e := startError(t, c); !strings.Contains(e.Remedy.String(), "name the path that it leads to") {
		t.Error(e)
	}
}

// The host's own tree serves as a root, too, with what is mounted below it.
func TestHostAsRoot(t *testing.T) {
	c := shell("id -u; cat /etc/hosts; touch /etc/brig-test 2>/dev/null || echo refused")
	c.Spec.Rootfs.Path = "/"
	c.Spec.Optional = []string{"idmap"} // a tmpfs as the root has no idmapped mounts before Linux 6.3
	want := must.Get(os.ReadFile("/etc/hosts"))(t)
	wantOutput(t, c, "1000\n"+string(want)+"refused")
}

// TestHostLacksMountPoints: no overlay can be made of the host's own tree. What it lacks of the mount points in its top
// directory is made in one of the jail's own, however the jail is made, and a mount point below that is missing.
func TestHostLacksMountPoints(t *testing.T) {
	dir := shared(t, 0)
	for name, o := range map[string]RunnerOptions{"prepared": {}, "cold": {Cold: true}, "pool": {Pool: 1, Reuse: true}} {
		t.Run(name, func(t *testing.T) {
			r := runnerWith(t, o)
			host := func(target, script string) *Cmd {
				c := r.Command("sh", "-c", script)
				c.Spec.Rootfs.Path, c.Spec.Optional = "/", []string{"idmap"}
				c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: target}, {Type: spec.MountDir, Target: "/brig-made"}}
				return c
			}
			links := must.Get(exec.Command("sh", "-c", "readlink /bin; ls -d /usr /etc/hosts /sys/kernel").Output())(t)
			for range 2 {
				wantOutput(t, host("/brig-new/a", "cat /brig-new/a/have; test -d /brig-made; readlink /bin; ls -d /usr /etc/hosts /sys/kernel; "+
					"test -w /tmp && test -w /work; for d in / /brig-new /brig-made /usr /etc; do touch $d/x 2>/dev/null && echo wrote $d; done; ls -A /dev | grep -c sda; true"),
					string(must.Get(os.ReadFile(filepath.Join(dir, "have")))(t))+string(links)+"0")
			}
			if e := startError(t, host("/usr/brig-new", "true")); e.Fault != spec.FaultCaller || !strings.Contains(e.Remedy.String(), "mkdir -p '/usr/brig-new'") {
				t.Error(e)
			}
		})
	}
}

package images

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/long"
	"brig/internal/test/must"
)

// jail runs a command in an image of the rig's store, with brig, and returns its output.
func (r *rig) jail(args ...string) string {
	r.t.Helper()
	out, err := exec.Command(filepath.Join(asuser.Dir(), "brig"), append([]string{"run", "--image-store", r.dir}, args...)...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("brig run %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// show returns the content of a static program that prints how it was started: testdata/show.
func show(t testing.TB) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(asuser.Dir(), "show")))(t)
	return string(text)
}

// TestRun: a crafted image is run by brig, with the directory, variables and user of its configuration, or those of
// flags. The directory is in no layer.
func TestRun(t *testing.T) {
	r := newRig(t)
	r.in = strings.NewReader("")
	root := r.write("root.tar", archiveOf(t, "bin/show", show(t), "etc/passwd", "root:x:0:0::/root:/bin/sh\napp:x:7:8::/home/app:/bin/sh\n"))
	r.run(0, "import", "--entrypoint", `["/bin/show"]`, "--cmd", `["cmd"]`, "--workdir", "/srv/app", "--user", "app", "--env", "COLOUR=blue", "tar:"+root, "made")
	for _, c := range []struct{ args, want string }{
		{"", "/bin/show cmd in /srv/app as 7:8 with COLOUR=blue HOME=/home/app; writable false"},
		{"--rootfs-writable", "/bin/show cmd in /srv/app as 7:8 with COLOUR=blue HOME=/home/app; writable true"},
		{"-w /etc -u 0 -e COLOUR=red -- x", "/bin/show x in /etc as 0:0 with COLOUR=red HOME=/root; writable false"},
		{"--entrypoint /bin/show -- y", "/bin/show y in /srv/app as 7:8 with COLOUR=blue HOME=/home/app; writable false"},
	} {
		if got := r.jail(append([]string{"--image", "made"}, strings.Fields(c.args)...)...); got != c.want+"\n" {
			t.Errorf("%s: %swant %s", c.args, got, c.want)
		}
	}
}

// client is another program that makes images.
type client struct {
	*rig
	path string
}

// try runs the program.
func (c *client) try(args ...string) (string, error) {
	cmd := exec.Command(c.path, args...)
	if os.Geteuid() == 0 { // what it mounts ends with it
		cmd = exec.Command("unshare", append([]string{"-m", c.path}, args...)...)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s %q: %w: %s", c.path, args, err, strings.TrimSpace(errs.String()))
	}
	return out.String(), err
}

// need skips the test if the program cannot do its part here.
func (c *client) need(args ...string) {
	c.t.Helper()
	if _, err := c.try(args...); err != nil {
		c.t.Skip(err)
	}
}

func (c *client) do(args ...string) string {
	c.t.Helper()
	return must.Get(c.try(args...))(c.t)
}

// TestClients runs images that other programs have made, as far as these are installed and work here.
func TestClients(t *testing.T) {
	long.Test(t)
	for name, test := range map[string]func(*client){"podman": ofPodman, "docker": ofDocker, "mmdebstrap": ofMmdebstrap} {
		t.Run(name, func(t *testing.T) {
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skip(name + " is not installed")
			}
			test(&client{newRig(t), path})
		})
	}
}

// printed is the output of an image whose command is /show from, with COLOUR=blue and /srv/app as its directory.
const printed = "/show from in /srv/app as 0:0 with COLOUR=blue HOME=/; writable false\n"

// imported are the arguments of docker import and podman import for such an image.
func (c *client) imported(name string) []string {
	return []string{"import", "-c", `CMD ["/show","from"]`, "-c", "ENV COLOUR=blue", "-c", "WORKDIR /srv/app",
		c.write("root.tar", archiveOf(c.t, "show", show(c.t))), name}
}

// ofPodman: an image of podman in each of its formats; and podman takes it back.
func ofPodman(c *client) {
	run := must.Get(os.MkdirTemp("", "podman-"))(c.t) // its name may have 50 bytes
	c.t.Cleanup(func() {
		if err := os.RemoveAll(run); err != nil {
			c.t.Error(err)
		}
		// an ordinary user cannot remove what is in a directory that is not writable, as the image's root
		if out, err := exec.Command("chmod", "-R", "u+w", c.tmp).CombinedOutput(); err != nil {
			c.t.Errorf("%v: %s", err, out)
		}
	})
	own := func(args ...string) []string {
		return append([]string{"--root", c.tmp + "/root", "--runroot", run, "--storage-driver", "vfs"}, args...)
	}
	c.need(own(c.imported("mine:1")...)...)
	for _, format := range []string{"docker-archive", "oci-archive", "oci-dir"} {
		c.do(own("save", "--format", format, "-o", c.tmp+"/"+format, "mine:1")...)
		c.run(0, "import", strings.TrimSuffix(format, "-dir")+":"+c.tmp+"/"+format)
		if got := c.jail("--image", "localhost/mine:1"); got != printed {
			c.t.Errorf("%s: %s", format, got)
		}
	}
	for _, format := range []string{"docker-archive", "oci-archive"} {
		c.do(own("rmi", "-f", "mine:1")...)
		c.run(0, "export", "localhost/mine:1", format+":"+c.tmp+"/back")
		if out := c.do(own("load", "-i", c.tmp+"/back")...); !strings.Contains(out, "localhost/mine:1") {
			c.t.Error(out)
		}
	}
}

// ofDocker: an image of docker save, and a container of docker export.
func ofDocker(c *client) {
	c.need("info") // the daemon
	const name = "brig-test-made:1"
	c.do(c.imported(name)...)
	c.t.Cleanup(func() { c.do("rmi", "-f", name) })
	c.do("save", "-o", c.tmp+"/saved.tar", name)
	c.run(0, "import", "docker-archive:"+c.tmp+"/saved.tar")
	if got := c.jail("--image", name); got != printed {
		c.t.Error(got)
	}
	container := strings.TrimSpace(c.do("create", name))
	c.t.Cleanup(func() { c.do("rm", container) })
	c.do("export", "-o", c.tmp+"/exported.tar", container)
	c.run(0, "import", "tar:"+c.tmp+"/exported.tar", "exported")
	if got := c.jail("--image", "exported", "-w", "/", "--", "/show"); !strings.HasPrefix(got, "/show in / as 0:0") {
		c.t.Error(got)
	}
}

// ofMmdebstrap: a root of a Debian package, of the release of this machine.
func ofMmdebstrap(c *client) {
	release := must.Get(exec.Command("sh", "-c", `. /etc/os-release && echo "$VERSION_CODENAME"`).Output())(c.t)
	mode := "--mode=auto"
	if os.Geteuid() != 0 {
		mode = "--mode=chrootless" // needs no user namespaces
	}
	c.need(mode, "--variant=extract", "--include=busybox-static", strings.TrimSpace(string(release)), c.tmp+"/debian.tar")
	c.run(0, "import", "tar:"+c.tmp+"/debian.tar", "debian")
	got := c.jail("--image", "debian", "--", "/bin/busybox", "sh", "-c", "echo $0 as $(/bin/busybox id -u)", "Debian")
	if got != "Debian as 0\n" {
		c.t.Error(got)
	}
}

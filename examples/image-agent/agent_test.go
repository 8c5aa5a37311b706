// Package imageagent tests the example in this directory, which is two scripts and an agent.
package imageagent

import (
	"archive/zip"
	"embed"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/long"
	"brig/internal/test/must"
)

//go:embed agent.py build.sh run.sh requirements.txt
var files embed.FS

// TestMain runs the test as root and again as an ordinary user.
func TestMain(m *testing.M) {
	os.Exit(asuser.Main(m, asuser.Build("./cmd/brig", "brig"), asuser.Build("./brigd/cmd/brigd", "brigd")))
}

// TestImageAgent builds the agent's image on a root that it makes of this machine's Python, with a Pillow of its own
// instead of the one on PyPI, and lets the agent work.
func TestImageAgent(t *testing.T) {
	long.Test(t)
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.CopyFS(dir, files))
	for _, script := range []string{"build.sh", "run.sh"} {
		must(os.Chmod(filepath.Join(dir, script), 0o755))
	}
	python(t, filepath.Join(dir, "root"))
	must(os.Mkdir(filepath.Join(dir, "wheels"), 0o755))
	wheel(t, filepath.Join(dir, "wheels", "pillow-0.1-py3-none-any.whl"))
	for _, d := range []string{"in", "out"} {
		must(os.Mkdir(filepath.Join(dir, d), 0o755))
	}
	must(os.WriteFile(filepath.Join(dir, "in", "blue.ppm"), []byte("P6 2 1 255\n\x00\x00\xff\xff\xff\xff"), 0o644))

	command(t, dir, "brigd", "image", "import", "--store", "store", "--quiet", "dir:root", "base")
	must(os.RemoveAll(filepath.Join(dir, "root")))
	command(t, dir, "./build.sh", "base", "--no-index", "--find-links", "/input/wheels")
	out := command(t, dir, "./run.sh", "in", "out", "blue.ppm")
	if want := "blue.ppm is grey in blue.ppm\nthe image: Read-only file system\nthe picture: Read-only file system\n" +
		"the network: Network is unreachable\n"; out != want {
		t.Errorf("the agent says\n%s\nwant\n%s", out, want)
	}
	if grey, err := os.ReadFile(filepath.Join(dir, "out", "blue.ppm")); string(grey) != "P5 2 1 255\n\x1d\xff" {
		t.Errorf("the picture is %q, %v", grey, err)
	}
	copyFile(t, filepath.Join(asuser.Dir(), "brig"), filepath.Join(dir, "killing", "brig"))
	must(os.WriteFile(filepath.Join(dir, "killing", "brigd"), []byte("#!/bin/sh\nkill -9 $PPID\nexec "+
		filepath.Join(asuser.Dir(), "brigd")+` "$@"`), 0o755))
	// Of empty files the layer has headers alone, more than the pipe holds: what brig wrote until then is a whole archive.
	killed := exec.Command(filepath.Join(dir, "killing", "brig"), "run", "--image-store", dir+"/store", "--image", "base",
		"--rootfs-writable", "--commit", "broken", "--", "python3", "-c", "for i in range(1000): open(f'/{i}', 'w')")
	killed.Env = environment(dir)
	said, err := killed.CombinedOutput()
	if ws := killed.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGKILL ||
		!strings.Contains(string(said), "the layer is not whole") {
		t.Errorf("brig that is killed while it commits: %v, %s", err, said)
	}
	failed := exec.Command(filepath.Join(asuser.Dir(), "brig"), "run", "--image-store", dir+"/store", "--image", "base",
		"--rootfs-writable", "--commit", "broken", "--", "sh", "-c", "exit 3")
	failed.Env = environment(dir)
	text, err := failed.CombinedOutput()
	if failed.ProcessState.ExitCode() != 3 || string(text) != "brig: broken was not made, since the command failed (--commit)\n" {
		t.Errorf("a failed build: %v, %s", err, text)
	}
	if list := command(t, dir, "brigd", "image", "list", "--store", "store"); strings.Contains(list, "broken") {
		t.Errorf("the images are\n%s", list)
	}
	command(t, dir, "brigd", "image", "rm", "--store", "store", "image-agent", "base") // in files that testing can remove
	command(t, dir, "brigd", "image", "prune", "--store", "store")
}

// environment has the programs under test, and a store of images in dir.
func environment(dir string) []string {
	return append(os.Environ(), "PATH="+asuser.Dir()+":"+os.Getenv("PATH"), "STORE="+dir+"/store", "HOME="+dir)
}

func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	if !strings.Contains(name, "/") {
		name = filepath.Join(asuser.Dir(), name)
	}
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = environment(dir)
	out, err := c.Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, exit.Stderr)
	}
	return string(out)
}

// python makes a root with a shell, Debian's Python, the parts of its library that pip needs, and pip.
func python(t *testing.T, root string) {
	t.Helper()
	const interpreter, pip = "/usr/bin/python3", "/usr/share/python-wheels"
	wheels, _ := filepath.Glob(pip + "/pip-*.whl")
	if _, err := os.Stat(interpreter); err != nil || len(wheels) == 0 {
		t.Skipf("Debian's python3 and python3-pip are not installed: %v", err)
	}
	out, err := exec.Command(interpreter, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))").Output()
	if err != nil {
		t.Fatal(err)
	}
	library := strings.TrimSpace(string(out))
	programs := []string{"/bin/sh", "/bin/cp", "/bin/mkdir", interpreter}
	modules, _ := filepath.Glob(library + "/lib-dynload/*.so")
	libraries := must.Get(exec.Command("ldd", append(programs, modules...)...).Output())(t)
	for _, m := range regexp.MustCompile(`(?m)(/\S+) \(0x`).FindAllStringSubmatch(string(libraries), -1) {
		programs = append(programs, m[1])
	}
	slices.Sort(programs)
	for _, p := range append(slices.Compact(programs), wheels[0]) {
		copyFile(t, p, filepath.Join(root, p))
	}
	unused := []string{"__pycache__", "test", "idlelib", "lib2to3", "ensurepip", "pydoc_data", "unittest", "tkinter",
		"turtle.py", "EXTERNALLY-MANAGED", "sitecustomize.py", "dist-packages", "site-packages"}
	err = filepath.WalkDir(library, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(unused, d.Name()) || strings.HasPrefix(d.Name(), "config-"):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular():
			copyFile(t, path, filepath.Join(root, path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	packages := filepath.Join(root, "/usr/lib/python3/dist-packages")
	must.Do(t, errors.Join(os.MkdirAll(packages, 0o755), os.WriteFile(filepath.Join(packages, "pip.pth"),
		[]byte(wheels[0]+"\n"), 0o644), os.MkdirAll(filepath.Join(root, "etc"), 0o755)))
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	must.Do(t, errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o755)))
}

// wheel writes a package with the few names of Pillow that the agent uses, for pictures in the formats ppm and pgm.
func wheel(t *testing.T, path string) {
	t.Helper()
	f := must.Get(os.Create(path))(t)
	w := zip.NewWriter(f)
	const info = "pillow-0.1.dist-info/"
	for _, file := range [][2]string{
		{"PIL/__init__.py", ""},
		{"PIL/Image.py", `import io
class Image(io.BytesIO):
    def __init__(self, kind, size, pixels):
        super().__init__()
        self.kind, self.size, self.pixels = kind, size, pixels
    def convert(self, mode):
        p = self.pixels
        grey = [(299 * p[i] + 587 * p[i + 1] + 114 * p[i + 2]) // 1000 for i in range(0, len(p), 3)]
        return Image("P5", self.size, bytes(grey))
    def save(self, path):
        with io.open(path, "wb") as f:
            f.write(b"%s %d %d 255\n" % (self.kind.encode(), *self.size) + self.pixels)
def open(path):
    with io.open(path, "rb") as f:
        kind, width, height, _ = f.readline().split()
        return Image(kind.decode(), (int(width), int(height)), f.read())
`},
		{info + "METADATA", "Metadata-Version: 2.1\nName: Pillow\nVersion: 0.1\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", "PIL/__init__.py,,\nPIL/Image.py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n"},
	} {
		to, err := w.Create(file[0])
		if err == nil {
			_, err = to.Write([]byte(file[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, errors.Join(w.Close(), f.Close()))
}

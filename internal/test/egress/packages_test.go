package egress

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing/fstest"

	"brig/internal/rig"
)

// servePackages makes a package of each registry, and https://git.example/tiny.git with one file, README, whose files
// are served as they are.
func servePackages(r *rig.Rig) error {
	r.Serve("git.example/", http.FileServer(http.Dir(filepath.Join(r.Dir, "git"))))
	r.Serve("pypi.example/", pypi())
	r.Serve("npm.example/", npm())
	work, bare := filepath.Join(r.Dir, "tiny"), filepath.Join(r.Dir, "git", "tiny.git")
	err := os.MkdirAll(work, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(work, "README"), []byte("tiny\n"), 0o644)
	}
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-q", work}, {"-C", work, "add", "README"},
		{"-C", work, "-c", "user.name=rig", "-c", "user.email=rig@good.example", "commit", "-q", "-m", "tiny"},
		{"clone", "-q", "--bare", work, bare}, {"-C", bare, "update-server-info"}} {
		cmd := exec.Command("git", args...)
		cmd.Env = append(os.Environ(), "HOME="+r.Dir, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %v: %w: %s", args, err, out)
		}
	}
	return nil
}

// pypi returns a simple index (PEP 503) with one wheel: import tiny; tiny.word is "tiny".
func pypi() http.Handler {
	var wheel bytes.Buffer
	z := zip.NewWriter(&wheel)
	written(z.AddFS(fstest.MapFS{
		"tiny.py":                     file("word = 'tiny'\n"),
		"tiny-1.0.dist-info/METADATA": file("Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"),
		"tiny-1.0.dist-info/WHEEL": file("Wheel-Version: 1.0\nGenerator: rig\nRoot-Is-Purelib: true\n" +
			"Tag: py3-none-any\n"),
		"tiny-1.0.dist-info/RECORD": file("tiny.py,,\ntiny-1.0.dist-info/METADATA,,\n" +
			"tiny-1.0.dist-info/WHEEL,,\ntiny-1.0.dist-info/RECORD,,\n"),
	}))
	written(z.Close())
	const name = "tiny-1.0-py3-none-any.whl"
	return http.FileServerFS(fstest.MapFS{
		"simple/tiny/index.html": file(`<!DOCTYPE html><a href="/files/` + name + `">` + name + `</a>`),
		"files/" + name:          file(wheel.String()),
	})
}

// npm returns a registry with one package: require("tiny") is "tiny".
func npm() http.Handler {
	var tgz bytes.Buffer
	g := gzip.NewWriter(&tgz)
	t := tar.NewWriter(g)
	written(t.AddFS(fstest.MapFS{
		"package/package.json": file(`{"name":"tiny","version":"1.0.0","main":"index.js"}`),
		"package/index.js":     file("module.exports = 'tiny'\n"),
	}))
	written(errors.Join(t.Close(), g.Close()))
	sum := sha512.Sum512(tgz.Bytes())
	return http.FileServerFS(fstest.MapFS{
		"tiny": file(fmt.Sprintf(`{"name":"tiny","dist-tags":{"latest":"1.0.0"},`+
			`"versions":{"1.0.0":{"name":"tiny","version":"1.0.0","main":"index.js",`+
			`"dist":{"tarball":"https://npm.example/files/tiny-1.0.0.tgz","integrity":"sha512-%s"}}}}`,
			base64.StdEncoding.EncodeToString(sum[:]))),
		"files/tiny-1.0.0.tgz": file(tgz.String()),
	})
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text), Mode: 0o644} }

// written panics on an error: a buffer takes everything that is written.
func written(err error) {
	if err != nil {
		panic(err)
	}
}

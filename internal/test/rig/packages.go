package rig

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
)

// MakeRepository makes https://git.example/tiny.git with one file, README. Its files are served as they are.
func (r *Rig) MakeRepository() error {
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

// pypi is a simple index (PEP 503) with one wheel: import tiny; tiny.word is "tiny".
func pypi() http.Handler {
	var wheel bytes.Buffer
	z := zip.NewWriter(&wheel)
	for _, f := range [][2]string{{"tiny.py", "word = 'tiny'\n"},
		{"tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"},
		{"tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: rig\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"tiny-1.0.dist-info/RECORD", "tiny.py,,\ntiny-1.0.dist-info/METADATA,,\n" +
			"tiny-1.0.dist-info/WHEEL,,\ntiny-1.0.dist-info/RECORD,,\n"}} {
		w := must(z.Create(f[0]))
		must(io.WriteString(w, f[1]))
	}
	must(0, z.Close())
	return files(map[string]file{
		"/simple/tiny/": {"text/html",
			[]byte(`<!DOCTYPE html><a href="/files/tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>`)},
		"/files/tiny-1.0-py3-none-any.whl": {"application/zip", wheel.Bytes()},
	})
}

// npm is a registry with one package: require("tiny") is "tiny".
func npm() http.Handler {
	var tgz bytes.Buffer
	g := gzip.NewWriter(&tgz)
	t := tar.NewWriter(g)
	for _, f := range [][2]string{{"package/package.json", `{"name":"tiny","version":"1.0.0","main":"index.js"}`},
		{"package/index.js", "module.exports = 'tiny'\n"}} {
		must(0, t.WriteHeader(&tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1]))}))
		must(io.WriteString(t, f[1]))
	}
	must(0, errors.Join(t.Close(), g.Close()))
	sum := sha512.Sum512(tgz.Bytes())
	meta := fmt.Sprintf(`{"name":"tiny","dist-tags":{"latest":"1.0.0"},`+
		`"versions":{"1.0.0":{"name":"tiny","version":"1.0.0","main":"index.js",`+
		`"dist":{"tarball":"https://npm.example/tiny/-/tiny-1.0.0.tgz","integrity":"sha512-%s"}}}}`,
		base64.StdEncoding.EncodeToString(sum[:]))
	return files(map[string]file{
		"/tiny":                  {"application/json", []byte(meta)},
		"/tiny/-/tiny-1.0.0.tgz": {"application/octet-stream", tgz.Bytes()},
	})
}

// must returns v: a buffer refuses nothing.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

type file struct {
	kind string
	body []byte
}

func files(list map[string]file) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		f, ok := list[q.URL.Path]
		if !ok {
			http.NotFound(w, q)
			return
		}
		w.Header().Set("Content-Type", f.kind)
		_, _ = w.Write(f.body) // a client may leave early
	})
}

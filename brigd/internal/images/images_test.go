package images

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/zstd"

	"brig/image"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// TestMain runs the suite as root and as an ordinary user.
func TestMain(m *testing.M) {
	os.Exit(asuser.Main(m, asuser.Build("./cmd/brig", "brig"), asuser.Build("./brigd/internal/images/testdata/show", "show")))
}

// rig is a store, and a registry in this process.
type rig struct {
	t    *testing.T
	dir  string // the store
	tmp  string
	host string
	mu   sync.Mutex
	reg  http.Handler
	seen []string // requests
	in   io.Reader

	before func(w http.ResponseWriter, r *http.Request) bool // answers a request instead of the registry
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, tmp: t.TempDir(), in: strings.NewReader("")}
	r.dir = r.tmp + "/images"
	t.Setenv("DOCKER_CONFIG", r.tmp+"/docker") // no credentials of the caller's
	r.reg = registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.seen = append(r.seen, req.Method+" "+req.URL.Path)
		r.mu.Unlock()
		if r.before == nil || !r.before(w, req) {
			r.reg.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(server.Close)
	r.host = strings.TrimPrefix(server.URL, "http://")
	return r
}

// run runs brigd image with the rig's store, and fails the test if the exit code is another.
func (r *rig) run(code int, args ...string) (out, errs string) {
	r.t.Helper()
	var o, e bytes.Buffer
	args = append([]string{args[0], "--store", r.dir}, args[1:]...)
	if got := Run(args, r.in, &o, &e); got != code {
		r.t.Fatalf("%q: exit code %d, want %d\n%s%s", args, got, code, o.String(), e.String())
	}
	if strings.ContainsAny(e.String(), "\x1b\x00") {
		r.t.Errorf("%q: %q", args, e.String())
	}
	return o.String(), e.String()
}

// file returns the content of a file of an image in the store.
func (r *rig) file(img, path string) string {
	r.t.Helper()
	s := must.Get(image.Open(r.dir))(r.t)
	m, err := s.Lookup(img)
	if err != nil {
		return err.Error()
	}
	text, err := os.ReadFile(filepath.Join(m.Tree, path))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (r *rig) blobs() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.seen {
		if strings.HasPrefix(s, "GET") && strings.Contains(s, "/blobs/") {
			n++
		}
	}
	r.seen = nil
	return n
}

func (r *rig) push(ref string, img v1.Image) {
	r.t.Helper()
	n, err := name.ParseReference(r.host + "/" + ref)
	if err == nil {
		err = remote.Write(n, img)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// write writes a file of the rig, and returns its path.
func (r *rig) write(file string, data []byte) string {
	r.t.Helper()
	path := filepath.Join(r.tmp, file)
	must.Do(r.t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)))
	return path
}

// archiveOf makes an archive of files, each name followed by its content. A name with -> is a symbolic link.
func archiveOf(t testing.TB, list ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(list); i += 2 {
		h := &tar.Header{Name: list[i], Mode: 0o755, Size: int64(len(list[i+1]))}
		if n, to, ok := strings.Cut(list[i], "->"); ok {
			h = &tar.Header{Name: n, Linkname: to, Typeflag: tar.TypeSymlink}
		}
		err := w.WriteHeader(h)
		if err == nil {
			_, err = io.WriteString(w, list[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	must.Get(w.Write(data))(t)
	must.Do(t, w.Close())
	return b.Bytes()
}

func zstandard(t testing.TB, data []byte) []byte {
	t.Helper()
	w := must.Get(zstd.NewWriter(nil))(t)
	return w.EncodeAll(data, nil)
}

// build makes an image for a platform of layers, which are gzipped.
func build(t testing.TB, arch string, layers ...[]byte) v1.Image {
	t.Helper()
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: arch,
		Config: v1.Config{Env: []string{"A=b"}, Cmd: []string{"sh"}, WorkingDir: "/w", Labels: map[string]string{"l": "v"}}})
	for _, data := range layers {
		var l v1.Layer
		if err == nil {
			l, err = tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
		}
		if err == nil {
			img, err = mutate.AppendLayers(img, l)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func digest(t testing.TB, of interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	h := must.Get(of.Digest())(t)
	return h.String()
}

// An index of two platforms: the right one is taken, by tag and by digest, once; and what is there is not asked for.
func TestPull(t *testing.T) {
	r := newRig(t)
	base := archiveOf(t, "etc/x", "base", "gone", "1")
	ours := build(t, "amd64", base, archiveOf(t, ".wh.gone", "", "app", "amd64"))
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: build(t, "arm64", base, archiveOf(t, "app", "arm64")), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm64", Variant: "v8"}}},
		mutate.IndexAddendum{Add: ours, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}})
	ref, err := name.ParseReference(r.host + "/lib/app:1")
	if err == nil {
		err = remote.WriteIndex(ref, index)
	}
	if err != nil {
		t.Fatal(err)
	}
	tag, pinned := r.host+"/lib/app:1", r.host+"/lib/app@"+digest(t, index)
	amd := []string{"pull", "--platform", "linux/amd64", "--insecure"}
	out, errs := r.run(0, append(amd, tag)...)
	if want := tag + " " + digest(t, ours) + "\n"; out != want || strings.Count(errs, "layer") != 2 {
		t.Errorf("%q, want %q; %q", out, want, errs)
	}
	if n := r.blobs(); n != 3 { // the configuration and two layers
		t.Errorf("%d blobs", n)
	}
	if a, g := r.file(tag, "app"), r.file(tag, "gone"); a != "amd64" || !strings.Contains(g, "no such file") {
		t.Errorf("%q, %q", a, g)
	}
	if _, errs := r.run(0, append(amd, tag, pinned)...); strings.Contains(errs, "layer") || r.blobs() != 2 || r.file(pinned, "app") != "amd64" {
		t.Errorf("it was pulled again: %s", errs)
	}
	r.run(0, "pull", "--platform", "linux/arm64", "--insecure", "--quiet", tag)
	if n := r.blobs(); n != 2 || r.file(tag, "app") != "arm64" || r.file(pinned, "app") != "amd64" { // the base was there
		t.Errorf("%d blobs", n)
	}
	for want, args := range map[string][]string{
		"it is not for linux/riscv64; it is for linux/arm64/v8, linux/amd64": {"--insecure", "--platform", "linux/riscv64", tag},
		"not encrypted; --insecure permits":                                  {tag},
		"is for registries on this machine's loopback addresses":             {"--insecure", "example.org/x"},
		"does not have it":                    {"--insecure", r.host + "/none"},
		"is not like linux/amd64":             {"--insecure", "--platform", "x", tag},
		"write a name like python:3.12-slim":  {"--insecure", "Bad"},
		"more than 1 files: --max-files":      {"--insecure", "--platform", "linux/amd64", "--max-files", "1", r.host + "/lib/app@" + digest(t, ours)},
		"may have 5: --max-bytes":             {"--insecure", "--platform", "linux/amd64", "--max-bytes", "5", tag},
		"is not a size; write a whole number": {"--max-bytes", "x", tag},
		"write brigd image pull NAME":         {},
		`"--foo" is not a flag`:               {"--foo"},
	} {
		if want == "more than 1 files: --max-files" {
			r.run(0, "rm", digest(t, ours))
		}
		if _, errs := r.run(125, append([]string{"pull"}, args...)...); !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 && !strings.Contains(errs, "layer") {
			t.Errorf("%q: %s, want %s", args, errs, want)
		}
	}
}

// cut sends some bytes and breaks the connection.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(b []byte) (int, error) {
	if c.left -= len(b); c.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(b)
}

// After a connection breaks in the middle of a layer, the download continues there, or from the start if the registry
// does not support ranges.
func TestPullContinues(t *testing.T) {
	for _, ranges := range []bool{true, false} {
		r := newRig(t)
		random := make([]byte, 1<<20)
		must.Get(rand.NewChaCha8([32]byte{1}).Read(random))(t)
		r.push("x", build(t, "amd64", archiveOf(t, "big", string(random))))
		var spans []string
		r.before = func(w http.ResponseWriter, req *http.Request) bool {
			span := req.Header.Get("Range")
			req.Header.Del("Range") // this registry knows less of them than real ones
			rec := httptest.NewRecorder()
			r.reg.ServeHTTP(rec, req)
			if rec.Body.Len() < 1<<20 {
				return false
			}
			if spans = append(spans, span); len(spans) < 3 {
				w = &cut{w, 500_000}
			}
			if ranges {
				req.Header.Set("Range", span)
			}
			http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(rec.Body.Bytes()))
			return true
		}
		r.run(0, "pull", "--insecure", "--platform", "linux/amd64", r.host+"/x")
		if got := r.file(r.host+"/x", "big"); got != string(random) || len(spans) != 3 || spans[0] != "" || spans[1] == "" || ranges && spans[1] == spans[2] {
			t.Errorf("ranges %v: %d bytes, %q", ranges, len(got), spans)
		}
	}
}

// Credentials come from docker's configuration, and from the helper that it names. Without them there is a remedy.
func TestCredentials(t *testing.T) {
	r := newRig(t)
	r.push("x", build(t, "amd64", archiveOf(t, "a", "a")))
	r.before = func(w http.ResponseWriter, req *http.Request) bool {
		user, password, _ := req.BasicAuth()
		if user == "me" && password == "secret" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	pull := []string{"pull", "--insecure", "--platform", "linux/amd64", r.host + "/x"}
	if _, errs := r.run(125, pull...); !strings.Contains(errs, "docker login "+r.host) {
		t.Error(errs)
	}
	auth := base64.StdEncoding.EncodeToString([]byte("me:secret"))
	r.write("docker/config.json", []byte(`{"auths": {"`+r.host+`": {"auth": "`+auth+`"}}}`))
	r.run(0, pull...)
	helper := r.write("bin/docker-credential-test", []byte("#!/bin/sh\ncat >/dev/null\necho '{\"Username\": \"me\", \"Secret\": \"secret\"}'\n"))
	must.Do(t, os.Chmod(helper, 0o755))
	t.Setenv("PATH", filepath.Dir(helper)+":"+os.Getenv("PATH"))
	r.write("docker/config.json", []byte(`{"credHelpers": {"`+r.host+`": "test"}}`))
	r.run(0, "rm", r.host+"/x")
	r.run(0, pull...)
}

// A registry that sends its client elsewhere cannot make it talk without encryption beyond the loopback interface.
func TestRedirect(t *testing.T) {
	for _, part := range []string{"/manifests/", "/blobs/", "/v2/"} {
		r := newRig(t)
		r.push("x", build(t, "amd64", archiveOf(t, "a", "a")))
		r.before = func(w http.ResponseWriter, req *http.Request) bool {
			if strings.Contains(req.URL.Path, part) {
				http.Redirect(w, req, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
			}
			return strings.Contains(req.URL.Path, part)
		}
		if _, errs := r.run(125, "pull", "--insecure", "--platform", "linux/amd64", r.host+"/x"); !strings.Contains(errs, "http://169.254.169.254 is not encrypted") {
			t.Error(errs)
		}
	}
}

// TestHostileRegistry: each image is refused with a reason, and nothing of it stays but what prune removes.
func TestHostileRegistry(t *testing.T) {
	layer := gzipped(t, archiveOf(t, "a", "a"))
	good := image.DigestOf(archiveOf(t, "a", "a"))
	config := `{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":["` + good + `"]}}`
	manifest := func(config, mediaType, digest string, size int, more string) string {
		return fmt.Sprintf(`{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"%s","size":%d},`+
			`"layers":[{"mediaType":"%s","digest":"%s","size":%d%s}]}`, image.DigestOf([]byte(config)), len(config), mediaType, digest, size, more)
	}
	const gz = "application/vnd.oci.image.layer.v1.tar+gzip"
	whole := manifest(config, gz, image.DigestOf(layer), len(layer), "")
	nested, below := whole, map[string]string{} // the manifests that an index leads to
	for range maxNesting + 1 {
		below[image.DigestOf([]byte(nested))] = nested
		nested = fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"%s","size":%d}]}`, image.DigestOf([]byte(nested)), len(nested))
	}
	self := fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"sha256:%064d","size":0}]}`, 0)
	none := `{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":[]}}`
	other := strings.Replace(config, good, image.DigestOf(nil), 1)
	for name, c := range map[string]struct{ top, config, blob, want string }{
		"good":          {top: whole},
		"wrong layer":   {top: whole, blob: "something else", want: "ends after 14 of"},
		"same size":     {top: whole, blob: strings.Repeat("x", len(layer)), want: "the blob is not what its digest says"},
		"longer":        {top: whole, blob: string(layer) + "x", want: "has more than"},
		"wrong config":  {top: whole, config: "{}", want: "the digest of what should be"},
		"huge config":   {top: whole, config: strings.Repeat(" ", maxManifest+1), want: "more than 4194304 bytes"},
		"huge":          {top: strings.Repeat(" ", maxManifest+1), want: "more than 4194304 bytes"},
		"not JSON":      {top: "\x1b[2J<html>", want: "its manifest: invalid character"},
		"deep":          {top: strings.Repeat("[", 100_000), want: "its manifest"},
		"no layers":     {top: strings.Replace(whole, `"layers":[`, `"layers":[],"x":[`, 1), want: "it has 0 layers"},
		"many layers":   {top: strings.Replace(whole, `"layers":[`, `"layers":[`+strings.Repeat(`{},`, 600), 1), want: ""},
		"self":          {top: self, want: "the digest of what should be"},
		"nested":        {top: nested, want: "indexes in more than 4 levels"},
		"both":          {top: strings.Replace(whole, `"layers"`, `"manifests":[],"layers"`, 1), want: "or both"},
		"old":           {top: `{"schemaVersion":1,"name":"x","fsLayers":[]}`, want: "has version 1"},
		"foreign":       {top: manifest(config, "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", good, 5, `,"urls":["http://169.254.169.254/"]`), want: "addresses are never followed"},
		"unknown layer": {top: manifest(config, "text/\\u001b[2Jhtml", good, 5, ""), want: "unknown media type"},
		"unknown type":  {top: strings.Replace(whole, `"schemaVersion":2`, `"schemaVersion":2,"mediaType":"text/plain"`, 1), want: "unknown media type"},
		"artifact":      {top: strings.Replace(whole, "image.config.v1", "helm.chart", 1), want: "not an image of a container"},
		"negative":      {top: manifest(config, gz, good, -5, ""), want: "has -5 bytes"},
		"terabytes":     {top: manifest(config, gz, good, 1<<50, ""), want: "--max-bytes raises the bound"},
		"together":      {top: strings.Replace(whole, "]}", strings.Repeat(`,{"mediaType":"`+gz+`","digest":"`+good+`","size":4000000000}`, 5)+"]}", 1), want: "layer 6 has 4000000000 bytes; the layers together may have 17179869184: --max-bytes"},
		"traversal":     {top: manifest(config, gz, "sha256:../../../etc/passwd", 5, ""), want: "its manifest"},
		"sha512":        {top: manifest(config, gz, "sha512:"+strings.Repeat("0", 128), 5, ""), want: "not SHA-256"},
		"no diff":       {top: manifest(none, gz, image.DigestOf(layer), len(layer), ""), config: none, want: "its configuration describes 0"},
		"other diff":    {top: manifest(other, gz, image.DigestOf(layer), len(layer), ""), config: other, want: "uncompressed, is not what its digest says"},
		"not an image":  {top: manifest(config, gz, image.DigestOf([]byte("\x1f\x8bxxx")), 5, ""), blob: "\x1f\x8bxxx", want: "layer 1 of 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.before = func(w http.ResponseWriter, req *http.Request) bool {
				text := ""
				switch p := req.URL.Path; {
				case p == "/v2/":
				case strings.HasSuffix(p, "/manifests/latest"):
					text = c.top
				case strings.Contains(p, "/manifests/"):
					text = cmp.Or(below[strings.TrimPrefix(p, "/v2/x/manifests/")], "{}")
				case strings.HasSuffix(p, image.DigestOf([]byte(cmp.Or(c.config, config)))) || strings.HasSuffix(p, image.DigestOf([]byte(config))):
					text = cmp.Or(c.config, config)
				default:
					text = cmp.Or(c.blob, string(layer))
				}
				if _, err := io.WriteString(w, text); err != nil {
					return true
				}
				return true
			}
			code := 125
			if c.want == "" && name == "good" {
				code = 0
			}
			_, errs := r.run(code, "pull", "--insecure", "--platform", "linux/amd64", r.host+"/x")
			if !strings.Contains(errs, c.want) || len(errs) > 1000 {
				t.Errorf("%s, want %s", errs, c.want)
			}
			if code == 0 {
				return
			}
			if out, _ := r.run(0, "list", "--json"); out != "[]\n" {
				t.Errorf("it is there: %s", out)
			}
			r.run(0, "prune")
			if left := leftOver(t, r.dir); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// leftOver lists the files of a store, other than locks.
func leftOver(t *testing.T, dir string) (list []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, "lock") {
			list = append(list, path)
		}
		return err
	}))
	return list
}

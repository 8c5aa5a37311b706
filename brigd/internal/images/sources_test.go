package images

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"brig/image"
	"brig/internal/test/must"
)

// layout is a crafted OCI layout: its files, each name followed by its content.
func layout(t testing.TB, ref string, layer []byte, diff string) (list []string) {
	t.Helper()
	config := fmt.Sprintf(`{"os":"linux","architecture":"amd64","config":{"Cmd":["cat","/a"]},"rootfs":{"type":"layers","diff_ids":["%s"]}}`, diff)
	manifest := fmt.Sprintf(`{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"%s","size":%d},`+
		`"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"%s","size":%d}]}`, image.DigestOf([]byte(config)), len(config), image.DigestOf(layer), len(layer))
	index := fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"%s","size":%d,"annotations":{"%s":"%s"}}]}`,
		image.DigestOf([]byte(manifest)), len(manifest), refName, ref)
	for _, text := range []string{config, manifest, string(layer)} {
		list = append(list, blobPath(image.DigestOf([]byte(text))), text)
	}
	return append(list, "index.json", index, "oci-layout", `{"imageLayoutVersion":"1.0.0"}`)
}

// docker is a crafted archive of docker save, whose layers are at these paths.
func docker(diff, config, tags string, paths ...string) []string {
	list := func(all []string) string { return `["` + strings.Join(all, `","`) + `"]` }
	return []string{"c.json", `{"os":"linux","architecture":"amd64","config":{"Cmd":["cat","/a"]},"rootfs":{"type":"layers","diff_ids":` +
		list(slices.Repeat([]string{diff}, len(paths))) + "}}",
		"manifest.json", fmt.Sprintf(`[{"Config":"%s","RepoTags":[%s],"Layers":%s}]`, config, tags, list(paths))}
}

// headers is an archive of many files without content, each with a comment.
func headers(t testing.TB, files int, name, comment string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Typeflag: tar.TypeDir, PAXRecords: map[string]string{"BRIG.comment": comment}}); err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

// TestSources: the same layer from every kind of source, and what is wrong with a source.
func TestSources(t *testing.T) {
	root := archiveOf(t, "a", "content", "etc/x", "y")
	diff := image.DigestOf(root)
	oci := layout(t, "app:1", root, diff)
	saved := append(docker(diff, "c.json", `"app:1","app:2"`, "l/layer.tar"), "l/layer.tar->../real.tar", "", "real.tar", string(root))
	r := newRig(t)
	r.write("dir/a", []byte("content"))
	for i := 0; i < len(oci); i += 2 {
		r.write("layout/"+oci[i], []byte(oci[i+1]))
	}
	must.Do(t, errors.Join(os.Symlink("/etc/passwd", r.tmp+"/layout/out"), os.Mkdir(r.tmp+"/empty", 0o755)))
	ociTar, dockerTar := archiveOf(t, oci...), archiveOf(t, saved...)
	padded := string(append(slices.Clone(root), make([]byte, 20<<20)...))
	twice := append(docker(image.DigestOf([]byte(padded)), "c.json", "", "1", "2"), "1", padded, "2", padded)
	for _, c := range []struct {
		source string
		data   []byte // of the file that the source names
		args   string
		want   string // the name, or the error
	}{
		{"oci:layout", nil, "", "app:1"},
		{"oci:layout:app:1", nil, "x", "x:latest"},
		{"oci:layout:none", nil, "x", `it has no image "none"; it has "app:1"`},
		{"oci:empty", nil, "x", "index.json: no such file"},
		{"oci-archive:F", ociTar, "", "app:1"},
		{"oci-archive:-", gzipped(t, ociTar), "", "app:1"},
		{"oci-archive:F", zstandard(t, ociTar), "y:2", "y:2"},
		{"oci-archive:F", ociTar[:1700], "x", "cut off"},
		{"oci-archive:F", []byte("no archive"), "x", "not a tar archive, or a damaged one"},
		{"oci-archive:F", nil, "x", "it has no file"},
		{"oci-archive:F", archiveOf(t, append(oci, "index.json", "{}")...), "x", "its manifest"},
		{"oci-archive:F", archiveOf(t, layout(t, "\\u001b[2J", root, diff)...), "", "the image name"},
		{"oci-archive:F", archiveOf(t, layout(t, "x", root, image.DigestOf(nil))...), "", "uncompressed, is not what its digest says"},
		{"docker-archive:F", dockerTar, "", "app:1"},
		{"docker-archive:F:app:2", dockerTar, "", "app:2"},
		{"docker-archive:F:app:3", dockerTar, "", `with one of "app:1", "app:2"`},
		{"docker-archive:-", gzipped(t, dockerTar), "z", "z:latest"},
		{"docker-archive:F", archiveOf(t, append(docker(diff, "c.json", "", "l.tar"), "l.tar", string(gzipped(t, root)))...), "", "does not say its name"},
		{"docker-archive:F", archiveOf(t, append(docker(diff, "c.json", "", "l.tar"), "l.tar", string(gzipped(t, root)))...), "g", "g:latest"},
		{"docker-archive:F", archiveOf(t, docker(diff, "../../../../etc/passwd", "", "x")...), "x", "it has no file"},
		{"docker-archive:F", archiveOf(t, docker(diff, "c.json", "", "/etc/passwd")...), "x", `it has no file "/etc/passwd"`},
		{"docker-archive:F", archiveOf(t, append(docker(diff, "c.json", "", "l"), "l->l", "")...), "x", "too many times"},
		{"docker-archive:F", archiveOf(t, append(docker(diff, "c.json", "", "l"), "l->/etc/passwd", "")...), "x", "it has no file"},
		{"docker-archive:F", archiveOf(t, append(docker(image.DigestOf(nil), "c.json", "", "l"), "l", string(root))...), "x", "uncompressed, is not what its digest says"},
		{"docker-archive:F", archiveOf(t, "manifest.json", "[]"), "x", "lists no image"},
		{"docker-archive:F", archiveOf(t, "manifest.json", "{"), "x", "manifest.json: unexpected end"},
		{"docker-archive:F", archiveOf(t, twice...), "x", "layer 2: more than 33554432 bytes: --max-bytes"}, // together
		{"docker-archive:F", headers(t, maxEntries+1, "d", "x"), "x", "more than 10000 files"},
		{"oci-archive:F", headers(t, 1, strings.Repeat("d/", 2500), "x"), "x", "a name of more than 4095 bytes"},
		{"oci-archive:F", headers(t, 60, "d", strings.Repeat("x", 900_000)), "x", "more than 50331648 bytes of headers"},
		{"tar:F", root, "t", "t:latest"},
		{"tar:-", zstandard(t, root), "t", "t:latest"},
		{"tar:-", nil, "t", "it is empty; did the program that should write it fail?"},
		{"tar:F", []byte("\xfd7zXZ\x00"), "t", "compressed with xz; decompress it first"},
		{"tar:F", zstandard(t, bytes.Repeat([]byte{0}, 40<<20)), "t", "more than 33554432 bytes: --max-bytes"},
		{"tar:F", root, "", "does not say its name"},
		{"dir:dir", nil, "d", "d:latest"},
		{"dir:none", nil, "d", "no such file"},
		{"tar:dir", nil, "d", "is a directory; write oci:DIR or dir:DIR"},
	} {
		kind, where, _ := strings.Cut(c.source, ":")
		if where == "-" {
			f := must.Get(os.Open(r.write("stdin", c.data)))(t)
			r.in = f
		} else if strings.HasPrefix(where, "F") {
			r.write("F", c.data)
			where = r.tmp + "/" + where
		} else {
			where = r.tmp + "/" + where
		}
		code := 125
		if !strings.ContainsAny(c.want, " ") && !strings.HasSuffix(c.want, "manifest") {
			code = 0
		}
		args := append([]string{"import", "--platform", "linux/amd64", "--max-bytes", "32m", kind + ":" + where}, strings.Fields(c.args)...)
		out, errs := r.run(code, args...)
		if code == 125 {
			if !strings.Contains(errs, c.want) || len(errs) > 1000 {
				t.Errorf("%s: %s, want %s", c.source, errs, c.want)
			}
			continue
		}
		if !strings.HasPrefix(out, c.want+" sha256:") || r.file(c.want, "a") != "content" {
			t.Errorf("%s: %q %s %q", c.source, out, errs, r.file(c.want, "a"))
		}
		r.run(0, "rm", c.want)
	}
	r.run(0, "prune")
	if left := leftOver(t, r.dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestExport: an image that was exported is the same image again.
func TestExport(t *testing.T) {
	r := newRig(t)
	r.push("x", build(t, "amd64", archiveOf(t, "a", "a", "b", "b"), archiveOf(t, ".wh.b", "")))
	r.run(0, "pull", "--insecure", "--platform", "linux/amd64", r.host+"/x")
	before, _ := r.run(0, "inspect", r.host+"/x")
	r.run(0, "export", r.host+"/x", "oci-archive:"+r.tmp+"/o.tar")
	r.run(0, "export", r.host+"/x", "docker-archive:"+r.tmp+"/d.tar")
	r.run(0, "rm", r.host+"/x")
	r.run(0, "import", "--platform", "linux/amd64", "oci-archive:"+r.tmp+"/o.tar")
	var a, b []image.Image
	after, _ := r.run(0, "inspect", r.host+"/x")
	if err := errors.Join(json.Unmarshal([]byte(before), &a), json.Unmarshal([]byte(after), &b)); err != nil || a[0].Digest != b[0].Digest || a[0].Config.WorkingDir != "/w" {
		t.Errorf("%s\n%s\n%v", before, after, err)
	}
	r.run(0, "import", "--platform", "linux/amd64", "docker-archive:"+r.tmp+"/d.tar", "d")
	if x := r.file("d", "a"); x != "a" || !strings.Contains(r.file("d", "b"), "no such file") {
		t.Error(x)
	}
	for want, args := range map[string][]string{"no such image": {"none", "oci-archive:x"}, "write oci-archive:FILE": {"d", "zip:x"}, "no such file or directory": {"d", "oci-archive:" + r.tmp + "/none/x"}} {
		if _, errs := r.run(125, append([]string{"export"}, args...)...); !strings.Contains(errs, want) {
			t.Errorf("%q: %s", args, errs)
		}
	}
	if list, err := filepath.Glob(r.tmp + "/.brig-export-*"); err != nil || len(list) > 0 {
		t.Errorf("%q, %v", list, err)
	}
}

// TestCommit: a base and a layer become an image, whose configuration has changed where it was said.
func TestCommit(t *testing.T) {
	r := newRig(t)
	r.write("dir/a", []byte("a"))
	r.run(0, "import", "dir:"+r.tmp+"/dir", "base", "--env", "A=1", "--cmd", `["sh"]`, "--user", "7")
	r.in = bytes.NewReader(archiveOf(t, "b", "b", ".wh.a", ""))
	r.run(0, "commit", "base", "new:1", "--env", "A=2", "--env", "B=3", "--workdir", "/w", "--label", "x=y")
	if r.file("new:1", "b") != "b" || !strings.Contains(r.file("new:1", "a"), "no such file") || r.file("base", "a") != "a" {
		t.Error("the layer is not on top of the base")
	}
	out, _ := r.run(0, "inspect", "new:1")
	var got []image.Image
	if err := json.Unmarshal([]byte(out), &got); err != nil || fmt.Sprint(got[0].Config) != "{[A=2 B=3] [] [sh] /w 7 map[x:y]}" || len(got[0].Layers) != 2 {
		t.Errorf("%s, %v", out, err)
	}
	r.run(0, "rm", "base")
	r.run(0, "prune")
	r.run(0, "export", "new:1", "oci-archive:"+r.tmp+"/o.tar") // the base's layer is the new image's, too
	r.write("layer", archiveOf(t, "b", "b"))
	for end, code := range map[string]int{"end\n": 0, "": 125, "en": 125} { // brig was killed: the layer is not whole
		fd := must.Get(unix.Open(r.tmp+"/layer", unix.O_RDONLY|unix.O_CLOEXEC, 0))(t)
		r.in = strings.NewReader(end)
		r.run(code, "commit", "new:1", "new:"+strconv.Itoa(code), "--layer-fd", strconv.Itoa(fd))
	}
	r.run(125, "inspect", "new:125")
	r.in = strings.NewReader("no layer")
	for want, args := range map[string][]string{"not a tar archive": {"new:1", "x"}, "no such image": {"base", "x"}, "write a name like": {"new:1", "X Y"}, "write NAME=VALUE": {"new:1", "x", "--env", "A"},
		"write a list in JSON": {"new:1", "x", "--cmd", "sh"}, "open it for brigd": {"new:1", "x", "--layer-fd", "999"}} {
		if _, errs := r.run(125, append([]string{"commit"}, args...)...); !strings.Contains(errs, want) {
			t.Errorf("%q: %s, want %s", args, errs, want)
		}
	}
}

// TestLeftOutOnce: what an image lacks is said when it is imported, and a commit on top tells of its own layer alone.
func TestLeftOutOnce(t *testing.T) {
	r := newRig(t)
	fifo := func(name string) []byte {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		must.Do(t, errors.Join(w.WriteHeader(&tar.Header{Typeflag: tar.TypeFifo, Name: name}), w.Close()))
		return out.Bytes()
	}
	r.write("base.tar", fifo("base-fifo"))
	if _, errs := r.run(0, "import", "tar:"+r.tmp+"/base.tar", "base"); strings.Count(errs, "left out") != 1 {
		t.Error(errs)
	}
	r.in = bytes.NewReader(fifo("layer-fifo"))
	if _, errs := r.run(0, "commit", "base", "new"); strings.Count(errs, "left out") != 1 || !strings.Contains(errs, "layer-fifo") {
		t.Error(errs)
	}
	r.in = bytes.NewReader(archiveOf(t, "b", "b"))
	if _, errs := r.run(0, "commit", "new", "newer"); strings.Contains(errs, "left out") {
		t.Error(errs)
	}
}

// TestSourceIsNamed: a path without the kind of source is answered with what to write.
func TestSourceIsNamed(t *testing.T) {
	r := newRig(t)
	r.write("root.tar", archiveOf(t, "a", "a"))
	r.write("dir/a", nil)
	r.write("layout/oci-layout", nil)
	for path, want := range map[string]string{"/root.tar": "write tar:" + r.tmp + "/root.tar for the files of a root",
		"/dir": "write dir:" + r.tmp + "/dir\n", "/layout": "write oci:" + r.tmp + "/layout\n", "/none": "write oci:DIR, "} {
		if _, errs := r.run(125, "import", r.tmp+path, "x"); !strings.Contains(errs, want) {
			t.Errorf("%s: %s", path, errs)
		}
	}
}

// FuzzManifest: no index, manifest or configuration makes it panic, loop or accept a digest that is none.
func FuzzManifest(f *testing.F) {
	for _, s := range []string{`{"schemaVersion":2,"manifests":[{"platform":{"os":"linux","architecture":"amd64"}}]}`, `{"schemaVersion":2,"config":{},"layers":[{}]}`, "{}", "["} {
		f.Add([]byte(s), []byte(`{"rootfs":{"diff_ids":[]}}`))
	}
	l := layout(f, "x", nil, image.DigestOf(nil))
	f.Add([]byte(l[3]), []byte(l[1]))
	f.Fuzz(func(t *testing.T, top, config []byte) {
		o := &origin{get: func(v1.Descriptor) ([]byte, error) { return config, nil }}
		want := v1.Platform{OS: "linux", Architecture: "amd64"}
		m, err := o.manifest(top, want, 0)
		if err != nil {
			return
		}
		n, err := o.describe(m, want, 1<<30)
		if err != nil {
			return
		}
		sum := int64(0)
		for _, l := range n.Layers {
			if sum += l.Size; sum > 1<<30 {
				t.Errorf("%d bytes of layers", sum)
			}
			if len(l.Digest) != 71 || l.Size < 0 || l.Size > 1<<30 || !strings.HasPrefix(l.DiffID, "sha256:") {
				t.Errorf("%+v", l)
			}
		}
	})
}

// FuzzArchive: the files of an archive are parts of it.
func FuzzArchive(f *testing.F) {
	f.Add(archiveOf(f, "a", "b", "l->a", ""))
	f.Add(archiveOf(f, "index.json", "{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fd, err := unix.MemfdCreate("archive", unix.MFD_CLOEXEC)
		file := os.NewFile(uintptr(fd), "archive")
		if err == nil {
			_, err = file.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
		if compression(data) != "" {
			file.Close()
			return
		}
		a := &archive{file, map[string]entry{}}
		defer a.Close()
		if a.read() != nil {
			return
		}
		for name := range a.entries {
			if r, err := a.open(name); err == nil {
				if n, err := io.Copy(io.Discard, r); err != nil || n != r.Size() || n > int64(len(data)) {
					t.Errorf("%q: %d bytes of %d, %v", name, n, r.Size(), err)
				}
			}
		}
	})
}

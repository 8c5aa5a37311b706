package image

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
)

func TestParseName(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for text, want := range map[string]string{ // full name, familiar name; "" for an error
		"python":                         "docker.io/library/python:latest python:latest",
		"python:3.12-slim":               "docker.io/library/python:3.12-slim python:3.12-slim",
		"python@" + digest:               "docker.io/library/python@" + digest + " python@" + digest,
		"python:3.12@" + digest:          "docker.io/library/python@" + digest + " python@" + digest,
		"me/tool:1":                      "docker.io/me/tool:1 me/tool:1",
		"docker.io/me/a__b-c.d":          "docker.io/me/a__b-c.d:latest me/a__b-c.d:latest",
		"index.docker.io/python":         "docker.io/library/python:latest python:latest",
		"localhost/x":                    "localhost/x:latest localhost/x:latest",
		"localhost:5000/x@" + digest:     "localhost:5000/x@" + digest + " localhost:5000/x@" + digest,
		"[::1]:5000/x/y:Z_1":             "[::1]:5000/x/y:Z_1 [::1]:5000/x/y:Z_1",
		"ghcr.io/a/b/c":                  "ghcr.io/a/b/c:latest ghcr.io/a/b/c:latest",
		"":                               "",
		"Python":                         "",
		"a b":                            "",
		"a:":                             "",
		"a:.b":                           "",
		"a@sha256:00":                    "",
		"a@sha512:" + digest[7:]:         "",
		"a//b":                           "",
		"../../etc/passwd":               "",
		"./a":                            "",
		"a/../b":                         "",
		"a/b%c":                          "",
		"x.y:port/a":                     "",
		"-x.y/a":                         "",
		"a-.b":                           "",
		"a\x00b":                         "",
		"é":                              "",
		"a:" + strings.Repeat("t", 129):  "",
		"a/" + strings.Repeat("b", 250):  "",
		"x.y/" + strings.Repeat("b", 99): "x.y/" + strings.Repeat("b", 99) + ":latest x.y/" + strings.Repeat("b", 99) + ":latest",
	} {
		n, err := ParseName(text)
		got := n.String() + " " + n.Familiar()
		if err != nil {
			if got = ""; len(err.Error()) > 300 || strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("%q: %v", text, err)
			}
		}
		if got != want {
			t.Errorf("%q is %q, want %q (%v)", text, got, want, err)
		}
	}
}

// FuzzParseName: a name that is parsed is that of a file, and the same name again when it is read from it.
func FuzzParseName(f *testing.F) {
	for _, s := range []string{"python:3.12-slim", "localhost:5000/x", "a@sha256:" + strings.Repeat("0", 64), "[::1]/a/b:c", "%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseName(s)
		if err != nil {
			return
		}
		file := n.file()
		back, err := nameOfFile(file)
		if err != nil || back != n || len(file) > 255 || strings.ContainsAny(file, "/\x00") || file[0] == '.' {
			t.Errorf("%q: %+v, %q, %+v, %v", s, n, file, back, err)
		}
		if short, err := ParseName(n.Familiar()); err != nil || short != n {
			t.Errorf("%q: %q, %+v, %v", s, n.Familiar(), short, err)
		}
	})
}

// byHand makes a store with the image HEX under a name.
func byHand(t *testing.T, hex, name string) *Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "images")
	for path, text := range map[string]string{
		"images/" + hex + "/image.json":      `{"files": 1, "config": {"Env": ["A=b"], "Cmd": ["sh"]}, "layers": []}`,
		"images/" + hex + "/tree/etc/passwd": "root:x:0:0::/:/bin/sh\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755), os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "names"), 0o755), os.Symlink("../images/"+hex, filepath.Join(dir, "names", name))); err != nil {
		t.Fatal(err)
	}
	return must.Get(Open(dir))(t)
}

func TestLookup(t *testing.T) {
	hex := strings.Repeat("ab", 32)
	s := byHand(t, hex, "docker.io%library%python:3.12-slim")
	for text, want := range map[string]string{"python:3.12-slim": "docker.io/library/python:3.12-slim", "docker.io/library/python:3.12-slim": "docker.io/library/python:3.12-slim",
		"abab": "", "sha256:" + hex: "", "python@sha256:" + hex: ""} {
		m, err := s.Lookup(text)
		if err != nil || m.Digest != "sha256:"+hex || strings.Join(m.Names, " ") != want || m.Config.Cmd[0] != "sh" || m.Tree != s.Dir()+"/images/"+hex+"/tree" {
			t.Errorf("%q: %+v, %v", text, m, err)
		}
	}
	for _, text := range []string{"python", "abc", "abad", "python@sha256:" + strings.Repeat("0", 64)} {
		if m, err := s.Lookup(text); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %+v, %v", text, m, err)
		}
	}
	if _, err := s.Lookup("../x"); err == nil || errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 || len(list[0].Names) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// A store that others may write to is refused; one that does not exist is empty.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	s := must.Get(Open(dir + "/none"))(t)
	if list, err := s.List(); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
	must.Do(t, errors.Join(os.Mkdir(dir+"/none", 0o700), os.Chmod(dir+"/none", 0o777), os.Chmod(dir, 0o777)))
	if _, err := s.Write(); err == nil || !strings.Contains(err.Error(), "mode 0777") {
		t.Errorf("a store that others have made is written to: %v", err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "mode 0777") {
		t.Error(err)
	}
	must.Do(t, os.WriteFile(dir+"/file", nil, 0o600))
	if _, err := Open(dir + "/file"); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Error(err)
	}
}

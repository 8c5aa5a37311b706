package image

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// A start has the Config of Lookup but for the labels, with the file for it and without.
func TestStart(t *testing.T) {
	hex := strings.Repeat("ab", 32)
	s := byHand(t, hex, "docker.io%library%x:1")
	for _, file := range []string{"", "eA=b\x00csh\x00w\x00u\x00"} {
		path := s.path("images", hex, startFile)
		if file != "" {
			must.Do(t, os.WriteFile(path, []byte(file), 0o644))
			// only the digest and the file are read
			must.Do(t, os.Remove(filepath.Join(filepath.Dir(path), "image.json")))
		}
		m, err := s.Start("x:1")
		if err != nil || m.Digest != "sha256:"+hex || m.Names[0] != "docker.io/library/x:1" || m.Config.Env[0] != "A=b" ||
			m.Config.Cmd[0] != "sh" || m.Tree != s.path("images", hex, "tree") {
			t.Errorf("%q: %+v, %v", file, m, err)
		}
	}
	for _, bad := range []string{"", "eA=b", "xA\x00", "\x00", "eA=b\x00\x00"} {
		must.Do(t, os.WriteFile(s.path("images", hex, startFile), []byte(bad), 0o644))
		if m, err := s.Start("x:1"); err == nil || !strings.Contains(err.Error(), "it is damaged; remove the image") {
			t.Errorf("%q: %+v, %v", bad, m, err)
		}
	}
	if _, err := s.Start("y"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// FuzzStart: a Config is read back as it was written, and any text is a Config or an error.
func FuzzStart(f *testing.F) {
	f.Add("PATH=/bin", "/e", "sh\n", "/w", "root", "eA\x00")
	f.Add("", "\x00", "", "", "a:b", "\x00w")
	f.Fuzz(func(t *testing.T, env, entry, cmd, dir, user, text string) {
		c := Config{Env: []string{env, env}, Entrypoint: []string{entry}, Cmd: []string{cmd, ""}, WorkingDir: dir, User: user}
		if file, ok := c.pack(); ok {
			if got, err := unpackConfig(file); err != nil || !reflect.DeepEqual(got, c) {
				t.Errorf("%q: %+v, %v, want %+v", file, got, err, c)
			}
		} else if !strings.Contains(env+entry+cmd+dir+user, "\x00") {
			t.Errorf("%+v has no file", c)
		}
		if got, err := unpackConfig(text); err == nil {
			if file, ok := got.pack(); !ok {
				t.Errorf("%q: %+v, %q", text, got, file)
			}
		}
	})
}

package asroot

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"brig/image"
	"brig/internal/test/must"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

const digest = "sha256:00"

// tree makes a tree with these files; a text that begins with "->" is a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(p), 0o755)
		if link, ok := strings.CutPrefix(text, "->"); ok {
			err = errors.Join(err, os.Symlink(link, p))
		} else {
			err = errors.Join(err, os.WriteFile(p, []byte(text), 0o644))
		}
		must.Do(t, err)
	}
	return dir
}

var accountFiles = map[string]string{
	"etc/passwd": "#comment\nroot:x:0:0:root:/root:/bin/sh\nbad:x:1\napp:x:1001:50::/home/app:/bin/sh\nodd:x:7:8:::\n" +
		"up:x:9:9::/home/../../etc:\nword:x:10:x::/:\nbig:x:4294967295:0::/:\n12:x:13:14::/n:\n",
	"etc/group": "root:x:0:\nstaff:x:50:app\nodd\nminus:x:-1:\n",
}

func TestApply(t *testing.T) {
	dir := tree(t, accountFiles)
	entry := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		config image.Config
		spec   nsjail.Spec
		o      Options
		want   nsjail.Spec
	}{
		"nothing said": {o: Options{Command: []string{"sh"}},
			want: nsjail.Spec{Args: []string{"sh"}, Env: []string{"HOME=/root"}, Workdir: "/", User: "0:0"}},
		"all said": {config: image.Config{Env: []string{"A=1", "B="}, Entrypoint: []string{"e", "f"}, Cmd: []string{"c"}, WorkingDir: "/w", User: "app"},
			want: nsjail.Spec{Args: []string{"e", "f", "c"}, Env: []string{"A=1", "B=", "HOME=/home/app"}, Workdir: "/w", User: "1001:50"}},
		"replaced": {config: image.Config{Env: []string{"A=1", "HOME=/h"}, Entrypoint: []string{"e"}, Cmd: []string{"c"}, WorkingDir: "../w/./../v", User: "app:root"},
			spec: nsjail.Spec{Env: []string{"A=2"}}, o: Options{Command: []string{"x", "y"}, KeepHome: true},
			want: nsjail.Spec{Args: []string{"e", "x", "y"}, Env: []string{"A=2", "HOME=/h"}, Workdir: "/v", User: "1001:0"}},
		"entrypoint": {config: image.Config{Entrypoint: []string{"e"}, Cmd: []string{"c"}}, o: Options{Entrypoint: entry("/x"), KeepHome: true},
			spec: nsjail.Spec{User: "odd:staff", Workdir: "/y"}, want: nsjail.Spec{Args: []string{"/x"}, Workdir: "/y", User: "7:50"}},
		"no entrypoint": {config: image.Config{Entrypoint: []string{"e"}, Cmd: []string{"c"}}, o: Options{Entrypoint: entry(""), Command: []string{"x"}, KeepHome: true},
			spec: nsjail.Spec{User: "5", Workdir: "/work"}, want: nsjail.Spec{Args: []string{"x"}, Workdir: "/work", User: "5:0"}},
		"whole command": {config: image.Config{Entrypoint: []string{"e"}}, spec: nsjail.Spec{Args: []string{"a"}, User: "12"},
			want: nsjail.Spec{Args: []string{"a"}, Env: []string{"HOME=/"}, Workdir: "/", User: "12:0"}},
		"a home that is no path": {spec: nsjail.Spec{Args: []string{"a"}, User: "up"}, want: nsjail.Spec{Args: []string{"a"}, Env: []string{"HOME=/"}, Workdir: "/", User: "9:9"}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			m := &image.Image{Digest: digest, Names: []string{"docker.io/library/x:1"}, Tree: dir, Config: c.config}
			for range 2 { // the second changes nothing
				must.Do(t, Apply(&c.spec, m, c.o))
				c.want.Rootfs = nsjail.Rootfs{Path: dir, Image: "x:1@" + digest}
				if !reflect.DeepEqual(c.spec, c.want) {
					t.Fatalf("%+v\nwant %+v", c.spec, c.want)
				}
				m.Names = nil
			}
		})
	}
}

// The caller's own value of a variable that it passes on comes before the image's.
func TestPassedVariables(t *testing.T) {
	t.Setenv("BRIG_TEST_X", "mine")
	m := &image.Image{Tree: tree(t, nil), Config: image.Config{Env: []string{"BRIG_TEST_X=its", "BRIG_TEST_Y=its"}}}
	s := nsjail.Spec{PassEnv: []string{"BRIG_TEST_*"}}
	if err := Apply(&s, m, Options{}); err != nil || strings.Join(s.Env, " ") != "BRIG_TEST_Y=its HOME=/" {
		t.Errorf("%q, %v", s.Env, err)
	}
}

// Hostile configurations are errors of one short line that names the image and the field, and change nothing.
func TestHostileConfig(t *testing.T) {
	long := strings.Repeat("x", maxText)
	fifo := tree(t, map[string]string{"etc/group": ""})
	must.Do(t, unix.Mkfifo(filepath.Join(fifo, "etc/passwd"), 0o644))
	for want, c := range map[string]struct {
		config image.Config
		files  map[string]string
		tree   string
	}{
		"Env has more than 1048576 bytes":                      {config: image.Config{Env: []string{"A=" + long}}},
		"Env has 1025 variables, more than 1024":               {config: image.Config{Env: make([]string, 1025)}},
		`Env[0] "A=\x00" is not NAME=VALUE`:                    {config: image.Config{Env: []string{"A=\x00"}}},
		`Env[1] "A\nB=c" is not NAME=VALUE`:                    {config: image.Config{Env: []string{"A=b", "A\nB=c"}}},
		`Env[0] "A" is not NAME=VALUE`:                         {config: image.Config{Env: []string{"A"}}},
		`Env[0] "=b" is not NAME=VALUE`:                        {config: image.Config{Env: []string{"=b"}}},
		"Entrypoint has 1025 words, more than 1024":            {config: image.Config{Entrypoint: make([]string, 1025)}},
		"Cmd has more than 1048576 bytes":                      {config: image.Config{Cmd: []string{long, "x"}}},
		`Cmd[1] "\x00" has a NUL byte`:                         {config: image.Config{Cmd: []string{"x", "\x00"}}},
		`WorkingDir "/a\nb" is too long or has control`:        {config: image.Config{WorkingDir: "/a\nb"}},
		"is too long or has control characters":                {config: image.Config{WorkingDir: strings.Repeat("/x", 2048)}},
		`User "nobody": the image's /etc/passwd has no such`:   {config: image.Config{User: "nobody"}, files: accountFiles},
		`User "bad": the image's /etc/passwd has no such`:      {config: image.Config{User: "bad"}, files: accountFiles},
		`User "big": the image's /etc/passwd has no such`:      {config: image.Config{User: "big"}, files: accountFiles},
		`User "4294967295": the image's /etc/passwd has no`:    {config: image.Config{User: "4294967295"}, files: accountFiles},
		`User "word": its group in the image's /etc/passwd`:    {config: image.Config{User: "word"}, files: accountFiles},
		`User "app:minus": the image's /etc/group has no such`: {config: image.Config{User: "app:minus"}, files: accountFiles},
		`User "app:": the group is empty`:                      {config: image.Config{User: "app:"}, files: accountFiles},
		`User "a\x1b[31m\n": the image's /etc/passwd has no`:   {config: image.Config{User: "a\x1b[31m\n"}, files: accountFiles},
		"/etc/passwd has more than 1048576 bytes":              {files: map[string]string{"etc/passwd": long + "x"}},
		"its /etc/passwd is not a regular file":                {tree: fifo},
		"too many levels of symbolic links":                    {files: map[string]string{"etc/passwd": "->passwd"}},
	} {
		t.Run(strings.ReplaceAll(want, " ", "-"), func(t *testing.T) {
			if c.tree == "" {
				c.tree = tree(t, c.files)
			}
			s := nsjail.Spec{}
			err := Apply(&s, &image.Image{Digest: digest, Tree: c.tree, Config: c.config}, Options{})
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "the image "+digest+": ") || len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\x1b\x00\n") {
				t.Errorf("%v", err)
			}
			if !reflect.DeepEqual(s, nsjail.Spec{}) {
				t.Errorf("%+v", s)
			}
		})
	}
}

// If an image's /etc is a link out of its tree, the host's accounts are not read.
func TestAccountsStayInside(t *testing.T) {
	outside := tree(t, map[string]string{"passwd": "thief:x:4711:4711::/stolen:/bin/sh\n"})
	for _, files := range []map[string]string{{"etc": "->" + outside}, {"etc": "->../../../../../../../.." + outside},
		{"etc/passwd": "->" + outside + "/passwd"}, {"etc/passwd": "->/proc/self/root" + outside + "/passwd"}} {
		err := Apply(&nsjail.Spec{User: "thief"}, &image.Image{Digest: digest, Tree: tree(t, files)}, Options{})
		if err == nil || !strings.Contains(err.Error(), "no such user") {
			t.Errorf("%v: %v", files, err)
		}
	}
	inside := tree(t, map[string]string{"usr/etc/passwd": "root:x:0:0::/inside:/bin/sh\n", "etc": "->/usr/etc"})
	s := nsjail.Spec{}
	if err := Apply(&s, &image.Image{Tree: inside}, Options{}); err != nil || s.Env[0] != "HOME=/inside" {
		t.Errorf("%+v, %v", s, err)
	}
}

// FuzzFind: whatever the files hold, the answer is an identity that a Spec accepts, or an error.
func FuzzFind(f *testing.F) {
	f.Add("app:staff", accountFiles["etc/passwd"], accountFiles["etc/group"])
	f.Add("0", "root:x:0:0:root:/root\x00:/bin/sh\n", "::\n")
	f.Add("a:b", "a:::::::\r\na:x:99999999999:1:::\n", "b:x:4294967294:\n")
	dir := f.TempDir()
	must.Do(f, os.Mkdir(filepath.Join(dir, "etc"), 0o755))
	f.Fuzz(func(t *testing.T, user, passwd, group string) {
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "etc/passwd"), []byte(passwd), 0o644), os.WriteFile(filepath.Join(dir, "etc/group"), []byte(group), 0o644)); err != nil {
			t.Fatal(err)
		}
		s := nsjail.Spec{Args: []string{"id"}}
		err := Apply(&s, &image.Image{Digest: digest, Tree: dir, Config: image.Config{User: user}}, Options{})
		if err != nil {
			return
		}
		if problems := s.Check(); len(problems) > 0 {
			t.Errorf("%q: %+v: %+v", user, s, problems)
		}
	})
}

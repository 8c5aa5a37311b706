package nsjail

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/internal/words"
	"brig/nsjail/spec"
)

// protectSpec is a jail with a directory at /work and the default protection of a repository.
func protectSpec(dir, script string) spec.Spec {
	return spec.Spec{Args: []string{"sh", "-ec", script}, Protect: []string{spec.ProtectGit},
		Env: []string{"GIT_CONFIG_GLOBAL=/input/gitconfig", "npm_config_update_notifier=false"},
		Mounts: []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true},
			{Type: spec.MountData, Target: "/input/gitconfig",
				Content: "[user]\nname = a\nemail = a@b\n[protocol \"file\"]\nallow = always\n[init]\ndefaultBranch = main\n"}}}
}

// onHost runs a script of the host in a directory.
func onHost(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// alone returns a Cmd of its own Runner.
func alone(t *testing.T, s spec.Spec) *Cmd {
	t.Helper()
	c := CommandContext(context.Background(), s.Args[0])
	c.Spec = s
	return c
}

// plainRepository makes the files that make a directory a repository.
func plainRepository(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repo")
	for _, d := range []string{"objects", "refs", "hooks"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, ".git", d), 0o755))
	}
	must.Do(t, errors.Join(os.WriteFile(dir+"/.git/HEAD", []byte("ref: x"), 0o644),
		os.WriteFile(dir+"/.git/config", []byte("good"), 0o644)))
	return dir
}

func sockets(t *testing.T, dir string) string {
	t.Helper()
	return onHost(t, dir, "find . -type s")
}

// TestProtectReplaced: the kernel detaches a mount when the host replaces what is below it, and the Result has a note of it.
func TestProtectReplaced(t *testing.T) {
	dir := plainRepository(t)
	must.Do(t, os.WriteFile(dir+"/.envrc", nil, 0o666))
	c := alone(t, protectSpec(dir, "echo; read line; echo evil >.envrc"))
	stdin, in, err := os.Pipe()
	must.Do(t, err)
	out, stdout, err := os.Pipe()
	must.Do(t, err)
	defer out.Close()
	c.Stdin, c.Stdout = stdin, stdout
	must.Do(t, c.Start())
	stdin.Close()
	stdout.Close()
	must.Get(out.Read(make([]byte, 1)))(t)
	if err := errors.Join(os.WriteFile(dir+"/.envrc.lock", []byte("host's"), 0o666), os.Chmod(dir+"/.envrc.lock", 0o666),
		os.Rename(dir+"/.envrc.lock", dir+"/.envrc")); err != nil {
		t.Fatal(err)
	}
	_, werr := io.WriteString(in, "\n")
	rest, rerr := io.ReadAll(out)
	res, err := c.Wait()
	must.Do(t, errors.Join(werr, rerr, err, in.Close()))
	if notes := words.Join(res.Notes, "\n").String(); !strings.Contains(notes, `"/work/.envrc" was replaced from outside`) ||
		!slices.Contains(res.Replaced, "/work/.envrc") {
		t.Errorf("%q, notes %q, %q", rest, notes, res.Replaced)
	}
	if left := sockets(t, dir); left != "" {
		t.Errorf("left: %s", left)
	}
}

// TestProtectInARunner: jails of a Runner, with and without pools, with an image and with a volume protect likewise.
func TestProtectInARunner(t *testing.T) {
	dir := plainRepository(t)
	warm := warmRunner(t)
	v := must.Get(warm.NewVolume(VolumeOptions{Size: 1 << 20, Dirs: []string{"d"}}))(t)
	const attack = "! echo x >.git/config; ! mkdir .vscode; echo x >new; rm new; ! mkdir /vol/a; ! touch /vol/a/b; ! mv /vol/b /vol/c"
	s := protectSpec(dir, attack)
	s.Mounts = append(s.Mounts, spec.Mount{Type: spec.MountVolume, Source: v.ID() + "/d", Target: "/vol", Writable: true})
	s.Protect = append(s.Protect, "/vol/a", "/vol/b/c")
	for range 3 {
		res, err := warm.CommandSpec(context.Background(), s).Run()
		if err != nil || res.Status != StatusOK || !strings.Contains(res.Enforced["protect"].String(), `"/vol/b/c"`) {
			t.Fatalf("%v, %+v", err, res)
		}
	}
	if left := sockets(t, dir); left != "" {
		t.Errorf("left: %s", left)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

// TestProtectInACow: what stands for absent paths in a cow is no change, and the payload makes nothing there.
func TestProtectInACow(t *testing.T) {
	needCOW(t)
	dir := plainRepository(t)
	s := protectSpec(dir, "! echo x >.git/config; ! mkdir .vscode; ! rm .mcp.json; ! mv .git x; test -S .envrc; ! echo x >.git/index; echo x >a")
	s.Mounts[0] = spec.Mount{Type: spec.MountCOW, Source: dir, Target: "/work"}
	res, err := alone(t, s).Run()
	if err != nil || res.Status != StatusOK || len(res.Changes) != 1 {
		t.Fatalf("%v, %+v", err, res)
	}
	upper := res.Changes[0].Upper
	defer upper.Close()
	list, err := upper.ReadDir(-1)
	if err != nil || len(list) != 1 || list[0].Name() != "a" {
		t.Errorf("the changes are %v, %v", list, err)
	}
	if left := sockets(t, dir); left != "" {
		t.Errorf("left on the host: %s", left)
	}
}

// TestProtectOptional: where a path cannot be held, the start fails; with --optional protect the run is made without
// protection, and the report has the reason.
func TestProtectOptional(t *testing.T) {
	dir := plainRepository(t)
	must.Do(t, os.Link(dir+"/.git/config", dir+"/same"))
	s := protectSpec(dir, "mkdir .vscode")
	if _, err := alone(t, s).Run(); err == nil || !strings.Contains(err.Error(), "hard link") {
		t.Errorf("%v", err)
	}
	s.Optional = []string{"protect"}
	res, err := alone(t, s).Run()
	if err != nil || res.Status != StatusOK || !strings.Contains(res.Enforced["protect"].String(), "not enforced: ") {
		t.Errorf("%v, %+v", err, res)
	}
	if left := sockets(t, dir); left != "" {
		t.Errorf("left: %s", left)
	}
}

// TestProtectAroundMounts: what a Spec mounts or makes below a protected path, or above one, does not make it writable.
func TestProtectAroundMounts(t *testing.T) {
	for name, m := range map[string]spec.Mount{
		"tmpfs below":  {Type: spec.MountTmpfs, Target: "/work/a/b/cache"},
		"dir below":    {Type: spec.MountDir, Target: "/work/a/b/cache"},
		"dir above":    {Type: spec.MountDir, Target: "/work/a"},
		"tmpfs beside": {Type: spec.MountTmpfs, Target: "/work/a/c"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, sub := range []string{"a", "a/b", "a/b/cache", "a/c"} {
				must.Do(t, os.Mkdir(filepath.Join(dir, sub), 0o755))
			}
			s := protectSpec(dir, "touch a/free; if touch a/b/evil; then echo changed; fi; if test $1; then touch $1/c; fi 2>&1")
			if s.Protect = []string{"a/b"}; m.Type == spec.MountTmpfs {
				s.Args = append(s.Args, "sh", m.Target)
			}
			s.Mounts = append(s.Mounts, m)
			c := alone(t, s)
			var out strings.Builder
			c.Stdout, c.Stderr = &out, &out
			res, err := c.Run()
			if err != nil || res.Status != StatusOK || strings.Contains(out.String(), "changed") {
				t.Errorf("%v, %+v\n%s", err, res, out.String())
			}
		})
	}
}

// TestProtectAfterChmod: a payload that takes permissions away from what holds protected paths wins nothing in the next run.
func TestProtectAfterChmod(t *testing.T) {
	for _, lock := range []string{"chmod 0 .git", "chmod 0 .", "chmod 0 .git/modules", "chmod 600 .git/modules/lib"} {
		t.Run(lock, func(t *testing.T) {
			dir := plainRepository(t)
			for _, sub := range []string{"", "/objects", "/refs", "/HEAD", "/hooks"} {
				must.Do(t, os.MkdirAll(dir+"/.git/modules/lib"+sub, 0o755))
			}
			if res, err := alone(t, protectSpec(dir, lock)).Run(); err != nil && !strings.Contains(err.Error(), dir+"/") {
				t.Errorf("%v, %+v", err, res)
			}
			_, err := alone(t, protectSpec(dir, `chmod 700 . .git .git/modules .git/modules/lib || true
				for d in .git/hooks .git/modules/lib/hooks; do touch /work/$d/evil || true; done`)).Run()
			if err != nil {
				t.Log(err) // it is refused
			}
			other := alone(t, protectSpec(plainRepository(t), "true"))
			if res, err := other.Run(); err != nil {
				t.Errorf("another directory: %v, %+v", err, res)
			}
			for _, d := range []string{"", "/.git", "/.git/modules", "/.git/modules/lib"} {
				must.Do(t, os.Chmod(dir+d, 0o755))
			}
			if evil := onHost(t, dir, "find . -name evil"); evil != "" {
				t.Errorf("the second payload has made %s", evil)
			}
		})
	}
}

// TestProtectOptionalInARunner: that a run of a Runner could protect nothing is no matter of the next one.
func TestProtectOptionalInARunner(t *testing.T) {
	linked, good := plainRepository(t), plainRepository(t)
	must.Do(t, os.Link(linked+"/.git/config", linked+"/same"))
	warm := warmRunner(t)
	for _, dir := range []string{linked, good} {
		s := protectSpec(dir, "if echo evil >.git/config; then echo changed; fi 2>/dev/null")
		s.Optional = []string{"protect"}
		res, err := warm.CommandSpec(context.Background(), s).Run()
		if err != nil || res.Status != StatusOK {
			t.Fatalf("%v, %+v", err, res)
		}
		if why := res.Enforced["protect"]; strings.Contains(why.String(), "not enforced") != (dir == linked) {
			t.Errorf("%s: %s", dir, why)
		}
	}
	if text, err := os.ReadFile(good + "/.git/config"); err != nil || string(text) != "good" {
		t.Errorf("%q, %v", text, err)
	}
}

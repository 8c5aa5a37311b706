package engine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/brigd/share"
	"brig/internal/test/must"
)

// gitIn runs git of the host.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// evil commits, and leaves what git of the host would execute or write through.
const evil = `cd $0 && echo new >new && git add new && git -c user.name=a -c user.email=a@b commit -qm new
echo x >.git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit; git config core.fsmonitor ./x; rm -f .git/COMMIT_EDITMSG
ln -s ../../target .git/COMMIT_EDITMSG; ln -s x .git/MERGE_MSG; mkdir -p .vscode tools 2>/dev/null; echo x >tools/hook; true`

// TestGitOfShares: of a git directory in a writable share, or in a share's change set, data comes to the host alone,
// and what settings of the repository name in the work tree is protected.
func TestGitOfShares(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	top := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	for _, name := range []string{"rw/r", "cow"} {
		dir := filepath.Join(top, name)
		must.Do(t, os.MkdirAll(dir+"/tools", 0o755))
		must.Do(t, os.WriteFile(dir+"/tools/hook", []byte("good"), 0o644))
		gitIn(t, dir, "init", "-q", "-b", "main")
		gitIn(t, dir, "config", "core.fsmonitor", "tools/hook")
		gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "one")
	}
	e := newEngine(t, Options{AllowApply: true, ChangesDir: t.TempDir(), Shares: []share.Share{{Name: "rw", Dir: top + "/rw", Mode: "rw"},
		{Name: "cow", Dir: top + "/cow", Mode: "rw"}, {Name: "copy", Dir: t.TempDir(), Mode: "cow"}}})
	check := func(dir string) {
		t.Helper()
		if got := gitIn(t, dir, "-c", "core.fsmonitor=", "log", "--format=%s"); got != "new\none\n" {
			t.Errorf("%s: the log is %q", dir, got)
		}
		for file, want := range map[string]string{"hooks/pre-commit": "", "MERGE_MSG": "", "../tools/hook": "good", "../.vscode": ""} {
			if text, _ := os.ReadFile(filepath.Join(dir, ".git", file)); string(text) != want {
				t.Errorf("%s: %s is %q", dir, file, text)
			}
		}
		if st, err := os.Lstat(dir + "/.git/COMMIT_EDITMSG"); err != nil || !st.Mode().IsRegular() {
			t.Errorf("%s: COMMIT_EDITMSG: %v %v", dir, st, err)
		}
		if text := string(must.Get(os.ReadFile(dir + "/.git/config"))(t)); strings.Contains(text, "./x") {
			t.Errorf("%s: %s", dir, text)
		}
	}
	run := func(at string, m Mount) *Response {
		t.Helper()
		a := e.Run(context.Background(), Caller{}, &Request{Cmd: []string{"/bin/sh", "-c", evil, at}, Mounts: []Mount{m}}, nil)
		if a.Status != "ok" {
			t.Fatalf("%+v %+v", a, a.Error)
		}
		return a
	}
	a := run("/data/r", Mount{Share: "rw", Target: "/data"})
	want := []string{"COMMIT_EDITMSG", "MERGE_MSG", "config", "hooks/pre-commit"}
	if len(a.Git) != 1 || a.Git[0].Target != "/data/r/.git" || !slices.Equal(a.Git[0].LeftBehind, want) || a.Git[0].Error != "" ||
		!strings.Contains(a.Git[0].String(), "of /data/r/.git, not COMMIT_EDITMSG, MERGE_MSG, ") {
		t.Errorf("%+v", a.Git)
	}
	check(top + "/rw/r")
	a = run("/data", Mount{Share: "cow", Target: "/data", Mode: "cow"})
	if len(a.Changes) != 1 || len(a.Git) > 0 {
		t.Fatalf("%+v", a)
	}
	id := a.Changes[0].ID
	done := must.Get(e.ApplyChanges(t.Context(), Caller{}, id, &ApplyRequest{}))(t)
	if done.Removed || !slices.Contains(done.LeftBehind, ".git/hooks/pre-commit") {
		t.Errorf("%+v", done)
	}
	_, err := e.ApplyChanges(t.Context(), Caller{}, id, &ApplyRequest{Paths: []string{".git/hooks/pre-commit", ".git/config", ".git/MERGE_MSG"}})
	must.Do(t, err)
	check(top + "/cow")
}

// TestGitErrorsHideTheHost: what cannot be protected outside of a share is no matter of callers.
func TestGitErrorsHideTheHost(t *testing.T) {
	top := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, os.MkdirAll(top+"/s/.git/refs", 0o755))
	must.Do(t, os.MkdirAll(top+"/s/.git/objects", 0o755))
	must.Do(t, os.WriteFile(top+"/s/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o644))
	must.Do(t, os.WriteFile(top+"/s/.git/config", []byte("[include]\npath = "+top+"/conf\n"), 0o644))
	must.Do(t, os.WriteFile(top+"/conf", []byte("[core\n"), 0o644))
	e := newEngine(t, Options{Shares: []share.Share{{Name: "s", Dir: top + "/s", Mode: "rw"}}})
	a := e.Run(context.Background(), Caller{}, sh("true", Mount{Share: "s", Target: "/data"}), nil)
	if a.Error == nil || strings.Contains(a.Error.Message+strings.Join(a.Error.NextSteps, ""), top) {
		t.Errorf("%+v %+v", a, a.Error)
	}
}

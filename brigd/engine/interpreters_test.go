package engine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brig/brigd/policy"
	"brig/brigd/share"
	"brig/internal/test/must"
)

// venv makes a virtual environment with a module, and returns its directory.
func venv(t *testing.T, flags ...string) string {
	t.Helper()
	top := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	dir := top + "/venv"
	if out, err := exec.Command("/usr/bin/python3", append([]string{"-m", "venv", "--without-pip", dir}, flags...)...).
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	at, err := filepath.Glob(dir + "/lib/python3*/site-packages")
	if err != nil || len(at) != 1 {
		t.Fatal(at, err)
	}
	must.Do(t, os.WriteFile(at[0]+"/ours.py", []byte("answer = 42\n"), 0o644))
	return dir
}

// TestInterpreterOfAShare: a language runs in the operator's virtual environment, also in parked interpreters, and
// under a policy that allows no share. The environment is read-only, and runs fail when it is replaced.
func TestInterpreterOfAShare(t *testing.T) {
	dir := venv(t, "--system-site-packages")
	e := newEngine(t, Options{Shares: []share.Share{{Name: "venv", Dir: dir, Mode: "ro"}},
		Interpreters: []Interpreter{{"python", dir + "/bin/python3", "venv"}},
		Policies:     []*policy.Policy{parsed(t, `{"languages": ["python"], "commands": ["ls"]}`)},
		Warm:         []Warm{{Language: "python", Count: 1, Imports: []string{"ours"}}}})
	ctx := context.Background()
	must.Do(t, e.CheckInterpreters(ctx))
	must.Do(t, e.Prestart(ctx))
	list := e.Languages()
	found := false
	for _, l := range list {
		found = found || l.Name == "python" && l.Path == dir+"/bin/python3" && l.Version != ""
	}
	if !found {
		t.Errorf("%+v", list)
	}
	code := "import ours, sys\nprint(ours.answer, sys.prefix)\ntry:\n    open(ours.__file__, 'w')\nexcept OSError as e:\n" +
		"    print(e.strerror)\n"
	warm := false
	for range 3 {
		a := e.Run(ctx, Caller{}, &Request{Language: "python", Code: code, Env: nil}, nil)
		if a.Status != "ok" || a.Stdout != "42 "+dir+"\nRead-only file system\n" {
			t.Fatalf("%+v %+v", a, a.Error)
		}
		warm = warm || a.Warm
	}
	if !warm {
		t.Error("no run has met an interpreter that waited")
	}
	a := e.Run(ctx, Caller{}, &Request{Cmd: []string{"ls", dir}}, nil)
	if a.Status != "failed" {
		t.Errorf("a command sees the share of a language: %+v", a)
	}
	a = e.Run(ctx, Caller{}, &Request{Cmd: []string{"ls"}, Mounts: []Mount{{Share: "venv", Target: "/data"}}}, nil)
	if a.Error == nil {
		t.Errorf("the policy names no share: %+v", a)
	}
	must.Do(t, os.Rename(dir, dir+".old"))
	a = e.Run(ctx, Caller{}, &Request{Language: "python", Code: "1"}, nil)
	if a.Error == nil || a.Error.Code != "share_replaced" {
		t.Errorf("%+v %+v", a, a.Error)
	}
}

// TestInterpretersThatDoNotWork: a language that would not run is an error before the first request.
func TestInterpretersThatDoNotWork(t *testing.T) {
	top, shares := world(t)
	for want, i := range map[string]Interpreter{
		"not a language":   {"klingon", "/usr/bin/python3", ""},
		"an absolute path": {"python", "python3", ""},
		"no share":         {"python", top + "/x", "venv"},
		"is not in":        {"python", "/usr/bin/python3", "data"},
	} {
		if e, err := New(Options{Shares: shares, Interpreters: []Interpreter{i}}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
			if err == nil {
				e.Close()
			}
		}
	}
	for want, i := range map[string]Interpreter{
		"does not work": {"python", top + "/data/a", "data"},
		"no such file":  {"python", top + "/data/none", "data"},
		"6*7":           {"python", "/bin/echo", ""},
	} {
		e := newEngine(t, Options{Shares: shares, Interpreters: []Interpreter{i}})
		if err := e.CheckInterpreters(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	e := newEngine(t, Options{Interpreters: []Interpreter{{"python3", "/usr/bin/python3", ""}}})
	if err := e.CheckInterpreters(context.Background()); err != nil {
		t.Error(err)
	}
}

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"brig/brigd/share"
	"brig/brigd/token"
	"brig/internal/test/must"
)

// world makes directories with a file each, and shares of them: "data" read-only, "scratch" writable.
func world(t *testing.T) (top string, shares []share.Share) {
	t.Helper()
	top = must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	for name, text := range map[string]string{"data/a": "one\n", "data/sub/b": "two\n", "scratch/c": "three\n",
		"secret/b": "secret\n"} {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(top, name), []byte(text), 0o644))
	}
	return top, []share.Share{{Name: "data", Dir: top + "/data", Mode: "ro"},
		{Name: "scratch", Dir: top + "/scratch", Mode: "rw"}}
}

func sh(script string, mounts ...Mount) *Request {
	return &Request{Cmd: []string{"/bin/sh", "-c", script}, Mounts: mounts}
}

// TestMounts: a run sees the shares that it names and no others, in the mode of the operator or of the request, and
// the answer lists them.
func TestMounts(t *testing.T) {
	top, shares := world(t)
	e := newEngine(t, Options{Shares: shares})
	for name, c := range map[string]struct {
		r      *Request
		stdout string
		status string
	}{
		"read-only": {sh("cat /data/a /data/sub/b; echo x 2>/dev/null >/data/a", Mount{Share: "data", Target: "/data"}),
			"one\ntwo\n", "failed"},
		"a directory of it": {sh("cat /mnt/x/b; ls /mnt/x", Mount{Share: "data", Target: "/mnt/x", Path: "sub"}), "two\nb\n",
			"ok"},
		"writable": {sh("cat c; echo four >d; cat d", Mount{Share: "scratch", Target: "/work"}), "three\nfour\n", "ok"},
		"narrowed": {sh("cat /data/c; echo x 2>/dev/null >/data/c", Mount{Share: "scratch", Target: "/data", Mode: "ro"}),
			"three\n", "failed"},
		"twice": {sh("cat /data/1/a /data/2/a", Mount{Share: "data", Target: "/data/1"},
			Mount{Share: "data", Target: "/data/2"}), "one\none\n", "ok"},
		"none": {sh("ls /data /mnt 2>/dev/null; ls " + top), "", "failed"},
	} {
		a := e.Run(context.Background(), Caller{}, c.r, nil)
		if a.Status != c.status || a.Stdout != c.stdout || len(a.Mounts) != len(c.r.Mounts) {
			t.Errorf("%s: %+v %+v", name, a, a.Error)
			continue
		}
		for i, m := range a.Mounts {
			if a.Enforced["share "+m.Share] == "" || m.Target != c.r.Mounts[i].Target || m.Mode == "" {
				t.Errorf("%s: %+v %v", name, m, a.Enforced)
			}
		}
	}
	if text, err := os.ReadFile(top + "/scratch/d"); string(text) != "four\n" {
		t.Errorf("%q %v", text, err)
	}
	if text, err := os.ReadFile(top + "/scratch/c"); string(text) != "three\n" {
		t.Errorf("%q %v", text, err)
	}
}

// TestMountsThatAreRefused: what may not be is said with what may, and nothing runs.
func TestMountsThatAreRefused(t *testing.T) {
	_, shares := world(t)
	e := newEngine(t, Options{Shares: shares})
	to := func(target string) []Mount { return []Mount{{Share: "data", Target: target}} }
	many := make([]Mount, 10000)
	for i := range many {
		many[i] = Mount{Share: "data", Target: fmt.Sprintf("/data/%d", i)}
	}
	cases := []struct {
		code   string
		mounts []Mount
	}{
		{"share_not_allowed", []Mount{{Share: "other", Target: "/data"}}},
		{"share_not_allowed", []Mount{{Target: "/data"}}},
		{"share_not_allowed", []Mount{{Share: "../data\x00", Target: "/data"}}},
		{"share_not_allowed", []Mount{{Share: "data", Target: "/data", Mode: "rw"}}},
		{"share_not_allowed", []Mount{{Share: "scratch", Target: "/data", Mode: "cow"}}},
		{"bad_mode", []Mount{{Share: "data", Target: "/data", Mode: "RO"}}},
		{"bad_path", []Mount{{Share: "data", Target: "/data", Path: "../secret"}}},
		{"bad_path", []Mount{{Share: "data", Target: "/data", Path: "/etc"}}},
		{"bad_path", []Mount{{Share: "data", Target: "/data", Path: "sub\xff"}}},
		{"bad_path", []Mount{{Share: "scratch", Target: "/data", Protect: []string{"a", "../b"}}}},
		{"bad_path", []Mount{{Share: "scratch", Target: "/data", Protect: []string{""}}}},
		{"bad_path", []Mount{{Share: "scratch", Target: "/data", Protect: []string{"/etc"}}}},
		{"bad_path", []Mount{{Share: "scratch", Target: "/data", Protect: []string{"a\x00"}}}},
		{"bad_path", []Mount{{Share: "scratch", Target: "/data", Protect: []string{"@git"}}}},
		{"bad_path", []Mount{{Share: "data", Target: "/data", Protect: strings.Split(strings.Repeat("x ", 32)+"x", " ")}}},
		{"too_many_mounts", many},
		{"bad_target", append(to("/data/x"), to("/data/x")...)},
		{"bad_target", append(to("/data"), to("/data/x")...)},
		{"bad_target", append(to("/data/x"), to("/data")...)},
	}
	for _, target := range []string{"", "/", "data", "/proc", "/proc/1", "/usr", "/usr/bin", "/etc", "/bin", "/lib64", "/dev/shm",
		"/sys", "/tmp", "/tmp/.brig", "/run/brig", "/home/brig", "/root", "/opt", "/databases", "/data/../etc", "/data/./x",
		"/data//x", "/data/", "//data", "/data/x\x00y", "/data/" + strings.Repeat("x", 5000)} {
		cases = append(cases, struct {
			code   string
			mounts []Mount
		}{"bad_target", to(target)})
	}
	for _, c := range cases {
		a := e.Run(context.Background(), Caller{}, &Request{Cmd: []string{"true"}, Mounts: c.mounts}, nil)
		if a.Error == nil || a.Error.Code != c.code || len(a.Error.NextSteps) == 0 || a.Usage != nil || len(a.Error.Message) > 600 {
			t.Errorf("%s %.100q: %+v %+v", c.code, fmt.Sprint(c.mounts), a, a.Error)
		}
	}
	a := e.Run(context.Background(), Caller{}, sh("", cases[9].mounts...), nil)
	if a.Error == nil || a.Error.Rule != "mounts[0].protect[1]" {
		t.Errorf("%+v", a.Error)
	}
	a = e.Run(context.Background(), Caller{}, sh("", Mount{Share: "x", Target: "/data"}), nil)
	if a.Error == nil || !strings.Contains(fmt.Sprint(a.Error.NextSteps), "data (ro), scratch (rw)") {
		t.Errorf("the refusal does not list what is allowed: %+v", a.Error)
	}
	r := sh("true", Mount{Share: "scratch", Target: "/input"})
	r.Files = map[string]File{"x": {Data: []byte("x")}}
	if a = e.Run(context.Background(), Caller{}, r, nil); a.Error == nil || a.Error.Code != "bad_target" {
		t.Errorf("files of a request are written into a share: %+v", a)
	}
	box := must.Get(e.CreateSandbox(context.Background(), Caller{}, &SandboxRequest{}))(t)
	for _, target := range []string{"/work", "/work/x", "/input", "/output/y"} {
		a := e.Run(context.Background(), Caller{}, &Request{Cmd: []string{"true"}, Sandbox: box.ID, Mounts: to(target)}, nil)
		if a.Error == nil || a.Error.Code != "bad_target" {
			t.Errorf("%s in a sandbox: %+v", target, a)
		}
	}
}

// TestNestedShares: a writable share in a read-only one stays read-only by the name of the outer one, and neither can be
// put into the other in a jail.
func TestNestedShares(t *testing.T) {
	top, shares := world(t)
	e := newEngine(t, Options{Shares: append(shares, share.Share{Name: "all", Dir: top, Mode: "ro"})})
	a := e.Run(context.Background(), Caller{}, sh("echo x >/mnt/new; cat /data/scratch/new; echo x >/data/scratch/other",
		Mount{Share: "all", Target: "/data"}, Mount{Share: "scratch", Target: "/mnt"}), nil)
	if a.Status != "failed" || !strings.Contains(a.Stderr, "/data/scratch/other: Read-only") {
		t.Errorf("%+v %+v", a, a.Error)
	}
	for _, targets := range [][2]string{{"/data", "/data/scratch"}, {"/data/x", "/data"}} {
		a := e.Run(context.Background(), Caller{}, sh("true", Mount{Share: "all", Target: targets[0]},
			Mount{Share: "scratch", Target: targets[1]}), nil)
		if a.Error == nil || a.Error.Code != "bad_target" {
			t.Errorf("%v: %+v", targets, a)
		}
	}
}

// TestProtectedPathsOfShares: what the operator protects in a share no run changes, by whatever directory it is mounted.
func TestProtectedPathsOfShares(t *testing.T) {
	top, shares := world(t)
	must.Do(t, errors.Join(os.MkdirAll(top+"/scratch/x/hooks", 0o755), os.MkdirAll(top+"/scratch/y/conf", 0o755),
		os.Symlink("y", top+"/scratch/cur")))
	shares[1].Protect = []string{"x/hooks", "c", "cur/conf", "cur/new/a"}
	e := newEngine(t, Options{Shares: shares})
	for name, c := range map[string]struct {
		script string
		mount  Mount
		ok     bool
	}{
		"the file":           {"echo y >/mnt/c", Mount{Target: "/mnt"}, false},
		"in the directory":   {"touch /mnt/x/hooks/a", Mount{Target: "/mnt"}, false},
		"its parent is gone": {"mv /mnt/x /mnt/y", Mount{Target: "/mnt"}, false},
		"beside":             {"touch /mnt/x/a", Mount{Target: "/mnt"}, true},
		"from below":         {"touch /mnt/hooks/a", Mount{Target: "/mnt", Path: "x"}, false},
		"beside, from below": {"touch /mnt/b", Mount{Target: "/mnt", Path: "x"}, true},
		"itself":             {"touch /mnt/a", Mount{Target: "/mnt", Path: "x/hooks"}, false},
		"the link":           {"ln -sfn x /mnt/cur", Mount{Target: "/mnt"}, false},
		"behind the link":    {"touch /mnt/y/conf/a || mkdir /mnt/y/new", Mount{Target: "/mnt"}, false},
		"where it leads":     {"touch /mnt/conf/a || mkdir /mnt/new", Mount{Target: "/mnt", Path: "y"}, false},
		"itself, there":      {"touch /mnt/a", Mount{Target: "/mnt", Path: "y/conf"}, false},
	} {
		c.mount.Share = "scratch"
		a := e.Run(context.Background(), Caller{}, sh(c.script, c.mount), nil)
		if a.Error != nil || (a.Status == "ok") != c.ok {
			t.Errorf("%s: %+v %+v", name, a, a.Error)
		}
	}
	if list, err := filepath.Glob(top + "/scratch/x/hooks/*"); err != nil || len(list) > 0 {
		t.Error(list, err)
	}
	if text, err := os.ReadFile(top + "/scratch/c"); string(text) != "three\n" {
		t.Errorf("%q %v", text, err)
	}
	if got := fmt.Sprint(e.Shares(Caller{})); got != "[{data ro []} {scratch rw [x/hooks c cur/conf cur/new/a]}]" {
		t.Error(got)
	}
}

// TestProtectedPathsOfRequests: a request protects more than the operator does, for itself and for the runs of its
// sandbox, and never less.
func TestProtectedPathsOfRequests(t *testing.T) {
	top, shares := world(t)
	shares[1].Protect = []string{"c"}
	e := newEngine(t, Options{Shares: shares})
	mount := Mount{Share: "scratch", Target: "/mnt", Protect: []string{"own/deep", "c"}}
	box := must.Get(e.CreateSandbox(context.Background(), Caller{}, &SandboxRequest{Mounts: []Mount{mount}}))(t)
	const attack = "mkdir /mnt/own; mkdir /mnt/own/deep; mv /mnt/own /mnt/x; echo y >/mnt/c; ls -A /mnt/own; touch /mnt/beside && rm /mnt/beside"
	for name, r := range map[string]*Request{"its own": sh(attack, mount), "its sandbox's": {Cmd: sh(attack).Cmd, Sandbox: box.ID}} {
		a := e.Run(context.Background(), Caller{}, r, nil)
		if a.Status != "ok" || !strings.Contains(a.Enforced["protect"], `"/mnt/c"`) || len(a.Mounts) != 1 ||
			!slices.Equal(a.Mounts[0].Protect, []string{"c", "own/deep", "c"}) {
			t.Errorf("%s: %+v %+v", name, a, a.Error)
		}
		if text, err := os.ReadFile(top + "/scratch/c"); string(text) != "three\n" || err != nil {
			t.Errorf("%s: %q %v", name, text, err)
		}
		if list, err := filepath.Glob(top + "/scratch/[^c]*"); err != nil || len(list) > 0 {
			t.Errorf("%s: %q %v", name, list, err)
		}
	}
	mount.Protect, mount.Mode = []string{"own"}, "ro"
	if a := e.Run(context.Background(), Caller{}, sh("! touch /mnt/own", mount), nil); a.Status != "ok" {
		t.Errorf("read-only: %+v %+v", a, a.Error)
	}
	mount.Protect, mount.Mode = nil, ""
	if a := e.Run(context.Background(), Caller{}, sh("touch /mnt/own; ! touch /mnt/c", mount), nil); a.Status != "ok" {
		t.Errorf("the next run, without: %+v %+v", a, a.Error)
	}
}

// TestRefusalsHideTheHost: what a run leaves in a writable share can have the next one refused, and that refusal does
// not say where the share is.
func TestRefusalsHideTheHost(t *testing.T) {
	top, shares := world(t)
	shares[1].Dir = top + `/we"i'rd` + "\xff" + strings.Repeat("x", 200)
	must.Do(t, os.Rename(top+"/scratch", shares[1].Dir))
	e := newEngine(t, Options{Shares: shares})
	mount := Mount{Share: "scratch", Target: "/mnt"}
	if a := e.Run(context.Background(), Caller{}, sh("ln -s .. /mnt/up; ln -s ../$(printf %0300d 1) /mnt/far; ln /mnt/c /mnt/same", mount), nil); a.Status != "ok" {
		t.Fatalf("%+v %+v", a, a.Error)
	}
	for _, p := range []string{"far", "up/x", "up/up/up", "c", "up/secret/b/c"} {
		mount.Protect = []string{p}
		a := e.Run(context.Background(), Caller{}, sh("true", mount), nil)
		if text := fmt.Sprintf("%q", []any{a.Error, a.Enforced}); strings.Contains(text, top) || strings.Contains(text, "i'rd") {
			t.Errorf("%s: %s", p, text)
		}
	}
	mount.Protect = nil
	if a := e.Run(context.Background(), Caller{}, sh("mkfifo /mnt/pipe", mount), nil); a.Status != "ok" {
		t.Fatalf("%+v %+v", a, a.Error)
	}
	a := e.Run(context.Background(), Caller{}, sh("true", mount), nil)
	if a.Error == nil || !strings.Contains(a.Error.Message, "FIFO") || strings.Contains(fmt.Sprint(a.Error.Message,
		a.Error.NextSteps), top) {
		t.Errorf("%+v %+v", a, a.Error)
	}
	mount.Mode = "ro"
	if a = e.Run(context.Background(), Caller{}, sh("cat /mnt/c", mount), nil); a.Status != "ok" {
		t.Errorf("read-only: %+v %+v", a, a.Error)
	}
}

// TestMountsOfASandbox: each run in a sandbox sees the sandbox's shares, and its own besides.
func TestMountsOfASandbox(t *testing.T) {
	top, shares := world(t)
	e := newEngine(t, Options{Shares: shares})
	ctx := context.Background()
	if _, err := e.CreateSandbox(ctx, Caller{}, &SandboxRequest{Mounts: []Mount{{Share: "no", Target: "/data"}}}); err == nil {
		t.Error("a sandbox with a share that there is not")
	}
	box, err := e.CreateSandbox(ctx, Caller{}, &SandboxRequest{Mounts: []Mount{{Share: "data", Target: "/data"}}})
	if err != nil || len(box.Mounts) != 1 {
		t.Fatal(box, err)
	}
	r := sh("cat /data/a /mnt/c; cp /data/a .", Mount{Share: "scratch", Target: "/mnt"})
	r.Sandbox = box.ID
	if a := e.Run(ctx, Caller{}, r, nil); a.Status != "ok" || a.Stdout != "one\nthree\n" || len(a.Mounts) != 2 {
		t.Errorf("%+v %+v", a, a.Error)
	}
	must.Do(t, os.Rename(top+"/data", top+"/gone"))
	r.Mounts = nil
	if a := e.Run(ctx, Caller{}, r, nil); a.Error == nil || a.Error.Code != "share_replaced" {
		t.Errorf("a share that has gone: %+v %+v", a, a.Error)
	}
}

// TestSharesOfTokens: a token, and one narrowed from it, sees the shares that its policy names and learns of no others.
func TestSharesOfTokens(t *testing.T) {
	_, shares := world(t)
	g := newGuardedWith(t, Options{Shares: shares})
	whole := g.mint(token.Block{Agent: "bot"})
	policy := func(list string) token.Block {
		return token.Block{Policy: json.RawMessage(`{"open": true, "shares": ` + list + `}`)}
	}
	narrow := g.narrow(whole, policy(`["scratch:ro"]`))
	for name, c := range map[string]struct {
		by       *token.Token
		want     string // what it may mount
		ro, none bool   // it can mount scratch, but not write to it; or not at all
	}{
		"the whole token": {whole, "[{data ro []} {scratch rw []}]", false, false},
		"read-only":       {narrow, "[{scratch ro []}]", true, false},
		"narrowed twice":  {g.narrow(narrow, policy(`["*"]`)), "[{scratch ro []}]", true, false},
		"another":         {g.narrow(narrow, policy(`["data"]`)), "[]", true, true},
		"none":            {g.narrow(whole, policy(`[]`)), "[]", true, true},
	} {
		by := g.caller(c.by)
		if got := fmt.Sprint(g.Shares(by)); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
		a := g.Run(context.Background(), by, sh("touch /data/x", Mount{Share: "scratch", Target: "/data"}), nil)
		if c.none != (a.Error != nil) || !c.none && c.ro != (a.Status == "failed") {
			t.Errorf("%s: %+v %+v", name, a, a.Error)
		}
		a = g.Run(context.Background(), by, sh("", Mount{Share: "scratch", Target: "/data", Mode: "rw"}), nil)
		if c.ro != (a.Error != nil) {
			t.Errorf("%s asks for rw: %+v %+v", name, a, a.Error)
		}
		a = g.Run(context.Background(), by, sh("", Mount{Share: "nothing", Target: "/data"}), nil)
		if a.Error == nil || strings.Contains(fmt.Sprint(a.Error.NextSteps), "data (") != strings.Contains(c.want, "{data") {
			t.Errorf("%s learns of other shares: %+v", name, a.Error)
		}
	}
	found := false
	for _, v := range lines(t, g.log)["run.start"] {
		list, _ := v["shares"].([]any)
		found = found || len(list) == 1 && list[0].(map[string]any)["share"] == "scratch"
	}
	if !found {
		t.Error("the audit log does not say which shares a run was shown")
	}
}

// TestShareIsSwapped: somebody exchanges a share's directory with a link to another one, and a directory of it with a
// link out of it, again and again while runs are made. No run sees the other directory.
func TestShareIsSwapped(t *testing.T) {
	top, shares := world(t)
	e := newEngine(t, Options{Shares: shares})
	for link, to := range map[string]string{"link": "secret", "data/out": "../secret"} {
		must.Do(t, os.Symlink(to, filepath.Join(top, link)))
	}
	done, swaps := make(chan struct{}), sync.WaitGroup{}
	swaps.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			a, b := top+"/data", top+"/link"
			if i%2 == 0 {
				a, b = top+"/data/sub", top+"/data/out"
			}
			for range 2 { // renameat2(2); the second puts it back, unless the first has failed
				_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
			}
		}
	})
	seen := map[string]int{}
	for i := 0; i < 60 || i < 3000 && len(seen) < 2; i++ { // a busy machine may keep the other goroutine waiting
		a := e.Run(context.Background(), Caller{}, sh("cat /data/b", Mount{Share: "data", Target: "/data", Path: "sub"}), nil)
		switch {
		case strings.Contains(a.Stdout, "secret"):
			t.Fatalf("a run has seen another directory: %+v", a)
		case a.Error != nil:
			seen[a.Error.Code]++
		default:
			seen[a.Stdout]++
		}
	}
	close(done)
	swaps.Wait()
	if len(seen) < 2 || seen["two\n"] == 0 && !slices.Contains([]bool{seen["share_replaced"] > 0, seen["bad_path"] > 0}, true) {
		t.Errorf("the race was not met: %v", seen)
	}
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/brigd/share"
	"brig/brigd/token"
	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// withCOW adds a share "repo" in mode cow, with the files a and b.
func withCOW(t *testing.T, o *Options) (dir string) {
	t.Helper()
	top, shares := world(t)
	dir = top + "/repo"
	must.Do(t, errors.Join(os.MkdirAll(dir+"/sub", 0o755), os.WriteFile(dir+"/a", []byte("one\ntwo\n"), 0o644),
		os.WriteFile(dir+"/sub/b", []byte("three\n"), 0o644)))
	o.Shares = append(shares, share.Share{Name: "repo", Dir: dir, Mode: "cow"})
	o.ChangesDir = top + "/changes"
	return dir
}

// changing runs a script in a copy of the repo, and returns the run's change set. It skips the test on a kernel that
// has no cow mounts.
func changing(t *testing.T, e *Engine, c Caller, script string) *ChangeSet {
	t.Helper()
	a := e.Run(context.Background(), c, sh(script, Mount{Share: "repo", Target: "/code"}), nil)
	if a.Error != nil && a.Error.Code == "host_lacks" {
		t.Skip(a.Error.Message)
	}
	if a.Status != "ok" || len(a.Changes) != 1 {
		t.Fatalf("%+v %+v", a, a.Error)
	}
	return &a.Changes[0]
}

// hasCode checks the code of a refusal.
func hasCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	var no *job.Refusal
	if !errors.As(err, &no) || no.Code != code || len(no.NextSteps) == 0 {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// TestChanges: a run in a copy changes nothing of the share; its changes are listed, shown, and applied where that is
// allowed, or removed.
func TestChanges(t *testing.T) {
	o := Options{AllowApply: true}
	dir := withCOW(t, &o)
	e := newEngine(t, o)
	c := Caller{}
	set := changing(t, e, c, "cd /code; echo 2 >a; rm sub/b; echo new >c; ln -s a d; mkdir -p e/f; echo x >e/f/g")
	if set.Share != "repo" || set.Target != "/code" || set.Files != 5 || set.Added < 1 || set.Bytes == 0 || set.Error != "" {
		t.Errorf("%+v", set)
	}
	if b, err := os.ReadFile(dir + "/a"); string(b) != "one\ntwo\n" {
		t.Errorf("%q %v", b, err)
	}
	list, err := e.Changes(c)
	if err != nil || len(list) != 1 || list[0].ID != set.ID || list[0].Share != "repo" {
		t.Fatal(list, err)
	}
	text, err := e.DiffChanges(context.Background(), c, set.ID, nil)
	if err != nil || !strings.Contains(string(text), "-one\n-two\n+2\n") || strings.Contains(string(text), dir) {
		t.Errorf("%s %v", text, err)
	}
	text, err = e.DiffChanges(context.Background(), c, set.ID, []string{"c"})
	if err != nil || !strings.Contains(string(text), "+new") || strings.Contains(string(text), "-one") {
		t.Errorf("%s %v", text, err)
	}
	done, err := e.ApplyChanges(t.Context(), c, set.ID, &ApplyRequest{DryRun: true})
	if err != nil || done.Files == 0 || done.Removed {
		t.Errorf("%+v %v", done, err)
	}
	if done, err = e.ApplyChanges(t.Context(), c, set.ID, &ApplyRequest{Paths: []string{"c"}}); err != nil || done.Files != 1 {
		t.Errorf("%+v %v", done, err)
	}
	must.Do(t, os.WriteFile(dir+"/a", []byte("somebody else's\n"), 0o644))
	_, err = e.ApplyChanges(t.Context(), c, set.ID, &ApplyRequest{})
	hasCode(t, "a file that has changed since", err, "changes_conflict")
	if err == nil || strings.Contains(err.Error(), dir) {
		t.Errorf("a path of the host: %v", err)
	}
	must.Do(t, os.WriteFile(dir+"/a", []byte("one\ntwo\n"), 0o644))
	second := changing(t, e, c, "echo more >/code/sub/b")
	if err := e.DiscardChanges(c, second.ID); err != nil {
		t.Error(err)
	}
	_, err = e.DiffChanges(context.Background(), c, second.ID, nil)
	hasCode(t, "a set that is gone", err, "changes_unknown")
	for _, id := range []string{"", "x", "../..", strings.Repeat("0", 64), strings.Repeat("f", 5000)} {
		_, err = e.DiffChanges(context.Background(), c, id, nil)
		hasCode(t, fmt.Sprintf("%.10q", id), err, "changes_unknown")
	}
	a := e.Run(context.Background(), c, sh("cat /code/a", Mount{Share: "repo", Target: "/code"}), nil)
	if a.Status != "ok" || len(a.Changes) != 0 {
		t.Errorf("a run that has changed nothing: %+v", a)
	}
	a = e.Run(context.Background(), c, sh("echo x >/code/a", Mount{Share: "repo", Target: "/code", Mode: "ro"}), nil)
	if a.Status != "failed" || len(a.Changes) != 0 {
		t.Errorf("read-only: %+v", a)
	}
	a = e.Run(context.Background(), c, sh("", Mount{Share: "repo", Target: "/code", Mode: "rw"}), nil)
	if a.Error == nil || a.Error.Code != "share_not_allowed" {
		t.Errorf("a share in mode cow, writable: %+v", a)
	}
	a = e.Run(context.Background(), c, sh("echo y >/code/b2", Mount{Share: "repo", Target: "/code", Path: "sub"}), nil)
	if a.Status != "ok" || len(a.Changes) != 1 || a.Changes[0].Path != "sub" {
		t.Errorf("a directory of the share: %+v", a.Changes)
	}
}

// TestChangesAreBounded: a run that fills its copy meets the share's bounds, and is told so.
func TestChangesAreBounded(t *testing.T) {
	var o Options
	withCOW(t, &o)
	o.Shares[len(o.Shares)-1].Size, o.Shares[len(o.Shares)-1].Inodes = 1<<20, 100
	e := newEngine(t, o)
	changing(t, e, Caller{}, "true >/code/x")
	for _, script := range []string{"head -c 5000000 /dev/zero >/code/big", "cd /code; for i in $(seq 200); do : >$i; done"} {
		a := e.Run(context.Background(), Caller{}, sh(script+" || exit 1", Mount{Share: "repo", Target: "/code"}), nil)
		if a.Status == "ok" || !strings.Contains(a.Stderr, "No space left") {
			t.Errorf("%s: %+v", script, a)
		}
	}
}

// TestDiffsAreBounded: a diff above the bound is refused, however long its lines are.
func TestDiffsAreBounded(t *testing.T) {
	var o Options
	withCOW(t, &o)
	e := newEngine(t, o)
	long := "cd /code; head -c 1000000 /dev/zero | tr '\\0' a >b0; echo >>b0; for i in $(seq 20); do cp b0 b$i; done"
	set := changing(t, e, Caller{}, long)
	_, err := e.DiffChanges(context.Background(), Caller{}, set.ID, nil)
	hasCode(t, "a diff of 20 MB", err, "too_large")
	text, err := e.DiffChanges(context.Background(), Caller{}, set.ID, []string{"b7"})
	if err != nil || len(text) < 1_000_000 || len(text) > 1_001_000 {
		t.Errorf("of one file: %d bytes, %v", len(text), err)
	}
}

// TestReadersTakeTurns: while one diff or apply of a caller is made and another waits, a third is refused; a caller who
// goes waits no longer, and nothing is applied.
func TestReadersTakeTurns(t *testing.T) {
	var o Options
	withCOW(t, &o)
	o.AllowApply = true
	e := newEngine(t, o)
	set := changing(t, e, Caller{}, "echo changed >/code/a")
	diff := func(ctx context.Context) error {
		text, err := e.DiffChanges(ctx, Caller{}, set.ID, nil)
		if err == nil && len(text) == 0 {
			err = errors.New("the diff is empty")
		}
		return err
	}
	apply := func(ctx context.Context) error {
		_, err := e.ApplyChanges(ctx, Caller{}, set.ID, &ApplyRequest{DryRun: true})
		return err
	}
	for _, pair := range [][2]func(context.Context) error{{diff, diff}, {apply, apply}, {diff, apply}} {
		leave := must.Get(e.diffs.Enter(t.Context(), Caller{}.Key()))(t)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error)
		for _, read := range pair { // one of them waits
			go func() { ended <- read(ctx) }()
		}
		hasCode(t, "a third reader", <-ended, "queue_full")
		end()
		if err := <-ended; err != context.Canceled {
			t.Errorf("of a caller who has gone: %v", err)
		}
		leave()
		if err := pair[1](t.Context()); err != nil {
			t.Errorf("when the others are over: %v", err)
		}
	}
}

// TestChangesOfTenants: a caller neither sees nor applies change sets of another agent, or of a token that is not below
// the caller's own. Apply needs the operator's and the policies' permission.
func TestChangesOfTenants(t *testing.T) {
	o := Options{AllowApply: true}
	withCOW(t, &o)
	g := newGuardedWith(t, o)
	root := g.mint(token.Block{Agent: "bot"})
	only := func(list string) token.Block {
		return token.Block{Policy: []byte(`{"open": true, "shares": ` + list + `}`)}
	}
	child, sibling := g.narrow(root, only(`["repo:cow"]`)), g.narrow(root, only(`["repo"]`))
	other := g.mint(token.Block{Agent: "other"})
	set := changing(t, g.Engine, g.caller(child), "echo changed >/code/a")
	for name, c := range map[string]struct {
		by   Caller
		sees bool
	}{"its own": {g.caller(child), true}, "the parent": {g.caller(root), true}, "a sibling": {g.caller(sibling), false},
		"another agent": {g.caller(other), false}, "the operator": {Caller{}, true},
		"the operator as another": {Caller{Agent: "other"}, false}} {
		list, err := g.Changes(c.by)
		if err != nil || (len(list) == 1) != c.sees {
			t.Errorf("%s: %v %v", name, list, err)
		}
		if _, err = g.DiffChanges(context.Background(), c.by, set.ID, nil); (err == nil) != c.sees {
			t.Errorf("%s: %v", name, err)
		}
		if _, err = g.ApplyChanges(t.Context(), c.by, set.ID, &ApplyRequest{DryRun: true}); !c.sees {
			hasCode(t, name, err, "changes_unknown")
		}
		if !c.sees {
			hasCode(t, name, g.DiscardChanges(c.by, set.ID), "changes_unknown")
		}
	}
	_, err := g.ApplyChanges(t.Context(), g.caller(child), set.ID, &ApplyRequest{})
	hasCode(t, "a policy that allows cow", err, "apply_not_allowed")
	if _, err = g.ApplyChanges(t.Context(), g.caller(root), set.ID, &ApplyRequest{}); err != nil {
		t.Error(err)
	}
	kinds := lines(t, g.log)
	if len(kinds["changes.keep"]) != 1 || len(kinds["changes.apply"]) != 1 ||
		kinds["changes.keep"][0]["digest_sha256"] != set.ID {
		t.Errorf("%v", kinds["changes.keep"])
	}
	if left, err := filepath.Glob(o.ChangesDir + "/*"); err != nil || len(left) != 0 {
		t.Errorf("the store keeps %v of an owner who has nothing: %v", left, err)
	}
}

// TestApplyIsTheOperators: without AllowApply sets are shown, and neither applied nor removed; they outlive brigd.
func TestApplyIsTheOperators(t *testing.T) {
	var o Options
	withCOW(t, &o)
	e := newEngine(t, o)
	set := changing(t, e, Caller{}, "echo changed >/code/a")
	_, err := e.ApplyChanges(t.Context(), Caller{}, set.ID, &ApplyRequest{})
	hasCode(t, "apply", err, "apply_not_allowed")
	hasCode(t, "discard", e.DiscardChanges(Caller{}, set.ID), "apply_not_allowed")
	again := newEngine(t, o)
	list, err := again.Changes(Caller{})
	if err != nil || len(list) != 1 || list[0].ID != set.ID {
		t.Errorf("after a restart: %v %v", list, err)
	}
	file, err := filepath.Glob(o.ChangesDir + "/*.json")
	if err != nil || len(file) != 1 {
		t.Fatal(file, err)
	}
	must.Do(t, os.WriteFile(file[0], []byte(`{"agent":"somebody else"}`), 0o600))
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "not what brigd has written") {
		t.Errorf("a change of owner on disk: %v", err)
	}
}

// TestChangesOnDisk: with store=disk the changes of a run are the same, and nothing of them is left but the set.
func TestChangesOnDisk(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root's changes on disk are in /var/lib/brig, which is not the test's; it runs again as an ordinary user")
	}
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	var o Options
	dir := withCOW(t, &o)
	o.Shares[len(o.Shares)-1].Store = spec.StoreDisk
	o.Policies = []*policy.Policy{parsed(t, `{"commands": ["*"], "shares": ["repo"]}`)}
	e := newEngine(t, o)
	if err := e.Lacks(); err != nil {
		t.Skip(err)
	}
	set := changing(t, e, Caller{}, "cd /code; echo 2 >a; rm sub/b")
	text, err := e.DiffChanges(context.Background(), Caller{}, set.ID, nil)
	if err != nil || set.Files != 2 || !strings.Contains(string(text), "-one\n-two\n+2\n") {
		t.Errorf("%+v %s %v", set, text, err)
	}
	if b, err := os.ReadFile(dir + "/a"); string(b) != "one\ntwo\n" {
		t.Errorf("%q %v", b, err)
	}
	if left, err := filepath.Glob(state + "/brig/cow/*"); err != nil || len(left) > 0 {
		t.Errorf("on disk there is still %v, %v", left, err)
	}
}

// A set is kept, and said to be, also if what is older cannot be removed: the operator is told.
func TestChangesBesideDamagedOnes(t *testing.T) {
	var told []string
	o := Options{StoreFailed: func(id, what string, err error) { told = append(told, id+" "+what) }}
	withCOW(t, &o)
	g := newGuardedWith(t, o)
	bot := g.mint(token.Block{Agent: "bot"})
	changing(t, g.Engine, g.caller(bot), "echo 1 >/code/a")
	owners, err := filepath.Glob(o.ChangesDir + "/*.json")
	if len(owners) != 1 || err != nil {
		t.Fatal(owners, err)
	}
	bad := strings.TrimSuffix(owners[0], ".json") + "/" + strings.Repeat("0", 64)
	must.Do(t, errors.Join(os.Mkdir(bad, 0o700), os.WriteFile(bad+"/set.json", []byte("{"), 0o600)))
	narrow := g.caller(g.narrow(bot, token.Block{Note: "of the same account"}))
	if set := changing(t, g.Engine, narrow, "echo 2 >/code/a"); set.ID == "" || set.Error != "" || len(told) != 1 ||
		!strings.HasPrefix(told[0], set.ID+" is kept") {
		t.Errorf("%+v, %q", set, told)
	}
	if list, err := g.Changes(g.caller(bot)); len(list) != 2 || err != nil || len(told) != 2 {
		t.Errorf("%+v, %v, %q", list, err, told)
	}
}

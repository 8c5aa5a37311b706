package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/brigd/audit"
	"brig/brigd/policy"
	"brig/brigd/token"
	"brig/internal/test/must"
)

// tools calls each tool of files, and has the operations that it needs.
var tools = map[string]struct {
	call func(e *Engine, c Caller, id string) error
	ops  []string
}{
	"stat": {func(e *Engine, c Caller, id string) error { _, err := e.StatFile(c, id, "there"); return err },
		[]string{"list"}},
	"mkdir": {func(e *Engine, c Caller, id string) error { _, err := e.MakeDir(c, id, "d/e", 0); return err },
		[]string{"put"}},
	"chmod": {func(e *Engine, c Caller, id string) error { _, err := e.ChmodFile(c, id, "there", 0o600); return err },
		[]string{"put"}},
	"move": {func(e *Engine, c Caller, id string) error {
		_, err := e.MoveFile(c, id, "there", "d/../there", false)
		if codeOf(err) == "bad_path" {
			_, err = e.MoveFile(c, id, "there", "./there", true)
		}
		return err
	}, []string{"put", "delete"}},
	"glob": {func(e *Engine, c Caller, id string) error {
		list, _, err := e.GlobFiles(context.Background(), c, id, "*", "", 0)
		if err == nil && len(list) != 1 && len(list) != 2 {
			err = fmt.Errorf("glob: %v", list)
		}
		return err
	}, []string{"list"}},
	"watch": {func(e *Engine, c Caller, id string) error {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		begun := false
		err := e.WatchFiles(ctx, c, id, "", true, func(list []Notice) error {
			begun = len(list) == 1 && list[0].Type == "watching" && list[0].Path == "/work"
			stop()
			return nil
		})
		if begun {
			return nil
		}
		return err
	}, []string{"list"}},
	"grep": {func(e *Engine, c Caller, id string) error {
		found, err := e.GrepFiles(context.Background(), c, id, &Grep{Pattern: "x"})
		if err == nil && len(found.Lines) != 1 {
			err = fmt.Errorf("grep: %+v", found)
		}
		return err
	}, []string{"get", "list"}},
	"edit": {func(e *Engine, c Caller, id string) error {
		_, _, err := e.EditFile(c, id, "there", &Edit{Old: "x", New: "xx", All: true})
		return err
	}, []string{"put", "get"}},
}

// A tool needs the operations that it stands for, and no other one.
func TestOperationsOfTools(t *testing.T) {
	me := Caller{Agent: "me"}
	e := newEngine(t, Options{})
	box := must.Get(e.CreateSandbox(context.Background(), me, &SandboxRequest{}))(t)
	must.Get(e.PutFile(me, box.ID, "there", strings.NewReader("x"), 0))(t)
	all := []string{"create", "put", "get", "list", "delete"}
	for name, tool := range tools {
		for _, without := range append(all, "none") {
			list := slices.DeleteFunc(slices.Clone(all), func(op string) bool { return op == without })
			text := must.Get(json.Marshal(map[string]any{"open": true, "sandbox": map[string]any{"operations": list}}))(t)
			e.access.policies = policies{parsed(t, string(text))}
			want := ""
			if slices.Contains(tool.ops, without) {
				want = "operation_not_allowed"
			}
			if got := codeOf(tool.call(e, me, box.ID)); got != want {
				t.Errorf("without %s, %s: %q", without, name, got)
			}
		}
	}
}

// Another agent's sandbox is an unknown one, for each tool.
func TestToolsOfAnotherAgent(t *testing.T) {
	e := newEngine(t, Options{})
	box := must.Get(e.CreateSandbox(context.Background(), Caller{Agent: "me"}, &SandboxRequest{}))(t)
	for name, tool := range tools {
		if got := codeOf(tool.call(e, Caller{Agent: "you"}, box.ID)); got != "not_found" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A policy's bound of a file holds for one that is edited.
func TestEditedFileIsBounded(t *testing.T) {
	e := newEngine(t, Options{Policies: []*policy.Policy{parsed(t, `{"open": true, "inputs": {"file_bytes": 10}}`)}})
	box := must.Get(e.CreateSandbox(context.Background(), Caller{}, &SandboxRequest{}))(t)
	must.Get(e.PutFile(Caller{}, box.ID, "f", strings.NewReader("0123456789"), 0))(t)
	if _, _, err := e.EditFile(Caller{}, box.ID, "f", &Edit{Old: "9", New: "9a"}); codeOf(err) != "too_large" {
		t.Error(err)
	}
	if i, n, err := e.EditFile(Caller{}, box.ID, "f", &Edit{Old: "9", New: "a"}); err != nil || n != 1 || i.Size != 10 {
		t.Error(i, n, err)
	}
}

// Each change is in the log before it happens, with both paths of a move; what the log cannot take does not happen.
func TestToolsAreWrittenDown(t *testing.T) {
	g := newGuarded(t)
	c := g.caller(g.mint(token.Block{Agent: "bot"}))
	box := must.Get(g.CreateSandbox(context.Background(), c, &SandboxRequest{}))(t)
	must.Get(g.PutFile(c, box.ID, "f", strings.NewReader("one"), 0o755))(t)
	must.Get(g.MakeDir(c, box.ID, "d", 0))(t)
	must.Get(g.MoveFile(c, box.ID, "f", "/output/g", false))(t)
	must.Get(g.ChmodFile(c, box.ID, "/output/g", 0o640))(t)
	if i, _, err := g.EditFile(c, box.ID, "/output/g", &Edit{Old: "one", New: "two"}); err != nil || i.Mode != "0640" {
		t.Error(i, err)
	}
	_, outside := g.MoveFile(c, box.ID, "/output/g", "/etc/g", false)
	_, none := g.MakeDir(c, box.ID, "../x", 0)
	if codeOf(outside) != "outside_sandbox" || codeOf(none) != "bad_path" {
		t.Error(outside, none)
	}
	found := lines(t, g.log)
	var got []string
	for _, kind := range []string{audit.DirMake, audit.FileMove, audit.FileChmod, audit.FilePut} {
		for _, v := range found[kind] {
			if v["agent"] != "bot" || v["token"] != c.Grant.id() || v["sandbox"] != box.ID {
				t.Errorf("%v", v)
			}
			got = append(got, fmt.Sprint(kind, " ", v["path"], " ", v["to"], " ", v["note"], " ", v["bytes"]))
		}
	}
	if want := []string{"dir.make /work/d <nil> <nil> <nil>", "file.move /work/f /output/g <nil> <nil>",
		"file.chmod /output/g <nil> mode 0640 <nil>", "file.put /work/f <nil> <nil> 3",
		"file.put /output/g <nil> <nil> 3"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A log that cannot be written refuses each change, and leaves all as it was.
func TestUnrecordedToolsDoNothing(t *testing.T) {
	log := must.Get(audit.Open(audit.Options{Path: filepath.Join(t.TempDir(), "audit.jsonl")}))(t)
	e := newEngine(t, Options{Audit: log})
	box := must.Get(e.CreateSandbox(context.Background(), Caller{}, &SandboxRequest{}))(t)
	before := must.Get(e.PutFile(Caller{}, box.ID, "there", strings.NewReader("x"), 0))(t)
	must.Do(t, log.Close())
	for name, tool := range tools {
		want := "audit_unavailable"
		if slices.Contains(tool.ops, "list") {
			want = ""
		}
		if got := codeOf(tool.call(e, Caller{}, box.ID)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	list, _, err := e.ListFiles(Caller{}, box.ID, "/", true, "")
	after := must.Get(e.StatFile(Caller{}, box.ID, "there"))(t)
	if err != nil || len(list) != 4 || after.Mode != before.Mode || after.Size != 1 || !after.ModTime.Equal(before.ModTime) {
		t.Errorf("%+v, %v; %+v, was %+v", list, err, after, before)
	}
}

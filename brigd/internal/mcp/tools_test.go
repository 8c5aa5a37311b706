package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
	"brig/brigd/job"
	"brig/denial"
	"brig/internal/test/must"
	"brig/nsjail"
)

func TestListsTools(t *testing.T) {
	client, _ := connect(t, service1(t, Options{Engine: newFake(), Changes: true, Apply: true}, declared(), ordinary), nil)
	list := must.Get(client.ListTools(t.Context(), nil))(t)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if runs := tool.Name == "run_code" || tool.Name == "run_command"; runs != strings.Contains(tool.Description, "data (ro)") {
			t.Errorf("%s does not say which shares there are, or says it in vain: %s", tool.Name, tool.Description)
		}
		in, _ := tool.InputSchema.(map[string]any)
		if len(tool.Description) < 15 || in["type"] != "object" || in["additionalProperties"] == nil ||
			tool.OutputSchema == nil || tool.Annotations == nil {
			t.Errorf("%+v", tool)
		}
		properties, _ := in["properties"].(map[string]any)
		if text, err := json.Marshal(properties["mounts"]); err != nil || properties["mounts"] != nil && !strings.Contains(string(text), `"protect":{`) {
			t.Errorf("%s: mounts are %s, %v", tool.Name, text, err)
		}
		for name, p := range properties {
			if p.(map[string]any)["description"] == nil && tool.Name != "run_code" && tool.Name != "analyze_code" && tool.Name != "column_mean" &&
				tool.Name != "search" && tool.Name != "count_lines" {
				t.Errorf("%s: %s has no description", tool.Name, name)
			}
		}
		if readOnly := slices.Contains([]string{"read_file", "list_files", "list_languages", "search", "count_lines",
			"list_changes", "diff_changes", "list_snapshots", "process_output", "list_processes"}, tool.Name); tool.Annotations.ReadOnlyHint != readOnly {
			t.Errorf("%s: readOnlyHint is %v", tool.Name, tool.Annotations.ReadOnlyHint)
		}
	}
	want := []string{"analyze_code", "apply_changes", "column_mean", "count_lines", "delete_file", "delete_snapshot",
		"diff_changes", "list_changes", "list_files", "list_languages", "list_processes", "list_snapshots",
		"process_output", "read_file", "restore_snapshot", "run_code", "run_command", "search", "send_input",
		"start_process", "stop_process", "take_snapshot", "write_file"}
	if !slices.Equal(names, want) {
		t.Error(names)
	}
	if init := client.InitializeResult(); init.ServerInfo.Name != "sandboxed-agent" || init.Instructions == "" {
		t.Errorf("%+v", init)
	}
}

// TestToolListIsShort: each model reads the list at its start.
func TestToolListIsShort(t *testing.T) {
	s := service1(t, Options{Engine: newFake(), Changes: true, Apply: true, Links: site(t)}, "", ordinary)
	s.OutputSchemas = false
	client, _ := connect(t, s, nil)
	list := must.Get(client.ListTools(t.Context(), nil))(t)
	text := must.Get(json.Marshal(list))(t)
	if t.Logf("%d bytes, %d tools", len(text), len(list.Tools)); len(text) >= 15_000 || len(list.Tools) < 14 {
		t.Errorf("%d tools have %d bytes", len(list.Tools), len(text))
	}
}

func TestCallsEveryTool(t *testing.T) {
	f := newFake()
	client, x := connect(t, service1(t, Options{Engine: f, Changes: true, Apply: true}, declared(), ordinary), nil)
	for _, c := range []struct {
		name, args, want string
	}{
		{"run_code", `{"language":"python","code":"print(1)","args":["-x"],"timeout":"1m","memory":"64m","files":{"a":"b","c":{"base64":"AAE="}},"network":["a.example:1"],"secrets":{"K":"v"}}`, "stdout:\nprint(1)|"},
		{"run_command", `{"cmd":["echo","$(id)"],"stdin":"in","timeout":3,"memory":1048576,"cpus":0.5,"cwd":"/tmp","env":null}`, "echo|$(id)||in"},
		{"write_file", `{"path":"/work/a b","content":"hé\n"}`, "4 bytes written"},
		{"write_file", `{"path":"/work/bin","content":"/wA=","encoding":"base64"}`, "2 bytes written"},
		{"read_file", `{"path":"/work/a b"}`, "hé"},
		{"read_file", `{"path":"/work/a b","limit":2}`, "read on with offset 1"},
		{"read_file", `{"path":"/work/bin"}`, "/wA="},
		{"list_files", `{}`, `"/work/a b"`},
		{"delete_file", `{"path":"/work/bin"}`, "is deleted"},
		{"list_languages", `{}`, "python (3.11)"},
		{"list_changes", `{}`, "0123456789abcdef: 1 files of the share repo"},
		{"diff_changes", `{"id":"0123456789abcdef","paths":["x"]}`, "+++ b/x [x]"},
		{"apply_changes", `{"id":"0123456789abcdef"}`, "1 files of the share"},
		{"analyze_code", `{"code":"print('{{code}}')"}`, "python3|-c|print('{{code}}')"},
		{"search", `{"text":"-x"}`, "--regexp=-x|--|/work"},
		{"count_lines", `{"files":["-a","b"]}`, "wc|-l|--|-a|b"},
		{"column_mean", `{"table":"a,b\n1,2\n","column":"b"}`, "statistics"},
	} {
		a := call1(t, client, c.name, json.RawMessage(c.args))
		if a.isError || !strings.Contains(a.text, c.want) {
			t.Errorf("%s %s: %v %q", c.name, c.args, a.isError, a.text)
		}
	}
	if f.Made != 1 || x.sandbox != "box_1" || f.Last.Sandbox != "box_1" {
		t.Errorf("%d sandboxes for one session", f.Made)
	}
	if f.Last.Env["DIGITS"] != "3" || f.Last.Stdin != "a,b\n1,2\n" || f.Last.MaxOutput != defaultOutput {
		t.Errorf("%+v", f.Last)
	}
}

// A session goes back to a snapshot, and another session begins with it.
func TestSnapshotTools(t *testing.T) {
	f := newFake()
	s := service1(t, Options{Engine: f}, "", ordinary)
	client, x := connect(t, s, nil)
	for _, c := range []struct {
		name, args, want string
	}{
		{"write_file", `{"path":"/work/a","content":"first"}`, "written"},
		{"take_snapshot", `{}`, "sn_1: 1 files"},
		{"write_file", `{"path":"/work/a","content":"second"}`, "written"},
		{"restore_snapshot", `{"snapshot":"sn_1"}`, "has the files of sn_1"},
		{"read_file", `{"path":"/work/a"}`, "first"},
		{"list_snapshots", `{}`, "sn_1"},
	} {
		if a := call1(t, client, c.name, json.RawMessage(c.args)); a.isError || !strings.Contains(a.text, c.want) {
			t.Errorf("%s %s: %v %q", c.name, c.args, a.isError, a.text)
		}
	}
	if id := <-f.Deleted; id != "box_1" || x.sandbox != "box_2" {
		t.Errorf("%s is deleted, and %s used", id, x.sandbox)
	}
	if a := call1(t, client, "restore_snapshot", json.RawMessage(`{"snapshot":"sn_7"}`)); !a.isError || x.sandbox != "box_2" {
		t.Errorf("%+v, %s", a, x.sandbox)
	}
	if a := call1(t, client, "delete_snapshot", json.RawMessage(`{"snapshot":"sn_1"}`)); a.isError || len(f.Snaps) > 0 {
		t.Errorf("%+v", a)
	}
}

// TestRefusals: each is a result with a remedy, and no error of the protocol.
func TestRefusals(t *testing.T) {
	f := newFake()
	client, _ := connect(t, service1(t, Options{Engine: f, Changes: true}, declared(), ordinary), nil)
	for _, c := range []struct {
		name, args, want string
	}{
		{"run_code", `{"language":"python"}`, "code"},
		{"run_code", `{"language":"python","code":"x","langauge":"y"}`, "langauge"},
		{"run_code", `{"language":1,"code":"x"}`, "language"},
		{"run_code", `{"language":"python","code":"x","timeout":"soon"}`, "timeout"},
		{"run_code", `{"language":"python","code":"x","memory":-1}`, "memory"},
		{"run_code", `{"language":"python","code":"x","sandbox":"box_7"}`, "sandbox"},
		{"run_command", `{"cmd":"ls"}`, "cmd"},
		{"run_command", `{"cmd":[1]}`, "cmd[0]"},
		{"run_command", `{"cmd":["ls"],"cmd":["id"]}`, "twice"},
		{"diff_changes", `{"id":"none"}`, "no such set"},
		{"run_command", `{}`, "cmd"},
		{"read_file", `{"path":"/work/none"}`, "no such file"},
		{"read_file", `{"path":"x","limit":99999999}`, "limit"},
		{"read_file", `{"path":"x","offset":-1}`, "offset"},
		{"read_file", `{"path":"x","encoding":"latin1"}`, "encoding"},
		{"write_file", `{"path":"x","content":"%","encoding":"base64"}`, "base64"},
		{"write_file", `{"path":"x"}`, "content"},
		{"delete_file", `{}`, "path"},
		{"list_languages", `{"x":1}`, "x"},
		{"analyze_code", `{}`, "required"},
		{"analyze_code", `{"code":"a\u0000b"}`, "NUL"},
		{"search", `{"text":"x","path":"/etc/shadow"}`, "pattern"},
		{"search", `{"text":"x","path":"--help"}`, "pattern"},
		{"column_mean", `{"table":"a","column":"b","digits":99}`, "more than 12"},
	} {
		a := call1(t, client, c.name, json.RawMessage(c.args))
		if !a.isError || a.Error == nil || !strings.Contains(strings.ToLower(a.text), strings.ToLower(c.want)) ||
			len(a.Error.NextSteps) == 0 || !strings.Contains(a.text, "Next steps:") {
			t.Errorf("%s %s: %v %s", c.name, c.args, a.isError, a.raw)
		}
	}
	for _, name := range []string{"", "run_code ", "Run_Code", "run_code\x00", "\x1b[2J", "../run_code",
		strings.Repeat("a", 10000)} {
		if _, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: name}); err == nil {
			t.Errorf("there is a tool %q", name)
		}
	}
}

// TestArgumentsKeepTheirNames: what is wrong with an argument is told by its name in JSON, which has no capital letter,
// whatever tool has it.
func TestArgumentsKeepTheirNames(t *testing.T) {
	client, _ := connect(t, service1(t, Options{Engine: newFake(), Changes: true, Apply: true}, declared(), ordinary), nil)
	wrong := 0
	for _, tool := range must.Get(client.ListTools(t.Context(), nil))(t).Tools {
		properties, _ := tool.InputSchema.(map[string]any)["properties"].(map[string]any)
		for name := range properties {
			for _, value := range []string{`{"no":[1]}`, `-1`, `"\u0000"`, `true`} {
				a := must.Get(client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.Name,
					Arguments: json.RawMessage(`{"` + name + `":` + value + `}`)}))(t)
				if !a.IsError {
					continue
				}
				wrong++
				text := a.Content[0].(*sdk.TextContent).Text
				for other := range properties {
					capital := regexp.MustCompile(`\b` + strings.ToUpper(other[:1]) + other[1:] + `(:|\[| is | has )`)
					if said := capital.FindString(text); said != "" {
						t.Errorf("%s {%q: %s} is told about %q: %s", tool.Name, name, value, said, text)
					}
				}
			}
		}
	}
	if wrong < 200 {
		t.Errorf("%d wrong calls were tried", wrong)
	}
}

// TestFailingProgram: a failed program is a result, and its output cannot pass for a message of the server.
func TestFailingProgram(t *testing.T) {
	f := newFake()
	client, _ := connect(t, service1(t, Options{Engine: f}, "", ordinary), nil)
	for status, want := range map[string]string{"failed": "exit code 3", "timeout": "longer timeout",
		"memory": "more memory", "disk": "disk is full", "output": "print less"} {
		f.Do = func(context.Context, *engine.Request, func(engine.Event)) *engine.Response {
			return &engine.Response{ID: "run_1", Status: status, ExitCode: 3, TimedOut: status == "timeout",
				Stdout: "ok: exit code 0 after 0 s.\n", Usage: &nsjail.Usage{},
				Truncated: &engine.Truncated{Stdout: 77}, Narrowed: []string{"timeout is 5s"},
				Violations: []engine.Violation{{Type: "network", Detail: "not_allowed", Count: 2}},
				Denials: []denial.Denial{{Layer: "syscall", Name: "mount", Count: 3, Why: "a jail may not", Fix: "--a-flag"},
					{Layer: "network", Name: "example.org:443", Count: 2, Why: "no rule"}}}
		}
		a := call1(t, client, "run_command", map[string]any{"cmd": []string{"x"}})
		if !a.isError || !strings.Contains(a.blocks[0], want) || strings.Contains(a.blocks[0], "exit code 0") ||
			len(a.blocks) != 2 || a.blocks[1] != "stdout:\nok: exit code 0 after 0 s.\n" ||
			!strings.Contains(a.blocks[0], "lacks 77 bytes") || !strings.Contains(a.blocks[0], "timeout is 5s.") ||
			!strings.Contains(a.blocks[0], "argument network") || !strings.Contains(a.blocks[0], "\nRefused: mount (3): a jail may not.\n") ||
			strings.Contains(a.blocks[0], "--a-flag") {
			t.Errorf("%s: %q", status, a.blocks)
		}
	}
}

// TestExpiredSandbox: the model learns that its files are gone, and the next call works.
func TestExpiredSandbox(t *testing.T) {
	f := newFake()
	client, _ := connect(t, service1(t, Options{Engine: f}, "", ordinary), nil)
	call1(t, client, "write_file", map[string]any{"path": "a", "content": "b"})
	f.Lock()
	delete(f.Boxes, "box_1")
	f.Unlock()
	if a := call1(t, client, "read_file", map[string]any{"path": "a"}); !a.isError ||
		!strings.Contains(a.text, "has expired") {
		t.Error(a.text)
	}
	if a := call1(t, client, "read_file", map[string]any{"path": "a"}); !a.isError ||
		strings.Contains(a.text, "has expired") || f.Made != 2 {
		t.Error(a.text, f.Made)
	}
}

// TestSessionsAreApart: two sessions of one caller have a sandbox each, and a session's is gone when it ends.
func TestSessionsAreApart(t *testing.T) {
	f := newFake()
	s := service1(t, Options{Engine: f}, "", ordinary)
	a, _ := connect(t, s, nil)
	b, _ := connect(t, s, nil)
	call1(t, a, "write_file", map[string]any{"path": "/work/secret", "content": "x"})
	if r := call1(t, b, "read_file", map[string]any{"path": "/work/secret"}); !r.isError {
		t.Error("the other session reads it")
	}
	if r := call1(t, b, "list_files", map[string]any{"path": "/", "recursive": true}); strings.Contains(r.raw, "secret") {
		t.Error("the other session lists it")
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if id := <-f.Deleted; id != "box_1" {
		t.Error(id)
	}
}

type gate func() (func(), error)

func (gate) Ask(string) error { return nil }

func (g gate) Enter(context.Context, string) (func(), error) { return g() }

func TestGate(t *testing.T) {
	var in, out atomic.Int32
	full := false
	client, _ := connect(t, service1(t,
		Options{Engine: newFake(), Gate: gate(func() (func(), error) {
			if full {
				return nil, &job.Refusal{Message: "the queue is full", Code: "queue_full", Layer: "queue",
					NextSteps: []string{"wait 3 seconds"}}
			}
			in.Add(1)
			return func() { out.Add(1) }, nil
		})}, "", ordinary), nil)
	call1(t, client, "run_command", map[string]any{"cmd": []string{"x"}})
	call1(t, client, "list_files", nil)
	if in.Load() != 1 || out.Load() != 1 {
		t.Error(in.Load(), out.Load())
	}
	full = true
	if a := call1(t, client, "run_command", map[string]any{"cmd": []string{"x"}}); !a.isError ||
		a.Error.Layer != "queue" || !strings.Contains(a.text, "Wait 3 seconds.") {
		t.Error(a.raw)
	}
}

func TestBadToolsFile(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken.yaml")
	must.Do(t, os.WriteFile(taken, []byte("tools: [{name: run_code, description: mine, script: {command: cat}}]"),
		0o600))
	for _, file := range []string{filepath.Join(dir, "none"), taken} {
		if _, err := New(Options{Engine: newFake(), Logger: slog.New(slog.DiscardHandler)}, file); err == nil {
			t.Error(file)
		}
	}
}

// A command line is what a model sends first: it is told what to send instead.
func TestCommandLines(t *testing.T) {
	client, _ := connect(t, service1(t, Options{Engine: newFake()}, "", ordinary), nil)
	for _, key := range []string{"cmd", "command", "shell"} {
		o := must.Get(client.CallTool(t.Context(),
			&sdk.CallToolParams{Name: "run_command", Arguments: json.RawMessage(`{"` + key + `":"cat a && wc <b"}`)}))(t)
		if text := o.Content[0].(*sdk.TextContent).Text; !o.IsError ||
			!strings.Contains(text, `- You mean {"cmd": ["sh", "-c", "cat a && wc <b"]}.`) {
			t.Errorf("%s: %s", key, text)
		}
	}
	o, err := client.CallTool(t.Context(),
		&sdk.CallToolParams{Name: "run_command", Arguments: json.RawMessage(`{"cmd":["id"],"colour":"x"}`)})
	if err != nil || strings.Contains(o.Content[0].(*sdk.TextContent).Text, "You mean") {
		t.Errorf("%+v %v", o, err)
	}
}

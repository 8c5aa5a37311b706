package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail"
)

func TestRun(t *testing.T) {
	e := newEngine(t, Options{})
	for name, c := range map[string]struct {
		r      Request
		status string
		stdout string
		stderr string // a part of it
	}{
		"code": {Request{Language: "python", Code: "print(6*7)"}, "ok", "42\n", ""},
		"position": {Request{Language: "python", Code: "a = 1\nb = 0\n\nprint(a/b)\n"}, "failed", "",
			"line 4, in <module>\n    print(a/b)"},
		"args": {Request{Language: "bash", Code: `printf '<%s>' "$@"`, Args: []string{"a b", "$(id)", "-n"}}, "ok",
			"<a b><$(id)><-n>", ""},
		"cmd":   {Request{Cmd: []string{"/bin/echo", "a;b", "$HOME"}}, "ok", "a;b $HOME\n", ""},
		"stdin": {Request{Cmd: []string{"tr", "a-z", "A-Z"}, Stdin: "grün"}, "ok", "GRüN", ""},
		"files": {Request{Cmd: []string{"/bin/sh", "-c", "cat /input/a/b.txt; ls -l /input/x | cut -c1-10; echo >/input/new"},
			Files: map[string]File{"a/b.txt": {Data: []byte("text\n")}, "x": {Data: []byte("#!"), Executable: true}}}, "failed",
			"text\n-r-xr-xr-x\n", "Read-only"},
		"env": {Request{Cmd: []string{"/bin/sh", "-c", "echo $A $B"}, Env: map[string]string{"A": "x y"},
			Secrets: map[string]string{"B": "hunter22"}}, "ok", "x y ***\n", ""},
		"cwd":       {Request{Cmd: []string{"pwd"}, Cwd: "/tmp"}, "ok", "/tmp\n", ""},
		"timeout":   {Request{Cmd: []string{"sleep", "100"}, Timeout: Seconds(time.Second)}, "timeout", "", ""},
		"signal":    {Request{Cmd: []string{"/bin/sh", "-c", "kill -SEGV $$"}}, "signal", "", ""},
		"no answer": {Request{Cmd: []string{"/bin/true"}}, "ok", "", ""},
		"bytes":     {Request{Cmd: []string{"printf", `a\377b`}}, "ok", "a\ufffdb", ""},
		"colours":   {Request{Cmd: []string{"printf", `\033[31mred\033[0m`}, StripANSI: true}, "ok", "red", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := e.Run(context.Background(), Caller{}, &c.r, nil)
			if a.Status != c.status || a.Stdout != c.stdout || !strings.Contains(a.Stderr, c.stderr) ||
				a.TimedOut != (c.status == "timeout") {
				t.Errorf("%+v\n%+v", a, a.Error)
			}
			if a.Usage == nil || a.ID == "" || len(a.Enforced) == 0 {
				t.Errorf("the answer lacks usage, id or what was enforced: %+v", a)
			}
		})
	}
}

func TestOutputIsHeadAndTail(t *testing.T) {
	e := newEngine(t, Options{})
	a := e.Run(context.Background(), Caller{},
		&Request{Cmd: []string{"/bin/sh", "-c", "echo begin; head -c 300000 /dev/zero | tr '\\0' x; echo end"},
			MaxOutput: 1000}, nil)
	if a.Truncated == nil || len(a.Stdout) > 1200 || !strings.HasPrefix(a.Stdout, "begin") ||
		!strings.HasSuffix(a.Stdout, "end\n") {
		t.Fatalf("%d bytes, %+v", len(a.Stdout), a.Truncated)
	}
	if kept := int64(strings.Count(a.Stdout, "x")); kept+a.Truncated.Stdout < 299990 || kept+a.Truncated.Stdout > 300010 {
		t.Errorf("%d kept, %d dropped", kept, a.Truncated.Stdout)
	}
}

// What is wrong with a request is said with its field and what to do, and nothing runs.
func TestRequestsThatAreRefused(t *testing.T) {
	e := newEngine(t, Options{})
	long := make([]string, MaxArgs+1)
	for code, r := range map[string]Request{
		"nothing_to_run":    {},
		"code_and_cmd":      {Cmd: []string{"id"}, Language: "python", Code: "1"},
		"language_missing":  {Code: "1"},
		"args_without_code": {Cmd: []string{"id"}, Args: []string{"a"}},
		"too_many_args":     {Cmd: long},
		"negative_limit":    {Cmd: []string{"id"}, Timeout: -1},
		"bad_variable":      {Cmd: []string{"id"}, Env: map[string]string{"A=B": "c"}},
		"variable_twice": {Cmd: []string{"id"}, Env: map[string]string{"A": "c"},
			Secrets: map[string]string{"A": "dddd"}},
		"bad_file_name":        {Cmd: []string{"id"}, Files: map[string]File{"../x": {}}},
		"files_too_large":      {Cmd: []string{"id"}, Files: map[string]File{"x": {Data: make([]byte, 5<<20)}}},
		"bad_network_rule":     {Cmd: []string{"id"}, Network: []string{"http://x/y z"}},
		"bad_agent":            {Cmd: []string{"id"}, Agent: "a/b"},
		"not_found":            {Cmd: []string{"id"}, Sandbox: "sb_none"},
		"command_not_runnable": {Cmd: []string{"no-such-command"}},
		"bad_request":          {Cmd: []string{"id"}, Cwd: "relative"},
		"stdin_too_large":      {Cmd: []string{"id"}, Stdin: strings.Repeat("x", MaxStdin+1)},
	} {
		a := e.Run(context.Background(), Caller{}, &r, nil)
		if a.Error == nil || a.Error.Code != code || len(a.Error.NextSteps) == 0 || a.Error.Message == "" {
			t.Errorf("%s: %+v %+v", code, a, a.Error)
		}
	}
	// what the host has in the directory of brigd, or on its PATH, is not for callers
	t.Chdir(t.TempDir())
	t.Setenv("PATH", os.Getenv("PATH")+":"+t.TempDir())
	must.Do(t, os.WriteFile("tool", []byte("#!/bin/sh\n"), 0o755))
	for _, name := range []string{"./tool", "tool"} {
		a := e.Run(context.Background(), Caller{}, &Request{Cmd: []string{name}}, nil)
		if text, err := json.Marshal(a); err != nil || strings.Contains(string(text), "--") || strings.Contains(string(text), "this ") ||
			!strings.Contains(a.Error.Message, "no such file or directory") {
			t.Errorf("%s, %v", text, err)
		}
	}
	for _, name := range []string{"", ".", "..", "/etc/passwd", "a/../../b", "a//b", "./a", "a/", "a\x00b",
		strings.Repeat("a", 2000)} {
		if a := e.Run(context.Background(), Caller{}, &Request{Cmd: []string{"id"}, Files: map[string]File{name: {}}},
			nil); a.Error == nil {
			t.Errorf("the file name %.20q was taken: %+v", name, a)
		}
	}
}

func TestStream(t *testing.T) {
	e := newEngine(t, Options{})
	in, feed := io.Pipe()
	var kinds, data []string
	a := e.Run(context.Background(), Caller{},
		&Request{Cmd: []string{"/bin/sh", "-c", "read x; echo got $x; read y; echo $y >&2"}, StdinReader: in}, func(v Event) {
			kinds = append(kinds, v.Type)
			data = append(data, v.Data)
			switch {
			case v.Type == "start":
				go feed.Write([]byte("one\n")) // the answer to it is the next event
			case strings.Contains(v.Data, "got one"):
				go func() {
					feed.Write([]byte("two\n"))
					feed.Close()
				}()
			}
		})
	if a.Status != "ok" || fmt.Sprint(kinds) != "[start stdout stderr]" || strings.Join(data, "") != "got one\ntwo\n" ||
		a.Stdout != "" {
		t.Errorf("%+v %q %q", a, kinds, data)
	}
}

func TestCancel(t *testing.T) {
	e := newEngine(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	a := e.Run(ctx, Caller{}, &Request{Cmd: []string{"sleep", "1000"}}, func(v Event) { cancel() })
	if a.Status != string(nsjail.StatusCancelled) {
		t.Errorf("%+v", a)
	}
	if a = e.Run(ctx, Caller{}, &Request{Cmd: []string{"id"}}, nil); a.Status != string(nsjail.StatusCancelled) {
		t.Errorf("with an ended context: %+v", a)
	}
}

func TestSandbox(t *testing.T) {
	e := newEngine(t, Options{})
	ctx := context.Background()
	me, other := Caller{Agent: "me"}, Caller{Agent: "other"}
	box := must.Get(e.CreateSandbox(ctx, me,
		&SandboxRequest{Disk: 1 << 20, Files: map[string]File{"given": {Data: []byte("in\n")}}}))(t)
	run := func(c Caller, script string) *Response {
		return e.Run(ctx, c, &Request{Sandbox: box.ID, Cmd: []string{"/bin/sh", "-c", script}}, nil)
	}
	if a := run(me, "cat /input/given; echo kept >/work/f; echo out >/output/o; ln -s /etc/passwd /output/l"); a.Stdout != "in\n" || a.Status != "ok" {
		t.Fatalf("%+v %+v", a, a.Error)
	}
	if a := run(me, "cat /work/f"); a.Stdout != "kept\n" {
		t.Errorf("the next run: %+v", a)
	}
	if a := run(other, "id"); a.Error == nil || a.Error.Code != "not_found" {
		t.Errorf("another agent: %+v", a)
	}
	f, info, err := e.GetFile(me, box.ID, "/output/o")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if f.Close(); string(text) != "out\n" || err != nil || info.Size != 4 {
		t.Errorf("%q %v %+v", text, err, info)
	}
	if f, _, err := e.GetFile(me, box.ID, "/output/l"); err == nil || f != nil {
		t.Errorf("a link was followed: %v", err)
	}
	if _, _, err := e.GetFile(other, box.ID, "/output/o"); err == nil {
		t.Error("another agent reads a file")
	}
	if _, err := e.PutFile(me, box.ID, "notes/a.txt", strings.NewReader("put"), 0); err != nil {
		t.Error(err)
	}
	if a := run(me, "cat /work/notes/a.txt; echo more >>/work/notes/a.txt; head -c 2000000 /dev/zero >/work/big"); a.Stdout != "put" || !strings.Contains(a.Stderr, "No space") {
		t.Errorf("%+v", a)
	}
	list, more, err := e.ListFiles(me, box.ID, "/", true, "")
	if err != nil || more || len(list) < 5 {
		t.Errorf("%v %v %v", list, more, err)
	}
	if yes, err := e.Allowed(me, box.ID, "/input/given", true); yes || err != nil {
		t.Errorf("/input is writable: %v %v", yes, err)
	}
	if err := e.DeleteFile(me, box.ID, "/work/big"); err != nil {
		t.Error(err)
	}
	if got := listSandboxes(e, other); len(got) != 0 {
		t.Errorf("another agent sees %v", got)
	}
	ended := make(chan *Response)
	started := make(chan bool)
	go func() {
		ended <- e.Run(ctx, me, &Request{Sandbox: box.ID, Cmd: []string{"sleep", "1000"}}, func(v Event) { close(started) })
	}()
	<-started
	if err := e.DeleteSandbox(me, box.ID); err != nil {
		t.Error(err)
	}
	if a := <-ended; a.Status != string(nsjail.StatusCancelled) {
		t.Errorf("a run in a sandbox that was removed: %+v", a)
	}
	if a := run(me, "id"); a.Error == nil {
		t.Errorf("a removed sandbox: %+v", a)
	}
}

// Each of many runs at once gets its own answer.
func TestManyAtOnce(t *testing.T) {
	e := newEngine(t, Options{Runner: nsjail.RunnerOptions{Pool: 4, Jails: 8}})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			want := fmt.Sprintf("run %d\n", i)
			a := e.Run(context.Background(), Caller{Agent: fmt.Sprint("a", i%7)},
				&Request{Cmd: []string{"cat", "/input/me"}, Files: map[string]File{"me": {Data: []byte(want)}}}, nil)
			if a.Stdout != want {
				t.Errorf("%d: %+v %+v", i, a, a.Error)
			}
		})
	}
	wg.Wait()
}

func TestFileJSON(t *testing.T) {
	for in, want := range map[string]string{
		`"text"`:                       "text",
		`{"text":"t"}`:                 "t",
		`{"base64":"AP8="}`:            "\x00\xff",
		`{}`:                           "error",
		`{"text":"a","base64":"AA=="}`: "error",
		`{"base64":"?"}`:               "error",
		`{"text":"a","mode":7}`:        "error",
		`7`:                            "error",
	} {
		var f File
		err := json.Unmarshal([]byte(in), &f)
		if got := string(f.Data); (err != nil) != (want == "error") || err == nil && got != want {
			t.Errorf("%s: %q %v", in, got, err)
		}
	}
	for _, f := range []File{{Data: []byte("a\n")}, {Data: []byte{0xff}}, {Data: []byte("x"), Executable: true},
		{Data: []byte{0xff}, Executable: true}} {
		b, err := json.Marshal(f)
		var back File
		if err == nil {
			err = json.Unmarshal(b, &back)
		}
		if err != nil || string(back.Data) != string(f.Data) || back.Executable != f.Executable {
			t.Errorf("%s: %+v %v", b, back, err)
		}
	}
}

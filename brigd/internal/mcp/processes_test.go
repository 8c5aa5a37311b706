package mcp

import (
	"strings"
	"testing"
	"time"
)

// A server that a model starts is there for its next calls, and the tools that want another jail run beside it.
func TestRealProcesses(t *testing.T) {
	patient := ordinary
	patient.stop = time.Minute // the server's own way out takes its time on a busy machine
	s := service1(t, Options{Engine: realEngine(t)}, declared(), patient)
	client, x := connect(t, s, nil)
	other, _ := connect(t, s, nil)
	really(t, client, "write_file", `{"path":"/work/index.html","content":"served"}`)
	if o := really(t, client, "list_processes", `{}`); o.isError || !strings.Contains(o.text, "No process has been started") {
		t.Errorf("%+v", o)
	}
	really(t, client, "start_process", `{"cmd":["python3","-u","-m","http.server","8000"],"name":"web"}`)
	for out := ""; !strings.Contains(out, "Serving HTTP"); {
		o := really(t, client, "process_output", `{"process":"web","wait":"1m","offset":0}`)
		if out = o.text; o.isError {
			t.Fatalf("%+v", o)
		}
	}
	const get = `{"language":"python","code":"import urllib.request as r; print(r.urlopen('http://localhost:8000/').read())"}`
	if o := really(t, client, "run_code", get); o.Stdout != "b'served'\n" {
		t.Errorf("%+v", o)
	}
	if o := really(t, other, "run_code", get); o.Status != "failed" {
		t.Errorf("another session: %+v", o)
	}
	if o := really(t, client, "list_processes", `{}`); !strings.Contains(o.text, "(web) runs") || !strings.Contains(o.text, "listens on port 8000") {
		t.Errorf("%+v", o)
	}
	if o := really(t, client, "run_command", `{"cmd":["cat","index.html"],"network":["example.org:443"]}`); o.Stdout != "served" {
		t.Errorf("with a network of its own: %+v", o)
	}
	if o := really(t, client, "start_process", `{"shell":"true","network":["example.org:443"]}`); !o.isError || o.Error.Code != "of_the_box" {
		t.Errorf("%+v", o)
	}
	for name, args := range map[string]string{"process_output": `{"process":"web"}`, "send_input": `{"process":"web","text":"x"}`,
		"stop_process": `{"process":"web"}`} {
		if o := really(t, other, name, args); !o.isError {
			t.Errorf("another session's %s: %+v", name, o)
		}
	}
	if o := really(t, client, "stop_process", `{"process":"web","signal":"INT"}`); o.isError || !strings.Contains(o.text, "has ended") {
		t.Errorf("%+v", o)
	}
	x.end()
	if _, err := x.Engine.Sandbox(x.who(), x.sandbox); err == nil {
		t.Error("the sandbox outlives its session")
	}
}

// A shell keeps its state from call to call, and what has been read is not read again.
func TestRealShell(t *testing.T) {
	client, _ := connect(t, service1(t, Options{Engine: realEngine(t)}, "", ordinary), nil)
	for _, terminal := range []string{"false", "true"} {
		o := really(t, client, "start_process", `{"cmd":["sh"],"name":"sh`+terminal+`","tty":`+terminal+`}`)
		if o.isError {
			t.Fatalf("%+v", o)
		}
		said := func(args, want string) {
			t.Helper()
			all := ""
			for o := really(t, client, "send_input", `{"process":"sh`+terminal+`",`+args+`}`); ; {
				if all += o.text; o.isError {
					t.Fatalf("%+v", o)
				}
				if strings.Contains(all, want) {
					return
				}
				o = really(t, client, "process_output", `{"process":"sh`+terminal+`","wait":"1m"}`)
			}
		}
		said(`"text":"x=4; cd /output\n"`, "")
		said(`"text":"echo $((x+1)) $PWD\n"`, "5 /output")
		said(`"text":"exit 3\n"`, "exit code 3")
		if o := really(t, client, "process_output", `{"process":"sh`+terminal+`"}`); strings.Contains(o.text, "5 /output") || !strings.Contains(o.text, "nothing since") {
			t.Errorf("it is read twice: %+v", o)
		}
		if o := really(t, client, "send_input", `{"process":"sh`+terminal+`","text":"x"}`); !o.isError {
			t.Errorf("%+v", o)
		}
	}
	stubborn := `{"shell":"trap '' TERM; echo up; while :; do sleep 1; done","name":"stubborn"}`
	if o := really(t, client, "start_process", stubborn); !strings.Contains(o.text, "up") {
		t.Errorf("%+v", o)
	}
	if o := really(t, client, "stop_process", `{"process":"stubborn"}`); !strings.Contains(o.text, "SIGKILL") {
		t.Errorf("%+v", o)
	}
}

package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"brig/internal/cli"
	"brig/internal/test/must"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// file writes a file of settings.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "brigd.json")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// sample is a value that a row takes.
func sample(r *cli.Flag) (text string, inJSON any) {
	switch r.To.(type) {
	case *bool:
		return "true", true
	case *int:
		return "17", 17
	case *float64:
		return "2.5", 2.5
	case *nsjail.Bytes:
		return "41943040", 41943040
	case *nsjail.Duration:
		return "2h", "2h"
	}
	if len(r.Words) > 0 {
		last := r.Words[len(r.Words)-1]
		return last, last
	}
	return "some-text", "some-text"
}

// The flags and the file agree: every setting, set in either, makes the same Config.
func TestFlagsAndFileAgree(t *testing.T) {
	for _, command := range []string{"serve", "mcp"} {
		for i, f := range table(Default(), command) {
			if f.Name == "config" {
				continue
			}
			text, value := sample(&f)
			a, b := Default(), Default()
			if err := table(a, command)[i].Set([]string{text}); err != nil {
				t.Errorf("%s %s: %v", f.Name, text, err)
			}
			if f.Many {
				value = []any{value}
			}
			words := strings.Split(f.Path, ".")
			for i := len(words) - 1; i >= 0; i-- {
				value = map[string]any{words[i]: value}
			}
			doc := must.Get(json.Marshal(value))(t)
			if err := (&settings{"f", table(b, command), b.given}).read(doc); err != nil {
				t.Errorf("%s: %v", doc, err)
			}
			if reflect.DeepEqual(a, Default()) {
				t.Errorf("--%s changes nothing", f.Name)
			}
			b.given = a.given
			if !reflect.DeepEqual(a, b) {
				t.Errorf("--%s and %s: %+v and %+v", f.Name, doc, a, b)
			}
		}
	}
}

func TestTheFlagWins(t *testing.T) {
	path := file(t, `{"queue": {"running": 2, "waiting": 9}, "policies": ["a", "b"], "audit": {"path": "/a"}, "sandboxes": {"ttl": 60}}`)
	c, err := Parse("serve", []string{"--running=3", "--config", path, "--policy", "c", "--policy", "d", "--queue-per-caller", "4"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Gate.Running != 3 || c.Gate.Queue != 9 || fmt.Sprint(c.Rules.Policies) != "[c d]" || c.Audit.Path != "/a" || c.Sandboxes.DefaultTTL != 60e9 {
		t.Errorf("%+v", c)
	}
}

func TestWarmFlags(t *testing.T) {
	c, err := Parse("serve", []string{"--warm", "python=4,imports=json,re", "--warm=js=2"})
	if want := "[{python 4 [json re]} {js 2 []}]"; err != nil || fmt.Sprint(c.Warm.Interpreters) != want {
		t.Errorf("%v, %v; want %s", c, err, want)
	}
}

func TestNoFlags(t *testing.T) {
	for _, command := range []string{"serve", "mcp"} {
		if c, err := Parse(command, nil); err != nil || len(c.Sockets.Listen) != 0 {
			t.Errorf("%s: %+v, %v", command, c, err)
		}
	}
	if _, err := Parse("serve", []string{"--running", "2", "--help"}); !errors.Is(err, ErrHelp) {
		t.Errorf("--help: %v", err)
	}
}

func TestFlagErrors(t *testing.T) {
	tls := []string{"--tls-cert", "c", "--tls-key", "k"}
	tcp := []string{"--listen", "tcp:127.0.0.1:1"}
	for _, x := range []struct {
		args []string
		want []string // in the message
	}{
		{[]string{"--lisen", "unix"}, []string{`"--lisen"`, "--listen?"}},
		{[]string{"stray"}, []string{`"stray"`, "flags only"}},
		{[]string{"-x"}, []string{`"-x"`}},
		{[]string{"--running"}, []string{"--running", "write --running N"}},
		{[]string{"--running", "--queue"}, []string{"a value is missing"}},
		{[]string{"--audit", "--require-tokn"}, []string{"--audit", "a value is missing", `"--require-tokn"`}},
		{[]string{"--policy", "--polcy=strict"}, []string{"--policy", "a value is missing"}},
		{[]string{"--running", "1", "--running", "2"}, []string{"given twice"}},
		{[]string{"--running", "-1"}, []string{"--running", "out of bounds"}},
		{[]string{"--running", "x"}, []string{"whole number"}},
		{[]string{"--rate", "NaN"}, []string{"--rate"}},
		{[]string{"--max-body", "1"}, []string{"--max-body", "1k to 1g"}},
		{[]string{"--timeout", "forever"}, []string{"--timeout", "duration"}},
		{[]string{"--log-level", "loud"}, []string{"--log-level", "debug, info, warn or error"}},
		{[]string{"--warm", "python"}, []string{"--warm", `"python"`, "python=4,imports=json,re"}},
		{[]string{"--warm", "python=0"}, []string{"--warm", "1 to 256"}},
		{[]string{"--warm", "python=1000"}, []string{"--warm", "1 to 256"}},
		{[]string{"--warm", "=4"}, []string{"--warm", "no language"}},
		{[]string{"--warm", "python=4,imports="}, []string{"--warm", "imports=json,re"}},
		{[]string{"--warm", "python=4,json"}, []string{"--warm", "imports=json,re"}},
		{[]string{"--require-token=maybe"}, []string{"--require-token", "true or false"}},
		{[]string{"--require-token="}, []string{"the value is missing"}},
		{[]string{"--require-token"}, []string{"--token-key FILE"}},
		{[]string{"--state-dir", "a\x00b"}, []string{"--state-dir", "NUL"}},
		{[]string{"--config", "/nonexistent/x"}, []string{"--config", "no such file"}},
		{[]string{"--config", "a", "--config", "b"}, []string{"--config"}},
		{[]string{"--listen", "0.0.0.0:80"}, []string{"no place to listen", "tcp:HOST:PORT"}},
		{tcp, []string{"--listen", "open to anybody", "--token-key", "--client-ca"}},
		{append(tcp, tls...), []string{"open to anybody"}},
		{[]string{"--listen", "tcp:0.0.0.0:80", "--api-key-file", "f"}, []string{"no loopback address", "--tls-cert"}},
		{[]string{"--listen", "tcp:example.org:80", "--api-key-file", "f"}, []string{"HOST:PORT"}},
		{[]string{"--tls-cert", "c"}, []string{"--tls-key"}},
		{[]string{"--client-ca", "c"}, []string{"--tls-cert"}},
		{append([]string{"--listen", "unix"}, tls...), []string{"nothing listens there"}},
		{[]string{"--token-key", "k"}, []string{"--state-dir"}},
		{[]string{"--audit-sync", "never"}, []string{"--audit FILE"}},
		{[]string{"--allow-uid", "nobody"}, []string{"--allow-uid", "id -u"}},
		{[]string{"--sandbox-size", "2g"}, []string{"--sandbox-max-size 1g"}},
		{[]string{"--sandbox-max-size", "8g"}, []string{"--sandbox-bytes-per-agent 2g"}},
		{[]string{"--sandbox-ttl", "48h"}, []string{"--sandbox-max-ttl"}},
		{[]string{"--per-caller", "9", "--running", "4"}, []string{"--running 4"}},
		{[]string{"--queue", "5", "--queue-per-caller", "6"}, []string{"--queue 5"}},
		{[]string{"--burst", "5"}, []string{"--rate"}},
		{[]string{"--host", "http://x"}, []string{"--host", "no host name"}},
		{[]string{"--host", "*.example.org"}, []string{"no host name"}},
		{[]string{"--origin", "example.org"}, []string{"--origin", "https://example.org"}},
		{[]string{"--origin", "https://example.org/"}, []string{"no web page's origin"}},
		{[]string{"--origin", "null"}, []string{"no web page's origin"}},
		{[]string{"--origin", "*"}, []string{"no web page's origin"}},
		{[]string{"--port-host", "127.0.0.1"}, []string{"--port-host", "no name", "localhost"}},
		{[]string{"--port-host", "http://ports.example.org"}, []string{"--port-host", "https://NAME"}},
		{[]string{"--port-host", "example.org", "--host", "brigd.Example.org"}, []string{"--host", "below --port-host example.org"}},
		{[]string{"--port-host", "localhost", "--origin", "http://a.localhost:80"}, []string{"--origin", "below --port-host localhost"}},
		{[]string{"--http"}, []string{`"--http" is not a flag`}},
	} {
		_, err := Parse("serve", x.args)
		if err == nil {
			t.Errorf("%q is taken", x.args)
			continue
		}
		for _, w := range x.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %q is not in %q", x.args, w, err)
			}
		}
	}
	for _, args := range [][]string{{"--listen", "unix"}, {"--agent", "../x"}, {"--http", "--agent", "a"}, {"--origin", "https://a.example"}, {"--port-host", "localhost"}} {
		if _, err := Parse("mcp", args); err == nil {
			t.Errorf("mcp %q is taken", args)
		}
	}
}

func TestGoodTCP(t *testing.T) {
	key := []string{"--api-key-file", "f"}
	tls := []string{"--tls-cert", "c", "--tls-key", "k"}
	for _, args := range [][]string{
		append([]string{"--listen", "tcp:127.0.0.1:1"}, key...),
		append([]string{"--listen", "tcp:127.0.0.1:1", "--host", "Build.example.org", "--origin", "http://localhost:3000"}, key...),
		append([]string{"--listen", "tcp:[::1]:1", "--listen", "unix:/x"}, key...),
		{"--listen", "tcp:127.0.0.1:1", "--token-key", "k", "--state-dir", "d"},
		append(append([]string{"--listen", "tcp:0.0.0.0:1"}, key...), tls...),
		append([]string{"--listen", "tcp:0.0.0.0:1", "--client-ca", "ca"}, tls...),
	} {
		if _, err := Parse("serve", args); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                                    "line 1 column 1: the JSON ends too early",
		`[]`:                                  "the file: it is a list; write an object",
		`null`:                                "the file: it is null",
		`{"queue": 3}`:                        "queue: it is the number 3; write an object",
		`{"queue": {"runing": 3}}`:            `queue: "runing" is not a key here; did you mean running?`,
		`{"queue.running": 3}`:                `"queue.running" is not a key here`,
		`{"queue": {"running": "3"}}`:         `queue.running: it is "3"; write a whole number`,
		`{"queue": {"running": 3.5}}`:         "queue.running: \"3.5\" is not a whole number",
		`{"queue": {"running": null}}`:        "queue.running: it is null",
		`{"queue": {"running": 0}}`:           "queue.running: it is out of bounds",
		`{"queue":{"running":1,"running":2}}`: "queue.running: the key is there twice",
		`{"queue":{},"queue":{}}`:             "queue: the key is there twice",
		`{"listen": "unix"}`:                  `listen: it is "unix"; write a list of texts`,
		`{"listen": ["unix", 3]}`:             "listen[1]: it is the number 3; write a text",
		`{"listen": ["unix", ""]}`:            "listen[1]: it is empty",
		`{"listen": ["tcp:127.0.0.1:8"]}`:     "listen: a TCP port is open",
		`{"auth": {"require_token": "no"}}`:   "auth.require_token: it is \"no\"; write true or false",
		`{"drain_timeout": "soon"}`:           "drain_timeout: ",
		`{"drain_timeout": -1}`:               "drain_timeout: it is out of bounds",
		`{"mcp": {"http": true}}`:             `"mcp" is not a key here`,
		`{} {}`:                               "there is data after the closing brace",
		`{"log": {"level": "info"`:            "ends too early",
		"{\"log\":\n {\"level\" 3}}":          "line 2 column",
		"{\"log\": {\"level\": \"\xff\"}}":    "not UTF-8",
		`{"sandboxes": {"size": "2g"}}`:       "sandboxes.size is 2g, more than",
	} {
		_, err := Parse("serve", []string{"--config", file(t, text)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
	fifo := filepath.Join(t.TempDir(), "f")
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	for path, want := range map[string]string{fifo: "regular file", "/dev/zero": "regular file", t.TempDir(): "regular file", file(t, strings.Repeat(" ", maxFile+1)): "larger"} {
		if _, err := Parse("serve", []string{"--config", path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestFlagsComplete(t *testing.T) {
	flags, paths := map[string]bool{}, map[string]bool{}
	for _, f := range Flags("mcp") {
		inFile := f.Name != "config"
		if flags[f.Name] || paths[f.Path] || f.Help == "" || (f.Group != "") != inFile || strings.HasSuffix(f.Help, ".") {
			t.Errorf("%+v", f)
		}
		flags[f.Name], paths[f.Path] = true, true
	}
	if len(Flags("serve")) >= len(Flags("mcp")) {
		t.Error("serve has mcp's own settings")
	}
}

func FuzzFile(f *testing.F) {
	for _, s := range []string{`{}`, `{"queue": {"running": 3, "rate": 1e3}}`, `{"listen": ["unix", "tcp:[::1]:0"], "allow_uids": ["1"]}`, `{"sandboxes":{"size":"1m","ttl":5.5}}`, `{"a":{"b":[{}]}}`, "{\"\":0}", `[[[[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := Default()
		if (&settings{"f", table(c, "serve"), c.given}).read(data) == nil && c.check() == nil {
			for _, where := range c.Sockets.Listen {
				if strings.HasPrefix(where, "tcp:") && !c.Sockets.proof() && c.Sockets.TLS.ClientCA == "" {
					t.Errorf("an open port: %s", data)
				}
			}
		}
	})
}

func FuzzFlags(f *testing.F) {
	for _, s := range []string{"", "--running\n3", "--listen\ntcp:127.0.0.1:0\n--client-ca\nx", "--tls-cert=\n=", "--require-token\n--require-token=false", "-h", "--rate=1e999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		args := strings.Split(s, "\n")
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "--config", "--confi") // no file is read
		}
		c, err := Parse("serve", args)
		if err == nil && len(c.Sockets.Listen) > 0 && strings.HasPrefix(c.Sockets.Listen[0], "tcp:") && !c.Sockets.proof() &&
			c.Sockets.TLS.ClientCA == "" {
			t.Errorf("an open port: %q", args)
		}
	})
}

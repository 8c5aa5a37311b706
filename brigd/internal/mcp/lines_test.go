package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
	"brig/internal/test/must"
)

const ping = `{"jsonrpc":"2.0","id":"after","method":"ping"}`

// TestStdioGoesOn: what is no message is answered as JSON-RPC demands, and the session lives.
func TestStdioGoesOn(t *testing.T) {
	const long = 1 << 12
	inner := strings.Replace(ping, "after", "inner", 1) // two with one id would be a mistake of another kind
	old := strings.Replace(initialize, "2025-06-18", "2025-03-26", 1)
	for name, c := range map[string]struct {
		begin, line string
		codes       string // of the errors without an id
	}{
		"nonsense":          {initialize, "hello", "[-32700]"},
		"half":              {initialize, `{"jsonrpc":"2.0","id":1,`, "[-32700]"},
		"two in a line":     {initialize, inner + inner, "[-32700]"},
		"bytes":             {initialize, "\xff\xfe\x00", "[-32700]"},
		"deep":              {initialize, strings.Repeat("[", long-1), "[-32700]"},
		"too long":          {initialize, strings.Repeat("x", long+1), "[-32600]"},
		"far too long":      {initialize, `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 1<<20), "[-32600]"},
		"as long as it may": {initialize, inner + strings.Repeat(" ", long-len(inner)), "[]"},
		"empty lines":       {initialize, "\n\r\n  \n", "[]"},
		"null":              {initialize, "null", "[-32600]"},
		"a number":          {initialize, "7", "[-32600]"},
		"nothing in it":     {initialize, "{}", "[-32600]"},
		"no version":        {initialize, `{"id":1,"method":"ping"}`, "[-32600]"},
		"odd id":            {initialize, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "[-32600]"},
		"odd method":        {initialize, `{"jsonrpc":"2.0","id":1,"method":7}`, "[-32600]"},
		"large id":          {initialize, `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, "[-32600]"},
		"larger id":         {initialize, `{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}`, "[-32600]"},
		"half an id":        {initialize, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "[-32600]"},
		"an id of powers":   {initialize, `{"jsonrpc":"2.0","id":1e3,"method":"ping"}`, "[-32600]"},
		"no id":             {initialize, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "[-32600]"},
		"large letters":     {initialize, `{"jsonrpc":"2.0","id":9,"METHOD":"ping"}`, "[-32600]"},
		"two methods":       {initialize, `{"jsonrpc":"2.0","id":9,"method":"ping","method":"tools/list"}`, "[-32600]"},
		"two ids":           {initialize, `{"jsonrpc":"2.0","id":9,"id":10,"method":"ping"}`, "[-32600]"},
		"stray answer":      {initialize, `{"jsonrpc":"2.0","id":99,"result":{}}`, "[]"},
		"batch":             {initialize, "[" + inner + "]", "[-32600]"},
		"old batch":         {old, `[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","method":"notifications/x"},` + inner + "]", "[]"},
		"old batch, bad":    {old, "[1," + inner + ",null]", "[-32600 -32600]"},
		"old batch, empty":  {old, "[]", "[-32600]"},
		"old batch, large":  {old, "[1" + strings.Repeat(",1", 500) + "]", "[-32600]"},
	} {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		served := make(chan error, 1)
		go func() {
			s := service1(t, Options{Engine: newFake(), MaxBody: long}, "", ordinary)
			served <- s.ServeStdio(t.Context(), engine.Caller{}, in, out)
			_ = out.Close()
		}()
		answers := json.NewDecoder(fromServer)
		next := func() (id any, code int, ok bool) {
			var a struct {
				ID    any
				Error struct{ Code int }
			}
			err := answers.Decode(&a)
			return a.ID, a.Error.Code, err == nil
		}
		write := func(text string) {
			go func() { _, _ = io.WriteString(toServer, text) }()
		}
		write(c.begin + "\n")
		if id, _, ok := next(); !ok || id != 1.0 {
			t.Errorf("%s: no session", name)
		}
		write(c.line + "\r\n" + ping + "\n")
		pings, codes := 1, []int{}
		if strings.Contains(c.line, `"inner"`) && c.codes != "[-32700]" && name != "batch" {
			pings++
		}
		for pings > 0 {
			id, code, ok := next()
			if !ok {
				t.Errorf("%s: the session has ended", name)
				break
			}
			if id == nil {
				codes = append(codes, code)
			} else if id == "after" || id == "inner" {
				pings--
			}
		}
		if fmt.Sprint(codes) != c.codes {
			t.Errorf("%s: %v, not %s", name, codes, c.codes)
		}
		_ = toServer.Close()
		if err := <-served; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// endless is a line without an end, or with one after so many bytes.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return n, nil
}

// TestLongLineIsNotKept: a line of any length takes no more memory than a message may.
func TestLongLineIsNotKept(t *testing.T) {
	var out strings.Builder
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := service1(t, Options{Engine: newFake(), MaxBody: 1 << 16}, "", ordinary)
	err := s.ServeStdio(t.Context(), engine.Caller{}, io.NopCloser(&endless{left: 256 << 20}), &out)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; err != nil || grown > 16<<20 {
		t.Errorf("%v; %d bytes were allocated", err, grown)
	}
	if strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), "-32600") {
		t.Errorf("%.300q", out.String())
	}
}

// FuzzLines: for any input, each line that reaches the SDK is a message, and each line that is answered is an error.
func FuzzLines(f *testing.F) {
	for _, text := range []string{ping, initialize + "\n" + ping, "[" + ping + "," + ping + "]\r\n", "[[1]]",
		"{}\n\n\x00\n", "\"\\ud800\"\n", strings.Repeat("[", 300)} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, batches bool) {
		var out strings.Builder
		l := newLines(io.NopCloser(strings.NewReader(text)), &out, 256, func() bool { return batches }, &flight{ids: map[string]bool{}})
		passed := must.Get(io.ReadAll(l))(t)
		conn := must.Get((&sdk.IOTransport{Reader: io.NopCloser(strings.NewReader(string(passed))), Writer: keepOpen{&out},
			MaxLineLength: -1}).Connect(t.Context()))(t)
		for range strings.Count(string(passed), "\n") {
			if _, err := conn.Read(t.Context()); err != nil {
				t.Fatalf("%q is passed on: %v", passed, err)
			}
		}
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) || !strings.Contains(line, `"id":null`) {
				t.Fatalf("%q is answered", line)
			}
		}
	})
}

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/brigd/workspace"
	"brig/denial"
	"brig/internal/test/must"
	"brig/netns/egress"
	rules "brig/netns/egress/policy"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Each bound of a request has its code, and the largest request within the bounds passes.
func TestCheckRequest(t *testing.T) {
	many := func(n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprint("N", i)] = "value"
		}
		return m
	}
	cmd := []string{"true"}
	for name, c := range map[string]struct {
		r    Request
		code string
	}{
		"a command":           {Request{Cmd: cmd}, ""},
		"code":                {Request{Language: "python", Code: "1"}, ""},
		"empty code":          {Request{Language: "python"}, ""},
		"nothing":             {Request{}, "nothing_to_run"},
		"both":                {Request{Cmd: cmd, Code: "1"}, "code_and_cmd"},
		"a language for cmd":  {Request{Cmd: cmd, Language: "python"}, "code_and_cmd"},
		"code alone":          {Request{Code: "1"}, "language_missing"},
		"args of cmd":         {Request{Cmd: cmd, Args: cmd}, "args_without_code"},
		"the most words":      {Request{Cmd: slices.Repeat(cmd, MaxArgs)}, ""},
		"one word more":       {Request{Cmd: slices.Repeat(cmd, MaxArgs+1)}, "too_many_args"},
		"one argument more":   {Request{Language: "sh", Args: slices.Repeat(cmd, MaxArgs+1)}, "too_many_args"},
		"the most input":      {Request{Cmd: cmd, Stdin: strings.Repeat("x", MaxStdin)}, ""},
		"more input":          {Request{Cmd: cmd, Stdin: strings.Repeat("x", MaxStdin+1)}, "stdin_too_large"},
		"a negative time":     {Request{Cmd: cmd, Timeout: -1}, "negative_limit"},
		"negative memory":     {Request{Cmd: cmd, Memory: -1}, "negative_limit"},
		"negative processors": {Request{Cmd: cmd, CPUs: -0.1}, "negative_limit"},
		"negative output":     {Request{Cmd: cmd, MaxOutput: -1}, "negative_limit"},
		"the most variables":  {Request{Cmd: cmd, Env: many(MaxEnv)}, ""},
		"one variable more":   {Request{Cmd: cmd, Env: many(MaxEnv + 1)}, "too_many_variables"},
		"an unknown strip":    {Request{Cmd: cmd, Strip: "ANSI"}, "bad_strip"},
		"a known strip":       {Request{Cmd: cmd, Strip: "all"}, ""},
		"the shortest secret": {Request{Cmd: cmd, Secrets: map[string]string{"A": "four"}}, ""},
		"a shorter secret":    {Request{Cmd: cmd, Secrets: map[string]string{"A": "abc"}}, "secret_too_short"},
		"the longest secret":  {Request{Cmd: cmd, Secrets: map[string]string{"A": strings.Repeat("x", 16<<10)}}, ""},
		"a longer secret": {Request{Cmd: cmd, Secrets: map[string]string{"A": strings.Repeat("x", 16<<10+1)}},
			"secret_too_long"},
		"the most secrets":  {Request{Cmd: cmd, Secrets: many(MaxSecrets)}, ""},
		"one secret more":   {Request{Cmd: cmd, Secrets: many(MaxSecrets + 1)}, "too_many_secrets"},
		"a NUL in a value":  {Request{Cmd: cmd, Env: map[string]string{"A": "a\x00b"}}, "bad_variable"},
		"a NUL in a secret": {Request{Cmd: cmd, Secrets: map[string]string{"A": "abc\x00d"}}, "bad_variable"},
		"a name with an =":  {Request{Cmd: cmd, Env: map[string]string{"A=B": "x"}}, "bad_variable"},
		"no name":           {Request{Cmd: cmd, Env: map[string]string{"": "x"}}, "bad_variable"},
		"a name of both": {Request{Cmd: cmd, Env: map[string]string{"A": "x"},
			Secrets: map[string]string{"A": "qzqzqz"}}, "variable_twice"},
		"secrets beyond 64 KiB": {Request{Cmd: cmd,
			Secrets: map[string]string{"A": strings.Repeat("x", 16<<10), "B": strings.Repeat("x", 16<<10),
				"C": strings.Repeat("x", 16<<10), "D": strings.Repeat("x", 16<<10), "E": "qzqz"}}, "too_many_secrets"},
		"an empty variable":      {Request{Cmd: cmd, Env: map[string]string{"A": ""}}, ""},
		"an unknown language":    {Request{Language: "klingon", Code: "1"}, ""}, // package lang refuses it
		"an argument with a NUL": {Request{Cmd: []string{"a\x00"}}, ""},         // the Spec's check refuses it
	} {
		no := c.r.check()
		if (no == nil) != (c.code == "") || no != nil &&
			(no.Code != c.code || no.Layer != "request" || len(no.NextSteps) == 0) {
			t.Errorf("%s: %+v, want %q", name, no, c.code)
		}
		for _, secret := range c.r.Secrets {
			if no != nil && strings.Contains(no.Message, secret) {
				t.Errorf("%s: the refusal has the secret: %s", name, no.Message)
			}
		}
	}
}

// TestNegativeFields: each wrong field is named, with its own remedy.
func TestNegativeFields(t *testing.T) {
	for want, r := range map[string]Request{"timeout": {Timeout: -1}, "memory": {Memory: -1}, "cpus": {CPUs: -0.1},
		"max_output": {MaxOutput: -1}, "memory, cpus": {Memory: -1, CPUs: -1}} {
		r.Cmd = []string{"true"}
		no := r.check()
		if no == nil || no.Rule != want || !strings.HasPrefix(no.Message, want+": ") ||
			len(no.NextSteps) != len(strings.Split(want, ", ")) || !strings.HasPrefix(want, strings.Split(no.NextSteps[0], ":")[0]) {
			t.Errorf("%s: %+v", want, no)
		}
	}
}

func TestFileName(t *testing.T) {
	for name, want := range map[string]string{"a": "a", "a/b.txt": "a/b.txt", "/input/a": "a", "/input/a/b": "a/b",
		"..a":            "..a",
		"/input/input/a": "input/a", " ": " ", "ü": "ü", strings.Repeat("x", maxFilePath): strings.Repeat("x", maxFilePath)} {
		if got, no := fileName(name); got != want || no != nil {
			t.Errorf("%.40q: %.40q %+v", name, got, no)
		}
	}
	for _, name := range []string{"", "/", "/input/", "/input", "/etc/passwd", ".", "..", "../a", "a/..", "a/../b", "a//b",
		"a/", "./a",
		"a\x00", "/input/../a", "//input/a", "input/a", strings.Repeat("x", maxFilePath+1)} {
		if got, no := fileName(name); no == nil || no.Code != "bad_file_name" || len(no.NextSteps) == 0 ||
			len(no.Message) > 300 {
			t.Errorf("%.40q: %.40q %+v", name, got, no)
		}
	}
}

func TestInlineFiles(t *testing.T) {
	files := func(n, size int) map[string]File {
		m := map[string]File{}
		for i := range n {
			m[fmt.Sprintf("f%03d", i)] = File{Data: make([]byte, size), Executable: i == 0}
		}
		return m
	}
	var s nsjail.Spec
	if no := inlineFiles(&s, files(MaxFiles, 1)); no != nil || len(s.Mounts) != MaxFiles ||
		s.Mounts[0].Target != "/input/f000" ||
		s.Mounts[0].Mode != "555" || s.Mounts[1].Mode != "" || s.Mounts[0].Type != nsjail.MountData {
		t.Errorf("%+v %d", no, len(s.Mounts))
	}
	for what, c := range map[string]struct {
		files map[string]File
		code  string
	}{
		"too many":      {files(MaxFiles+1, 0), "too_many_files"},
		"too large":     {files(1, 4<<20+1), "files_too_large"},
		"together":      {files(3, 4<<20), "files_too_large"},
		"not a name":    {map[string]File{"../x": {}}, "bad_file_name"},
		"as they may":   {files(2, 4<<20), ""},
		"none":          {nil, ""},
		"an empty file": {files(1, 0), ""},
	} {
		no := inlineFiles(&nsjail.Spec{}, c.files)
		if (no == nil) != (c.code == "") || no != nil && no.Code != c.code {
			t.Errorf("%s: %+v", what, no)
		}
	}
}

// Rules replace those of the base, and its denials and bounds stay.
func TestNetworkOfARequest(t *testing.T) {
	base := must.Get(rules.ParseRule("https://base.example"))(t)
	own := &rules.Policy{Allow: []rules.Rule{base}, BlockedHosts: []string{"evil.example"}, MaxBytes: 7}
	s := nsjail.Spec{Net: nsjail.NetEgress, Egress: own}
	if no := network(&s, nil); no != nil || s.Egress != own {
		t.Errorf("nothing was asked: %+v", no)
	}
	if no := network(&s, []string{"example.org:443"}); no != nil || len(s.Egress.Allow) != 1 ||
		s.Egress.Allow[0].Host != "example.org" ||
		s.Egress.MaxBytes != 7 || len(s.Egress.BlockedHosts) != 1 {
		t.Errorf("%+v %+v", no, s.Egress)
	}
	if len(own.Allow) != 1 || own.Allow[0].Host != "base.example" {
		t.Errorf("the base has changed: %+v", own)
	}
	s = nsjail.Spec{}
	if no := network(&s, []string{"example.org:443"}); no != nil || s.Net != nsjail.NetEgress {
		t.Errorf("%+v %+v", no, s)
	}
	if no := network(&s, []string{"example.org:443", "http://"}); no == nil || no.Code != "bad_network_rule" ||
		no.Rule != "network[1]" {
		t.Errorf("%+v", no)
	}
}

func TestLeast(t *testing.T) {
	for _, c := range []struct{ base, asked, want int64 }{{0, 0, 0}, {0, 5, 5}, {5, 0, 5}, {5, 3, 3}, {5, 7, 5},
		{-1, 7, 7}} {
		if got := least(c.asked, c.base); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// What a request leaves open is filled from the engine's options, below what policies have set.
func TestFill(t *testing.T) {
	second := nsjail.Duration(time.Second)
	d := &defaults{timeout: 10 * second, maxTimeout: 60 * second, memory: 100}
	for name, c := range map[string]struct {
		base, have nsjail.Limits // have: after the policies
		asked      Request
		wall       nsjail.Duration
		memory     nsjail.Bytes
		narrowed   bool
	}{
		"nothing":                  {wall: 10 * second, memory: 100},
		"a policy's":               {have: nsjail.Limits{Wall: 5 * second, Memory: 50}, wall: 5 * second, memory: 50},
		"a policy's that is wider": {have: nsjail.Limits{Wall: 20 * second, Memory: 500}, wall: 10 * second, memory: 100},
		"asked": {have: nsjail.Limits{Wall: 20 * second, Memory: 500}, asked: Request{Timeout: 20 * second, Memory: 500},
			wall: 20 * second, memory: 500},
		"more than the most": {have: nsjail.Limits{Wall: 90 * second}, asked: Request{Timeout: 90 * second},
			wall:   60 * second,
			memory: 100, narrowed: true},
		"without end": {have: nsjail.Limits{Wall: -1}, asked: Request{Timeout: 1}, wall: 60 * second, memory: 100,
			narrowed: true},
		"the base's": {base: nsjail.Limits{Wall: 30 * second, Memory: 900},
			have: nsjail.Limits{Wall: 30 * second, Memory: 900},
			wall: 30 * second, memory: 900},
	} {
		d.spec.Limits = c.base
		j := &job.Job{Spec: nsjail.Spec{Limits: c.have}}
		d.fill(j, &c.asked)
		l := j.Spec.Limits
		if l.Wall != c.wall || l.Memory != c.memory || (len(j.Verdict.Narrowed) > 0) != c.narrowed ||
			l.OutputLimit != DefaultOutputLimit {
			t.Errorf("%s: %+v %q", name, l, j.Verdict.Narrowed)
		}
	}
}

// Each way in which a run can end has its status.
func TestAnswer(t *testing.T) {
	refusal := &job.Refusal{Message: "no", Code: "c", Layer: "policy"}
	jail := func(fault spec.Fault, op string) error {
		return &nsjail.Error{Fault: fault, Op: op, Detail: "d", Remedy: "r"}
	}
	for name, c := range map[string]struct {
		res          *nsjail.Result
		err          error
		status, code string
	}{
		"a refusal":          {nil, refusal, "refused", "c"},
		"a wrapped refusal":  {nil, fmt.Errorf("x: %w", refusal), "refused", "c"},
		"a caller who left":  {nil, context.Canceled, "cancelled", ""},
		"a caller's time":    {nil, context.DeadlineExceeded, "cancelled", ""},
		"no descriptors":     {nil, os.NewSyscallError("socketpair", unix.EMFILE), "error", "machine_full"},
		"the command":        {nil, jail(spec.FaultCaller, "exec"), "error", "command_not_runnable"},
		"the caller's fault": {nil, jail(spec.FaultCaller, "mounts[0]"), "error", "bad_request"},
		"the host's fault":   {nil, jail(spec.FaultHost, "userns"), "error", "host_lacks"},
		"our fault":          {nil, jail(spec.FaultBrig, "clone3"), "error", "jail_failed"},
		"another error":      {nil, errors.New("x"), "error", "jail_failed"},
		"a result":           {&nsjail.Result{Status: nsjail.StatusOK}, nil, "ok", ""},
		"a result, unread":   {&nsjail.Result{Status: nsjail.StatusFailed, ExitCode: 3}, errors.New("x"), "failed", ""},
	} {
		a := answer(&job.Job{ID: "run_1", Verdict: job.Verdict{Narrowed: []string{"n"}}}, &Request{}, c.res, c.err)
		if a.Status != c.status || (a.Error == nil) != (c.code == "") || a.Error != nil && a.Error.Code != c.code ||
			a.ID != "run_1" ||
			len(a.Narrowed) != 1 || (a.Usage != nil) != (c.res != nil) || c.res == nil && a.ExitCode != -1 {
			t.Errorf("%s: %+v %+v", name, a, a.Error)
		}
	}
}

func TestViolations(t *testing.T) {
	res := &nsjail.Result{Violation: &nsjail.Violation{Syscall: "ptrace", Count: 2}, Network: &egress.Summary{
		ByVerdict: map[egress.Verdict]int{egress.VerdictDeny: 3},
		ByReason:  map[rules.Reason]int{"private": 1, "blocked": 2}}}
	got := violations(res)
	want := []Violation{{"syscall", "ptrace", 2}, {"network", "blocked, private", 3}}
	if !slices.Equal(got, want) || violations(&nsjail.Result{Network: &egress.Summary{}}) != nil {
		t.Errorf("%+v", got)
	}
}

// TestDenials: the answer has what the report has, and a command that cannot be executed.
func TestDenials(t *testing.T) {
	list := []denial.Denial{{Layer: "syscall", Name: "mount", Count: 2, Why: "w"}}
	if a := answer(&job.Job{}, &Request{}, &nsjail.Result{Denials: list}, nil); !slices.Equal(a.Denials, list) {
		t.Errorf("%+v", a.Denials)
	}
	err := &nsjail.ExecError{Cause: &nsjail.Error{Fault: spec.FaultCaller, Op: "exec", Detail: `"x"`, Errno: unix.ENOENT, Remedy: "r"}}
	want := []denial.Denial{{Layer: "exec", Name: `"x"`, Count: 1, Why: "no such file or directory", Fix: "r"}}
	if a := answer(&job.Job{}, &Request{}, nil, err); !slices.Equal(a.Denials, want) {
		t.Errorf("%+v", a.Denials)
	}
}

// The agent is the token's or the caller's, and no token acts for a local caller.
func TestAgentOf(t *testing.T) {
	g := &Grant{}
	for _, c := range []struct {
		caller      Caller
		asked, want string
		code        string
	}{
		{Caller{}, "", Local, ""},
		{Caller{}, "bot", "bot", ""},
		{Caller{Agent: "bot"}, "", "bot", ""},
		{Caller{Agent: "bot"}, "bot", "bot", ""},
		{Caller{Agent: "bot"}, "other", "", "other_agent"},
		{Caller{Grant: g}, "", "anybody", ""},
		{Caller{Grant: g}, "bot", "bot", ""},
		{Caller{Grant: g}, Local, "", "agent_reserved"},
		{Caller{Grant: g}, "uid-0", "", "agent_reserved"},
		{Caller{Agent: "uid-7"}, "", "uid-7", ""},
		{Caller{}, "../x", "", "bad_agent"},
	} {
		got, no := agentOf(c.caller, c.asked)
		if got != c.want || (no == nil) != (c.code == "") || no != nil && no.Code != c.code && c.code != "bad_agent" {
			t.Errorf("%+v asks for %q: %q %+v", c.caller, c.asked, got, no)
		}
	}
	if (Caller{}).Name() != Local || (Caller{Agent: "a"}).Name() != "a" || (Caller{Grant: g}).Name() != "anybody" {
		t.Error("names")
	}
	if (Caller{}).agent() != workspace.Any || (Caller{Agent: "a"}).agent() != "a" {
		t.Error("whose sandboxes")
	}
}

// The smallest of what the request, the policy's output and the engine allow is kept, and the jail itself cuts nothing.
func TestKeptOutput(t *testing.T) {
	d := &defaults{maxOutput: 1000}
	for _, c := range []struct {
		asked, limit nsjail.Bytes
		stream       bool
		want         nsjail.Bytes
	}{{0, 0, false, 1000}, {10, 0, false, 10}, {0, 20, false, 20}, {30, 20, false, 20}, {5000, 0, false, 1000},
		{0, 0, true, 0}, {7, 0, true, 7}} {
		j := &job.Job{Spec: nsjail.Spec{Limits: nsjail.Limits{Output: c.limit}}}
		if got := d.limit(j, &Request{MaxOutput: c.asked}, c.stream); got != c.want || j.Spec.Limits.Output != 0 {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// A stream of input ends where the tightest policy's stdin_bytes end.
func TestBoundedInput(t *testing.T) {
	own := policies{{}, {Inputs: policy.Inputs{StdinBytes: 5}}, {Inputs: policy.Inputs{StdinBytes: 3}}}
	b := make([]byte, 10)
	if n, err := own.bounded(Caller{}, strings.NewReader("0123456789")).Read(b); n != 3 || err != nil {
		t.Errorf("%d %v", n, err)
	}
}

func TestLanguagesOfTheMachine(t *testing.T) {
	list := newEngine(t, Options{}).Languages()
	names := map[string]bool{}
	for _, l := range list {
		if names[l.Name] || l.Name == "" || !strings.HasPrefix(l.Path, "/") {
			t.Errorf("%+v", l)
		}
		names[l.Name] = true
	}
	if !names["sh"] && !names["bash"] {
		t.Errorf("no shell: %+v", list)
	}
}

// A file's JSON is read as it was written.
func FuzzFile(f *testing.F) {
	for _, text := range []string{`"x"`, `{"text":"x"}`, `{"base64":"AP8=","executable":true}`, `{"text":"","base64":""}`,
		`null`, `{}`, `[]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var a, b File
		if json.Unmarshal(text, &a) != nil {
			return
		}
		again, err := json.Marshal(a)
		if err == nil {
			err = json.Unmarshal(again, &b)
		}
		if err != nil || string(a.Data) != string(b.Data) || a.Executable != b.Executable {
			t.Errorf("%s: %+v %s %+v %v", text, a, again, b, err)
		}
	})
}

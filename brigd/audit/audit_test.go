package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"brig/brigd/job"
	"brig/internal/test/must"
	"brig/nsjail"
)

func open(t testing.TB, o Options) *Log {
	t.Helper()
	l := must.Get(Open(o))(t)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func closeLog(t testing.TB, l *Log) {
	t.Helper()
	must.Do(t, l.Close())
}

// lines verifies a log and returns its lines.
func lines(t testing.TB, path string) (list []*Line, r Report) {
	t.Helper()
	r = must.Get(VerifyOptions{Each: func(l *Line) { list = append(list, l) }}.Verify(path))(t)
	return list, r
}

func kinds(list []*Line) (out []string) {
	for _, l := range list {
		out = append(out, l.Kind)
	}
	return out
}

func newJob(id string) *job.Job {
	return &job.Job{ID: id, Agent: "ci", Token: "t1", Sandbox: "s1", Language: "python", Code: []byte("print(1)"),
		Spec: nsjail.Spec{Args: []string{"python3", "-c", "SECRET-ARG"}, Env: []string{"K=SECRET-ENV"}}}
}

func TestARunHasTwoEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "audit.jsonl")
	l := open(t, Options{Path: path})
	fake := &echo{during: func(*job.Job) {
		list, _ := lines(t, path) // it is written before anything runs
		if len(list) != 2 || list[1].Kind != RunStart {
			t.Errorf("before the run: %v", kinds(list))
		}
	}}
	j := newJob("r1")
	j.Verdict.Policies, j.Verdict.Narrowed = []string{"minimal"}, []string{"memory: 1g to 512m"}
	if _, err := Wrap(fake, l).Execute(context.Background(), j); err != nil || !j.WantPlanDigest {
		t.Fatal(err, j.WantPlanDigest)
	}
	closeLog(t, l)
	list, r := lines(t, path)
	if !slices.Equal(kinds(list), []string{LogOpen, RunStart, RunEnd, LogClose}) || r.Started != 1 || r.Ended != 1 ||
		len(r.Unfinished) > 0 {
		t.Fatalf("%v %+v", kinds(list), r)
	}
	s, e := list[1], list[2]
	spec := strings.TrimPrefix(j.Spec.Digest(), "sha256:")
	if s.Run != "r1" || s.Agent != "ci" || s.Token != "t1" || s.Sandbox != "s1" || s.Language != "python" || s.Argc != 3 ||
		s.CodeBytes != 8 ||
		s.CodeDigest != digest([]byte("print(1)")) || s.ArgvDigest != digest([]byte("python3\x00-c\x00SECRET-ARG\x00")) ||
		s.SpecDigest != spec ||
		!s.Verdict.Allowed || s.Verdict.Policies[0] != "minimal" || len(s.Verdict.Narrowed) != 1 {
		t.Errorf("%+v", s)
	}
	if e.Run != "r1" || e.Status != "ok" || *e.ExitCode != 0 || e.PlanDigest != strings.Repeat("a", 64) ||
		e.Output.StdoutBytes != 3 ||
		!bytes.Contains(e.Usage, []byte(`"wall_ms":`)) || e.Token != "t1" {
		t.Errorf("%+v", e)
	}
	data, err := os.ReadFile(path)
	if err != nil || bytes.Contains(data, []byte("SECRET")) || bytes.Contains(data, []byte("print(")) {
		t.Errorf("the log holds the code, an argument or a variable: %s %v", data, err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode() != 0o600 {
		t.Error(st.Mode(), err)
	}
}

func TestARefusedJobHasOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, Options{Path: path, Argv: true})
	fake := &echo{}
	e := Wrap(fake, l)
	j := newJob("r1")
	j.Refuse(&job.Refusal{Message: "no", Code: "command_not_allowed", Layer: "policy", Rule: "minimal: commands"})
	var no *job.Refusal
	if _, err := e.Execute(context.Background(), j); !errors.As(err, &no) || no.Code != "command_not_allowed" ||
		len(fake.ran) > 0 {
		t.Error(err, fake.ran)
	}
	inner := Wrap(executor(func(j *job.Job) (*nsjail.Result, error) {
		return nil, &job.Refusal{Message: "full", Code: "queue_full", Layer: "queue"}
	}), l)
	if _, err := inner.Execute(context.Background(), newJob("r2")); !errors.As(err, &no) {
		t.Error(err)
	}
	broken := Wrap(executor(func(j *job.Job) (*nsjail.Result, error) { return nil, errors.New("no launcher") }), l)
	if _, err := broken.Execute(context.Background(), newJob("r3")); err == nil {
		t.Error("an error was lost")
	}
	list, r := lines(t, path)
	if !slices.Equal(kinds(list), []string{LogOpen, RunRefused, RunStart, RunEnd, RunStart, RunEnd}) || r.Refused != 1 {
		t.Fatal(kinds(list))
	}
	if v := list[1].Verdict; v.Allowed || v.Layer != "policy" || v.Rule != "minimal: commands" || v.Error != "no" ||
		len(list[1].Argv) != 3 {
		t.Errorf("%+v", v)
	}
	if list[3].Status != "refused" || list[3].Verdict.Layer != "queue" || list[5].Status != "error" ||
		list[5].Error != "no launcher" {
		t.Errorf("%+v %+v", list[3], list[5])
	}
}

type executor func(j *job.Job) (*nsjail.Result, error)

func (f executor) Execute(_ context.Context, j *job.Job) (*nsjail.Result, error) { return f(j) }

// Whatever a payload or a caller puts into a name, a line is one line of printable characters, and the original can be
// read from it.
func TestInjection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, Options{Path: path, Argv: true})
	evil := "a\n{\"seq\":99}\r\x1b[2J\x00\u202e\u2028\u0085\ufeff\u200b\x7f\"\\\U000e0041é"
	j := newJob(evil)
	j.Agent, j.Language, j.Spec.Args = "\xff\xfe"+evil, strings.Repeat("ü", 4000),
		[]string{evil, strings.Repeat("\x01", 1<<20), "more"}
	j.Verdict.Narrowed = slices.Repeat([]string{evil}, 100)
	must.Get(Wrap(&echo{}, l).Execute(context.Background(), j))(t)
	if err := l.Append(Event{Kind: "log.close"}); err == nil {
		t.Error("a caller has written an event of the log's own")
	}
	if err := l.Append(Event{Kind: "x\n"}); err == nil {
		t.Error("a kind with a newline")
	}
	data, err := os.ReadFile(path)
	if err != nil || bytes.Count(data, []byte("\n")) != 3 {
		t.Fatalf("%d lines, %v", bytes.Count(data, []byte("\n")), err)
	}
	for _, r := range string(data) {
		if r != '\n' && (r < 0x20 || r == 0x7f || r >= 0x80 && r != 'é' && r != 'ü') || r == utf8.RuneError {
			t.Fatalf("%U is in the log", r)
		}
	}
	list, _ := lines(t, path)
	if list[1].Run != evil || list[1].Agent != `\xff\xfe`+evil || !strings.HasSuffix(list[1].Language, " bytes]") ||
		len(list[1].Verdict.Narrowed) != maxList+1 {
		t.Errorf("%q %q", list[1].Run, list[1].Agent)
	}
}

func TestManyAtOnce(t *testing.T) {
	for _, sync := range []string{SyncInterval, SyncAlways, SyncNever} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := open(t, Options{Path: path, MaxBytes: 1 << 20, Sync: sync})
		many(t, Wrap(&echo{}, l), 40, 30)
		closeLog(t, l)
		_, r := lines(t, path)
		if r.Started != 1200 || r.Ended != 1200 || len(r.Unfinished) > 0 || len(r.Files) < 2 {
			t.Errorf("%s: %+v", sync, r)
		}
	}
}

// many has so many clients run so many jobs each.
func many(t *testing.T, e job.Executor, clients, jobs int) {
	t.Helper()
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			for i := range jobs {
				if _, err := e.Execute(context.Background(), newJob(fmt.Sprintf("%d-%d", c, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

// The event of a run by a parked interpreter has the field warm: its plan digest is that of the interpreter's jail.
func TestWarmIsLogged(t *testing.T) {
	for _, warm := range []bool{false, true} {
		e := after(&job.Job{}, &nsjail.Result{Warm: warm}, nil, false)
		text, err := e.encode()
		if err != nil || strings.Contains(string(text), `"warm":true`) != warm {
			t.Errorf("%s, %v", text, err)
		}
	}
}

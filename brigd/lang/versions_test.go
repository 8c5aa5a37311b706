package lang

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"brig/brigd/job"
	"brig/internal/test/long"
	"brig/internal/test/must"
	"brig/nsjail"
)

func TestVersions(t *testing.T) {
	long.Again(t)
	l := Find()
	before := l.List()
	must.Do(t, l.Versions(t.Context(), job.On(runner(t))))
	list := l.List()
	if len(list) == 0 || len(list) > len(before) {
		t.Fatalf("%+v, and before %+v", list, before)
	}
	for _, i := range list {
		t.Logf("%+v", i)
		switch i.Name {
		case "sh", "awk":
			continue
		}
		if i.Version == "" {
			t.Errorf("%s: no version", i.Name)
		}
	}
	for name, args := range map[string][]string{"python": {"python3", "--version"}, "javascript": {"node", "--version"}} {
		for _, i := range list {
			if i.Name != name {
				continue
			}
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Path, cmd.Err = i.Path, nil
			if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), i.Version) {
				t.Errorf("%s: %s, and the host says %s %v", name, i.Version, out, err)
			}
		}
	}
}

// fake is an Executor without jails.
type fake struct {
	mu    sync.Mutex
	calls int
	do    func(j *job.Job) (*nsjail.Result, error)
}

func (f *fake) Execute(_ context.Context, j *job.Job) (*nsjail.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	return f.do(j)
}

// two has one language with two programs.
func two() *Languages {
	l := &Languages{dir: codeDir}
	l.look()
	for _, g := range l.names {
		g.programs = nil
	}
	l.names["python"].programs = []program{{path: "/usr/local/bin/python3"}, {path: "/usr/bin/python3"}}
	return l
}

func TestVersionsOfBrokenPrograms(t *testing.T) {
	failing := func(j *job.Job) (*nsjail.Result, error) {
		if j.Spec.Args[0] == "/usr/bin/python3" {
			j.Stdout.Write([]byte("3.11.7\n42\n"))
			return &nsjail.Result{Status: nsjail.StatusOK}, nil
		}
		j.Stderr.Write([]byte("pyenv: \x1b[31mnot here\n" + strings.Repeat("x", 1<<20)))
		return &nsjail.Result{Status: nsjail.StatusFailed, ExitCode: 127}, nil
	}
	l, f := two(), &fake{do: failing}
	for range 2 {
		must.Do(t, l.Versions(t.Context(), f))
	}
	if list := l.List(); len(list) != 1 || list[0].Path != "/usr/bin/python3" || list[0].Version != "3.11.7" ||
		f.calls != 2 {
		t.Errorf("%+v after %d calls", list, f.calls)
	}

	l = two()
	l.names["python"].programs = l.names["python"].programs[:1]
	must.Do(t, l.Versions(t.Context(), f))
	no := l.Prepare(new(job.Job), "python", "", nil)
	if no == nil || no.Code != "language_missing" ||
		!strings.HasSuffix(no.Message, "/usr/local/bin/python3: failed, exit code 127: pyenv: [31mnot here") {
		t.Errorf("%+v", no)
	}

	l = two()
	idle := &fake{do: func(j *job.Job) (*nsjail.Result, error) {
		j.Stdout.Write([]byte("R version 4.2.2\n\x1b[31mcannot find system Renviron\n"))
		return &nsjail.Result{Status: nsjail.StatusOK}, nil
	}}
	if err := l.Try(t.Context(), idle, "py"); err != nil || len(l.List()) != 0 || idle.calls != 2 {
		t.Errorf("a language that does not print 42: %v %+v after %d calls", err, l.List(), idle.calls)
	}
	if no := l.Prepare(new(job.Job), "python", "", nil); no == nil ||
		!strings.Contains(no.Message, `it does not print 6*7, but "R version`) || strings.Contains(no.Message, "\x1b") {
		t.Errorf("%+v", no)
	}
	if err := l.Try(t.Context(), idle, "python"); err != nil || idle.calls != 2 {
		t.Errorf("%v: it is tried again", err)
	}

	for _, kind := range []error{nsjail.ErrNotFound, nsjail.ErrNotExecutable} {
		l = two()
		gone := &fake{do: func(*job.Job) (*nsjail.Result, error) {
			return nil, &nsjail.ExecError{Cause: &nsjail.Error{Op: "exec"}, Kind: kind}
		}}
		if err := l.Versions(t.Context(), gone); err != nil || len(l.List()) != 0 || gone.calls != 2 {
			t.Errorf("%v %+v", err, l.List())
		}
	}
}

// TestNoAnswerIsNoVerdict: a jail that could not be made, or a machine that is too slow, is no verdict on a language.
func TestNoAnswerIsNoVerdict(t *testing.T) {
	why := errors.New("no namespaces")
	for _, do := range []func(*job.Job) (*nsjail.Result, error){
		func(*job.Job) (*nsjail.Result, error) { return nil, why },
		func(*job.Job) (*nsjail.Result, error) { return nil, &job.Refusal{Message: "no", Layer: "policy"} },
		func(*job.Job) (*nsjail.Result, error) {
			return &nsjail.Result{Status: nsjail.StatusTimeout}, nil
		},
		func(*job.Job) (*nsjail.Result, error) { return &nsjail.Result{Status: nsjail.StatusMemory}, nil },
	} {
		l, f := two(), &fake{do: do}
		if err := l.Versions(t.Context(), f); err == nil || !strings.Contains(err.Error(), "python") {
			t.Error(err)
		}
		if list := l.List(); len(list) != 1 || list[0].Path != "/usr/local/bin/python3" {
			t.Errorf("%+v", list)
		}
		if err := l.Versions(t.Context(), f); err == nil || f.calls != 2 {
			t.Errorf("%v, %d calls", err, f.calls)
		}
	}
}

func TestParseVersion(t *testing.T) {
	for out, want := range map[string]string{
		"go version go1.26.8 linux/amd64\n": "1.26.8",
		"openjdk 17.0.18 2026-01-20\n":      "17.0.18",
		"Lua 5.4":                           "5.4",
		"5.2.15":                            "5.2.15",
		"4 of 12.2.0.":                      "12.2.0",
		"1.2-rc1+deb12 x":                   "1.2-rc1+deb12",
		"sh\n":                              "",
		"":                                  "",
		"7":                                 "",
		"1." + strings.Repeat("9", 99):      "",
		"3.\n":                              "",
		"20.20.2\n\x1b[31m<script>alert(1)</script>": "20.20.2",
	} {
		if got := parseVersion(out); got != want {
			t.Errorf("%q: %q, not %q", out, got, want)
		}
	}
}

// FuzzParseVersion: what a program prints becomes a short word without anything that a terminal or a page would obey.
func FuzzParseVersion(f *testing.F) {
	f.Add("go version go1.26.8 linux/amd64\n")
	f.Add("1.2-rc1+deb12\x1b[31m")
	f.Add("9.9.9.9.......")
	f.Fuzz(func(t *testing.T, out string) {
		v := parseVersion(out)
		if len(v) > maxVersion || !strings.Contains(out, v) || v != "" && !strings.Contains(v, ".") ||
			strings.Trim(v, "0123456789abcdefghijklmnopqrstuvwxyz.-+_~") != "" {
			t.Errorf("%q of %q", v, out)
		}
		if l := firstLine(out); len(l) > maxReason || strings.ContainsAny(l, "\n\r\x1b") {
			t.Errorf("%q of %q", l, out)
		}
	})
}

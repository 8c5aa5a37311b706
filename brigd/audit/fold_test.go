package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"brig/brigd/job"
	"brig/internal/test/must"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// A flood of wrong keys is counted, and does not fill the disk; who comes from where is bounded, too.
func TestRefusalsAreFolded(t *testing.T) { synctest.Test(t, testRefusalsAreFolded) }

func testRefusalsAreFolded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, Options{Path: path})
	r := NewRefusals(l)
	wrong := &job.Refusal{Layer: "auth", Code: "unknown_key", Rule: "Authorization", Message: "SECRET"}
	for range 1000 {
		r.Add(wrong, "10.0.0.1")
	}
	time.Sleep(foldTime)
	synctest.Wait()
	r.Add(wrong, "10.0.0.1")
	for i := range 1000 {
		r.Add(wrong, fmt.Sprint("10.0.1.", i))
	}
	r.Close()
	r.Close()
	closeLog(t, l)
	list, _ := lines(t, path)
	var total int64
	for _, e := range list {
		if e.Kind == AuthRefused {
			total += max(e.Count, 1)
		}
	}
	if len(list) > maxFolds+6 || total != 2001 || list[2].Count != 999 || list[2].Source != "10.0.0.1" ||
		list[2].Verdict.Code != "unknown_key" || list[2].Verdict.Error != "" {
		t.Errorf("%d events of %d refusals, %+v", len(list), total, list[2])
	}
}

// Without Options.Argv no word of a command is in the log, also not by way of a message.
func TestMessagesHoldNoArguments(t *testing.T) {
	for _, argv := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := open(t, Options{Path: path, Argv: argv})
		for i, err := range []error{
			&nsjail.ExecError{Cause: &nsjail.Error{Fault: spec.FaultCaller, Op: "exec", Detail: `"/opt/CUSTOMER"`,
				Errno: unix.ENOENT}, Kind: nsjail.ErrNotFound},
			&nsjail.Error{Fault: spec.FaultCaller, Op: "workdir", Detail: `chdir("/CUSTOMER")`, Errno: unix.ENOENT},
			&nsjail.Error{Fault: spec.FaultHost, Op: "memory", Detail: "CUSTOMER"},
			&job.Refusal{Layer: "queue", Code: "queue_full", Message: "CUSTOMER"},
			errors.New("CUSTOMER"),
		} {
			e := Wrap(executor(func(*job.Job) (*nsjail.Result, error) { return nil, err }), l)
			_, _ = e.Execute(context.Background(), newJob(fmt.Sprint("r", i)))
		}
		j := newJob("refused")
		j.Refuse(&job.Refusal{Layer: "policy", Code: "argument_not_allowed", Rule: "minimal: commands",
			Message: `the argument "CUSTOMER"`})
		_, _ = Wrap(&echo{}, l).Execute(context.Background(), j)
		closeLog(t, l)
		text := must.Get(os.ReadFile(path))(t)
		if n := strings.Count(string(text), "CUSTOMER"); n > 0 != argv {
			t.Errorf("argv %v: %d\n%s", argv, n, text)
		}
		for _, want := range []string{`"error":"exec: no such file or directory"`, `"error":"memory"`, `"code":"queue_full"`,
			`"rule":"minimal: commands"`} {
			if !argv && !strings.Contains(string(text), want) {
				t.Errorf("%s is not in\n%s", want, text)
			}
		}
	}
}

// The owner of the log is told why it cannot be written, once, and when it can again.
func TestBrokenIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var told []error
	l := open(t, Options{Path: path, Broken: func(why error) { told = append(told, why) }})
	must.Do(t, os.Rename(path, path+".away"))
	for range 2 {
		if l.Append(Event{Kind: "test"}) == nil {
			t.Error("written to a file that was moved")
		}
	}
	must.Do(t, os.Rename(path+".away", path))
	if err := l.Append(Event{Kind: "test"}); err != nil {
		t.Error(err)
	}
	if len(told) != 2 || told[0] == nil || told[1] != nil {
		t.Errorf("%v", told)
	}
}

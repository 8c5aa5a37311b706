package audit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/brigd/job"
	"brig/denial"
	"brig/internal/test/must"
	"brig/nsjail"
)

// TestDenialsAreLogged: the event of a run's end has what the jail has refused, and the name of a command that could not
// be executed, which is an argument, only with Options.Argv.
func TestDenialsAreLogged(t *testing.T) {
	r, err := nsjail.NewRunner()
	if err != nil {
		t.Skip("no jail can be made here: ", err)
	}
	defer r.Close()
	for _, argv := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		e := Wrap(job.On(r), open(t, Options{Path: path, Argv: argv}))
		j := &job.Job{ID: "a", Spec: nsjail.Spec{Args: []string{"unshare", "-U", "true"}}}
		must.Get(e.Execute(context.Background(), j))(t)
		j = &job.Job{ID: "b", Spec: nsjail.Spec{Args: []string{"no-such-SECRET"}}}
		if _, err := e.Execute(context.Background(), j); err == nil {
			t.Error("a command that does not exist has run")
		}
		name := ""
		if argv {
			name = `"no-such-SECRET"`
		}
		list, _ := lines(t, path)
		for i, want := range map[int]Denial{2: {"syscall", "unshare", 1}, 4: {"exec", name, 1}} {
			if got := list[i].Denials; !slices.Equal(got, []Denial{want}) {
				t.Errorf("argv %v: %+v, want %+v", argv, got, want)
			}
		}
		data, err := os.ReadFile(path)
		if err != nil || bytes.Contains(data, []byte("SECRET")) != argv {
			t.Errorf("argv %v: %v %s", argv, err, data)
		}
	}
}

// TestNoCallHidesAnother: a payload that is refused every system call there is, and every destination that is listed,
// has all of them in its event.
func TestNoCallHidesAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	all := []denial.Denial{}
	for i := range 512 {
		all = append(all, denial.Denial{Layer: "syscall", Name: fmt.Sprint("system call ", i), Count: 1 << 62, Why: "w"})
	}
	for range 17 {
		all = append(all, denial.Denial{Layer: "network", Name: strings.Repeat("\x01", 253) + ":65535", Count: 1, Why: "w"})
	}
	e := Wrap(executor(func(*job.Job) (*nsjail.Result, error) { return &nsjail.Result{Denials: all}, nil }),
		open(t, Options{Path: path}))
	r, err := e.Execute(context.Background(), newJob("r"))
	if err != nil || len(r.Notes) > 0 {
		t.Fatal(err, r.Notes)
	}
	list, _ := lines(t, path)
	if got := list[2].Denials; len(got) != len(all) || got[511].Name != "system call 511" || got[511].Count != 1<<62 {
		t.Errorf("%d denials are logged of %d", len(got), len(all))
	}
}

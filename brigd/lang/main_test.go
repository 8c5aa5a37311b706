package lang

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/brigd/job"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/nsjail"
)

// TestMain runs the suite as root and again as an ordinary user.
func TestMain(m *testing.M) {
	code := asuser.Main(m)
	if r := theRunner.r; r != nil {
		if err := r.Close(); err != nil && code == 0 {
			os.Stderr.WriteString("runner: " + err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

var theRunner struct {
	once sync.Once
	r    *nsjail.Runner
	err  error
}

// runner is one for all tests.
func runner(t testing.TB) *nsjail.Runner {
	t.Helper()
	theRunner.once.Do(func() { theRunner.r, theRunner.err = nsjail.NewRunner() })
	if theRunner.err != nil {
		t.Fatal(theRunner.err)
	}
	return theRunner.r
}

// outcome is what a run has said.
type outcome struct {
	out, messages string
	*nsjail.Result
}

// story is one run of code.
type story struct {
	code, stdin string
	none        bool // no stdin at all
	args        []string
	spec        nsjail.Spec
}

func (s story) run(t *testing.T, l *Languages, language string) outcome {
	t.Helper()
	var out, messages bytes.Buffer
	j := &job.Job{Spec: s.spec, Stdout: &out, Stderr: &messages}
	if !s.none {
		j.Stdin = strings.NewReader(s.stdin)
	}
	j.Spec.Limits.Wall = nsjail.Duration(2 * time.Minute)
	if no := l.Prepare(j, language, s.code, s.args); no != nil {
		t.Fatalf("%v", no)
	}
	result, err := job.On(runner(t)).Execute(context.Background(), j)
	if err != nil {
		t.Fatalf("%s: %v", language, err)
	}
	return outcome{out.String(), messages.String(), result}
}

// need skips a test of a language that this machine does not have.
func need(t *testing.T, l *Languages, language string) {
	t.Helper()
	if language == "java" && asuser.Second() {
		t.Skip("a start of Java takes more than a second of processor time, and has been seen in the first run")
	}
	must.Do(t, l.Try(context.Background(), job.On(runner(t)), language))
	if no := l.Prepare(new(job.Job), language, "", nil); no != nil {
		t.Skip(no.Message) // a machine may have it, and it may not work in a jail
	}
}

package audit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"brig/brigd/job"
	"brig/internal/test/asuser"
	"brig/nsjail"
)

const childVar = "BRIG_AUDIT_TEST_CHILD"

// TestMain runs the suite as root and as an ordinary user: who may open what differs.
func TestMain(m *testing.M) {
	if task, path, ok := strings.Cut(os.Getenv(childVar), " "); ok {
		os.Exit(child(task, path))
	}
	os.Exit(asuser.Main(m))
}

// echo is an Executor that runs nothing and counts.
type echo struct {
	mu     sync.Mutex
	ran    []string
	during func(j *job.Job)
}

func (e *echo) Execute(_ context.Context, j *job.Job) (*nsjail.Result, error) {
	if j.Verdict.Refusal != nil {
		return nil, j.Verdict.Refusal
	}
	e.mu.Lock()
	e.ran = append(e.ran, j.ID)
	e.mu.Unlock()
	if e.during != nil {
		e.during(j)
	}
	j.PlanDigest = strings.Repeat("a", 64)
	return &nsjail.Result{Status: nsjail.StatusOK, Usage: nsjail.NoUsage(), Output: nsjail.Output{StdoutBytes: 3}}, nil
}

// child is a writer in a process of its own: it prints the id of each run once its before-event is written.
func child(task, path string) int {
	l, err := Open(Options{Path: path, MaxBytes: 1 << 20})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	full := func(max uint64) { // setrlimit(2)
		_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: max, Max: 1 << 30})
	}
	e := Wrap(&echo{during: func(j *job.Job) {
		fmt.Println(j.ID)
		if task == "full" && j.ID == "run-2" {
			st, _ := os.Stat(path)
			full(uint64(st.Size() + 100)) // the end of the run is torn
		}
	}}, l)
	if task == "kill" {
		var wait sync.WaitGroup
		for w := range 4 {
			wait.Go(func() {
				for i := 0; ; i++ {
					j := &job.Job{ID: fmt.Sprintf("%d-%d-%d", os.Getpid(), w, i), Spec: nsjail.Spec{Args: []string{"true"}}}
					if _, err := e.Execute(context.Background(), j); err != nil {
						fmt.Println("failed:", err)
					}
				}
			})
		}
		wait.Wait()
	}
	signal.Ignore(unix.SIGXFSZ)
	for i := range 6 {
		if i == 5 {
			full(1 << 30)
		}
		r, err := e.Execute(context.Background(),
			&job.Job{ID: fmt.Sprint("run-", i), Spec: nsjail.Spec{Args: []string{"true"}}})
		fmt.Println("err:", err, "notes:", r != nil && len(r.Notes) > 0)
	}
	fmt.Println("close:", l.Close())
	return 0
}

func spawn(t *testing.T, task, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childVar+"="+task+" "+path)
	cmd.Stderr = os.Stderr
	return cmd
}

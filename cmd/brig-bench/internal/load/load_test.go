package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brig/cmd/brig-bench/internal/peers"
	"brig/internal/test/must"
)

// The test binary is its own payload, as the benchmark is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Subcommand {
		if err := Perform(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// perform performs an operation in this process.
func perform(r Request) (nanos []int64, err error) {
	var out bytes.Buffer
	if err := Perform([]string{r.Op, fmt.Sprint(r.N), r.Arg}, strings.NewReader(""), &out); err != nil {
		return nil, err
	}
	return nanos, json.Unmarshal(out.Bytes(), &nanos)
}

func TestProbes(t *testing.T) {
	for _, r := range []Request{
		{"getppid", 100, ""}, {"read", 100, "/dev/zero"}, {"open", 10, "/proc/self/stat"}, {"socket", 10, ""},
	} {
		if nanos, err := perform(r); err != nil || len(nanos) != 1 || nanos[0] <= 0 {
			t.Errorf("%+v: %v, %v", r, nanos, err)
		}
	}
	for _, r := range []Request{{"open", 1, "/no/such"}, {"read", 1, "/dev/null"}} {
		if _, err := perform(r); err == nil || !strings.HasPrefix(err.Error(), r.Op+": ") {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestPerformRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"started by it alone": {"getppid"}, `no operation "no such"`: {"no such", "1", ""}, `parsing "x"`: {"getppid", "x", ""},
	} {
		if err := Perform(args, strings.NewReader(""), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

// tool returns the tool that makes no jail, with a job.
func tool(t *testing.T, j peers.Job) *peers.Ready {
	t.Helper()
	r := must.Get(peers.Relays(&peers.Host{Dir: t.TempDir(), Brig: "/no/brig"})[0].Prepare(j))(t)
	t.Cleanup(func() { must.Do(t, r.Close()) })
	return r
}

// A payload's figures, and its reason where it has none, come out of the jail.
func TestAsk(t *testing.T) {
	for _, c := range []struct {
		r    Request
		want string
	}{{Request{"getppid", 10, ""}, ""}, {Request{"open", 1, "/no/such"}, "open: no such file"}} {
		job := must.Get(c.r.Job())(t)
		nanos, err := Ask(tool(t, job))
		if c.want == "" && (err != nil || len(nanos) != 1) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, %v", c.r, nanos, err)
		}
	}
	if _, err := Ask(tool(t, peers.Job{Args: []string{"/bin/true"}})); err == nil || !strings.Contains(err.Error(), `has printed ""`) {
		t.Errorf("a payload that prints nothing: %v", err)
	}
}

func TestPss(t *testing.T) {
	if n, err := pss(os.Getpid()); err != nil || n < 1<<20 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := pss(0); err == nil {
		t.Error("no process has a size")
	}
}

// The job shows the program itself, at a path that every jail has.
func TestJob(t *testing.T) {
	job, err := Request{"read", 5, "/x y"}.Job()
	if err != nil || strings.Join(job.Args, "|") != peers.Target+"|load|read|5|/x y" || !filepath.IsAbs(job.Show) {
		t.Errorf("%+v, %v", job, err)
	}
}

package policy

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"brig/brigd/job"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/nsjail"
)

// TestMain runs the suite as root and again as an ordinary user.
func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

// What the built-in profiles make of a run is a run: the narrowed Spec starts, and what was refused has not run.
func TestProfilesRun(t *testing.T) {
	runner := must.Get(nsjail.NewRunner())(t)
	defer runner.Close()
	for _, c := range []struct {
		profile, code, out string
		args               []string
	}{
		{"minimal", "", "b\na\n", []string{"printf", "%s\\n", "b", "a"}},
		{"minimal", "command_not_allowed", "", []string{"sh", "-c", "echo no"}},
		{"minimal", "command_not_allowed", "", []string{"./printf", "no"}},
		{"python-data", "", "42\n", []string{"python3", "-c", "print(6*7)"}},
		{"node", "", "42\n", []string{"node", "-e", "console.log(6*7)"}},
		{"build", "", "42\n", []string{"sh", "-c", "echo $((6*7))"}},
	} {
		p := must.Get(LoadProfile("", c.profile))(t)
		if _, err := exec.LookPath(c.args[0]); err != nil && c.code == "" {
			t.Logf("%s is not tried: %v", c.profile, err)
			continue
		}
		var out bytes.Buffer
		// Where the machine has no control groups, the caller may do without them; the profiles let it.
		optional := []string{"memory", "memory_swap", "cpus", "cpu_time", "processes"}
		j := &job.Job{Spec: nsjail.Spec{Args: c.args, Optional: optional}, Stdout: &out, Stderr: &out}
		p.Decide(j)
		res, err := job.On(runner).Execute(context.Background(), j)
		var no *job.Refusal
		switch {
		case errors.As(err, &no):
			if no.Code != c.code {
				t.Errorf("%s: %v: %v", c.profile, c.args, no)
			}
		case err != nil:
			t.Errorf("%s: %v: %v", c.profile, c.args, err)
		case c.code != "" || res.Status != nsjail.StatusOK || !strings.HasPrefix(out.String(), c.out):
			t.Errorf("%s: %v: %s %q", c.profile, c.args, res.Status, out.String())
		}
	}
}

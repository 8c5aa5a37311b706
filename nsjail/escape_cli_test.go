package nsjail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"brig/internal/attack"
	"brig/internal/test/asuser"
	"brig/internal/test/long"
	"brig/internal/test/must"
	"brig/internal/words"
)

// TestEscapeCLI runs every attack through `brig run`, whose launcher begins as a copy of the command itself: what a
// careless caller leaves in its environment, arguments and open descriptors is nearer to the payload there.
func TestEscapeCLI(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the attacks know the system-call numbers of x86-64 only")
	}
	for i, a := range loadAttacks(t) {
		t.Run(a.Title(), func(t *testing.T) {
			if i%8 != 3 {
				long.Test(t)
			}
			t.Parallel()
			a.skip(t)
			if v, detail := a.runCLI(t); v != attack.Contained {
				t.Errorf("%s\nby brig run: %s, %s", a.Claim, v, detail)
			}
		})
	}
}

func (a *trial) runCLI(t *testing.T) (attack.Verdict, string) {
	t.Helper()
	s, jail := a.setUp(t, false)
	must.Do(t, os.WriteFile(s.Path("spec.json"), jail.JSON(), 0o644))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	// $DIR, and with it $MARK, stands in the arguments: nobody may read them
	cmd := exec.CommandContext(ctx, filepath.Join(asuser.Dir(), "brig"), "run", "--spec", s.Path("spec.json"), "--report", s.Path("report.json"))
	leak, err := os.Open(s.Vars["DIR"])
	must.Do(t, err)
	defer leak.Close()
	cmd.ExtraFiles = []*os.File{leak} // descriptor 3, which brig has not asked for
	cmd.Env = append(os.Environ(), "BRIG_CHANGES="+t.TempDir())
	cmd.Dir = s.Vars["DIR"]
	cmd.Env = append(os.Environ(), "BRIG_CHANGES="+t.TempDir()) // not the machine's own
	if s.Stdin != nil {
		cmd.Stdin = s.Stdin
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if s.Stderr != nil {
		cmd.Stderr = s.Stderr
	}
	err = cmd.Run()
	s.Outcome = outcomeOf(nil, out.Bytes())
	if evidence := s.Evidence(); evidence != "" {
		return attack.Escaped, evidence
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return attack.Unclear, err.Error()
	}
	if a.MayRefuse && cmd.ProcessState.ExitCode() == 125 {
		return attack.Contained, errOut.String()
	}
	var report struct {
		Status   Status `json:"status"`
		ExitCode int    `json:"exit_code"`
	}
	text, err := os.ReadFile(s.Path("report.json"))
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	if err != nil {
		return attack.Unclear, err.Error() + " " + words.Quote(errOut.String())
	}
	if report.ExitCode != cmd.ProcessState.ExitCode() {
		return attack.Escaped, "the exit code is not the report's"
	}
	s.Outcome.Status, s.Outcome.ExitCode = string(report.Status), report.ExitCode
	return attack.Judge(s.Outcome, errOut.String())
}

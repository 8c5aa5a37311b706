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
	"strings"
	"testing"
	"time"

	"brig/internal/test/asuser"
	"brig/internal/words"
)

// TestEscapeCLI runs every attack through `brig run`, whose launcher begins as a copy of the command itself: what a
// careless caller leaves in its environment, arguments and open descriptors is nearer to the payload there.
func TestEscapeCLI(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the attacks know the system-call numbers of x86-64 only")
	}
	for _, a := range loadAttacks(t, filepath.Join(asuser.Testdata(), "escape")) {
		t.Run(strings.TrimSuffix(a.name, filepath.Ext(a.name)), func(t *testing.T) {
			t.Parallel()
			if a.lane != "" && a.lane != lane() {
				t.Skipf("only as %s: %s", a.lane, a.laneReason)
			}
			if v, detail := a.runCLI(t); v != contained {
				t.Errorf("%s\nby brig run: %s, %s", a.claim, v, detail)
			}
		})
	}
}

func (a *attack) runCLI(t *testing.T) (verdict, string) {
	t.Helper()
	s, jail := a.setUp(t, false)
	s.write(t, "spec.json", string(jail.JSON()))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	// $DIR, and with it $MARK, stands in the arguments: nobody may read them
	cmd := exec.CommandContext(ctx, filepath.Join(asuser.Dir(), "brig"), "run", "--spec", s.path("spec.json"), "--report", s.path("report.json"))
	leak, err := os.Open(s.vars["DIR"])
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	cmd.ExtraFiles = []*os.File{leak} // descriptor 3, which brig has not asked for
	cmd.Env = append(os.Environ(), "BRIG_CHANGES="+t.TempDir())
	cmd.Dir = s.vars["DIR"]
	cmd.Env = append(os.Environ(), "BRIG_CHANGES="+t.TempDir()) // not the machine's own
	if s.stdin != nil {
		cmd.Stdin = s.stdin
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if s.stderr != nil {
		cmd.Stderr = s.stderr
	}
	err = cmd.Run()
	s.output = out.Bytes()
	for _, check := range s.checks {
		if evidence := check(); evidence != "" {
			return escaped, evidence
		}
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return unclear, err.Error()
	}
	if a.mayRefuse && cmd.ProcessState.ExitCode() == 125 {
		return contained, errOut.String()
	}
	var report struct {
		Status   Status `json:"status"`
		ExitCode int    `json:"exit_code"`
	}
	text, err := os.ReadFile(s.path("report.json"))
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	if err != nil {
		return unclear, err.Error() + " " + words.Quote(errOut.String())
	}
	if report.ExitCode != cmd.ProcessState.ExitCode() {
		return escaped, "the exit code is not the report's"
	}
	return judge(&Result{Status: report.Status, ExitCode: report.ExitCode}, out.String(), errOut.String())
}

package egress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/rig"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// jail is one run of brig in the rig.
type jail struct {
	network string   // egress, or host: the mitigation is off
	allow   []string // --allow
	deny    []string // --deny
	policy  string   // the text of --net-policy's file
	flags   []string // others
	args    []string // the payload
	kill    bool     // SIGKILL for brig when the payload has printed READY
}

func loadAttacks(t *testing.T) []*rig.Attack {
	t.Helper()
	return must.Get(rig.Attacks(os.DirFS(asuser.Testdata()), "egress"))(t)
}

// jailOf returns the run of an attack.
func jailOf(a *rig.Attack) *jail {
	return &jail{network: "egress", allow: a.Allow, deny: a.Deny, policy: a.Policy, kill: a.Kill,
		args: []string{"--file", testdata("egress", a.Name), "/egress/" + a.Name, "--file", testdata("payload", "kernel.py"), "/egress/kernel.py",
			"--file", testdata("payload", "egress.py"), "/egress/egress.py", "--", "python3", "/egress/" + a.Name}}
}

func testdata(dir, name string) string { return filepath.Join(asuser.Testdata(), dir, name) }

// outcome is the result of a run.
type outcome struct {
	out, errOut string
	exit        int
	took        time.Duration
	log         []byte
	report      report
}

// report is the part of brig's report that the suite reads.
type report struct {
	Status  string   `json:"status"`
	Network *summary `json:"network"`
}

// suite is a rig, and the user that runs brig in it.
type suite struct {
	*rig.Rig
	dir        string
	credential *syscall.Credential // nil: the test's own
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	dir := t.TempDir()
	r := must.Get(rig.New(dir))(t)
	s := &suite{Rig: r}
	s.use(t, dir)
	return s
}

// use makes dir the directory for what brig reads and writes.
func (s *suite) use(t *testing.T, dir string) {
	t.Helper()
	s.dir = dir
	s.write(t, "ca.pem", string(s.CA.PEM()))
}

// commandLine returns brig's command line.
func (s *suite) commandLine(t *testing.T, j *jail) []string {
	t.Helper()
	line := []string{filepath.Join(asuser.Dir(), "brig"), "run", "--timeout", "90s", "--report", s.path("report.json"), "--net", j.network}
	if j.network == "egress" {
		line = append(line, "--net-log", s.path("net.log"))
		for _, rule := range j.allow {
			line = append(line, "--allow", rule)
		}
		for _, rule := range j.deny {
			line = append(line, "--deny", rule)
		}
		if j.policy != "" {
			s.write(t, "policy.json", j.policy)
			line = append(line, "--net-policy", s.path("policy.json"))
		}
		line = append(line, j.flags...)
	} else { // the jail's own /etc names no server
		line = append(line, "--file", "/etc/resolv.conf", "/etc/resolv.conf")
	}
	return append(append(line, "--file", s.path("ca.pem"), "/rig/ca.pem"), j.args...)
}

// run runs the jail to its end. The outcome includes an error of brig itself.
func (s *suite) run(t *testing.T, j *jail) *outcome {
	t.Helper()
	for _, name := range []string{"report.json", "net.log"} {
		if err := os.Remove(s.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	line := s.commandLine(t, j)
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = s.dir
	cmd.Env = withoutProxies(os.Environ())
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if j.kill {
		cmd.Stdout = &killer{out: &out, cmd: cmd}
	}
	if s.credential != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.credential}
	}
	began := time.Now()
	must.Do(t, rig.Start(cmd))
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	o := &outcome{out: out.String(), errOut: errOut.String(), exit: cmd.ProcessState.ExitCode(), took: time.Since(began)}
	if o.log, err = os.ReadFile(s.path("net.log")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(s.path("report.json")); err == nil && !j.kill {
		if err := json.Unmarshal(text, &o.report); err != nil {
			t.Errorf("the report is no JSON: %v: %s", err, text)
		}
	}
	return o
}

func (s *suite) path(name string) string { return filepath.Join(s.dir, name) }

func (s *suite) write(t *testing.T, name, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(s.path(name), []byte(text), 0o644))
}

// withoutProxies drops variables that would lead clients to a proxy.
func withoutProxies(env []string) (kept []string) {
	for _, v := range env {
		name, _, _ := strings.Cut(strings.ToLower(v), "=")
		if !strings.HasSuffix(name, "_proxy") && !strings.HasPrefix(name, "npm_config_") && !strings.HasPrefix(name, "pip_") {
			kept = append(kept, v)
		}
	}
	return kept
}

// killer kills brig when the payload is ready. Wait returns when the pipe has no writer left: then every process of the
// jail has ended.
type killer struct {
	out *bytes.Buffer
	cmd *exec.Cmd
}

func (k *killer) Write(b []byte) (int, error) {
	n, err := k.out.Write(b)
	if strings.Contains(k.out.String(), "READY") {
		err = errors.Join(err, ignoreDone(k.cmd.Process.Kill()))
	}
	return n, err
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

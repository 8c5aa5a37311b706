package nsjail

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"brig/internal/test/asuser"
	"brig/internal/words"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/spec"
)

// verdict is what became of an attack.
type verdict string

const (
	contained verdict = "CONTAINED"
	escaped   verdict = "ESCAPED"
	unclear   verdict = "unclear"
)

// TestEscape runs every attack of testdata/escape in a jail, which must hold, and again with the attack's mitigation
// switched off, which must not: so the attack is known to be able to tell the difference.
func TestEscape(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the attacks know the system-call numbers of x86-64 only")
	}
	attacks := loadAttacks(t, filepath.Join(asuser.Testdata(), "escape"))
	if len(attacks) < 60 {
		t.Errorf("%d attacks are fewer than the 60 that the suite promises", len(attacks))
	}
	warm, alone := warmRunner(t), runnerWith(t, RunnerOptions{})
	for _, a := range attacks {
		t.Run(strings.TrimSuffix(a.name, filepath.Ext(a.name)), func(t *testing.T) {
			t.Parallel()
			if a.lane != "" && a.lane != lane() {
				t.Skipf("only as %s: %s", a.lane, a.laneReason)
			}
			if v, detail := a.run(t, nil, false); v != contained {
				t.Errorf("%s\nin a default jail: %s, %s", a.claim, v, detail)
			}
			if len(a.plans) == 0 { // a jail whose plan is changed is made from the host's tree
				if v, detail := a.run(t, warm, false); v != contained {
					t.Errorf("%s\nin a jail of a Runner's with pools: %s, %s", a.claim, v, detail)
				}
				if v, detail := a.run(t, alone, false); v != contained {
					t.Errorf("%s\nin a jail of a Runner's without: %s, %s", a.claim, v, detail)
				}
			}
			if a.noOff != "" {
				return
			}
			v, detail := a.run(t, nil, true)
			if a.mayRefuse && strings.HasPrefix(detail, "refused: ") { // what the attack needs is not here
				t.Log(detail)
				return
			}
			if v != escaped {
				t.Errorf("%s\nwith the mitigation off (%s): %s, want %s: the attack proves nothing\n%s",
					a.claim, a.mitigation(), v, escaped, detail)
			}
		})
	}
}

// warmRunner has everything ready that a Runner can have ready.
func warmRunner(t *testing.T) *Runner {
	t.Helper()
	r, err := NewRunnerWith(RunnerOptions{Pool: 4, Reuse: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if r.tree == nil {
		t.Fatal("the launcher has no tree of its own: " + r.why)
	}
	for _, s := range []spec.Spec{{Args: []string{"true"}}, {Args: []string{"true"}, Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/work"}}}} {
		if err := r.Prestart(s, 2); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// lane names the kind of caller that this run of the suite is.
func lane() string {
	if os.Geteuid() == 0 {
		return "root"
	}
	return "user"
}

// setUp makes the host's side of an attack and the Spec of its jail.
func (a *attack) setUp(t *testing.T, off bool) (*scene, *spec.Spec) {
	t.Helper()
	s := newScene(t)
	for _, name := range a.setups {
		setups[name](t, s)
	}
	spec, err := a.spec(s, off)
	if err != nil {
		t.Fatal(err)
	}
	return s, spec
}

// run performs the attack once, in a jail of its own or of a Runner's, and returns its verdict with the output.
func (a *attack) run(t *testing.T, r *Runner, off bool) (verdict, string) {
	t.Helper()
	s, spec := a.setUp(t, off)
	return a.runIn(t, s, spec, r, off)
}

// runIn is run with a scene and a Spec.
func (a *attack) runIn(t *testing.T, s *scene, spec *spec.Spec, r *Runner, off bool) (verdict, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := CommandContext(ctx, spec.Args[0])
	c.Spec = *spec
	if s.stdin != nil {
		c.Stdin = s.stdin
	}
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	if s.stderr != nil {
		c.Stderr = s.stderr
	}
	if c.edit = func(p *plan.Plan) {
		switchOff(t, s, p, a.plans)
		if off {
			switchOff(t, s, p, a.offs)
		}
	}; r != nil {
		c.runner, c.ownsRunner, c.edit = r, false, nil
	}
	res, err := c.Run()
	s.output, s.result = out.Bytes(), res
	for _, check := range s.checks {
		if evidence := check(); evidence != "" {
			return escaped, evidence
		}
	}
	if err != nil {
		if a.mayRefuse {
			return contained, "refused: " + err.Error()
		}
		return unclear, err.Error()
	}
	return judge(res, out.String(), errOut.String())
}

// judge wants the word and the exit code to agree: a crash is no verdict.
func judge(res *Result, out, errOut string) (verdict, string) {
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	last := lines[len(lines)-1]
	detail := string(res.Status) + " " + words.Quote(last) + " " + words.Quote(errOut)
	switch {
	case strings.HasPrefix(last, string(contained)) && res.Status == StatusOK:
		return contained, detail
	case strings.HasPrefix(last, string(escaped)) && res.ExitCode == 1:
		return escaped, detail
	}
	return unclear, detail
}

package nsjail

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"brig/internal/attack"
	"brig/internal/program"
	"brig/internal/test/long"
	"brig/internal/test/must"
	"brig/landlock"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
)

// TestEscape runs every attack of testdata/escape in a jail, which must hold, and again with the attack's mitigation
// switched off, which must not: so the attack is known to be able to tell the difference.
func TestEscape(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the attacks know the system-call numbers of x86-64 only")
	}
	attacks := loadAttacks(t)
	if len(attacks) < 60 {
		t.Errorf("%d attacks are fewer than the 60 that the suite promises", len(attacks))
	}
	for _, a := range attacks {
		t.Run(a.Title(), func(t *testing.T) {
			t.Parallel()
			a.skip(t)
			if v, detail := a.run(t, nil, false); v != attack.Contained {
				t.Errorf("%s\nin a default jail: %s, %s", a.Claim, v, detail)
			}
			if a.NoOff != "" {
				return
			}
			v, detail := a.run(t, nil, true)
			if strings.HasPrefix(detail, "refused: ") { // what the attack needs is not here
				t.Log(detail)
				return
			}
			if v != attack.Escaped {
				t.Errorf("%s\nwith the mitigation off (%s): %s, want %s: the attack proves nothing\n%s",
					a.Claim, a.Mitigation(), v, attack.Escaped, detail)
			}
		})
	}
}

// TestEscapeRunner runs the attacks in jails of Runners. `make test` takes each eighth, as of all other ways to start a
// jail: TestEscape has had them all.
func TestEscapeRunner(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the attacks know the system-call numbers of x86-64 only")
	}
	warm, alone := warmRunner(t), runnerWith(t, RunnerOptions{})
	t.Run("attacks", func(t *testing.T) {
		for i, a := range loadAttacks(t) {
			if len(a.Plans) > 0 { // a jail whose plan is changed is made from the host's tree
				continue
			}
			t.Run(a.Title(), func(t *testing.T) {
				if i%8 > 0 {
					long.Test(t)
				}
				t.Parallel()
				a.skip(t)
				if v, detail := a.run(t, warm, false); v != attack.Contained {
					t.Errorf("%s\nin a jail of a Runner's with pools: %s, %s", a.Claim, v, detail)
				}
				if v, detail := a.run(t, alone, false); v != attack.Contained {
					t.Errorf("%s\nin a jail of a Runner's without: %s, %s", a.Claim, v, detail)
				}
			})
		}
	})
}

// warmRunner has everything ready that a Runner can have ready.
func warmRunner(t *testing.T) *Runner {
	t.Helper()
	r := must.Get(NewRunnerWith(RunnerOptions{Pool: 4, Reuse: true}))(t)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if r.tree == nil {
		t.Fatal("the launcher has no tree of its own: " + r.roots.why)
	}
	for _, s := range []spec.Spec{{Args: []string{"true"}}, {Args: []string{"true"}, Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/work"}}}} {
		must.Do(t, r.Prestart(s, 2))
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

// scene makes what an attack finds on the host, until the test ends.
func scene(t *testing.T, a *attack.Attack) *attack.Scene {
	t.Helper()
	s, err := a.New(launcher.PayloadIDs + os.Getpid()%launcher.PayloadIDCount)
	if skip := attack.Skip(""); errors.As(err, &skip) {
		t.Skip(skip)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// snapshot is attack.Snapshot.
func snapshot(t *testing.T, dir string) []string {
	t.Helper()
	return must.Get(attack.Snapshot(dir))(t)
}

// pseudoTerminal is attack.PseudoTerminal, until the test ends.
func pseudoTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, slave, err := attack.PseudoTerminal()
	return keep(t, master, err), keep(t, slave, nil)
}

// setUp makes the host's side of an attack and the Spec of its jail.
func (a *trial) setUp(t *testing.T, off bool) (*attack.Scene, *spec.Spec) {
	t.Helper()
	s := scene(t, a.Attack)
	spec := must.Get(a.spec(s, off))(t)
	return s, spec
}

// mayRefuse reports whether brig may refuse to make the jail: the process tier needs a newer kernel than the others.
func (a *trial) mayRefuse(s *spec.Spec) bool {
	return a.MayRefuse || s.Tier != "" && landlock.ABI() < landlock.ScopeABI
}

// run performs the attack once, in a jail of its own or of a Runner's, and returns its verdict with the output.
func (a *trial) run(t *testing.T, r *Runner, off bool) (attack.Verdict, string) {
	t.Helper()
	s, spec := a.setUp(t, off)
	return a.runIn(t, s, spec, r, off)
}

// runIn is run with a scene and a Spec.
func (a *trial) runIn(t *testing.T, s *attack.Scene, spec *spec.Spec, r *Runner, off bool) (attack.Verdict, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := CommandContext(ctx, spec.Args[0])
	c.Spec = *spec
	if s.Stdin != nil {
		c.Stdin = s.Stdin
	}
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	if s.Stderr != nil {
		c.Stderr = s.Stderr
	}
	if r != nil {
		c.runner, c.ownsRunner = r, false
	} else {
		c.edit(func(p *plan.Plan) {
			switchOff(t, s, p, a.Plans)
			if off {
				switchOff(t, s, p, a.Offs)
				deleteOps(p, func(op *program.Op) bool { return op.Label == "landlock" }) // it could hold alone
			}
		})
	}
	res, err := c.Run()
	s.Outcome = outcomeOf(res, out.Bytes())
	if evidence := s.Evidence(); evidence != "" {
		return attack.Escaped, evidence
	}
	if err != nil {
		if a.mayRefuse(spec) {
			return attack.Contained, "refused: " + err.Error()
		}
		return attack.Unclear, err.Error()
	}
	return attack.Judge(s.Outcome, errOut.String())
}

// outcomeOf returns what the checks of a scene look at; res is nil if there was no jail.
func outcomeOf(res *Result, stdout []byte) *attack.Outcome {
	o := &attack.Outcome{Output: stdout}
	if res != nil {
		o.Status, o.ExitCode, o.MaxRSS = string(res.Status), res.ExitCode, res.Usage.MaxRSS
		o.StdoutBytes, o.StdoutDropped = res.Output.StdoutBytes, res.Output.StdoutDropped
	}
	return o
}

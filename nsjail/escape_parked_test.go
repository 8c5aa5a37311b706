package nsjail

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"brig/internal/attack"
	"brig/internal/test/long"
	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// interpreter is a payload that has loaded what the attacks use, and then runs the file that it reads the name of.
const interpreter = `import ctypes, errno, os, socket, struct, subprocess, sys
os.write(1, b"\6")
line = b""
while not line.endswith(b"\n"):
    line += os.read(0, 1)
sys.argv = os.fsdecode(line[:-1]).split("\0")
sys.path[0] = os.path.dirname(sys.argv[0])
exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"), {"__name__": "__main__", "__file__": sys.argv[0]})
`

// TestEscapeParked runs the attacks that are written in Python in an interpreter that was started before.
func TestEscapeParked(t *testing.T) {
	attacks := loadAttacks(t)
	r := warmRunner(t)
	var ran atomic.Int32
	t.Run("attacks", func(t *testing.T) {
		for i, a := range attacks {
			if filepath.Ext(a.Name) != ".py" || len(a.Plans) > 0 {
				continue
			}
			t.Run(a.Title(), func(t *testing.T) {
				if i%8 != 2 {
					long.Test(t)
				}
				t.Parallel()
				a.skip(t)
				v, detail, why := a.runParked(t, r)
				if why != "" {
					t.Skip("no interpreter can be started before: " + why)
				}
				if ran.Add(1); v != attack.Contained {
					t.Errorf("%s\nin an interpreter that was started before: %s, %s", a.Claim, v, detail)
				}
			})
		}
	})
	if n := ran.Load(); n < 10 && flag.Lookup("test.run").Value.String() == "" {
		t.Errorf("only %d attacks were run", n)
	}
}

// runParked is run for a parked payload. why is the reason if the attack cannot have one.
func (a *trial) runParked(t *testing.T, r *Runner) (v attack.Verdict, detail, why string) {
	t.Helper()
	s, jail := a.setUp(t, false)
	if s.Stdin != nil || s.Stderr != nil {
		return "", "", "it has a file of the caller as a stream"
	}
	for i, m := range jail.Mounts {
		if m.Type == spec.MountFile && strings.HasPrefix(m.Target, "/escape/") {
			text := must.Get(os.ReadFile(m.Source))(t)
			jail.Mounts[i] = spec.Mount{Type: spec.MountData, Target: m.Target, Content: string(text)}
		}
	}
	parked := *jail
	parked.Args = []string{"python3", "-u", "-c", interpreter}
	if why = cannotRunAhead(&parked); why != "" || !preparable(&parked) {
		return "", "", "the host's network or " + why
	}
	if err := r.PrestartRunning(parked, 1); err != nil {
		if a.MayRefuse {
			return attack.Contained, "refused: " + err.Error(), ""
		}
		return attack.Unclear, err.Error(), ""
	}
	defer func() {
		if err := r.PrestartRunning(parked, 0); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c := r.CommandSpec(ctx, *jail)
	c.Handover = &Handover{Args: parked.Args, Env: parked.Env, Mounts: slices.Clone(parked.Mounts),
		Data: []byte(strings.Join(jail.Args[1:], "\x00") + "\n")}
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	res, err := c.Run()
	s.Outcome = outcomeOf(res, out.Bytes())
	if evidence := s.Evidence(); evidence != "" {
		return attack.Escaped, evidence, ""
	}
	if err != nil {
		return attack.Unclear, err.Error(), ""
	}
	if !res.Warm {
		return attack.Unclear, "it was not run by the parked interpreter", ""
	}
	v, detail = attack.Judge(s.Outcome, errOut.String())
	return v, detail, ""
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/golden"
	"brig/internal/test/long"
	"brig/internal/test/must"
	"brig/landlock"
	"brig/nsjail"
	"brig/nsjail/explain"
	"brig/nsjail/spec"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain runs the suite as root and as an ordinary user, and the stories of limits as one with control groups of its
// own.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "run" { // TestForkedStartsAtOnce
		if err := startsAtOnce(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(asuser.Main(m, asuser.ShareTestdata, asuser.Build("./cmd/brig", "brig"), asuser.Build("./brigd/cmd/brigd", "the-brigd"),
		asuser.Delegate("^TestScript$/^limits")))
}

// brigBinary is the binary under test, which asuser has built for both users; BRIG_BIN names another.
func brigBinary(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("BRIG_BIN"); bin != "" {
		return must.Get(filepath.Abs(bin))(t)
	}
	return filepath.Join(asuser.Dir(), "brig")
}

// TestScript runs the stories against the real binary, since a jail takes over its process before Go starts.
func TestScript(t *testing.T) { tell(t, "script") }

// TestAloneScript runs the stories of what all jails of a user share.
func TestAloneScript(t *testing.T) { tell(t, "script-alone") }

// TestLearnScript runs the stories of programs that many people have: what brig learn finds out about them, and what
// they find in the caches of earlier jails.
func TestLearnScript(t *testing.T) {
	long.Test(t)
	tell(t, "script-long")
}

// tell runs the stories of a directory of testdata.
func tell(t *testing.T, dir string) {
	bin := brigBinary(t)
	stories := filepath.Join(asuser.Testdata(), dir)
	if golden.Update() && !asuser.Second() {
		stories = filepath.Join("..", "..", "testdata", dir)
	}
	testscript.Run(t, testscript.Params{
		Dir:           stories,
		UpdateScripts: golden.Update(),
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(bin)+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("BRIGD", filepath.Join(asuser.Dir(), "the-brigd"))                    // not on PATH: image.txtar tells what happens without it
			e.Setenv("BRIG_CHANGES", filepath.Join(e.Getenv("WORK"), ".state", "changes")) // root has no XDG_STATE_HOME
			return os.MkdirAll(e.Getenv("WORK"), 0o755)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "tier":
				return landlock.ABI() >= landlock.ScopeABI, nil
			case "limits":
				return canLimit()
			case "cow":
				return canCOW()
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"wantexit": wantExit,
			"generate": generate,
			"nul":      nulBytes,
			"brigargs": brigArgs,
			"image":    makeImage,
		},
	})
}

// canCOW reports whether the changes of a cow mount can be kept in memory here.
func canCOW() (bool, error) {
	s := &nsjail.Spec{Args: []string{"id"}, Mounts: []nsjail.Mount{{Type: nsjail.MountCOW, Source: os.TempDir(), Target: "/x"}}}
	h, err := explain.Look(s)
	if err != nil {
		return false, err
	}
	defer h.Close()
	_, err = explain.Resolve(s, h)
	return err == nil, nil
}

// canLimit reports whether this caller's jails can have control groups for the usual limits.
func canLimit() (bool, error) {
	s := &nsjail.Spec{Args: []string{"id"}, Limits: nsjail.Limits{Memory: 64 << 20, CPUs: 0.5, CPUSet: "0", CPUTime: nsjail.Duration(1e9)}}
	h, err := explain.Look(s)
	if err != nil {
		return false, err
	}
	defer h.Close()
	p, err := explain.Resolve(s, h)
	if missing, ok := errors.AsType[*nsjail.Error](err); ok && missing.Fault == spec.FaultHost {
		return false, nil
	}
	return err == nil && strings.Contains(p.Enforced["cpu_time"].String(), "cgroup"), err
}

// wantExit is `wantexit CODE PROGRAM ARG...`: run it and require that exit code.
func wantExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: wantexit CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("%s: exit code %d, want %d", strings.Join(args[1:], " "), code, want)
	}
}

// generate is `generate FILE TEXT COUNT`: a file of TEXT repeated, with # replaced by the number of the copy.
func generate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: generate FILE TEXT COUNT")
	}
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	var b bytes.Buffer
	for i := range n {
		b.WriteString(strings.ReplaceAll(args[1], "#", strconv.Itoa(i)))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
}

// nulBytes is `nul FILE`: replace the letter @ by a NUL byte, which a story cannot hold.
func nulBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: nul FILE")
	}
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.ReplaceAll(data, []byte("@"), []byte{0}), 0o644))
}

// brigArgs is `brigargs CODE FILE`: brig run with the words of FILE, more of them than a story has room for.
func brigArgs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: brigargs CODE FILE")
	}
	words := strings.Fields(ts.ReadFile(args[1]))
	wantExit(ts, false, append([]string{args[0], "brig", "run"}, words...))
}

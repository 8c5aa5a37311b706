package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"brig/nsjail"
)

// Case is one test of a problem.
type Case struct {
	Name   string
	Input  []byte
	Answer string
}

// Verdict is the judge's verdict on a submission.
type Verdict struct {
	Name   string // "accepted", "wrong answer", …
	Detail string
}

func readCases(dir string) (cases []Case, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.in"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New(dir + " has no *.in files; name a directory of N.in and N.out pairs")
	}
	for _, f := range files {
		in, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		out, err := os.ReadFile(strings.TrimSuffix(f, ".in") + ".out")
		if err != nil {
			return nil, err
		}
		cases = append(cases, Case{Name: filepath.Base(f), Input: in, Answer: strings.TrimSpace(string(out))})
	}
	return cases, nil
}

// judge runs a submission on the cases up to the first that it fails. Each run has a fresh jail: nothing that one
// leaves behind is there for the next.
func judge(ctx context.Context, r *nsjail.Runner, file string, cases []Case) (Verdict, error) {
	source, err := filepath.Abs(file)
	if err != nil {
		return Verdict{}, err
	}
	var cpu nsjail.Millis
	for _, c := range cases {
		cmd := r.CommandSpec(ctx, nsjail.Spec{
			Args: []string{"python3", "/input/solution.py"},
			// a private copy: the submission sees neither its neighbours nor the answers
			Mounts: []nsjail.Mount{{Type: nsjail.MountFile, Source: source, Target: "/input/solution.py"}},
			Limits: nsjail.Limits{
				CPUTime:   nsjail.Duration(time.Second),
				Wall:      nsjail.Duration(3 * time.Second),
				Processes: 16,
				Output:    64 << 10,
			},
		})
		var stdout, stderr bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.Input), &stdout, &stderr
		result, err := cmd.Run()
		if result == nil {
			return Verdict{}, err
		}
		// Run also returns an error of copying; that a submission did not read its input is no trouble of ours.
		if v := verdict(result, stdout.String(), stderr.String(), c); v.Name != "accepted" {
			return v, nil
		}
		cpu = max(cpu, result.Usage.User+result.Usage.System)
	}
	most := time.Duration(cpu).Round(time.Millisecond)
	return Verdict{"accepted", fmt.Sprintf("%d cases, at most %s CPU", len(cases), most)}, nil
}

// verdict reads the result; the payload can forge its output and its exit code, but not how it ended.
func verdict(r *nsjail.Result, stdout, stderr string, c Case) Verdict {
	switch r.Status {
	case nsjail.StatusTimeout, nsjail.StatusCPU:
		return Verdict{"time limit exceeded", fmt.Sprintf("%s: %s limit", c.Name, r.Status)}
	case nsjail.StatusViolation:
		return Verdict{"forbidden system call", c.Name}
	case nsjail.StatusSignal:
		return Verdict{"runtime error", c.Name + ": " + r.Signal}
	case nsjail.StatusFailed:
		return Verdict{"runtime error", fmt.Sprintf("%s: exit code %d: %s", c.Name, r.ExitCode, lastLine(stderr))}
	case nsjail.StatusOK:
	default:
		return Verdict{"judge's error", string(r.Status)}
	}
	if r.Output.StdoutDropped > 0 {
		return Verdict{"output limit exceeded", fmt.Sprintf("%s: %d bytes", c.Name, r.Output.StdoutBytes)}
	}
	if got := strings.TrimSpace(stdout); got != c.Answer {
		return Verdict{"wrong answer", fmt.Sprintf("%s: %.40q", c.Name, got)}
	}
	return Verdict{"accepted", ""}
}

// lastLine returns the end of what a submission wrote, quoted: it may hold a terminal's control codes.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return fmt.Sprintf("%.60q", lines[len(lines)-1])
}

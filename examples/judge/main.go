// Command judge is a tiny online judge: it runs each submission on each test case of a problem, in a jail of its own,
// and prints a verdict. It is the complete example of a program that embeds nsjail: one Runner for the life of the
// process, one Cmd for each run, and every verdict read from the Result rather than guessed from an exit code.
//
//	go run ./examples/judge examples/judge/sum examples/judge/submissions/*.py
//
// A problem is a directory of N.in and N.out files; a submission is a Python program.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"

	"brig/nsjail"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: judge PROBLEM SUBMISSION...")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // Ctrl-C ends the jails too
	defer stop()
	if err := judgeAll(ctx, os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}

// judgeAll prints one line for each submission, in their order, while as many run as there are processors.
func judgeAll(ctx context.Context, problem string, submissions []string) (err error) {
	cases, err := readCases(problem)
	if err != nil {
		return err
	}
	runner, err := nsjail.NewRunner()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	verdicts, errs := make([]Verdict, len(submissions)), make([]error, len(submissions))
	slots := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	for i, file := range submissions {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			verdicts[i], errs[i] = judge(ctx, runner, file, cases)
		})
	}
	wg.Wait()
	for i, file := range submissions {
		if errs[i] != nil { // the judge's trouble, not the submission's
			return fmt.Errorf("%s: %w", file, errs[i])
		}
		fmt.Printf("%-12s %-22s %s\n", filepath.Base(file), verdicts[i].Name, verdicts[i].Detail)
	}
	return nil
}

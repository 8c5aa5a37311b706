package runcmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"brig/cmd/brig/internal/attach"
	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/keep"
	"brig/cmd/brig/internal/outfile"
	"brig/cmd/brig/internal/report"
	"brig/cmd/brig/internal/scope"
	"brig/cmd/brig/internal/wish"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// attempt is a wish for which all is open that the payload might otherwise replace.
type attempt struct {
	wish   *wish.Wish
	std    *console.Console
	out    report.Files
	log    *os.File // of --net-log, or nil
	keeper *keep.Keeper
}

// prepare opens it. The error is a line for the caller.
func prepare(w *wish.Wish, std *console.Console) (a *attempt, err error) {
	a = &attempt{wish: w, std: std}
	if a.out, err = report.Open(&w.Output, std); err != nil {
		return nil, err
	}
	for _, n := range w.Notes {
		std.Say("%s", n)
	}
	if a.log, err = openNetLog(w.Output.NetLog, std); err != nil {
		return nil, err
	}
	if a.keeper, err = keep.New(w, std); err != nil {
		return nil, errors.New(words.Printable(err.Error()))
	}
	return a, nil
}

// openNetLog opens the file of --net-log before the payload starts, which might otherwise replace it by a link.
func openNetLog(name string, std *console.Console) (*os.File, error) {
	switch name {
	case "":
		return nil, nil
	case "-":
		return std.Err, nil
	}
	f, err := outfile.Open(name, unix.O_APPEND, 0o600, "")
	if err != nil {
		return nil, fmt.Errorf("--net-log: %w", err)
	}
	return f, nil
}

// begin takes a launcher, a new one if brigd was executed before, and prepares the jail.
func (a *attempt) begin(fetched bool) (*running, error) {
	w, std := a.wish, a.std
	runner, err := newRunner(fetched, w.SystemdScope)
	if err != nil {
		return nil, err
	}
	r := &running{runner: runner, setUp: attach.NewSetUp(std), stays: w.HasCOW()}
	if r.git, err = openGit(r.setUp, &w.Spec, std); err != nil {
		return nil, err
	}
	r.cmd = runner.CommandSpec(r.setUp, r.git.spec())
	c := r.cmd
	c.Stdin, c.Stdout, c.Stderr = std.In, std.Out, std.Err
	c.NetworkLog = watchRefusals(w, a.log, std)
	if w.Output.JSON {
		c.Stdout, c.Stderr = &r.stdout, &r.stderr
		if c.Spec.Limits.Output == 0 {
			c.Spec.Limits.Output = spec.DefaultCapture
		}
	}
	return r, nil
}

// newRunner uses the launcher that was forked before main. In a scope of systemd it is a new one, and one that has been
// closed for brigd is replaced, too.
func newRunner(fetched, systemd bool) (*nsjail.Runner, error) {
	if !fetched {
		early, err := nsjail.ForkedRunner()
		if err != nil || !systemd {
			return early, err
		}
		if err := early.Close(); err != nil {
			return nil, err
		}
	}
	if systemd {
		if err := scope.Enter(); err != nil {
			return nil, err
		}
	}
	return nsjail.NewRunner()
}

// failed reports why there is no jail.
func (a *attempt) failed(err error) int {
	a.wish.Caches.Release(a.std.Say)
	code := a.std.Fail(a.wish.Describe(err, a.std.Words))
	r := &report.Report{Result: report.Failed(&a.wish.Spec, err)}
	return cmp.Or(a.out.Deliver(r, nil, a.std), code)
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"unicode/utf8"

	"brig/cmd/brig/internal/console"
	"brig/denial"
	"brig/internal/cli"
	"brig/internal/text"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/process"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// The exit codes of run besides the payload's and cli.ExitUsage.
const (
	exitKept          = 123 // the command has run, and what it has changed could not be kept
	exitTimeout       = 124
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128
)

// answer is the output of --json: the Result and the payload's output.
type answer struct {
	*reported
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	// Encoding is "base64", for both streams, if one of them is not UTF-8.
	Encoding string `json:"encoding,omitempty"`
}

// run runs `brig run`.
func run(inv *invocation, std *console.Console) int {
	// Neither a closed pipe nor a file size limit may kill brig: it has to write a report and remove a control group.
	signal.Ignore(unix.SIGPIPE, unix.SIGXFSZ)
	out, err := openReport(inv, std)
	if err != nil {
		return std.Fail(err.Error())
	}
	for _, n := range inv.notes {
		std.Say("%s", n)
	}
	log, err := openNetLog(inv, std)
	if err != nil {
		return std.Fail(err.Error())
	}
	keeper, err := newKeeper(inv, std)
	if err != nil {
		return std.Fail(words.Printable(err.Error()))
	}
	runner, err := newRunner(inv)
	failed := func(err error) int {
		code := std.Fail(describe(inv, err))
		return cmp.Or(deliver(out, &reported{Result: failedResult(inv, err)}, nil, std), code)
	}
	if err != nil {
		return failed(err)
	}
	u := newSetUp(std)
	keeper.ctx = u
	git, err := openGit(u, inv, std)
	if err != nil {
		return failed(err)
	}
	c := runner.CommandSpec(u, git.spec())
	c.Stdin, c.Stdout, c.Stderr = std.In, std.Out, std.Err
	c.NetworkLog = watchRefusals(inv, log, std)
	var stdout, stderr bytes.Buffer
	if inv.json {
		c.Stdout, c.Stderr = &stdout, &stderr
		if c.Spec.Limits.Output == 0 {
			c.Spec.Limits.Output = spec.DefaultCapture
		}
	}
	result, code := perform(runner, c, git, u)
	if inv.json || len(out) > 0 {
		setDigest(result, inv.spec, c.Spec.Limits.Output)
	}
	if err := runner.Close(); err != nil {
		code = std.Fail(err.Error())
	}
	r := &reported{Result: result}
	code = cmp.Or(git.bringBack(r), keeper.keep(r), code)
	var a *answer
	if inv.json {
		a = newAnswer(r, int64(c.Spec.Limits.Output), stdout.Bytes(), stderr.Bytes())
	}
	return cmp.Or(deliver(out, r, a, std), code)
}

// setDigest sets the digest of the Spec that was asked for, which has no views of git directories.
func setDigest(result *nsjail.Result, asked nsjail.Spec, output nsjail.Bytes) {
	if result.SpecDigest == "" {
		asked.Limits.Output = output
		result.SpecDigest = asked.Digest()
	}
}

// deliver writes the report to its files, and the answer of --json to stdout. The code is 0 if it could.
func deliver(out report, result *reported, a *answer, std *console.Console) (code int) {
	if len(out) > 0 || a != nil {
		result.worded()
	}
	if err := out.write(result); err != nil {
		code = std.Fail(err.Error())
	}
	if a == nil {
		return code
	}
	if err := a.write(std.Out); err != nil {
		code = std.Fail("cannot write the report to stdout: " + cli.Reason(err) + "; give it a reader or more room")
	}
	return code
}

// refuse reports an invalid Spec in the report and in the JSON output.
func refuse(inv *invocation, line string, std *console.Console) {
	where, detail, _ := strings.Cut(line, ": ")
	r := &reported{Result: failedResult(inv, &nsjail.Error{Fault: spec.FaultCaller, Op: where,
		Detail: words.Plain(detail)})}
	out, err := openReport(inv, std)
	if err != nil {
		std.Fail(err.Error())
	}
	var a *answer
	if inv.json {
		a = newAnswer(r, 0, nil, nil)
	}
	deliver(out, r, a, std)
}

// newRunner uses the launcher that was forked before main. For --systemd-scope it is a new one in the scope, and one
// that has been closed for brigd is replaced, too.
func newRunner(inv *invocation) (*nsjail.Runner, error) {
	if !inv.fetched {
		early, err := nsjail.ForkedRunner()
		if err != nil || !inv.systemdScope {
			return early, err
		}
		if err := early.Close(); err != nil {
			return nil, err
		}
	}
	if inv.systemdScope {
		if err := enterScope(); err != nil {
			return nil, err
		}
	}
	return nsjail.NewRunner()
}

// perform runs the jail and reports how it ended.
func perform(runner *nsjail.Runner, c *nsjail.Cmd, git *gitDirs, u *setUp) (*nsjail.Result, int) {
	inv, std := git.inv, u.std
	result, started, err := await(runner, c, inv, u)
	if again := git.again(u, runner, c, err); again != nil && !started {
		c = again
		result, started, err = await(runner, c, inv, u)
	}
	switch {
	case err != nil && !started:
		return failedResult(inv, err), startCode(inv, err, std)
	case err != nil:
		return result, std.Fail(err.Error())
	}
	return result, finalCode(c, inv, result, std)
}

// await starts the jail, forwards signals and the terminal, and waits. It restores the caller's terminal before it
// returns, so that messages are displayed correctly.
func await(
	runner *nsjail.Runner, c *nsjail.Cmd, inv *invocation, u *setUp,
) (result *nsjail.Result, started bool, err error) {
	var s *screen
	if c.Spec.TTY {
		if s, err = terminal(c, u.std); err != nil {
			return nil, false, err
		}
		defer s.restore()
		u.restore = s.restore
		c.Stdin = listen(c, inv, u.std)
	}
	caught := process.CatchSignals()
	stop := forwardSignals(c, caught, s, u)
	if !inv.hasCOW() { // or signals end what the keeper does afterwards
		defer stop()
	}
	if err := c.Start(); err != nil {
		return nil, false, err
	}
	if c.Spec.Limits.NeedsCopies() || c.Spec.Net == nsjail.NetEgress || len(c.Spec.Publish) > 0 {
		useAllProcessors() // the keeper copies the output
	}
	u.begin(caught)
	retired := runner.Retire()
	result, err = c.Wait()
	return result, true, errors.Join(err, retired)
}

// useAllProcessors sets GOMAXPROCS to the processors of the machine: keeper.c makes Go start with one, and Go rereads
// their number only after a second.
func useAllProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.SetDefaultGOMAXPROCS()
	}
}

// startCode prints why nothing has run, and returns the exit code.
func startCode(inv *invocation, err error, std *console.Console) int {
	std.Fail(describe(inv, err))
	switch {
	case errors.Is(err, nsjail.ErrNotFound):
		return exitNotFound
	case errors.Is(err, nsjail.ErrNotExecutable):
		return exitNotExecutable
	}
	return cli.ExitUsage
}

// describe formats an error in the words of the command line.
func describe(inv *invocation, err error) string {
	var e *nsjail.Error
	if !errors.As(err, &e) {
		if errors.Is(err, context.Canceled) {
			return "a signal came before the command had begun; nothing has run"
		}
		return words.Message(err).In(inFlags)
	}
	return e.Named(inv.where(e.Op)).In(inFlags)
}

func failedResult(inv *invocation, err error) *nsjail.Result {
	r := &nsjail.Result{Status: nsjail.StatusError, ExitCode: -1, Usage: nsjail.NoUsage(), SpecDigest: inv.spec.Digest()}
	if !errors.As(err, &r.Error) {
		r.Error = &nsjail.Error{Fault: spec.FaultBrig, Op: "run", Detail: words.Message(err)}
	}
	if exec, ok := errors.AsType[*nsjail.ExecError](err); ok {
		r.Denials = []denial.Denial{exec.Denial()}
	}
	return r
}

// newAnswer inserts a line at the gap in each stream that was truncated. The bytes that the line displaces count as
// dropped.
func newAnswer(r *reported, limit int64, stdout, stderr []byte) *answer {
	o := &r.Output
	out, errs := text.CaptureOf(limit, stdout, o.StdoutBytes), text.CaptureOf(limit, stderr, o.StderrBytes)
	o.StdoutDropped, o.StderrDropped = out.Dropped(), errs.Dropped()
	a := &answer{reported: r, Stdout: out.String(), Stderr: errs.String()}
	if !utf8.ValidString(a.Stdout) || !utf8.ValidString(a.Stderr) {
		a.Encoding = "base64"
		a.Stdout, a.Stderr = encode(a.Stdout), encode(a.Stderr)
	}
	return a
}

// Package verify implements brigd verify, which performs the attacks of testdata in a configuration on this machine,
// and reports which of them it holds. The attacks are run against the host for real: what they look for there is made
// for them, and one whose success would do harm is performed only where everything else has held.
package verify

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"brig/internal/attack"
	"brig/internal/rig"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
	"brig/testdata"

	"golang.org/x/sys/unix"
)

// Usage is the help text.
//
//go:embed usage.txt
var Usage string

// options are the flags.
type options struct {
	spec, only         string
	all, harmful, json bool
}

// Run runs brigd verify and returns the exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if name := os.Getenv(stepVariable); name != "" && name != stepPrivate {
		if err := step(name, stdin, stdout); err != nil {
			fmt.Fprintln(stderr, words.Printable(err.Error()))
			return exitUsage
		}
		return 0
	}
	var o options
	f := flag.NewFlagSet("verify", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.spec, "spec", "", "")
	f.StringVar(&o.only, "only", "", "")
	f.BoolVar(&o.all, "all", false, "")
	f.BoolVar(&o.harmful, "harmful", false, "")
	f.BoolVar(&o.json, "json", false, "")
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		if _, err = io.WriteString(stdout, Usage); err == nil {
			return 0
		}
	}
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("%s is not wanted; the command of the Spec is not run", words.Quote(f.Arg(0)))
	}
	code := exitUsage
	if err == nil {
		if code, err = private(args); code < 0 {
			code, err = o.run(stdin, stdout)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "brigd verify: "+words.Printable(err.Error()))
		return exitUsage
	}
	return code
}

const exitUsage = 125

func (o *options) run(stdin io.Reader, stdout io.Writer) (code int, err error) {
	s, err := o.read(stdin)
	if err != nil {
		return exitUsage, err
	}
	attacks, egress, err := o.attacks()
	if err != nil {
		return exitUsage, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	r, err := verify(ctx, s, attacks, egress, o.harmful)
	if err != nil {
		return exitUsage, err
	}
	if ctx.Err() != nil {
		return exitUsage, errors.New("it was interrupted")
	}
	if !o.json {
		err = r.print(stdout, o.all)
	} else {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	}
	if err != nil {
		return exitUsage, fmt.Errorf("cannot write to standard output: %w", err)
	}
	if r.Verdict != verdictHeld {
		return 1, nil
	}
	return 0, nil
}

// read returns the Spec.
func (o *options) read(stdin io.Reader) (*nsjail.Spec, error) {
	if o.spec == "" {
		return nil, errors.New("there is no --spec FILE; brig verify takes the flags of brig run")
	}
	in := stdin
	if o.spec != "-" {
		f, err := os.Open(o.spec)
		if err != nil {
			return nil, fmt.Errorf("--spec: %w; name a file that can be read", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, spec.MaxSpecSize+1))
	if err == nil && len(data) > spec.MaxSpecSize {
		err = fmt.Errorf("it is larger than %d bytes; shorten it", spec.MaxSpecSize)
	}
	if err != nil {
		return nil, fmt.Errorf("--spec: %w", err)
	}
	s, err := spec.ParseSpec(data)
	if err != nil {
		return nil, fmt.Errorf("--spec: %w", err)
	}
	s.Args = []string{"python3", "-c", "import ctypes, fcntl, json, socket, struct, subprocess"}
	for _, p := range s.Check() {
		return nil, fmt.Errorf("--spec: %s: %s; %s", p.Path, p.Reason, p.Fix)
	}
	return s, nil
}

// attacks returns the attacks that the flags select: those of testdata/escape, and those of testdata/egress.
func (o *options) attacks() ([]*attack.Attack, []*rig.Attack, error) {
	list, err := attack.Load(testdata.Files, "escape")
	if err != nil {
		return nil, nil, err
	}
	egress, err := rig.Attacks(testdata.Files, "egress")
	if err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(list, func(a, b *attack.Attack) int {
		_, i := attack.Layer(a.Name)
		_, j := attack.Layer(b.Name)
		return i - j
	})
	if o.only == "" {
		return list, egress, nil
	}
	var names []string
	for _, a := range list {
		names = append(names, a.Title())
	}
	for _, a := range egress {
		names = append(names, egressTitle(a))
	}
	picked, err := pick(o.only, names)
	if err != nil {
		return nil, nil, err
	}
	return slices.DeleteFunc(list, func(a *attack.Attack) bool { return !picked[a.Title()] }),
		slices.DeleteFunc(egress, func(a *rig.Attack) bool { return !picked[egressTitle(a)] }), nil
}

// pick returns the names that --only asks for.
func pick(only string, names []string) (map[string]bool, error) {
	picked := map[string]bool{}
	for w := range strings.SplitSeq(only, ",") {
		before, exact := len(picked), slices.Contains(names, w)
		for _, n := range names {
			if n == w || !exact && strings.HasPrefix(n, w+"-") {
				picked[n] = true
			}
		}
		if len(picked) == before && !exact {
			return nil, fmt.Errorf("--only: %s is not an attack; %s", words.Quote(w), words.DidYouMean(w, names))
		}
	}
	return picked, nil
}

// private runs the rest of verify for root in a process with a new mount namespace. The mounts that attacks prepare
// disappear with it in any case. The code is -1 if the caller must continue itself.
func private(args []string) (code int, err error) {
	if os.Geteuid() != 0 || os.Getenv(stepVariable) == stepPrivate {
		return -1, os.Unsetenv(stepVariable)
	}
	runtime.LockOSThread() // Pdeathsig is sent when this thread ends
	cmd := exec.Command("/proc/self/exe", append([]string{"verify"}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), stepVariable+"="+stepPrivate)
	// unshare(2); the parent's mounts get no mount of the child's
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	if err := cmd.Start(); err != nil {
		return exitUsage, fmt.Errorf("no mount namespace can be made for the attacks: %w; run it as another user, "+
			"or where root may make one", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it has ended, or does so now
		case err := <-done:
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
				return exit.ExitCode(), nil
			} else if err != nil {
				return exitUsage, err
			}
			return 0, nil
		}
	}
}

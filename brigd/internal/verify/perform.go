package verify

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"brig/internal/attack"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// most is the time that an attack may take.
const most = nsjail.Duration(20 * time.Second)

// bounded keeps the beginning of what an attack writes.
type bounded struct {
	kept  []byte
	limit int
}

// Write keeps as much as there is room for, and drops the rest.
func (b *bounded) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), b.limit-len(b.kept))]...)
	return len(p), nil
}

// verifier performs attacks.
type verifier struct {
	*config
	uid    int    // of root's payload, on the host
	kernel string // the text of kernel.py
	python *python
	ctx    context.Context
}

// perform performs an attack that fits, and returns its result and the detail for the report.
func (v *verifier) perform(a *attack.Attack, f *fit) (result Result, detail string) {
	runtime.LockOSThread() // a set-up may change this thread, which ends with the goroutine
	s, err := a.New(v.uid)
	var skip attack.Skip
	switch {
	case errors.As(err, &skip):
		result, detail = NotApplicable, string(skip)
	case err != nil:
		result, detail = Unclear, "its set-up failed: "+err.Error()
	default:
		result, detail = v.run(a, f, s)
		if err := s.Close(); err != nil && result != GotThrough {
			result, detail = Unclear, "what was made for it could not be removed: "+err.Error()
		}
	}
	return result, words.Printable(words.Clip(detail, 400))
}

func (v *verifier) run(a *attack.Attack, f *fit, s *attack.Scene) (Result, string) {
	if err := v.name(a, s); err != nil {
		return Unclear, err.Error()
	}
	jail, err := v.jail(a, f, s)
	if err != nil {
		return Unclear, err.Error()
	}
	ctx, cancel := context.WithTimeout(v.ctx, time.Duration(most))
	defer cancel()
	c := nsjail.CommandContext(ctx, jail.Args[0])
	c.Spec = *jail
	if s.Stdin != nil {
		c.Stdin = s.Stdin
	}
	out, errOut := &bounded{limit: 2 << 20}, &bounded{limit: 4 << 10}
	if c.Stdout, c.Stderr = out, errOut; s.Stderr != nil {
		c.Stderr = s.Stderr
	}
	if len(a.Plans) > 0 { // a caller that leaves a directory open across exec
		fd, err := unix.Open(s.Vars["DIR"], unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return Unclear, err.Error()
		}
		defer unix.Close(fd)
	}
	res, err := c.Run()
	s.Outcome = &attack.Outcome{Output: out.kept}
	if res != nil {
		o := s.Outcome
		o.Status, o.ExitCode, o.MaxRSS = string(res.Status), res.ExitCode, res.Usage.MaxRSS
		o.StdoutBytes, o.StdoutDropped = res.Output.StdoutBytes, res.Output.StdoutDropped
		for i := range res.Changes {
			err = errors.Join(err, res.Changes[i].Close())
		}
	}
	if evidence := s.Evidence(); evidence != "" {
		return GotThrough, evidence
	}
	if err != nil {
		if e := (*nsjail.Error)(nil); a.MayRefuse && errors.As(err, &e) && res == nil {
			return Held, "brig refuses to make such a jail: " + err.Error()
		}
		if errors.Is(err, nsjail.ErrNotFound) {
			return NotApplicable, "the root does not have what it is written in: " + words.Quote(jail.Args[0])
		}
		return Unclear, err.Error()
	}
	switch verdict, detail := attack.Judge(s.Outcome, string(errOut.kept)); verdict {
	case attack.Contained:
		return Held, said(out.kept)
	case attack.Escaped:
		return GotThrough, said(out.kept)
	default:
		if s.Outcome.ExitCode == 3 && strings.HasPrefix(lastLine(out.kept), "REFUSED ") && tighter(v.spec.Seccomp) {
			return Held, "the filter refuses what it needs: " + said(out.kept)
		}
		return Unclear, detail
	}
}

// tighter reports whether a filter refuses what the default one permits, and nothing less.
func tighter(seccomp string) bool { return seccomp == "strict" || seccomp == "compute" }

// said returns the payload's text after the verdict.
func said(out []byte) string {
	_, text, _ := strings.Cut(lastLine(out), " ")
	return text
}

func lastLine(out []byte) string {
	text := strings.TrimRight(string(out), "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// name adds to the scene what depends on the configuration.
func (v *verifier) name(a *attack.Attack, s *attack.Scene) error {
	dir, err := filepath.EvalSymlinks(s.Vars["DIR"])
	if err != nil {
		return err
	}
	places, _ := v.shown(filepath.Join(dir, "secret"))
	s.Vars["SECRETS"] += " " + strings.Join(places, " ")
	if v.spec.Workdir != "" {
		s.Vars["WORKDIR"] = v.spec.Workdir
	}
	targets := []string{s.Vars["WORKDIR"]}
	for _, m := range v.spec.Mounts {
		targets = append(targets, m.Target)
	}
	s.Vars["TARGETS"] = strings.Join(targets, " ")
	return nil
}

// loader is Python that runs an attack whose text is an argument, after that of kernel.py.
const loader = `import sys, types
kernel = sys.modules["kernel"] = types.ModuleType("kernel")
exec(sys.argv[1], kernel.__dict__)
sys.argv = sys.argv[2:]
exec(compile(sys.argv[0], "attack", "exec"))`

// jail returns the attack's jail, with the attack's files, which are copies.
func (v *verifier) jail(a *attack.Attack, f *fit, s *attack.Scene) (*nsjail.Spec, error) {
	jail, err := spec.ParseSpec([]byte(s.Expand(string(f.jail.JSON()))))
	if err != nil {
		return nil, err
	}
	jail.Args = a.Command(s)
	if jail.Tier != "" { // it shows no file elsewhere
		jail.Args = append([]string{jail.Args[0], "-c", loader, v.kernel, a.Text}, jail.Args[2:]...)
		return jail, nil
	}
	jail.Mounts = append([]nsjail.Mount{
		{Type: nsjail.MountData, Content: a.Text, Target: attack.Dir + "/" + a.Name},
		{Type: nsjail.MountData, Content: v.kernel, Target: attack.Dir + "/kernel.py"},
	}, jail.Mounts...)
	v.python.run(jail)
	return jail, nil
}

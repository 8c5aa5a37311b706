package lang

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"brig/brigd/job"
	"brig/internal/words"
	"brig/nsjail"
)

// Bounds of a program that prints its version.
const (
	probeTime   = nsjail.Duration(30 * time.Second)
	probeOutput = 4 << 10 // bytes kept of each stream
	probeAtOnce = 2       // number of concurrent jails
)

// Versions runs a small program in each language that was not tested before, in default jails made by exec. It sets
// Info.Version. A program that does not print 42 is dropped, and the next one for the language is tried. It returns an
// error if no language could be tested because jails failed or took too long. The languages stay listed then, and the
// next call tests them again.
func (l *Languages) Versions(ctx context.Context, exec job.Executor) error {
	room := make(chan struct{}, probeAtOnce)
	errs := make([]error, len(l.list))
	var wait sync.WaitGroup
	for i, g := range l.list {
		room <- struct{}{}
		wait.Go(func() {
			defer func() { <-room }()
			errs[i] = l.ask(ctx, exec, g)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// Try is Versions for one language, given any of its names. It is called before the language is first used. If the test
// is not possible, the language stays listed.
func (l *Languages) Try(ctx context.Context, exec job.Executor, name string) error {
	if g := l.named(name); g != nil {
		return l.ask(ctx, exec, g)
	}
	return nil
}

// ask tests a language's programs until one works.
func (l *Languages) ask(ctx context.Context, exec job.Executor, g *language) error {
	g.asking.Lock()
	defer g.asking.Unlock()
	l.mu.Lock()
	asked, programs := g.asked, g.programs
	l.mu.Unlock()
	if asked {
		return nil
	}
	for _, p := range programs {
		version, broken, err := l.probe(ctx, exec, &g.row, &p)
		if err != nil {
			return fmt.Errorf("the version of %s (%s): %w", g.name, p.path, err)
		}
		l.mu.Lock()
		if g.version, g.asked = version, broken == ""; !g.asked {
			g.programs, g.broken = g.programs[1:], p.path+": "+broken
		}
		l.mu.Unlock()
		if broken == "" {
			break
		}
	}
	return nil
}

// probe runs one program. broken is the reason if it does not work, and "" otherwise.
func (l *Languages) probe(ctx context.Context, exec job.Executor, r *row, p *program) (version, broken string,
	err error) {
	var out, messages bytes.Buffer
	j := &job.Job{ID: "version-" + r.name, Stdout: &out, Stderr: &messages}
	j.Spec = *l.base.Clone()
	j.Spec.Limits.Wall, j.Spec.Limits.Output = probeTime, probeOutput
	if r.probeArgs == nil {
		l.fill(l.dir, j, r, p.path, r.probe, nil)
	} else {
		j.Language, j.Spec.Args = r.name, append([]string{p.path}, r.probeArgs...)
	}
	p.show(j)
	result, err := exec.Execute(ctx, j)
	switch {
	case errors.Is(err, nsjail.ErrNotFound), errors.Is(err, nsjail.ErrNotExecutable):
		return "", err.Error(), nil
	case err != nil:
		return "", "", err
	}
	switch result.Status {
	case nsjail.StatusOK:
		if lines := strings.Fields(out.String()); r.probeArgs == nil && (len(lines) == 0 || lines[len(lines)-1] != "42") {
			return "", fmt.Sprintf("it does not print 6*7, but %q", words.Short(out.String(), maxShown)), nil
		}
		return parseVersion(out.String()), "", nil
	case nsjail.StatusFailed, nsjail.StatusSignal, nsjail.StatusViolation:
		why := firstLine(messages.String())
		if why == "" {
			why = "it prints no reason"
		}
		return "", fmt.Sprintf("%s, exit code %d: %s", result.Status, result.ExitCode, why), nil
	}
	return "", "", fmt.Errorf("the jail ended with status %s", result.Status)
}

// maxVersion is the maximum length of a version, and maxReason that of a line of an error.
const (
	maxVersion = 40
	maxReason  = 200
)

// parseVersion returns the first number that contains a dot, with its suffix: "1.26.8" for "go version go1.26.8
// linux/amd64", "5.2.15-rc1+deb12".
func parseVersion(out string) string {
	for _, v := range regexp.MustCompile(`[0-9]+\.[0-9a-z.+_~-]*`).FindAllString(out, -1) {
		if v = strings.TrimRight(v, ".-+_"); strings.Contains(v, ".") && len(v) <= maxVersion {
			return v
		}
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, line)
	return strings.ToValidUTF8(line[:min(len(line), maxReason)], "")
}

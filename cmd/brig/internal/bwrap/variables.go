package bwrap

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"brig/internal/words"
	"brig/netns/egress/policy"
	"brig/nsjail"
	"brig/nsjail/spec"
	"brig/nsjail/steps"

	"golang.org/x/sys/unix"
)

// Variable is one of brig's own, which bubblewrap does not have: the words of a caller are to stay bubblewrap's.
type Variable struct {
	Name, Value, Help string
	set               func(c *call, j *steps.Jail, v string) error
}

// Variables returns brig's own variables.
func Variables() []Variable {
	return []Variable{
		{"BRIG_MEMORY", "SIZE", "Limit the memory of the sandbox, as brig run --memory",
			limit(func(l *nsjail.Limits) *nsjail.Bytes { return &l.Memory }, spec.ParseBytes, "512m")},
		{"BRIG_PIDS", "N", "Limit its processes, as --pids-limit",
			limit(func(l *nsjail.Limits) *int64 { return &l.Processes }, integer, "64")},
		{"BRIG_CPUS", "N", "Limit its processor time, as --cpus",
			limit(func(l *nsjail.Limits) *float64 { return &l.CPUs }, float, "1.5")},
		{"BRIG_TIMEOUT", "TIME", "End it after TIME, as --timeout, with exit code 124",
			limit(func(l *nsjail.Limits) *nsjail.Duration { return &l.Wall }, spec.ParseDuration, "30s")},
		{"BRIG_ALLOW", "RULES", "With --unshare-net: reach these names and nothing else, as --allow; commas between",
			(*call).allow},
		{"BRIG_SECCOMP", "FILTER", "Load one more filter, as --seccomp: default, another preset or a file",
			func(_ *call, j *steps.Jail, v string) error { j.Net.Seccomp = v; return nil }},
		{"BRIG_REPORT", "FILE", "Write how the command ended, as --report", (*call).openReport},
	}
}

// limit returns what a variable does that holds a limit, a number above 0.
func limit[T ~int64 | ~float64](
	field func(*nsjail.Limits) *T, parse func(string) (T, error), example string,
) func(*call, *steps.Jail, string) error {
	return func(_ *call, j *steps.Jail, text string) error {
		n, err := parse(text)
		if err != nil || n <= 0 {
			return fmt.Errorf("%s is no limit; write one as in %s", words.Quote(text), example)
		}
		*field(&j.Limits) = n
		return nil
	}
}

func integer(s string) (int64, error) { return strconv.ParseInt(s, 10, 32) }
func float(s string) (float64, error) { return strconv.ParseFloat(s, 64) }

// variables applies those that are set.
func (c *call) variables(j *steps.Jail) error {
	if unknown := words.UnknownVariable(os.Environ()); unknown != "" {
		return errors.New(unknown)
	}
	for _, v := range Variables() {
		text := os.Getenv(v.Name)
		if text == "" {
			continue
		}
		if err := v.set(c, j, text); err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	return nil
}

// own reports whether a variable, with its value, is one of brig's.
func own(entry string) bool {
	return strings.HasPrefix(entry, "BRIG_") && slices.ContainsFunc(Variables(), func(v Variable) bool {
		return strings.HasPrefix(entry, v.Name+"=")
	})
}

func (c *call) allow(j *steps.Jail, text string) error {
	if !j.NewNet {
		return fmt.Errorf("the sandbox has the host's network; add --unshare-net")
	}
	j.Net.Net, j.Net.Egress = nsjail.NetEgress, &policy.Policy{}
	for _, rule := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		r, err := policy.ParseRule(rule)
		if err != nil {
			return err
		}
		j.Net.Egress.Allow = append(j.Net.Egress.Allow, r)
	}
	return nil
}

func (c *call) openReport(_ *steps.Jail, name string) error {
	if err := nsjail.AnswerFile(name); err != nil {
		return err
	}
	fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NOCTTY, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w; name a file that can be written", words.Quote(name), err)
	}
	c.report = os.NewFile(uintptr(fd), name)
	return nil
}

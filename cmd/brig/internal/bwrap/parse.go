package bwrap

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"brig/nsjail/steps"
)

// parser is the state between the words.
type parser struct {
	o    *Options
	read func(fd int) ([]byte, error)
	file bool // the words are those of --args

	next  int // --perms, or -1
	bytes uint64
	lower []string
	given map[string]bool // options of which only the last counts
	row   string          // the current option
}

// Parse reads a command line, without the program's name. read returns what a descriptor holds, for --args.
func Parse(args []string, read func(fd int) ([]byte, error)) (*Options, error) {
	o := &Options{UID: -1, GID: -1, SyncFD: NoFD, BlockFD: NoFD, UsernsBlockFD: NoFD, InfoFD: NoFD, StatusFD: NoFD,
		SeccompFD: NoFD, UsernsFD: NoFD, Userns2FD: NoFD, PIDNSFD: NoFD}
	p := &parser{o: o, read: read, next: -1, given: map[string]bool{}}
	rest, err := p.parse(args)
	if err != nil || o.Help || o.Version {
		return o, err
	}
	if len(p.lower) > 0 {
		return o, errAlone
	}
	o.Command = rest
	return o, o.check()
}

// parse applies options up to the first word that is none, and returns the words from there on.
func (p *parser) parse(args []string) ([]string, error) {
	rows := table()
	for len(args) > 0 {
		word := args[0]
		if word == "--" {
			args = args[1:]
			return args, p.unused(word)
		}
		if !strings.HasPrefix(word, "-") {
			return args, nil
		}
		i := slices.IndexFunc(rows, func(r option) bool { return word == "--"+r.name })
		if i < 0 {
			return nil, failf("Unknown option %s", word)
		}
		row := &rows[i]
		n := len(strings.Fields(row.args))
		if len(args) <= n {
			return nil, failf("%s takes %s", word, counts[n])
		}
		p.row = word
		if err := row.apply(p, args[1:1+n]); err != nil || p.o.Help || p.o.Version {
			return nil, err
		}
		if err := p.unused(word); err != nil {
			return nil, err
		}
		args = args[1+n:]
	}
	return nil, nil
}

// counts are the words for a number of arguments.
var counts = [...]string{"", "an argument", "two arguments", "three arguments"}

// failf returns an error in bubblewrap's words, which begin with a capital letter.
func failf(format string, a ...any) error { return fmt.Errorf(format, a...) }

var errAlone = errors.New("--overlay-src must be followed by another --overlay-src or one of --overlay, " +
	"--tmp-overlay, or --ro-overlay")

// unused refuses a modifier that the option after it has not used.
func (p *parser) unused(word string) error {
	modifier := word == "--"+perms || word == "--"+size
	switch {
	case !modifier && p.next >= 0:
		return failf("--perms must be followed by an option that creates a file")
	case !modifier && p.bytes != 0:
		return failf("--size must be followed by --tmpfs")
	case word != "--"+overlaySrc && len(p.lower) > 0:
		return errAlone
	}
	return nil
}

// once warns of an option of which only the last counts.
func (p *parser) once() {
	if p.given[p.row] {
		p.o.Warnings = append(p.o.Warnings, "Only the last "+p.row+" option will take effect")
	}
	p.given[p.row] = true
}

func (p *parser) step(s Step) { p.o.Steps = append(p.o.Steps, s) }

func (p *parser) env(e EnvOp) error {
	if e.Set && (e.Name == "" || strings.Contains(e.Name, "=")) {
		return failf("setenv failed: %s is no name of a variable", e.Name)
	}
	p.o.Env = append(p.o.Env, e)
	return nil
}

// argsFile reads words from a descriptor, each with a NUL behind it.
func (p *parser) argsFile(v []string) error {
	if p.file {
		return failf("--args not supported in arguments file")
	}
	n, err := number(v[0])
	if err != nil {
		return err
	}
	p.o.Read = append(p.o.Read, n)
	text, err := p.read(n)
	if err != nil {
		return failf("Can't read --args data: %w", err)
	}
	if len(text) == 0 {
		return nil
	}
	list := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	p.file = true
	_, err = p.parse(list) // as in bubblewrap, a command there is ignored
	p.file = false
	return err
}

func (p *parser) argv0(v []string) error {
	if p.o.Argv0 != nil {
		return failf("--argv0 used multiple times")
	}
	p.o.Argv0 = &v[0]
	return nil
}

func (p *parser) hostname(v []string) error {
	p.once()
	p.o.Hostname = v[0]
	p.step(Step{Kind: steps.Hostname, Target: v[0], FD: NoFD})
	return nil
}

func (p *parser) seccomp(v []string) error {
	if len(p.o.AddSeccomp) > 0 {
		return failf("--seccomp cannot be combined with --add-seccomp-fd")
	}
	return fd(func(o *Options) *int { return &o.SeccompFD })(p, v)
}

func (p *parser) addSeccomp(v []string) error {
	if p.o.SeccompFD != NoFD {
		return failf("--add-seccomp-fd cannot be combined with --seccomp")
	}
	n, err := number(v[0])
	p.o.AddSeccomp = append(p.o.AddSeccomp, n)
	return err
}

func (p *parser) overlay(s Step, least int) error {
	if len(p.lower) < least {
		return failf("%s requires at least %s --overlay-src", p.row, [...]string{"", "one", "two"}[least])
	}
	slices.Reverse(p.lower)
	s.Lower, p.lower, s.FD = p.lower, nil, NoFD
	p.step(s)
	return nil
}

func (p *parser) perms(v []string) error {
	if p.next >= 0 {
		return failf("--perms given twice for the same action")
	}
	mode, err := octal(p.row, v[0])
	p.next = int(mode)
	return err
}

func (p *parser) chmod(v []string) error {
	mode, err := octal(p.row, v[0])
	p.step(Step{Kind: steps.Chmod, Target: v[1], Perms: mode, FD: NoFD})
	return err
}

func (p *parser) size(v []string) error {
	if p.bytes != 0 {
		return failf("--size given twice for the same action")
	}
	digits, base := v[0], 10 // as strtoull(3)
	if hex := strings.TrimPrefix(strings.ToLower(digits), "0x"); len(hex) < len(digits) {
		digits, base = hex, 16
	} else if strings.HasPrefix(digits, "0") {
		base = 8
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if err == nil && n > math.MaxInt64 {
		return failf("--size (for tmpfs) is limited to %d", math.MaxInt64)
	}
	if err != nil || n == 0 {
		return failf("--size takes a non-zero number of bytes")
	}
	p.bytes = n
	return nil
}

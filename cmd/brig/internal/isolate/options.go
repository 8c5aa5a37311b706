package isolate

import (
	"errors"
	"time"
)

// Options is a command line. Sizes are in KiB, as isolate counts them.
type Options struct {
	Command string // the long name of init, run, cleanup, version, check-config, print-cg-root or help
	Args    []string
	own
	report
	files
	limits
	env
	dirs
	Chdir    string
	ShareNet bool
	Special  bool
}

// own is which box a call is about, and whose.
type own struct {
	Box   int64
	CG    bool
	Wait  bool
	AsUID int64 // -1: not given
	AsGID int64
}

// report is what a call tells.
type report struct {
	Meta    string
	Silent  bool
	Verbose int
}

// files are those of the program's streams.
type files struct {
	Stdin  string
	Stdout string
	Stderr string
	Merge  bool // stderr goes where stdout goes
}

// limits are what a program may use.
type limits struct {
	Time      time.Duration // 0: no limit
	Extra     time.Duration
	Wall      time.Duration // 0: no limit
	Mem       int64
	CGMem     int64
	Stack     int64
	Fsize     int64
	Core      int64
	OpenFiles int64 // 0: no limit
	Processes int64 // 0: no limit
}

// env are the program's variables.
type env struct {
	Vars    []string // NAME or NAME=VALUE
	FullEnv bool
}

// dirs are the directories that a program sees.
type dirs struct {
	Rules     []Rule
	NoDefault bool
}

// options returns the table: isolate 2.6's options, and those that 1.8 had besides.
func options() []option {
	return []option{
		{"init", 0, nothing, command("init")},
		{"run", 0, nothing, command("run")},
		{"cleanup", 0, nothing, command("cleanup")},
		{"version", 0, nothing, command("version")},
		{"check-config", 0, nothing, command("check-config")},
		{"print-cg-root", 0, nothing, command("print-cg-root")},
		{"help", 'h', nothing, command("help")},
		{"box-id", 'b', value, count(func(o *Options) *int64 { return &o.Box })},
		{"meta", 'M', value, text(func(o *Options) *string { return &o.Meta })},
		{"stdin", 'i', value, text(func(o *Options) *string { return &o.Stdin })},
		{"stdout", 'o', value, text(func(o *Options) *string { return &o.Stdout })},
		{"stderr", 'r', value, func(o *Options, v string) error { o.Stderr, o.Merge = v, false; return nil }},
		{"stderr-to-stdout", 0, nothing, func(o *Options, _ string) error { o.Stderr, o.Merge = "", true; return nil }},
		{"chdir", 'c', value, text(func(o *Options) *string { return &o.Chdir })},
		{"verbose", 'v', nothing, func(o *Options, _ string) error { o.Verbose++; return nil }},
		{"silent", 's', nothing, on(func(o *Options) *bool { return &o.Silent })},
		{"wait", 0, nothing, on(func(o *Options) *bool { return &o.Wait })},
		{"mem", 'm', value, count(func(o *Options) *int64 { return &o.Mem })},
		{"time", 't', value, span(func(o *Options) *time.Duration { return &o.Time })},
		{"wall-time", 'w', value, span(func(o *Options) *time.Duration { return &o.Wall })},
		{"extra-time", 'x', value, span(func(o *Options) *time.Duration { return &o.Extra })},
		{"stack", 'k', value, count(func(o *Options) *int64 { return &o.Stack })},
		{"open-files", 'n', value, count(func(o *Options) *int64 { return &o.OpenFiles })},
		{"fsize", 'f', value, count(func(o *Options) *int64 { return &o.Fsize })},
		{"core", 0, value, count(func(o *Options) *int64 { return &o.Core })},
		{"processes", 'p', perhaps, func(o *Options, v string) (err error) {
			if o.Processes = 0; v != "" {
				o.Processes, err = number(v)
			}
			return err
		}},
		{"env", 'E', value, func(o *Options, v string) error {
			if v == "" || v[0] == '=' {
				return errors.New("the variable has no name; write NAME or NAME=VALUE")
			}
			o.Vars = append(o.Vars, v)
			return nil
		}},
		{"full-env", 'e', nothing, on(func(o *Options) *bool { return &o.FullEnv })},
		{"dir", 'd', value, func(o *Options, v string) error { return o.addRule(v, false) }},
		{"no-default-dirs", 'D', nothing, on(func(o *Options) *bool { return &o.NoDefault })},
		{"cg", 0, nothing, on(func(o *Options) *bool { return &o.CG })},
		{"cg-mem", 0, value, count(func(o *Options) *int64 { return &o.CGMem })},
		{"cg-timing", 0, nothing, func(*Options, string) error { return nil }},    // of 1.8; it was the default
		{"no-cg-timing", 0, nothing, func(*Options, string) error { return nil }}, // of 1.8: docs/isolate.md
		{"share-net", 0, nothing, on(func(o *Options) *bool { return &o.ShareNet })},
		{"special-files", 0, nothing, on(func(o *Options) *bool { return &o.Special })},
		// The payload of a jail is in a session of its own, which no terminal stops: there is nothing to work around.
		{"tty-hack", 0, nothing, func(*Options, string) error { return nil }},
		{"as-uid", 0, value, count(func(o *Options) *int64 { return &o.AsUID })},
		{"as-gid", 0, value, count(func(o *Options) *int64 { return &o.AsGID })},
		{"syscalls", 0, value, func(_ *Options, v string) error { _, err := number(v); return err }}, // docs/isolate.md
		{"quota", 'q', value, refuse("a payload has a uid of its own for each run, and disk quotas are counted by uid; " +
			"limit each file with --fsize, or put box_root on a file system of the size that you want")},
		{"inherit-fds", 0, nothing, refuse("a jail has descriptors 0 to 2 only; pass a FIFO in a directory with --dir")},
	}
}

func command(name string) func(*Options, string) error {
	return func(o *Options, _ string) error {
		if o.Command != "" && o.Command != name {
			return errors.New("Only one command is allowed, and there is --" + o.Command + " already")
		}
		o.Command = name
		return nil
	}
}

func text(field func(*Options) *string) func(*Options, string) error {
	return func(o *Options, v string) error { *field(o) = v; return nil }
}

func on(field func(*Options) *bool) func(*Options, string) error {
	return func(o *Options, _ string) error { *field(o) = true; return nil }
}

func count(field func(*Options) *int64) func(*Options, string) error {
	return func(o *Options, v string) (err error) { *field(o), err = number(v); return err }
}

func span(field func(*Options) *time.Duration) func(*Options, string) error {
	return func(o *Options, v string) (err error) { *field(o), err = seconds(v); return err }
}

func refuse(why string) func(*Options, string) error {
	return func(*Options, string) error { return errors.New("brig cannot do this: " + why) }
}

// check examines what depends on more than one option.
func (o *Options) check() error {
	switch o.Command {
	case "":
		return errorf("Please specify an isolate command (e.g. --init, --run)")
	case "run":
		if len(o.Args) == 0 {
			return errors.New("--run mode requires a command to run")
		}
	case "init", "cleanup":
		if len(o.Args) > 0 {
			return errors.New("--" + o.Command + " mode takes no parameters")
		}
	}
	if o.CGMem > 0 && !o.CG {
		return errors.New("Options related to control groups require --cg to be set")
	}
	if (o.AsUID < 0) != (o.AsGID < 0) {
		return errors.New("--as-uid and --as-gid must be used either both or none")
	}
	return nil
}

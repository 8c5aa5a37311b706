package bwrap

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/steps"
)

// fields parses words that a test has written with spaces between.
func fields(t *testing.T, line string) (*Options, error) {
	t.Helper()
	return Parse(strings.Fields(line), func(fd int) ([]byte, error) {
		if fd != 3 {
			return nil, errors.New("no such descriptor")
		}
		return []byte("--dir\x00/args\x00--setenv\x00A\x00b c\x00"), nil
	})
}

func TestStepsKeepTheirOrder(t *testing.T) {
	o := must.Get(fields(t, "--ro-bind /usr /usr --perms 1777 --size 0x1000 --tmpfs /tmp --args 3 --bind-try . /w "+
		"--overlay-src /a --overlay-src /b --overlay up work /o --perms 0400 --file 9 /f --symlink usr/bin /bin --hostname box --unshare-uts "+
		"--chmod 0700 /w --bind-fd 7 /seven -- id -u"))(t)
	want := []Step{{Kind: steps.ROBind, Source: "/usr", Target: "/usr", FD: NoFD}, {Kind: steps.Tmpfs, Target: "/tmp", FD: NoFD, Perms: 0o1777,
		Size: 4096}, {Kind: steps.Dir, Target: "/args", FD: NoFD, Perms: 0o755}, {Kind: steps.Bind, Source: ".", Target: "/w", Try: true, FD: NoFD},
		{Kind: steps.Overlay, Source: "up", Work: "work", Target: "/o", Lower: []string{"/b", "/a"}, FD: NoFD},
		{Kind: steps.File, FD: 9, Target: "/f", Perms: 0o400}, {Kind: steps.Symlink, Source: "usr/bin", Target: "/bin", FD: NoFD},
		{Kind: steps.Hostname, Target: "box", FD: NoFD}, {Kind: steps.Chmod, Target: "/w", Perms: 0o700, FD: NoFD},
		{Kind: steps.Bind, FD: 7, Target: "/seven"}}
	if !reflect.DeepEqual(o.Steps, want) {
		t.Errorf("got\n%+v\nwant\n%+v", o.Steps, want)
	}
	if fmt.Sprint(o.Command, o.Env) != "[id -u] [{false true A b c}]" {
		t.Errorf("command %q, environment %+v", o.Command, o.Env)
	}
}

// TestRefusals has the messages of bubblewrap where callers look for them.
func TestRefusals(t *testing.T) {
	for line, want := range map[string]string{
		"--foo":                                  "Unknown option --foo",
		"--bind /a":                              "--bind takes two arguments",
		"--overlay /a /b":                        "--overlay takes three arguments",
		"--overlay /a /b /c true":                "--overlay requires at least one --overlay-src",
		"--overlay-src /a --ro-overlay /c":       "--ro-overlay requires at least two --overlay-src",
		"--overlay-src /a true":                  errAlone.Error(),
		"--overlay-src /a --chdir / true":        errAlone.Error(),
		"--perms 0700 --bind / / true":           "--perms must be followed by an option that creates a file",
		"--perms 0700 -- true":                   "--perms must be followed by an option that creates a file",
		"--perms 0700 --perms 0700 --dir /a":     "--perms given twice for the same action",
		"--perms 10000 --dir /a":                 "--perms takes an octal argument <= 07777",
		"--size 1 --dir /a":                      "--size must be followed by --tmpfs",
		"--size 0 --tmpfs /a":                    "--size takes a non-zero number of bytes",
		"--size -1 --tmpfs /a":                   "--size takes a non-zero number of bytes",
		"--size 1_0 --tmpfs /a":                  "--size takes a non-zero number of bytes",
		"--size 18446744073709551616 --tmpfs /a": "--size takes a non-zero number of bytes",
		"--size 9223372036854775809 --tmpfs /a":  "--size (for tmpfs) is limited to 9223372036854775807",
		"--sync-fd x true":                       "Invalid fd: x",
		"--sync-fd -1 true":                      "Invalid fd: -1",
		"--uid 4294967296 true":                  "Invalid uid: 4294967296",
		"--cap-add CAP_FLY true":                 "unknown cap: CAP_FLY",
		"--setenv A=B c true":                    "setenv failed: A=B is no name of a variable",
		"--argv0 a --argv0 b true":               "--argv0 used multiple times",
		"--seccomp 3 --add-seccomp-fd 4 true":    "--add-seccomp-fd cannot be combined with --seccomp",
		"--add-seccomp-fd 4 --seccomp 3 true":    "--seccomp cannot be combined with --add-seccomp-fd",
		"--args 4 true":                          "Can't read --args data: no such descriptor",
		"--disable-userns true":                  "--disable-userns requires --unshare-user",
		"--userns 3 --unshare-all true":          "--userns not compatible --unshare-user-try",
		"--userns-block-fd 3 --unshare-user t":   "--userns-block-fd requires --info-fd",
		"--hostname a true":                      "Specifying --hostname requires --unshare-uts",
		"--as-pid-1 true":                        "Specifying --as-pid-1 requires --unshare-pid",
		"--as-pid-1 --unshare-pid --lock-file l": "Specifying --as-pid-1 and --lock-file is not permitted",
	} {
		if _, err := fields(t, line); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

// TestManyWords: bubblewrap takes 9,000 words, and callers with more mounts have asked for more.
func TestManyWords(t *testing.T) {
	list := bytes.Repeat([]byte("--dir\x00/a\x00"), 10_000)
	o, err := Parse([]string{"--args", "3", "true"}, func(int) ([]byte, error) { return list, nil })
	if err != nil || len(o.Steps) != 10_000 {
		t.Error(err)
	}
	_, err = Parse([]string{"--args", "3"}, func(int) ([]byte, error) { return []byte("--args\x004\x00"), nil })
	if err == nil || err.Error() != "--args not supported in arguments file" {
		t.Error(err)
	}
}

func TestCapabilitiesInOrder(t *testing.T) {
	o, err := fields(t, "--cap-drop all --cap-add cap_kill --cap-add 40 true")
	if err != nil || !reflect.DeepEqual(o.Caps, []CapOp{{Set: ^uint64(0)}, {Add: true, Set: 1 << 5}, {Add: true, Set: 1 << 40}}) {
		t.Errorf("%+v, %v", o.Caps, err)
	}
}

func TestTheLastCounts(t *testing.T) {
	o, err := fields(t, "--chdir /a --chdir /b true")
	if err != nil || o.Chdir != "/b" || len(o.Warnings) != 1 || o.Warnings[0] != "Only the last --chdir option will take effect" {
		t.Errorf("%+v, %v", o, err)
	}
}

// FuzzParse looks for words that crash the parser, and for options that it drops: the words of a step are in it.
func FuzzParse(f *testing.F) {
	f.Add("--ro-bind\x00/\x00/\x00--args\x003\x00--perms\x000700\x00--dir\x00/a\x00true", "--tmpfs\x00/x\x00")
	f.Add("--size\x000x\x00--tmpfs\x00/", "--args\x004\x00")
	f.Fuzz(func(t *testing.T, line, file string) {
		o, err := Parse(strings.Split(line, "\x00"), func(int) ([]byte, error) { return []byte(file), nil })
		if err != nil {
			return
		}
		for _, s := range o.Steps {
			if s.Kind == "" || !strings.Contains(line+file, s.Target) || !strings.Contains(line+file, s.Source) {
				t.Errorf("%q, %q: step %+v", line, file, s)
			}
			if s.Perms > 0o7777 || s.FD < NoFD {
				t.Errorf("%q: step %+v", line, s)
			}
		}
	})
}

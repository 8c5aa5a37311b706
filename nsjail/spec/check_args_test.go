package spec

import (
	"strings"
	"testing"
)

func TestCheckArgs(t *testing.T) {
	for name, tt := range map[string]struct {
		got  problems
		want string // the whole line, or its beginning when it ends in ...
	}{
		"no args": {checkArgs(nil, []string{"A"}, nil),
			`args: there is no command to run; name one, as in ["id"]`},
		"empty name": {checkArgs([]string{""}, nil, nil),
			`args[0]: the command is empty; name a program`},
		"NUL in arg": {checkArgs([]string{"id", "a\x00b"}, nil, nil),
			`args[1]: "a\x00b" has a NUL byte at offset 1, which no system call can carry; remove it`},
		"NUL in env": {checkArgs([]string{"id"}, []string{"A\x00=secret"}, nil),
			`env[0]: "A\x00" has a NUL byte at offset 1...`},
		"long arg": {checkArgs([]string{"id", strings.Repeat("x", 131072)}, nil, nil),
			`args[1]: 131072 bytes is more than the 131071 that execve(2) takes in one string (E2BIG)...`},
		"many args": {checkArgs(make3(20, 120000), nil, nil),
			`args: arguments and environment take 2400180 bytes, and execve(2) takes at most 2093056 (E2BIG)...`},
		"env of any length": {checkArgs([]string{"id"}, []string{"A=" + strings.Repeat("x", 131072)}, nil),
			`env[0]: 131074 bytes is more...`},
		"good": {checkArgs([]string{"id", "", "\xe9"}, []string{"A=\xff"}, nil), ``},
	} {
		t.Run(name, func(t *testing.T) { wantOne(t, tt.got, tt.want) })
	}
}

func make3(n, size int) []string {
	args := make([]string, n)
	for i := range args {
		args[i] = strings.Repeat("x", size)
	}
	return args
}

func TestCheckFollowsTheStackLimit(t *testing.T) {
	s := &Spec{Args: make3(20, 120000)}
	s.Limits.Rlimits = map[string]Rlimit{"stack": {-1, -1}}
	if p := s.Check(); len(p) != 0 {
		t.Errorf("an unlimited stack carries 6 MiB of arguments: %v", p)
	}
	s.Args = make3(2, 100000)
	s.Limits.Rlimits["stack"] = Rlimit{64 << 10, -1}
	if p := s.Check(); len(p) != 1 {
		t.Errorf("a stack of 64 KiB carries 128 KiB of arguments, not 200 kB: %v", p)
	}
}

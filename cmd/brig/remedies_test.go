package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/landlock"
)

// remedy is a command line that brig refuses, what it advises, and the line with that advice followed.
type remedy struct {
	name, refused, advice string
	fixed                 []string // $1 is the first group of advice
	only                  func() bool
}

func hasTier() bool { return landlock.ABI() >= landlock.ScopeABI }

func asRoot() bool { return os.Geteuid() == 0 }

func noGroups() bool {
	can, err := canLimit()
	return err == nil && !can
}

// remedies are run in a directory with: git repositories g and r, one with a second name, a tree with a socket t, a program bin/tool and one that
// names it, a file f, and an empty directory e.
var remedies = []remedy{
	{"a directory that is not", "brig run --workdir /none -- true", `--workdir must be a directory of the jail`, []string{"brig run --workdir /tmp -- true"}, nil},
	{"a program here", "cd bin; brig run -- ./tool", `the jail does not see this directory; add (--work \.)`, []string{"cd bin; brig run $1 -- ./tool"}, nil},
	{"a program of the host", "brig run -- tool", `the host has it as (\S+); add (--ro-bind \S+ \S+) and name it in full`, []string{"brig run $2 -- $1"}, nil},
	{"a program of /usr", "brig run -- git-check-ref-format refs/heads/x", `add (-e PATH), or name it in full`, []string{"brig run $1 -- git-check-ref-format refs/heads/x"}, nil},
	{"an interpreter", "brig run --work bin -- ./script", `correct that line, or bring it in with (--ro-bind)`, []string{"brig run --work bin $1 $PWD/bin $PWD/bin -- ./script"}, nil},
	{"a program, tier process", "brig run --tier process -- $PWD/bin/tool", `add (--ro-bind) DIR DIR; or the`, []string{"brig run --tier process $1 $PWD/bin $PWD/bin -- $PWD/bin/tool"}, hasTier},
	{"git, tier process", "brig run --tier process --work g -- true", `use (--git rw) to let the command write them, (--ro-bind) DIR DIR, or the default tier`, []string{"brig run --tier process $1 --work g -- true", "brig run --tier process $2 $PWD/g $PWD/g -- true", "brig run --work g -- true"}, func() bool { return hasTier() && !asRoot() }},
	{"a file as a directory", "brig run --work f -- true", `is no directory: show one, or name another with (--workdir)`, []string{"brig run --work f $1 /tmp -- cat /work"}, nil},
	{"a server's socket", "brig run --work t -- true", `(--input), or list (sockets) under (--optional)`, []string{"brig run $1 t -- true", "brig run $3 $2 --work t -- true"}, nil},
	{"a second name", "brig run --work r -- true", `break the link: (cp .*)`, []string{"brig run --input r -- true", "$1; brig run --work r -- true"}, nil},
	{"protect without a directory", "brig run --protect=x -- true", `add one with (--work), or remove it`, []string{"brig run $1 e --protect=x -- true", "brig run -- true"}, nil},
	{"a profile that is none", "brig run --seccomp ./f -- true", `use (--seccomp default)`, []string{"brig run $1 -- true"}, nil},
	{"a profile that is not there", "brig run --seccomp ./none.json -- true", `use (--seccomp default)`, []string{"brig run $1 -- true"}, nil},
	{"a mount point below one of the host", "brig run --ro-bind-live e /x --tmpfs /x/y -- true", `make it on the host: (mkdir -p '\S+')`, []string{"brig run --ro-bind e /x -- true; $1; brig run --ro-bind-live e /x --tmpfs /x/y -- true"}, nil},
	{"a directory over a file", "brig run --ro-bind e /etc/hostname -- true", `show a directory over a directory, and a file over a file`, []string{"brig run --ro-bind f /etc/hostname -- true", "brig run --ro-bind e /etc/x -- true"}, nil},
	{"a limit without a group", "brig run -m 64m -- true", `accept a jail without it: (--optional memory)`, []string{"brig run $1 -m 64m -- true"}, noGroups},
}

// TestRemedies: what an error advises works where it is advised.
func TestRemedies(t *testing.T) {
	const setUp = `git init -q g; git init -q r; cd r; echo x >.envrc; ln .envrc second; cd ..; mkdir bin e t; echo f >f; chmod 755 .
printf '#!/bin/sh\necho found\n' >bin/tool; printf '#!%s/bin/tool\n' "$PWD" >bin/script; chmod 755 bin/*`
	dir := t.TempDir()
	if !asuser.Second() { // root's payloads are another user
		dir = must.Get(os.MkdirTemp(asuser.Dir(), "remedies"))(t)
	}
	sh := func(script string) (string, int) {
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(brigBinary(t))+":"+os.Getenv("PATH")+":/usr/lib/git-core:"+dir+"/bin", "PWD="+dir)
		out, _ := cmd.CombinedOutput() // its exit code tells
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := sh(setUp); code != 0 {
		t.Fatal(out)
	}
	server := must.Get(net.Listen("unix", dir+"/t/x"))(t)
	defer server.Close()
	for _, r := range remedies {
		if r.only != nil && !r.only() {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			out, code := sh(r.refused)
			advice := regexp.MustCompile(r.advice)
			m := advice.FindStringSubmatchIndex(out)
			if code < 125 || m == nil {
				t.Fatalf("%s: exit code %d, no advice %q in %q", r.refused, code, r.advice, out)
			}
			for _, fixed := range r.fixed {
				line := string(advice.ExpandString(nil, strings.ReplaceAll(fixed, "$PWD", "$$PWD"), out, m))
				if out, code := sh(line); code != 0 {
					t.Errorf("%s: exit code %d: %s", line, code, out)
				}
			}
		})
	}
}

// Package projects writes the source trees of the jobs that are work of every day: a C program, a Go module, a Node.js
// project and a Python one. They are made up, the same each time, and need nothing from a network.
package projects

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Project is a job in a tree of its own. Args begin with an absolute path, and /work has the trees of Write.
type Project struct {
	ID, Title, Runs string
	Args            []string
	Rounds          int
}

// How many files of each there are.
const (
	sources  = 40
	packages = 500
	tests    = 200
)

// All returns the projects whose programs this machine has, and why it has none of the others, by the Project's ID.
func All() (list []Project, absent map[string]error) {
	absent = map[string]error{}
	for _, p := range []struct {
		Project
		needs, script string
	}{
		{Project{"job-make", "A job: make", fmt.Sprintf("makes a program of %d C files, two at once", sources), nil, 15},
			"make", `cd "$1/c"; rm -rf out; exec "$2" -s -j2`},
		{Project{"job-go", "A job: go build", "builds a Go module of which one file has changed", nil, 15}, "go",
			`cd "$1/go"; echo "package main; const stamp = $(date +%s%N)" > stamp.go; export HOME="$1" GOCACHE="$1/gocache" ` +
				`GOPROXY=off GOFLAGS=-buildvcs=false GOTOOLCHAIN=local; exec "$2" build -o "$1/program" .`},
		{Project{"job-npm", "A job: npm ci", fmt.Sprintf("installs %d packages of Node.js from files", packages), nil, 8},
			"npm", `cd "$1/npm"; rm -rf node_modules; exec "$2" ci --offline --ignore-scripts --no-audit --no-fund ` +
				`--cache "$1/npmcache" --silent`},
		{Project{"job-pytest", "A job: pytest", fmt.Sprintf("runs %d tests of Python", tests), nil, 15}, "pytest-3",
			`cd "$1/py"; export PYTHONDONTWRITEBYTECODE=1; exec "$2" -q -p no:cacheprovider`},
	} {
		program, err := find(p.needs)
		if err != nil {
			absent[p.ID] = err
		}
		p.Args = []string{"/bin/sh", "-ec", p.script, "sh", "/work", program}
		list = append(list, p.Project)
	}
	return list, absent
}

// find returns the path of a program in /usr, which each jail shows.
func find(name string) (string, error) {
	at, err := exec.LookPath(name)
	if err == nil {
		at, err = filepath.Abs(at)
	}
	if err == nil && !strings.HasPrefix(at, "/usr/") {
		err = fmt.Errorf("%s is not in /usr", at)
	}
	return at, err
}

// Write writes the trees into a directory, in which everybody may write.
func Write(dir string) (err error) {
	for name, text := range trees() {
		name = filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666))
	}
	return errors.Join(err, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o777) // a payload can be anybody
		}
		return err
	}))
}

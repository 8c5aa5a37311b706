package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
)

// imports are what a script of an agent's or a judge's commonly begins with.
const imports = "import json, re, os, sys, subprocess, tempfile, pathlib, collections, datetime, hashlib, " +
	"urllib.parse, logging, argparse, dataclasses"

// treeFiles is the number of files below the job's input.
const treeFiles = 500

// payload is what a job runs. A machine without its program has a note in place of the table.
type payload struct {
	id, title, runs string
	args            []string
	limited         bool
	rounds, quick   int
}

// payloads are the jobs, in the order in which they are shown.
func payloads() []payload {
	nothing, python := []string{"/bin/true"}, []string{"/usr/bin/python3", "-c", imports}
	return []payload{
		{"job", "/bin/true", "does nothing", nothing, false, 150, 10},
		{"job-python", "Python with imports", "has Python import 14 modules", python, false, 50, 5},
		{"job-compile", "a C file compiled", "compiles one C file",
			[]string{"/usr/bin/cc", "-c", "-o", "/output/a.o", "/input/a.c"}, false, 50, 5},
		{"job-tree", "a small tree walked", fmt.Sprintf("lists the %d files of its input", treeFiles),
			[]string{"/usr/bin/find", "/input"}, false, 80, 5},
		{"job-usr", "/usr/lib walked", "lists /usr/lib", []string{"/usr/bin/find", "/usr/lib"}, false, 25, 5},
		{"job-limits", "/bin/true with limits", "does nothing under limits", nothing, true, 150, 10},
		{"job-limits-python", "Python with limits", "imports the same modules under limits", python, true, 50, 5},
	}
}

// jobs are starts as people make them: with directories bound and a limit on the wall clock.
func jobs() (all []Dimension) {
	for _, p := range payloads() {
		t := result.Table{ID: p.id, Title: "A job: " + p.title, Unit: "ms",
			Question: "How long does a jail take that " + p.runs + "?",
			Notes: []string{"each jail has /input, read-only, and /work and /output, writable, of the host's, " +
				"and at most 30 s where the tool has such a limit"}}
		all = append(all, Dimension{t, p.run})
	}
	return all
}

func (p payload) run(ctx context.Context, e *Env, t *result.Table) error {
	program, err := filepath.EvalSymlinks(p.args[0]) // the jail may have no /etc/alternatives
	if err != nil {
		t.Notes = []string{"left out: " + err.Error()}
		return ctx.Err()
	}
	if strings.HasSuffix(p.args[0], "/cc") {
		p.args[0] = program
	}
	job := peers.Job{Args: p.args, Limited: p.limited, Dir: e.Dir}
	return startToExit(ctx, e, t, Plan{Rounds: e.count(p.rounds, p.quick), Warm: 2, Budget: e.budget(40, 2)}, job)
}

// jobDir makes the directories of a job: every user may write to two of them, since a payload may be anybody.
func (e *Env) jobDir() (string, error) {
	dir, err := e.scratch()
	if err != nil {
		return "", err
	}
	write := func(name, text string) {
		name = filepath.Join(dir, "input", name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644))
	}
	write("a.c", "#include <stdio.h>\n#include <string.h>\n\nint main(int argc, char **argv) {\n"+
		"\treturn printf(\"%zu\\n\", strlen(argv[argc - 1])) < 0;\n}\n")
	for i := range treeFiles - 1 {
		write(fmt.Sprintf("tree/%d/%d/%d", i%5, i%25, i), "")
	}
	for _, name := range []string{"work", "output"} {
		name = filepath.Join(dir, name)
		err = errors.Join(err, os.Mkdir(name, 0o755), os.Chmod(name, 0o777))
	}
	return dir, err
}

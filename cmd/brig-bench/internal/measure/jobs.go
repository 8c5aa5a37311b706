package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/projects"
	"brig/cmd/brig-bench/internal/result"
)

// imports are what a script of an agent's or a judge's commonly begins with.
const imports = "import json, re, os, sys, subprocess, tempfile, pathlib, collections, datetime, hashlib, " +
	"urllib.parse, logging, argparse, dataclasses"

// treeFiles is the number of files below the job's input.
const treeFiles = 500

// idling is long enough for the processors to sleep, and for the kernel to use its slow path for RCU grace periods.
const idling = 150 * time.Millisecond

// payload is a command that is timed from the start of its jail to its exit. If the machine lacks the program, the
// table has a note instead of rows.
type payload struct {
	id, title, runs string // "How long does a jail take that ...?"
	args            []string
	limited         bool
	idle            time.Duration
	rounds, quick   int
}

// starts returns the measurements of jobs as people run them, with directories bound and a limit on the wall clock, and
// then empty jails.
func starts() (all []Dimension) {
	nothing, python := []string{"/bin/true"}, []string{"/usr/bin/python3", "-c", imports}
	for _, p := range []payload{
		{"job", "A job: /bin/true", "does nothing", nothing, false, 0, 150, 10},
		{"job-python", "A job: Python with imports", "has Python import 14 modules", python, false, 0, 40, 5},
		{"job-compile", "A job: a C file compiled", "compiles one C file",
			[]string{"/usr/bin/cc", "-c", "-o", "/output/a.o", "/input/a.c"}, false, 0, 50, 5},
		{"job-tree", "A job: a small tree walked", fmt.Sprintf("lists the %d files of its input", treeFiles),
			[]string{"/usr/bin/find", "/input"}, false, 0, 80, 5},
		{"job-usr", "A job: /usr/lib walked", "lists /usr/lib", // a package may have a directory there that root alone reads
			[]string{"/bin/sh", "-c", "/usr/bin/find /usr/lib 2>/dev/null || test -d /usr/lib"}, false, 0, 25, 5},
	} {
		all = append(all, p.dimension())
	}
	trees, absent := projects.All()
	for _, p := range trees {
		all = append(all, payload{p.ID, p.Title, p.Runs, p.Args, false, 0, p.Rounds, 2}.dimension().without(absent[p.ID]))
	}
	for _, p := range []payload{
		{"job-limits", "A job with limits: /bin/true", "does nothing under limits", nothing, true, 0, 150, 10},
		{"job-limits-python", "A job with limits: Python", "imports the same modules under limits", python, true, 0, 40, 5},
		{"start", "An empty jail, back to back", "runs /bin/true, one right after the other", nothing, false, 0, 150, 20},
		{"start-idle", "An empty jail, after idling", fmt.Sprintf("does so after %v in which nothing has happened", idling),
			nothing, false, idling, 30, 5},
		{"start-limits", "An empty jail with limits", "runs /bin/true under limits", nothing, true, 0, 80, 15},
	} {
		all = append(all, p.dimension())
	}
	return append(all, throughput())
}

func (p payload) dimension() Dimension {
	t := result.Table{ID: p.id, Title: p.title, Unit: "ms", Question: "How long does a jail take that " + p.runs + "?"}
	if p.isJob() {
		t.Notes = []string{"each jail has /input, read-only, and /work and /output, writable, of the host's, " +
			"and at most 30 s where the tool has such a limit"}
	}
	if p.limited {
		t.Notes = append(t.Notes, "limits: 64 MiB of memory, one processor, 64 processes")
	}
	return Dimension{Table: t, run: p.run}
}

// without leaves a Dimension out for a reason, if there is one.
func (d Dimension) without(why error) Dimension {
	if why != nil {
		d.run = func(_ context.Context, _ *Env, t *result.Table) error {
			t.Notes = []string{"left out: " + why.Error()}
			return nil
		}
	}
	return d
}

// isJob reports whether the jail has a job's directories.
func (p payload) isJob() bool { return strings.HasPrefix(p.id, "job") }

func (p payload) run(ctx context.Context, e *Env, t *result.Table) error {
	program, err := filepath.EvalSymlinks(p.args[0]) // the jail may have no /etc/alternatives
	if err != nil {
		t.Notes = []string{"left out: " + err.Error()}
		return ctx.Err()
	}
	job := peers.Job{Args: p.args, Limited: p.limited}
	if strings.HasSuffix(p.args[0], "/cc") {
		job.Args = append([]string{program}, p.args[1:]...)
	}
	if p.isJob() {
		job.Dir = e.Dir
	}
	plan := plan{Rounds: e.count(p.rounds, p.quick), Idle: p.idle, Budget: e.budget(60, 2)}
	return startToExit(ctx, e, t, plan, job)
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
	return dir, errors.Join(err, projects.Write(filepath.Join(dir, "work")))
}

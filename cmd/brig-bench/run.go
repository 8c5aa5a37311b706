package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/machine"
	"brig/cmd/brig-bench/internal/measure"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/report"
	"brig/cmd/brig-bench/internal/result"
)

// start does what the options ask for and returns the exit code.
func start(ctx context.Context, o options) int {
	if o.help {
		fmt.Print(usage)
		return 0
	}
	files, err := openOutputs(o)
	if err != nil {
		return fail(err, 1)
	}
	if o.ranges != nil {
		err = merge(o.ranges, files)
	} else {
		err = run(ctx, o, files)
	}
	switch {
	case ctx.Err() != nil:
		return fail(fmt.Errorf("interrupted: %w", err), 130)
	case err != nil:
		return fail(err, 1)
	}
	return 0
}

// hidden performs the commands with which the benchmark starts itself, in a jail and in a network of its own, and
// returns the exit code.
func hidden(ctx context.Context, command string, args []string) int {
	var err error
	if command == load.Subcommand {
		err = load.Perform(args, os.Stdin, os.Stdout)
	} else {
		err = measure.Apart(ctx, args, os.Stdout)
	}
	if err != nil {
		return fail(err, 1)
	}
	return 0
}

// run measures and writes the results.
func run(ctx context.Context, o options, files outputs) (err error) {
	dir, err := os.MkdirTemp("", "brig-")
	if err = errors.Join(err, os.Chmod(dir, 0o755)); err != nil { // it holds a jail's root, which every user may read
		return err
	}
	host := &peers.Host{Dir: dir, Brig: o.brig, Root: os.Geteuid() == 0}
	defer func() { err = errors.Join(err, host.Remove()) }()
	line := newProgress()
	tools, relays := peers.All(host), peers.Relays(host)
	for _, t := range tools {
		defer func() { err = errors.Join(err, t.Close()) }()
		if !o.wants(t.Info.Name) {
			t.Info.Absent = "left out by --tools"
		}
		line("looking at " + t.Info.Name)
		t.Look()
	}
	env := &measure.Env{Quick: o.quick, Rounds: o.rounds, Brig: o.brig, Dir: dir, Relays: relays}
	found := &result.Report{Started: time.Now().UTC(), Quick: o.quick, Machine: machine.Look()}
	for _, t := range tools {
		found.Tools = append(found.Tools, t.Info)
		if t.Info.Absent == "" {
			env.Tools = append(env.Tools, t)
		}
	}
	for _, r := range relays {
		if !o.wants(r.Info.Name) {
			r.Info.Absent = "left out by --tools"
		}
		found.Tools = append(found.Tools, r.Info)
	}
	line("")
	if err := report.Head(files.text, found); err != nil {
		return err
	}
	for _, d := range measure.Dimensions() {
		if !o.chosen(d.ID) {
			continue
		}
		env.Progress = func(what string) { line(d.ID + ": " + what) }
		table, err := d.Run(ctx, env)
		line("")
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", d.ID, err), tables(files.text, found))
		}
		found.Tables = append(found.Tables, table)
	}
	if err := tables(files.text, found); err != nil {
		return err
	}
	found.Machine.LoadAfter, found.Finished = machine.Load(), time.Now().UTC()
	return files.write(found)
}

// tables prints the summary and what it is drawn from.
func tables(w io.Writer, r *result.Report) error {
	err := report.Short(w, r)
	for _, t := range r.Tables {
		err = errors.Join(err, report.Table(w, t))
	}
	return err
}

// merge prints the range over the runs of some files, and writes it as one report.
func merge(names []string, files outputs) error {
	var runs []*result.Report
	for _, name := range names {
		text, err := os.ReadFile(name)
		r := new(result.Report)
		if err == nil {
			err = json.Unmarshal(text, r)
		}
		if err != nil {
			return fmt.Errorf("--range: %s: %w", name, err)
		}
		runs = append(runs, r)
	}
	all, err := result.Merge(runs)
	if err != nil {
		return fmt.Errorf("--range: %w", err)
	}
	if err := report.Markdown(files.text, all); err != nil {
		return err
	}
	return files.write(all)
}

// newProgress returns a function that replaces a line on a terminal, at most five times a second so as not to disturb
// what is measured. An empty text clears it. Elsewhere than on a terminal it does nothing.
func newProgress() func(text string) {
	if st, err := os.Stderr.Stat(); err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return func(string) {}
	}
	var last time.Time
	return func(text string) {
		if text != "" && time.Since(last) < 200*time.Millisecond {
			return
		}
		last = time.Now()
		fmt.Fprintf(os.Stderr, "\r\x1b[K%.76s", strings.TrimSpace(text))
	}
}

// outputs are where the results go. The files are opened before anything is measured, so that a path that cannot be
// written is an error at once. What they hold stays until there is something better.
type outputs struct {
	text       io.Writer
	json, html *os.File
}

func openOutputs(o options) (f outputs, err error) {
	open := func(name string) *os.File {
		if name == "" || err != nil {
			return nil
		}
		var file *os.File
		file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
		return file
	}
	if f.text = os.Stdout; o.json == "-" {
		f.text, o.json = os.Stderr, "/dev/stdout"
	}
	f.json, f.html = open(o.json), open(o.html)
	return f, err
}

func (f outputs) write(r *result.Report) error {
	page := rewrite(f.html, func(w io.Writer) error { return report.Page(w, r) })
	return errors.Join(page, rewrite(f.json, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}))
}

// rewrite replaces what a file holds and closes it; without a file it does nothing.
func rewrite(file *os.File, write func(io.Writer) error) error {
	if file == nil {
		return nil
	}
	_ = file.Truncate(0) // it fails for a pipe or a terminal, which need it not
	return errors.Join(write(file), file.Close())
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"brig/cmd/brig-bench/internal/machine"
	"brig/cmd/brig-bench/internal/measure"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/report"
	"brig/cmd/brig-bench/internal/result"
	"brig/nsjail"
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
	err = errors.Join(run(ctx, o, files), files.close())
	switch {
	case ctx.Err() != nil:
		return fail(fmt.Errorf("interrupted: %w", err), 130)
	case err != nil:
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
	host := &peers.Host{Dir: dir, Brig: o.brig, Root: os.Geteuid() == 0, Runner: nsjail.NewRunnerWith}
	defer func() { err = errors.Join(err, host.Remove()) }()
	line := newProgress()
	tools, relays := peers.All(host), peers.Relays(host)
	for _, t := range tools {
		defer func() { err = errors.Join(err, t.Close()) }()
		if !o.wants(t.Info.Name) {
			t.Info.Absent = "left out by --tools"
		}
		line("looking at " + t.Info.Name)
		t.Open()
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
	if o.list {
		for _, d := range measure.Dimensions() {
			fmt.Printf("%-16s %s\n", d.ID, d.Title)
		}
		return report.Head(files.text, found)
	}
	if err := report.Head(files.text, found); err != nil {
		return err
	}
	for _, d := range measure.Dimensions() {
		if o.only != nil && !slices.Contains(o.only, d.ID) {
			continue
		}
		env.Progress = func(what string) { line(d.ID + ": " + what) }
		table, err := d.Run(ctx, env)
		line("")
		if err == nil {
			err = report.Table(files.text, table)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.ID, err)
		}
		found.Tables = append(found.Tables, table)
	}
	found.Machine.LoadAfter, found.Finished = machine.Load(), time.Now().UTC()
	return files.write(found)
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
// written is an error at once.
type outputs struct {
	text       io.Writer
	json, html *os.File
}

func openOutputs(o options) (f outputs, err error) {
	f.text = os.Stdout
	if o.json == "-" {
		f.text, f.json = os.Stderr, os.Stdout
	} else if f.json, err = create(o.json); err != nil {
		return f, err
	}
	if f.html, err = create(o.html); err != nil {
		return f, errors.Join(err, f.close())
	}
	return f, nil
}

// create opens a file for writing. What it holds stays until there is something better.
func create(name string) (*os.File, error) {
	if name == "" {
		return nil, nil
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
}

func (f outputs) close() (err error) {
	for _, file := range []*os.File{f.json, f.html} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}

func (f outputs) write(r *result.Report) error {
	for file, write := range map[*os.File]func(io.Writer) error{
		f.json: func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(r)
		},
		f.html: func(w io.Writer) error { return report.Page(w, r) },
	} {
		if file == nil {
			continue
		}
		st, err := file.Stat()
		if err == nil && st.Mode().IsRegular() {
			err = file.Truncate(0)
		}
		if err = errors.Join(err, write(file)); err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
	}
	return nil
}

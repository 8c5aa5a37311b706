package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/machine"
	"brig/cmd/brig-bench/internal/measure"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/report"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/terminal"
	"brig/nsjail"
)

// say prints an error as the program's and passes the exit code on.
func say(err error, code int) int {
	fmt.Fprintln(os.Stderr, "brig-bench:", err)
	return code
}

// start does what the options ask for and gives the exit code.
func start(ctx context.Context, o options) int {
	if o.help {
		fmt.Print(usage)
		return 0
	}
	files, err := openOutputs(o)
	if err != nil {
		return say(err, 1)
	}
	defer files.close()
	if o.user {
		code, err := asUser(ctx, o, files)
		if err != nil {
			return say(err, 1)
		}
		return code
	}
	err = run(ctx, o, files)
	switch {
	case ctx.Err() != nil:
		return say(errors.Join(errors.New("interrupted; nothing is left behind"), onlyOthers(err)), 130)
	case err != nil:
		return say(err, 1)
	}
	return 0
}

// onlyOthers is an error less what says merely that the context has ended.
func onlyOthers(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, e := range many.Unwrap() {
			rest = append(rest, onlyOthers(e))
		}
		return errors.Join(rest...)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// run measures and writes the results.
func run(ctx context.Context, o options, files outputs) (err error) {
	dir, err := os.MkdirTemp("", "brig-")
	if err != nil {
		return err
	}
	host := &peers.Host{Dir: dir, Brig: o.brig, Root: os.Geteuid() == 0, Runner: nsjail.NewRunnerWith}
	defer func() { err = errors.Join(err, host.Remove()) }()
	if err := os.Chmod(dir, 0o755); err != nil { // what is in it stands in for a root that every user may read
		return err
	}
	line := terminal.NewProgress(os.Stderr)
	defer line.Done()
	line.Say("looking for tools")
	tools := peers.All(host)
	defer func() { err = errors.Join(err, peers.Close(tools)) }()
	if err := open(ctx, o, tools, line); err != nil {
		return err
	}
	relays := relaysOf(host, o)
	if o.list {
		line.Done()
		return list(os.Stdout, tools, relays)
	}
	found := &result.Report{Started: time.Now().UTC(), Quick: o.quick, Machine: machine.Look()}
	env := &measure.Env{Quick: o.quick, Rounds: o.rounds, Brig: o.brig, Dir: dir, Runner: nsjail.NewRunnerWith, Relays: relays}
	for _, t := range tools {
		found.Tools = append(found.Tools, t.Info)
		if t.Info.Absent == "" {
			env.Tools = append(env.Tools, t)
		}
	}
	for _, r := range relays {
		found.Tools = append(found.Tools, r.Info)
	}
	text := terminal.New(files.text, terminal.Colours(files.text))
	line.Done()
	if err := text.Head(found); err != nil {
		return err
	}
	for _, d := range measure.Dimensions() {
		if o.only != nil && !slices.Contains(o.only, d.ID) {
			continue
		}
		env.Progress = func(format string, args ...any) { line.Say(d.ID + ": " + fmt.Sprintf(format, args...)) }
		table, err := d.Run(ctx, env)
		line.Done()
		if err != nil {
			return fmt.Errorf("%s: %w", d.ID, err)
		}
		found.Tables = append(found.Tables, table)
		if err := text.Table(table); err != nil {
			return err
		}
	}
	found.Machine.LoadAfter = machine.Load()
	found.Finished = time.Now().UTC()
	return errors.Join(text.Foot(found), files.write(found))
}

// open makes the tools ready that take part.
func open(ctx context.Context, o options, tools []*peers.Tool, line *terminal.Progress) error {
	for _, t := range tools {
		if !o.wants(t.Info.Name) {
			t.Info.Absent = "left out by --tools"
			continue
		}
		line.Say("looking at " + t.Info.Name)
		t.Open(ctx)
		t.Look()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// relaysOf are the contenders of the network measurements.
func relaysOf(h *peers.Host, o options) []*peers.Relay {
	all := peers.Relays(h, load.Server)
	for _, r := range all {
		if r.Info.Name != peers.Direct && !o.wants(r.Info.Name) {
			r.Info.Absent = "left out by --tools"
		}
	}
	return all
}

// list names the measurements and the tools.
func list(w io.Writer, tools []*peers.Tool, relays []*peers.Relay) error {
	var b strings.Builder
	b.WriteString("measurements\n")
	for _, d := range measure.Dimensions() {
		fmt.Fprintf(&b, "  %-16s %s\n", d.ID, d.Title)
	}
	b.WriteString("tools\n")
	infos := make([]result.Tool, 0, len(tools)+len(relays))
	for _, t := range tools {
		infos = append(infos, t.Info)
	}
	for _, r := range relays {
		infos = append(infos, r.Info)
	}
	for _, t := range infos {
		what := t.Version
		if t.Absent != "" {
			what = "absent: " + t.Absent
		}
		fmt.Fprintf(&b, "  %-26s %s\n", t.Name, what)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// outputs are where the results go. The files are made before anything is measured, so that a path that cannot be written
// is an error at once.
type outputs struct {
	text       io.Writer
	json, html *os.File
}

func openOutputs(o options) (f outputs, err error) {
	f.text = os.Stdout
	if o.json == "-" {
		f.text, f.json = os.Stderr, os.Stdout
	} else if f.json, err = create(o.json); err != nil {
		return f, fmt.Errorf("--json: %w", err)
	}
	if f.html, err = create(o.html); err != nil {
		return f, errors.Join(fmt.Errorf("--html: %w", err), f.close())
	}
	return f, nil
}

// create makes a file, or takes the descriptor of /dev/fd/N: that of another user's file cannot be opened again.
func create(name string) (*os.File, error) {
	if name == "" {
		return nil, nil
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "/dev/fd/")); err == nil && strings.HasPrefix(name, "/dev/fd/") {
		return os.NewFile(uintptr(n), name), nil
	}
	// what is in it stays until there is something better
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
}

// empty makes room in a file for what is written next; a pipe has it.
func empty(f *os.File) error {
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return err
	}
	return f.Truncate(0)
}

func (f outputs) close() error {
	var errs []error
	for _, file := range []*os.File{f.json, f.html} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(errs...)
}

func (f outputs) write(r *result.Report) error {
	if f.json != nil {
		if err := empty(f.json); err != nil {
			return fmt.Errorf("--json: %w", err)
		}
		e := json.NewEncoder(f.json)
		e.SetIndent("", "  ")
		if err := e.Encode(r); err != nil {
			return fmt.Errorf("--json: %w", err)
		}
	}
	if f.html != nil {
		if err := errors.Join(empty(f.html), report.Write(f.html, r)); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	return nil
}

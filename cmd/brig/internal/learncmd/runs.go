package learncmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"brig/cmd/brig/internal/keep"
	"brig/cmd/brig/internal/outfile"
	"brig/cmd/brig/internal/verdict"
	"brig/learn"
	"brig/learn/trace"
	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// maxVariable bounds the value of an environment variable: execve(2) takes 128 KiB with its name.
const maxVariable = 120 << 10

// run runs the command once with additional flags, and adds its failed calls to the input.
func (l *learner) run(flags []string) (*runReport, error) {
	if l.runs++; l.runs > 1 {
		l.std.Say("run %d: %s", l.runs, shellWords(append([]string{"brig", "run"}, flags...)))
	}
	spec, err := outfile.Memory("spec", l.base)
	if err != nil {
		return nil, err
	}
	defer spec.Close()
	rep, err := outfile.Memory("report", nil)
	if err != nil {
		return nil, err
	}
	defer rep.Close()
	if l.changes == "" && (slices.Contains(flags, "--cow") || l.wish.HasCOW()) {
		if l.changes, err = os.MkdirTemp("", "brig-learn-"); err != nil {
			return nil, err
		}
	}
	stdin, err := l.stdin()
	if err != nil {
		return nil, err
	}
	words := []string{"brig", "run", "--spec", "/proc/self/fd/3", "--report-fd", "4"}
	if l.wish.Image.Store != "" { // these two are not in a Spec
		words = append(words, "--image-store", l.wish.Image.Store)
	}
	if l.wish.SystemdScope {
		words = append(words, "--systemd-scope")
	}
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: append(words, flags...),
		Env: append(os.Environ(), "BRIG_CHANGES="+l.changes,
			keep.LearnVariable+"="+cmp.Or(l.wish.From.Text(maxVariable), "1")),
		Stdin: stdin, Stdout: l.std.Err, Stderr: l.std.Err, ExtraFiles: []*os.File{spec, rep}}
	places := learn.Places(l.spec, l.dir, l.home)
	seen, err := (&trace.Run{Cmd: cmd, Places: places, Pid: &l.pid}).Watch()
	if err != nil {
		return nil, err
	}
	if !seen.Started && (seen.ExitCode == verdict.ExitNotFound || seen.ExitCode == verdict.ExitNotExecutable) {
		seen.Events = append(seen.Events, l.command(places)...)
	}
	if dropped := seen.Dropped + l.merge(seen.Events); dropped > 0 {
		l.std.Say("the run failed in more ways than brig learn remembers: %d more", dropped)
	}
	return l.read(rep, seen.ExitCode)
}

// stdin returns the command's input: the caller's in the first run, and again if it is a file.
func (l *learner) stdin() (*os.File, error) {
	if l.runs == 1 {
		return l.std.In, nil
	}
	if _, err := l.std.In.Seek(0, 0); err == nil {
		return l.std.In, nil
	}
	return os.Open(os.DevNull)
}

// forwardSignals passes signals on to the current brig run, and ends learning. A terminal sends SIGINT to both
// processes.
func (l *learner) forwardSignals() {
	caught := make(chan os.Signal, 8)
	signal.Notify(caught, unix.SIGTERM, unix.SIGHUP, unix.SIGINT)
	go func() {
		for sig := range caught {
			l.stopped.Store(true)
			if pid := l.pid.Load(); pid > 0 && sig != unix.SIGINT {
				_ = unix.Kill(int(pid), sig.(unix.Signal)) // ESRCH: it has ended
			}
		}
	}()
}

// merge adds the events that are new, and returns how many it has dropped: all runs together are bounded like one.
func (l *learner) merge(events []learn.Event) (dropped int) {
	for _, e := range events {
		k := fmt.Sprint(e.Kind, e.Errno, e.Path, e.Addr, e.Name)
		switch {
		case l.seen[k]:
		case len(l.seen) == trace.MaxEvents:
			dropped++
		default:
			l.seen[k] = true
			l.input.Events = append(l.input.Events, e)
		}
	}
	return dropped
}

// read reads the report of a run.
func (l *learner) read(f *os.File, code int) (*runReport, error) {
	r := &runReport{}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 64<<20))
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, r)
	}
	if err != nil {
		return nil, fmt.Errorf("the report of the run: %w", err)
	}
	r.code = code
	l.input.LimitsHit, l.input.Denials = r.LimitsHit, r.Denials
	return r, nil
}

// command returns the events of a command that is not in the jail.
func (l *learner) command(places []learn.Place) []learn.Event {
	name := l.spec.Args[0]
	e := learn.Event{Kind: learn.Exec, Call: "execve", Errno: "ENOENT", Count: 1}
	if strings.Contains(name, "/") {
		workdir := l.spec.Workdir
		if workdir == "" {
			workdir = spec.DefaultWorkdir
		}
		if e.Path = filepath.Clean(name); !filepath.IsAbs(name) {
			e.Path = filepath.Join(workdir, name)
		}
		e.Nodes = trace.Nodes(places, e.Path)
		return []learn.Event{e}
	}
	jail := strings.Split(spec.DefaultPath, ":")
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		at := filepath.Join(dir, name)
		if st, err := os.Stat(at); err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 || !filepath.IsAbs(dir) {
			continue
		}
		if e.Path, e.Nodes = at, trace.Nodes(places, at); !slices.Contains(jail, filepath.Clean(dir)) {
			e.Kind, e.Path = learn.Search, filepath.Clean(dir)
		}
		if len(e.Nodes) == 0 && l.spec.Rootfs != (nsjail.Rootfs{}) {
			continue // the file is the host's, and the jail has another root
		}
		return []learn.Event{e}
	}
	return nil
}

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"brig/internal/cli"
	"brig/internal/owned"
	"brig/internal/words"
	"brig/learn"
	"brig/learn/trace"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// learnAbout follows the first line of `brig help learn`.
const learnAbout = "It runs the command, sees which of its system calls fail for what the jail lacks, and runs it again " +
	"with flags that could help, until it exits with 0; then it leaves out those that it works without. It prints the " +
	"flags, what gives away the least first, and what they are for. It tries by itself only what lets the command read, " +
	"or change a copy, in a jail without network. What is private (secrets, homes, what not every user may read) is " +
	"named, and not proposed. The command's output goes to stderr."

// learnCommand returns the row of learn: the flags of run, and its own.
func learnCommand() cli.Command {
	c := payload("learn", "run a command until it works, and print the flags that it needs", learnRun)
	c.About = learnAbout
	return c
}

// learning holds the flags of learn.
type learning struct {
	out     string // --out, or ""
	rounds  int
	private bool
	tryAll  bool
}

// defaultRounds is how often the command is run at most: some flags are found only when others have helped, and each is
// left out once.
const defaultRounds = 12

func (b *builder) learnFlags() []cli.Flag {
	l := &b.inv.learn
	return cli.InGroup("Learn", []cli.Flag{
		{Name: "out", Args: "FILE", Files: true, Set: textFlag(&l.out, "spec.json"),
			Help: "write the jail to FILE, for brig run --spec FILE"},
		{Name: "rounds", Args: "N", Help: "run the command at most N times (" + strconv.Itoa(defaultRounds) + ")", Set: func(v []string) (err error) {
			if l.rounds, err = strconv.Atoi(v[0]); err != nil || l.rounds < 1 || l.rounds > 1000 {
				return fmt.Errorf("%s is not a number from 1 to 1000; write it as in --rounds 3", words.Quote(v[0]))
			}
			return nil
		}},
		{Name: "include-private", Set: cli.Switch(&l.private, true),
			Help: "propose files of homes and what may hold secrets, too; they are not tried without --try-all"},
		{Name: "try-all", Set: cli.Switch(&l.tryAll, true),
			Help: "try every proposal: for a command that is trusted with the network and what it asks for"},
	})
}

// learner runs one command again and again.
type learner struct {
	inv     *invocation
	std     cli.Stdio
	base    []byte       // the Spec without proposals, as JSON
	spec    *nsjail.Spec // the same, with absolute sources
	dir     string       // the caller's directory
	home    string       // the caller's home, or ""
	input   learn.Input
	runs    int
	changes string // a directory for the change sets of the runs, or ""
	refused map[string]string
	stopped atomic.Bool  // by a signal
	pid     atomic.Int64 // of brig run while it runs
	seen    map[string]int
}

// runReport is what learn reads of a run's report.
type runReport struct {
	Status    nsjail.Status `json:"status"`
	LimitsHit []string      `json:"limits_hit"`
	Network   *struct {
		Refused []struct {
			Host, Fix string
			Port      int
			Count     int
		} `json:"refused"`
	} `json:"network"`
	Denials []struct {
		Layer, Name, Fix string
		Count            int
	} `json:"denials"`
	code int
}

// learnRun runs `brig learn`.
func learnRun(inv *invocation, std cli.Stdio) (code int) {
	for flag, given := range map[string]bool{"--report": inv.report != "", "--report-fd": inv.reportFD >= 0,
		"--net-log": inv.netLog != "", "--commit": inv.commit != "", "--apply-if-ok": inv.applyIfOK, "--tty": inv.spec.TTY} {
		if given {
			return std.Fail(flag + ": brig learn runs the command more than once; leave it out, and use it with brig run")
		}
	}
	l, err := newLearner(inv, std)
	if err != nil {
		return std.Fail(words.Printable(err.Error()))
	}
	var out *os.File
	if inv.learn.out != "" {
		if out, err = openOutput(inv.learn.out, 0, 0o644, ""); err != nil {
			return std.Fail("--out: " + err.Error())
		}
		defer out.Close()
	}
	defer func() {
		if err := l.clean(); err != nil {
			code = std.Fail(words.Printable(err.Error()))
		}
	}()
	l.forwardSignals()
	found, err := l.learn()
	if err != nil {
		return std.Fail(words.Printable(err.Error()))
	}
	return l.tell(found, out)
}

func newLearner(inv *invocation, std cli.Stdio) (*learner, error) {
	inv.learn.rounds = cmp.Or(inv.learn.rounds, defaultRounds)
	l := &learner{inv: inv, std: std, refused: map[string]string{}, seen: map[string]int{}}
	s := inv.spec.Clone()
	if inv.image != "" {
		s.Rootfs.Path = ""
	}
	if bad := s.NotUTF8(); len(bad) > 0 {
		return nil, errors.New(inv.translate(bad[0]))
	}
	l.base = s.JSON()
	wd, err := os.Getwd()
	if err == nil {
		l.dir, err = filepath.EvalSymlinks(wd)
	}
	if err != nil {
		return nil, fmt.Errorf("the current directory: %w; change to one that exists", err)
	}
	for i := range s.Mounts {
		if m := &s.Mounts[i]; m.Source != "" && m.Type != nsjail.MountSymlink {
			m.Source = cleanPath(l.dir, m.Source)
		}
	}
	l.spec = s
	l.input = learn.Input{Spec: s, Dir: l.dir, Homes: []string{"/root", "/home/"}, Private: inv.learn.private,
		World: &trace.World{}}
	if home := os.Getenv("HOME"); filepath.IsAbs(home) && filepath.Clean(home) != "/" {
		l.home = filepath.Clean(home)
		l.input.Homes = append(l.input.Homes, l.home)
	}
	return l, nil
}

// cleanPath returns a path of the host as an absolute one, without symbolic links if it exists.
func cleanPath(dir, p string) string {
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return filepath.Clean(p)
}

// clean removes what the runs have left.
func (l *learner) clean() error {
	if l.changes == "" {
		return nil
	}
	parent, err := os.Open(filepath.Dir(l.changes))
	if err != nil {
		return err
	}
	defer parent.Close()
	return owned.Remove(int(parent.Fd()), filepath.Base(l.changes))
}

// run runs the command once, with flags beside the Spec, and adds what has failed to the input.
func (l *learner) run(flags []string) (*runReport, error) {
	if l.runs++; l.runs > 1 {
		l.std.Say("run %d: %s", l.runs, shellWords(append([]string{"brig", "run"}, flags...)))
	}
	spec, err := memory("spec", l.base)
	if err != nil {
		return nil, err
	}
	defer spec.Close()
	rep, err := memory("report", nil)
	if err != nil {
		return nil, err
	}
	defer rep.Close()
	if l.changes == "" {
		if l.changes, err = os.MkdirTemp("", "brig-learn-"); err != nil {
			return nil, err
		}
	}
	stdin, err := l.stdin()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: "/proc/self/exe",
		Args:  append([]string{"brig", "run", "--spec", "/proc/self/fd/3", "--report-fd", "4"}, flags...),
		Env:   append(os.Environ(), "BRIG_CHANGES="+l.changes),
		Stdin: stdin, Stdout: l.std.Err, Stderr: l.std.Err, ExtraFiles: []*os.File{spec, rep}}
	places := learn.Places(l.spec, l.dir, l.home)
	seen, err := (&trace.Run{Cmd: cmd, Places: places, Pid: &l.pid}).Watch()
	if err != nil {
		return nil, err
	}
	if !seen.Started && (seen.ExitCode == exitNotFound || seen.ExitCode == exitNotExecutable) {
		seen.Events = append(seen.Events, l.command(places)...)
	}
	if seen.Dropped > 0 {
		l.std.Say("the run failed in more ways than brig learn remembers: %d more", seen.Dropped)
	}
	l.merge(seen.Events)
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

// forwardSignals passes on signals to the brig run of the moment, and ends the learning. A terminal sends SIGINT to
// both.
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

// merge adds the events that no earlier run has had.
func (l *learner) merge(events []learn.Event) {
	for _, e := range events {
		k := fmt.Sprint(e.Kind, e.Errno, e.Path, e.Addr, e.Name)
		if _, known := l.seen[k]; !known {
			l.seen[k] = len(l.input.Events)
			l.input.Events = append(l.input.Events, e)
		}
	}
}

// read reads the report of a run.
func (l *learner) read(f *os.File, code int) (*runReport, error) {
	r := &runReport{}
	st, err := f.Stat()
	if err == nil && st.Size() > 0 {
		data := make([]byte, min(st.Size(), 64<<20))
		if _, err = f.ReadAt(data, 0); err == nil {
			err = json.Unmarshal(data, r)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the report of the run: %w", err)
	}
	r.code = code
	l.input.LimitsHit, l.input.Refused = r.LimitsHit, nil
	for _, d := range r.Denials {
		if d.Layer == "syscall" {
			l.input.Refused = append(l.input.Refused, learn.Refusal{Layer: d.Layer, Name: d.Name, Fix: d.Fix, Count: d.Count})
		}
	}
	if r.Network != nil {
		for _, d := range r.Network.Refused {
			l.input.Refused = append(l.input.Refused, learn.Refusal{Layer: "network", Name: d.Host, Fix: d.Fix, Count: d.Count})
		}
	}
	return r, nil
}

// command returns the events of a command that is not in the jail.
func (l *learner) command(places []learn.Place) []learn.Event {
	name := l.spec.Args[0]
	e := learn.Event{Kind: learn.Exec, Call: "execve", Errno: "ENOENT", Count: 1}
	if strings.Contains(name, "/") {
		workdir := l.spec.Workdir
		if workdir == "" {
			workdir = nsjail.DefaultWorkdir
		}
		if e.Path = filepath.Clean(name); !filepath.IsAbs(name) {
			e.Path = filepath.Join(workdir, name)
		}
		e.Nodes = trace.Nodes(places, e.Path)
		return []learn.Event{e}
	}
	jail := strings.Split(nsjail.DefaultPath, ":")
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		at := filepath.Join(dir, name)
		if st, err := os.Stat(at); err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 || !filepath.IsAbs(dir) {
			continue
		}
		if e.Path, e.Nodes = at, trace.Nodes(places, at); !slices.Contains(jail, filepath.Clean(dir)) {
			e.Kind, e.Path = learn.Search, filepath.Clean(dir)
		}
		return []learn.Event{e}
	}
	return nil
}

// memory returns a file in memory: memfd_create(2).
func memory(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err = f.WriteAt(data, 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

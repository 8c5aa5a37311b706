// Package learncmd has brig learn, which runs a command until it works.
package learncmd

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/outfile"
	"brig/cmd/brig/internal/rootimage"
	"brig/cmd/brig/internal/wish"
	"brig/denial"
	"brig/internal/cli"
	"brig/internal/owned"
	"brig/internal/words"
	"brig/learn"
	"brig/learn/trace"
	"brig/nsjail"
)

// About follows the first line of `brig help learn`.
const About = "\nIt runs the command, sees which of its system calls fail for what the jail lacks, and runs it " +
	"again\nwith flags that could help, until it exits with 0; then it leaves out those that it works without.\n" +
	"It prints the flags, the one that shows the least first, and what they are for. It tries by itself\n" +
	"only what lets the command read, or change a copy, in a jail without network. What is private\n" +
	"(secrets, homes, what not every user may read) is named, and not proposed. The command's output\n" +
	"goes to stderr.\n"

// Learn is brig learn with its flags.
type Learn struct {
	out     string // --out, or ""
	rounds  int
	private bool
	tryAll  bool
}

// defaultRounds bounds the number of runs: some flags are found only after others have been added, and each is then
// tried without.
const defaultRounds = 12

// Flags returns those that run does not have.
func (l *Learn) Flags() []cli.Flag {
	return cli.InGroup("Learn", []cli.Flag{
		{Name: "out", Args: "FILE", Files: true, Set: cli.Text(&l.out, "spec.json"),
			Help: "write the jail to FILE, for brig run --spec FILE"},
		{Name: "rounds", Args: "N", Set: l.setRounds,
			Help: "run the command at most N times (" + strconv.Itoa(defaultRounds) + ")"},
		{Name: "include-private", Set: cli.Switch(&l.private, true),
			Help: "propose files of homes and what may hold secrets, too; they are not tried without --try-all"},
		{Name: "try-all", Set: cli.Switch(&l.tryAll, true),
			Help: "try every proposal: for a command that is trusted with the network and what it asks for"},
	})
}

func (l *Learn) setRounds(v []string) error {
	return cli.Whole(&l.rounds, v[0], 1, 1000, "is not a number from 1 to 1000; write it as in --rounds 3")
}

// learner runs one command again and again.
type learner struct {
	wish    *wish.Wish
	asked   Learn
	std     *console.Console
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
	seen    map[string]bool
}

// runReport is what learn reads of a run's report.
type runReport struct {
	Status    nsjail.Status   `json:"status"`
	LimitsHit []string        `json:"limits_hit"`
	Denials   []denial.Denial `json:"denials"`
	code      int
}

// Run runs the command until it works, and prints the flags that it needs.
func (l *Learn) Run(w *wish.Wish, _ rootimage.Root, std *console.Console) int {
	flag := w.OfRun()
	if w.Spec.TTY {
		flag = "--tty"
	}
	if flag != "" {
		return std.Fail(flag + ": brig learn runs the command more than once; leave it out, and use it with brig run")
	}
	run, err := newLearner(w, l, std)
	if err != nil {
		return std.Fail(words.Printable(err.Error()))
	}
	var out *os.File
	if l.out != "" {
		if out, err = outfile.Open(l.out, 0, 0o644, ""); err != nil {
			return std.Fail("--out: " + err.Error())
		}
		defer out.Close()
	}
	return run.all(out)
}

// all learns, tells what was found, and removes the change sets of the runs.
func (l *learner) all(out *os.File) (code int) {
	defer func() {
		if err := l.clean(); err != nil {
			code = l.std.Fail(words.Printable(err.Error()))
		}
	}()
	l.forwardSignals()
	found, err := l.learn()
	if err != nil {
		return l.std.Fail(words.Printable(err.Error()))
	}
	return l.tell(found, out)
}

func newLearner(w *wish.Wish, asked *Learn, std *console.Console) (*learner, error) {
	l := &learner{wish: w, asked: *asked, std: std, refused: map[string]string{}, seen: map[string]bool{}}
	l.asked.rounds = cmp.Or(asked.rounds, defaultRounds)
	s := w.Spec.Clone()
	if w.Image.Name != "" {
		s.Rootfs.Path = ""
	}
	if bad := s.NotUTF8(); len(bad) > 0 {
		return nil, errors.New(w.Translate(bad[0], std.Words))
	}
	l.base = s.JSON()
	wd, err := os.Getwd()
	if err == nil {
		l.dir, err = filepath.EvalSymlinks(wd)
	}
	if err != nil { // it has been removed, or the caller may not search it: nothing in it can be proposed
		l.dir = "/"
	}
	for i := range s.Mounts {
		if m := &s.Mounts[i]; m.Source != "" && m.Type != nsjail.MountSymlink {
			m.Source = cleanPath(l.dir, m.Source)
		}
	}
	l.spec = s
	l.input = learn.Input{Spec: s, Dir: l.dir, Homes: []string{"/root", "/home/"}, Private: asked.private,
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
		p = dir + "/" + p
	}
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return filepath.Clean(p)
}

// clean removes the change sets of the runs.
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

package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/outfile"
	"brig/denial"
	"brig/internal/cli"
	"brig/internal/owned"
	"brig/internal/words"
	"brig/learn"
	"brig/learn/trace"
	"brig/nsjail"
)

// learnAbout follows the first line of `brig help learn`.
const learnAbout = "\nIt runs the command, sees which of its system calls fail for what the jail lacks, and runs it " +
	"again\nwith flags that could help, until it exits with 0; then it leaves out those that it works without.\n" +
	"It prints the flags, the one that shows the least first, and what they are for. It tries by itself\n" +
	"only what lets the command read, or change a copy, in a jail without network. What is private\n" +
	"(secrets, homes, what not every user may read) is named, and not proposed. The command's output\n" +
	"goes to stderr.\n"

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

// defaultRounds bounds the number of runs: some flags are found only after others have been added, and each is then
// tried without.
const defaultRounds = 12

func (b *builder) learnFlags() []cli.Flag {
	l := &b.inv.learn
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

func (l *learning) setRounds(v []string) error {
	return cli.Whole(&l.rounds, v[0], 1, 1000, "is not a number from 1 to 1000; write it as in --rounds 3")
}

// learner runs one command again and again.
type learner struct {
	inv     *invocation
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

// learnRun runs `brig learn`.
func learnRun(inv *invocation, std *console.Console) (code int) {
	flag := inv.ofRun()
	if inv.spec.TTY {
		flag = "--tty"
	}
	if flag != "" {
		return std.Fail(flag + ": brig learn runs the command more than once; leave it out, and use it with brig run")
	}
	l, err := newLearner(inv, std)
	if err != nil {
		return std.Fail(words.Printable(err.Error()))
	}
	var out *os.File
	if inv.learn.out != "" {
		if out, err = outfile.Open(inv.learn.out, 0, 0o644, ""); err != nil {
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

func newLearner(inv *invocation, std *console.Console) (*learner, error) {
	inv.learn.rounds = cmp.Or(inv.learn.rounds, defaultRounds)
	l := &learner{inv: inv, std: std, refused: map[string]string{}, seen: map[string]bool{}}
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
	if err != nil { // it has been removed, or the caller may not search it: nothing in it can be proposed
		l.dir = "/"
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

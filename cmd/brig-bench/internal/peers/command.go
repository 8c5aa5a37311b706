package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"brig/internal/words"
)

// patience bounds the time of a Run, so that a tool that hangs does not block the comparison.
const patience = time.Minute

// command is a program that makes one jail each time it is started.
type command struct {
	name  string                   // the beginning of each id
	argv  func(id string) []string // id is another one each time
	env   []string
	file  string                // descriptor 3, opened anew each time, since some read it to the end; "" for none
	after func(id string) error // removes what a start that failed has left; nil for nothing

	namespaces bool // it is started in the namespaces of a default jail
	// network attaches a network to a process's jail. It returns the process that relays, and what removes the network.
	network func(pid int) (relay int, close func() error, err error)

	errors *os.File // standard error of all starts: a file, since a pipe would cost each start a goroutine
	starts atomic.Int64
}

// ready makes a command startable.
func (c *command) ready() (_ *Ready, err error) {
	if c.errors, err = os.CreateTemp("", "brig-bench-stderr-"); err != nil {
		return nil, err
	}
	return &Ready{Start: c.start, Close: c.errors.Close}, os.Remove(c.errors.Name())
}

// started is a command that runs. It has a process group of its own, so that Ctrl-C ends the harness, which then ends
// the command in the way that leaves nothing behind.
type started struct {
	from *command
	id   string
	cmd  *exec.Cmd
	said int64 // where its part of errors begins
}

func (c *command) start(s Streams) (_ *Running, err error) {
	id := fmt.Sprintf("%s-%d-%d", c.name, os.Getpid(), c.starts.Add(1))
	argv := c.argv(id)
	p := &started{from: c, id: id, cmd: exec.Command(argv[0], argv[1:]...)}
	p.cmd.Env, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = c.env, s.In, s.Out, c.errors
	p.cmd.SysProcAttr, p.cmd.WaitDelay = &syscall.SysProcAttr{Setpgid: true}, patience
	if c.namespaces {
		p.cmd.SysProcAttr = inNamespaces()
	}
	if p.said, err = c.errors.Seek(0, io.SeekEnd); err != nil {
		return nil, err
	}
	if c.file != "" {
		f, err := os.Open(c.file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		p.cmd.ExtraFiles = []*os.File{f}
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	r := &Running{Wait: p.wait, Kill: p.kill}
	if c.network == nil {
		return r, nil
	}
	if r.Pid, r.close, err = c.network(p.cmd.Process.Pid); err != nil {
		p.kill()
		_ = p.wait() // killed
		return nil, err
	}
	return r, nil
}

func (p *started) kill() {
	// the group exists until wait, which returns any other error
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
}

// wait adds the last line of standard error to an error.
func (p *started) wait() error {
	err := p.cmd.Wait()
	if err == nil {
		return nil
	}
	said, serr := io.ReadAll(io.NewSectionReader(p.from.errors, p.said, 1<<20))
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	line := lines[len(lines)-1]
	if _, msg, ok := strings.Cut(line, `msg="`); ok { // a log line of runc's or podman's
		line = strings.TrimSuffix(msg, `"`)
	}
	err = fmt.Errorf("%w%s", err, strings.TrimSuffix(": "+oneLine(line), ": "))
	if p.from.after != nil {
		err = errors.Join(err, p.from.after(p.id))
	}
	return errors.Join(err, serr)
}

// output runs a program for its output, and bounds how long it may take.
func output(env []string, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.SysProcAttr, cmd.WaitDelay = env, &syscall.SysProcAttr{Setpgid: true}, time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	both, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(both))
	if err != nil {
		return text, fmt.Errorf("%s: %w: %s", filepath.Base(argv[0]), err, oneLine(text))
	}
	return text, nil
}

// lookPath is exec.LookPath, with the directories that an ordinary user's PATH lacks.
func lookPath(name string) (path string, err error) {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin", "/usr/local/sbin") {
		if path, err = exec.LookPath(filepath.Join(dir, name)); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", err
}

// number is a version: digits and dots at the beginning of a word, and what packagers add.
var number = regexp.MustCompile(`(?:^|\s)v?(\d[^\s,]*)`)

// version returns the first number in what a program prints about itself, and "" for none: it may still work.
func version(env []string, argv ...string) string {
	text, err := output(env, argv...)
	if found := number.FindStringSubmatch(text); found != nil && err == nil {
		return found[1]
	}
	return ""
}

// oneLine bounds a message and puts it on one line.
func oneLine(text string) string {
	return words.Clip(strings.Join(strings.Fields(text), " "), 300)
}

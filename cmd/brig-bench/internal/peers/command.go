package peers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// patience is how long a Run may take: a tool that hangs must not hang the comparison.
const patience = time.Minute

// command is a program that makes one jail each time it is started.
type command struct {
	name  string                   // the beginning of each id
	argv  func(id string) []string // id is another one each time
	env   []string
	files []string              // what it gets as descriptors 3 and up, opened anew each time: some read them to the end
	after func(id string) error // takes back what a start that failed or was killed has left; nil for nothing

	errors *os.File // what the tool says when nobody else reads it
	starts atomic.Int64
}

// ready makes a command startable.
func (c *command) ready() (*Ready, error) {
	f, err := os.CreateTemp("", "brig-bench-stderr-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	c.errors = f
	return &Ready{start: c.start, close: f.Close}, nil
}

// started is a command that runs. It has a process group of its own, so that Ctrl-C ends the harness, which then ends
// the command the way that leaves nothing behind.
type started struct {
	from  *command
	id    string
	cmd   *exec.Cmd
	quiet bool  // nobody else has its standard error
	said  int64 // where its part of errors begins
}

func (c *command) start(s Streams) (Running, error) {
	id := fmt.Sprintf("%s-%d-%d", c.name, os.Getpid(), c.starts.Add(1))
	argv := c.argv(id)
	p := &started{from: c, id: id, cmd: exec.Command(argv[0], argv[1:]...)}
	p.cmd.Env, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = c.env, s.In, s.Out, s.Err
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = patience
	if s.Err == nil {
		end, err := c.errors.Seek(0, io.SeekEnd)
		if err != nil {
			return nil, err
		}
		p.quiet, p.said, p.cmd.Stderr = true, end, c.errors
	}
	defer func() {
		for _, f := range p.cmd.ExtraFiles {
			f.Close()
		}
	}()
	for _, name := range c.files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, f)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *started) Pid() int { return p.cmd.Process.Pid }

func (p *started) Kill() {
	// the group is there until Wait; whatever else goes wrong shows there
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
}

func (p *started) Wait() error {
	err := p.cmd.Wait()
	if err == nil {
		return nil
	}
	if p.quiet {
		err = fmt.Errorf("%w%s", err, p.last())
	}
	if p.from.after != nil {
		err = errors.Join(err, p.from.after(p.id))
	}
	return err
}

// last is the end of what the tool has said, as one line.
func (p *started) last() string {
	said, err := io.ReadAll(io.NewSectionReader(p.from.errors, p.said, 1<<20))
	if err != nil {
		return ": " + err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	line := lines[len(lines)-1]
	if _, msg, ok := strings.Cut(line, `msg="`); ok { // a log line of runc's or podman's
		line = strings.TrimSuffix(msg, `"`)
	}
	return strings.TrimSuffix(": "+oneLine(line), ": ")
}

// output runs a program for its output, and bounds how long it may take.
func output(env []string, argv ...string) (string, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.SysProcAttr, cmd.WaitDelay = env, &syscall.SysProcAttr{Setpgid: true}, time.Second
	var both strings.Builder
	cmd.Stdout, cmd.Stderr = &both, &both
	if err := cmd.Start(); err != nil {
		return "", err
	}
	stop := time.AfterFunc(patience, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer stop.Stop()
	err := cmd.Wait()
	text := strings.TrimSpace(both.String())
	if err != nil {
		return text, fmt.Errorf("%s: %w: %s", filepath.Base(argv[0]), err, oneLine(text))
	}
	return text, nil
}

// lookPath is exec.LookPath, with the directories that an ordinary user's PATH lacks.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return filepath.Abs(path)
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		if path, serr := exec.LookPath(filepath.Join(dir, name)); serr == nil {
			return path, nil
		}
	}
	return "", err
}

// version is the first number with a dot in what a program says of itself.
func version(env []string, argv ...string) string {
	text, err := output(env, argv...)
	if err != nil {
		return "" // a tool that cannot say it may still work
	}
	for _, word := range strings.Fields(text) {
		word = strings.TrimSuffix(strings.TrimPrefix(word, "v"), ",")
		if strings.Contains(word, ".") && word[0] >= '0' && word[0] <= '9' {
			return word
		}
		if n, err := strconv.Atoi(word); err == nil {
			return strconv.Itoa(n) // systemd has whole ones
		}
	}
	return ""
}

// oneLine bounds a message and puts it on one line.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 300 {
		text = string(r[:300]) + "..."
	}
	return text
}

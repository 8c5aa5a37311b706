package cgroup

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
)

// child is a part under way.
type child struct {
	*exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	errs  strings.Builder
	ended bool
}

// spawn starts a part, in the version 2 group of a directory's descriptor unless it is negative.
func spawn(t testing.TB, group int, part, arg string, change ...func(*exec.Cmd)) *child {
	t.Helper()
	c := &child{Cmd: exec.Command("/proc/self/exe")}
	c.Env = append(os.Environ(), partVar+"="+part, argVar+"="+arg)
	c.Stderr = &c.errs
	if group >= 0 {
		c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: group}
	}
	for _, f := range change {
		f(c.Cmd)
	}
	var err error
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	must.Do(t, err)
	c.out = bufio.NewReader(out)
	must.Do(t, c.Start())
	t.Cleanup(func() { c.kill() })
	return c
}

// line returns the part's next line.
func (c *child) line(t testing.TB) string {
	t.Helper()
	s, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the child said %q and ended (%v): %s", s, c.finish(), c.errs.String())
	}
	return strings.TrimSuffix(s, "\n")
}

// tell writes the byte that some parts wait for.
func (c *child) tell(t testing.TB) {
	t.Helper()
	must.Get(c.in.Write([]byte{1}))(t)
}

// finish ends the input and waits.
func (c *child) finish() error {
	c.in.Close()
	if c.ended {
		return nil
	}
	c.ended = true
	return c.Wait()
}

func (c *child) kill() {
	if !c.ended {
		_ = c.Process.Kill()
		_ = c.finish()
	}
}

// state is the letter of proc_pid_stat(5).
func state(t testing.TB, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest[:1]
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not so: " + what)
		}
	}
}

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// TestAffinity: Go starts on one processor, and neither the payload nor a thread of the keeper is left there.
func TestAffinity(t *testing.T) {
	var want unix.CPUSet
	must.Do(t, unix.SchedGetaffinity(0, &want))
	if want.Count() < 2 {
		t.Skip("one processor")
	}
	for _, flag := range []string{"--init", "--no-init"} {
		cmd := exec.Command(brigBinary(t), "run", flag, "--", "sh", "-c", "nproc; read line")
		cmd.Env = append(os.Environ(), "GOMAXPROCS=", "GODEBUG=schedtrace=10000") // one line at the start, if the machine is up for 10 s
		in, err := cmd.StdinPipe()
		must.Do(t, err)
		out, err := cmd.StdoutPipe()
		must.Do(t, err)
		stderr, err := cmd.StderrPipe()
		must.Do(t, err)
		must.Do(t, cmd.Start())
		trace, err := bufio.NewReader(stderr).ReadString('\n')
		if err != nil || !strings.Contains(trace, " gomaxprocs=1 ") {
			t.Errorf("%s: Go has not started on one processor: %q (%v)", flag, trace, err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || strings.TrimSpace(line) != strconv.Itoa(want.Count()) {
			t.Errorf("%s: the payload has %q processors, want %d (%v)", flag, line, want.Count(), err)
		}
		sameProcessors(t, cmd.Process.Pid, want)
		if _, err := in.Write([]byte("\n")); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// sameProcessors waits until every thread has them: the keeper may be behind its payload.
func sameProcessors(t *testing.T, pid int, want unix.CPUSet) {
	t.Helper()
	var wrong []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*")
		if err != nil || len(tasks) < 2 {
			t.Fatalf("threads %v: %v", tasks, err)
		}
		wrong = nil
		for _, task := range tasks {
			tid := must.Get(strconv.Atoi(filepath.Base(task)))(t)
			var got unix.CPUSet
			if err := unix.SchedGetaffinity(tid, &got); err != unix.ESRCH && (err != nil || got != want) {
				wrong = append(wrong, fmt.Sprintf("%d on %v (%v)", tid, got, err))
			}
		}
		if wrong == nil {
			return
		}
	}
	t.Errorf("threads %q, want %v", wrong, want)
}

// TestTimerSlack: nor is a payload woken as late as the keeper lets itself be, whoever makes it.
func TestTimerSlack(t *testing.T) {
	want, err := os.ReadFile("/proc/self/timerslack_ns")
	if err != nil {
		t.Skip(err)
	}
	for _, flags := range [][]string{nil, {"--net", "none"}, {"--net", "host"}, {"--no-init"}, {"--user", "7:8"}} {
		out, err := exec.Command(brigBinary(t), append(append([]string{"run"}, flags...), "--", "cat", "/proc/self/timerslack_ns")...).Output()
		if err != nil || string(out) != string(want) {
			t.Errorf("%q: %q, %v; want %q", flags, out, err, want)
		}
	}
}

// TestOpenFiles: the keeper may open no file before Go runs, and that is of no consequence to a payload, nor to what
// the keeper itself has to open and to start for it.
func TestOpenFiles(t *testing.T) {
	bind, nofile := t.TempDir(), spec.DefaultRlimits["nofile"]
	if os.Geteuid() == 0 { // its payload has an id of its own
		nofile = spec.Rlimit{Soft: 1024, Hard: 4096}
	}
	for _, flags := range [][]string{nil, {"--ro-bind", bind, "/input"}, {"--no-init"}, {"--net", "none"}} {
		for _, limit := range []string{"-Sn 64", "-n 300"} {
			args := append([]string{"-c", "ulimit " + limit + ` && ulimit -Hn; exec "$@"`, "sh", brigBinary(t), "run"}, flags...)
			out, err := exec.Command("sh", append(args, "--", "sh", "-c", "ulimit -Hn; ulimit -Sn")...).CombinedOutput()
			var outer, hard, soft int
			if _, serr := fmt.Sscan(string(out), &outer, &hard, &soft); err != nil || serr != nil || hard != min(outer, int(nofile.Hard)) || soft != min(hard, int(nofile.Soft)) {
				t.Errorf("%q with ulimit %s: %q, %v", flags, limit, out, err)
			}
		}
	}
}

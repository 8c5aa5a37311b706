package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCloneIntoCgroup sees by strace(1) that a jail is born in its group: nothing is moved there by a write to
// cgroup.procs, which would wait for a grace period of the kernel.
func TestCloneIntoCgroup(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip(err)
	}
	bin := brigBinary(t)
	const limit = "--cgroup=cgroup.max.depth=1" // a file of version 2, on a hybrid machine too
	if out, err := exec.Command(bin, "run", limit, "--", "true").CombinedOutput(); err != nil {
		t.Skipf("no group can be made here: %s", out)
	}
	if out, err := exec.Command(bin, "explain", limit, "--", "true").CombinedOutput(); err != nil || !strings.Contains(string(out), "CLONE_INTO_CGROUP") {
		t.Errorf("the plan does not say CLONE_INTO_CGROUP: %v\n%s", err, out)
	}
	file := filepath.Join(t.TempDir(), "trace")
	if out, err := exec.Command("strace", "-f", "-y", "-o", file, "-e", "trace=clone3,openat,write", bin, "run", limit, "--", "true").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	trace, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	born := 0
	for _, line := range strings.Split(string(trace), "\n") {
		if strings.Contains(line, "clone3(") && strings.Contains(line, "CLONE_INTO_CGROUP") {
			born++
		}
		if strings.Contains(line, "write(") && strings.Contains(line, "/cgroup.procs>") && !strings.Contains(line, "brig.leaf") {
			t.Errorf("a process is moved: %s", line)
		}
	}
	if born != 1 {
		t.Errorf("%d processes were born in a group, want 1:\n%s", born, trace)
	}
}

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestIDsThatDiffer: a caller with other real than effective ids is told both.
func TestIDsThatDiffer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root can have such ids")
	}
	const setpriv = "/usr/bin/setpriv"
	if _, err := os.Stat(setpriv); err != nil {
		t.Skip(err)
	}
	for ids, want := range map[string]string{
		"--ruid 1000 --euid 0":                   "uid 1000 and 0, gid 0 and 0; start it with one of them, as in setpriv --reuid 0 --regid 0 ",
		"--rgid 1000 --egid 0 --clear-groups":    "uid 0 and 0, gid 1000 and 0; ",
		"--ruid 1000 --euid 2000 --clear-groups": "uid 1000 and 2000, gid 0 and 0; ",
	} {
		for _, front := range []string{"run --", "run --tier process --", "bwrap --ro-bind / /"} {
			args := append(append(strings.Fields(ids), brigBinary(t)), strings.Fields(front+" true")...)
			out, err := exec.Command(setpriv, args...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), "the real and the effective ids of brig differ: "+want) {
				t.Errorf("%s, %s: %v, %s", ids, front, err, out)
			}
		}
	}
}

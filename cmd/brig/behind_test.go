package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inUserNamespace runs a script as root of a user namespace, with its own limit on mount namespaces (namespaces(7)).
func inUserNamespace(t *testing.T, script string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script, "sh", brigBinary(t))
	cmd.WaitDelay = time.Second
	cmd.Dir = "/"
	uid, gid := os.Geteuid(), os.Getegid()
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS}
	if uid == 0 { // a payload is never the host's root, by whatever name
		uid, gid, attr.Credential = 100000, 100000, &syscall.Credential{NoSetGroups: true}
	}
	attr.UidMappings, attr.GidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}, []syscall.SysProcIDMap{{HostID: gid, Size: 1}}
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A run does not wait until the kernel has taken its jail's mounts apart. They must go all the same, whatever ends the
// run.
func TestNoMountNamespaceStays(t *testing.T) {
	const limit = "/proc/sys/user/max_mnt_namespaces"
	out, err := inUserNamespace(t, "echo 0 >"+limit+` && exec "$1" run -- true`)
	if err == nil || !strings.Contains(out, "brig: clone3: ") {
		t.Fatalf("the limit does not hold: %v, %s", err, out)
	}
	for name, script := range map[string]string{
		"end":     `for i in $(seq 25); do "$1" run -- true || exit; done`,
		"failure": `for i in $(seq 25); do "$1" run -- /no/such/file 2>/dev/null; [ $? = 127 ] || exit 1; done`,
		"binds":   `for i in $(seq 25); do "$1" run --ro-bind /var /input -- true || exit; done`,
		"kill": `d=$(mktemp -d) || exit
			for i in $(seq 25); do
				mkfifo $d/$i && { "$1" run -- sh -c 'echo up; exec sleep 100' >$d/$i & } && read line <$d/$i && [ "$line" = up ] || exit 1
				kill -9 $!; wait $! 2>/dev/null
			done; rm -r $d`,
	} {
		if out, err := inUserNamespace(t, "echo 12 >"+limit+" || exit; "+script); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

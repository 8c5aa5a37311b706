package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// TestGroupsThatCowCannotChange: a run that fails with --cow of a directory with files of another group is told of
// them, and one that ends well is not. In a jail of root's they can be changed.
func TestGroupsThatCowCannotChange(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another group")
	}
	home := must.Get(os.MkdirTemp("", "brig"))(t)
	t.Cleanup(func() { os.RemoveAll(home) })
	dir := filepath.Join(home, "shared")
	must.Do(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	for _, name := range []string{"own", "sub/theirs"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o664))
	}
	must.Do(t, filepath.Walk(home, func(path string, _ os.FileInfo, err error) error {
		return os.Chown(path, asuser.UID, asuser.UID)
	}))
	must.Do(t, os.Chown(filepath.Join(dir, "sub/theirs"), asuser.UID, asuser.UID+1))
	for _, c := range []struct {
		root    bool
		command string
		told    bool
	}{{false, "echo y >>sub/theirs", true}, {false, "echo y >>own", false}, {true, "echo y >>sub/theirs; exit 3", false}} {
		cmd := exec.Command(brigBinary(t), "run", "--cow", dir, "--", "sh", "-c", c.command)
		cmd.Dir, cmd.Env = home, append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "BRIG_CHANGES="+filepath.Join(home, "sets"))
		if !c.root {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: asuser.UID, Gid: asuser.UID}}
		}
		out, err := cmd.CombinedOutput()
		const hint = "cannot change files of group 54322, such as sub/theirs (EOVERFLOW): use --work, or chgrp them"
		if told := strings.Contains(string(out), hint); told != c.told || (err == nil) == (c.told || c.root) {
			t.Errorf("%s: %v: %s", c.command, err, out)
		}
		must.Do(t, os.RemoveAll(filepath.Join(home, "sets")))
	}
}

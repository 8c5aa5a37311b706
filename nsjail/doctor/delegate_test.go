package doctor

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"brig/cgroup"
	"brig/internal/test/asuser"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestDelegateScript runs what doctor prints: a process of the user is in groups that are the user's to divide.
func TestDelegateScript(t *testing.T) {
	l, err := cgroup.Detect("")
	if err != nil || os.Geteuid() != 0 || !l.Delegated {
		t.Skip("for root of a machine with control groups that can be written:", err)
	}
	shell := exec.Command("cat")
	shell.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: asuser.UID, Gid: asuser.UID}}
	stdin, err := shell.StdinPipe()
	if err == nil {
		err = shell.Start()
	}
	must.Do(t, err)
	user := strconv.Itoa(asuser.UID)
	script, err := delegateScript(l, user, asuser.UID, shell.Process.Pid)
	must.Do(t, err)
	var made []string
	for _, line := range strings.Split(script, "\n") {
		if dir, ok := strings.CutPrefix(line, "give '"); ok {
			made = append(made, filepath.Join(strings.TrimSuffix(dir, "'"), "brig-user-"+user))
		}
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = shell.Wait()
		for _, dir := range made {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		}
	})
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v\n%s\n%s", err, out, script)
	}
	for _, dir := range made {
		for _, file := range []string{"", "cgroup.procs"} {
			var st unix.Stat_t
			if err := unix.Stat(filepath.Join(dir, file), &st); err != nil || st.Uid != asuser.UID {
				t.Errorf("%s %s: uid %d, %v", dir, file, st.Uid, err)
			}
		}
		procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil || strings.TrimSpace(string(procs)) != strconv.Itoa(shell.Process.Pid) {
			t.Errorf("%s has %q, %v", dir, procs, err)
		}
	}
	if len(made) == 0 {
		t.Error("no group is given")
	}
	gone := exec.Command("true")
	must.Do(t, gone.Run())
	script, err = delegateScript(l, user, asuser.UID, gone.Process.Pid)
	must.Do(t, err)
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	if lines := strings.Count(string(out), "to start in it, for a shell with process id PID: echo PID >"); err != nil || lines != len(made) {
		t.Errorf("of a shell that is gone: %v\n%s", err, out)
	}
}

// TestDelegateScriptRefuses: nothing but a user's name comes into a script that root runs, and there has to be
// something to give.
func TestDelegateScriptRefuses(t *testing.T) {
	v2 := &cgroup.Layout{Mode: cgroup.V2, Dir: "/sys/fs/cgroup/it's", Enabled: []string{"cpu", "memory"}, Subtree: []string{"cpu"}}
	for _, user := range []string{"", "-x", "a b", "a;id", "$(id)", "a'b", "a\nb", "../a", "é"} {
		if s, err := delegateScript(v2, user, 1000, 7); err == nil {
			t.Errorf("%q: %s", user, s)
		}
	}
	for want, l := range map[string]*cgroup.Layout{
		"a jail with systemd_scope": {Mode: cgroup.V2, Dir: "/sys/fs/cgroup", Systemd: true},
		"no control group":          {Mode: cgroup.None},
		"mount -t cgroup2 cgroup2 ": {Mode: cgroup.V1, Controllers: map[string]string{"devices": "/d", "name=systemd": "/s"}},
	} {
		if s, err := delegateScript(l, "ann", 1000, 7); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\n%s", want, err, s)
		}
	}
	s, err := delegateScript(v2, "ann.b-c_1", 1000, 7)
	end := fmt.Sprintf("}\necho +memory >%[1]s/cgroup.subtree_control'\ngive %[1]s'\n", `'/sys/fs/cgroup/it'\''s`)
	if err != nil || !strings.HasSuffix(s, end) {
		t.Errorf("%v\n%s\nwant %s", err, s, end)
	}
}

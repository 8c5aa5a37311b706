package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// TestRootCan: a root that cannot become another user has no payload, and one without the capabilities for mappings maps
// no ids.
func TestRootCan(t *testing.T) {
	const all = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYS_PTRACE
	for name, c := range map[string]struct {
		effective uint32
		noIdmap   spec.Text
		refused   bool
	}{
		"all":               {1<<32 - 1, "", false},
		"what it needs":     {all, "", false},
		"docker's default":  {all &^ (1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYS_PTRACE), "CAP_SYS_ADMIN is missing", false},
		"no CAP_SYS_PTRACE": {all &^ (1 << unix.CAP_SYS_PTRACE), "CAP_SYS_PTRACE is missing", false},
		"no CAP_SETUID":     {all &^ (1 << unix.CAP_SETUID), "", true},
		"no CAP_SETGID":     {all &^ (1 << unix.CAP_SETGID), "", true},
		"none":              {0, "", true},
	} {
		noIdmap, err := rootCan(c.effective)
		e, ok := errors.AsType[*spec.Error](err)
		if noIdmap != c.noIdmap || ok != c.refused || ok && (e.Op != "identity" || e.Fault != spec.FaultHost || !strings.Contains(e.Remedy.String(), "as an ordinary user")) {
			t.Errorf("%s: %q, %v", name, noIdmap, err)
		}
	}
}

// TestNotRootInNamespaces: in whatever user namespace and under whatever id the host's root calls, its payload is another
// user, or there is none.
func TestNotRootInNamespaces(t *testing.T) {
	if os.Getenv(namespaced) != "" { // this process is in one
		h, err := Look(&spec.Spec{Args: []string{"true"}})
		if err == nil {
			fmt.Printf("payload %d of %d, drops %v\n", h.PayloadUID, h.UID, h.Drop)
			must.Do(t, h.Close())
		} else {
			fmt.Println("error", err)
		}
		return
	}
	if os.Geteuid() != 0 || ReadText("/proc/self/uid_map") != "0          0 4294967295" {
		t.Skip("only the host's root can map itself")
	}
	exe := asuser.Dir() + "/namespaced.test" // where others may execute it, whatever the umask is
	must.Do(t, errors.Join(os.WriteFile(exe, must.Get(os.ReadFile("/proc/self/exe"))(t), 0o755), os.Chmod(exe, 0o755)))
	const few, own = "error identity: this user namespace has the host's root and too few other ids", "of this user namespace is the host's root"
	type ids = []syscall.SysProcIDMap
	for name, c := range map[string]struct {
		ids  ids
		uid  uint32
		want string
	}{
		"all":                      {ids{{HostID: 0, ContainerID: 0, Size: 1<<32 - 1}}, 0, "of 0, drops true"},
		"all, in two ranges":       {ids{{HostID: 0, ContainerID: 0, Size: 1}, {HostID: 1, ContainerID: 1, Size: 1<<32 - 2}}, 0, "of 0, drops true"},
		"root alone":               {ids{{HostID: 0, ContainerID: 0, Size: 1}}, 0, few},
		"root and subordinate ids": {ids{{HostID: 0, ContainerID: 0, Size: 1}, {HostID: 100000, ContainerID: 1, Size: 65535}}, 0, few},
		"in the other order":       {ids{{HostID: 100000, ContainerID: 1, Size: 65535}, {HostID: 0, ContainerID: 0, Size: 1}}, 0, few},
		"root under another id":    {ids{{HostID: 0, ContainerID: 1000, Size: 1}}, 1000, "error identity: uid 1000 " + own},
		"others alone":             {ids{{HostID: 100000, ContainerID: 0, Size: 65536}}, 0, "payload 0 of 0, drops false"},
		"a user there":             {ids{{HostID: 100000, ContainerID: 0, Size: 65536}}, 7, "payload 7 of 7, drops false"},
		"root is another's id":     {ids{{HostID: 0, ContainerID: 0, Size: 1}, {HostID: 100000, ContainerID: 1, Size: 65535}}, 7, "payload 7 of 7, drops false"},
		"nobody":                   {ids{{HostID: 100000, ContainerID: 0, Size: 65536}}, 65534, "payload 65534 of 65534, drops false"},
	} {
		cmd := exec.Command(exe, "-test.run=^TestNotRootInNamespaces$")
		cmd.Env = append(os.Environ(), namespaced+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: c.ids, GidMappings: c.ids,
			GidMappingsEnableSetgroups: true, Credential: &syscall.Credential{Uid: c.uid, Gid: c.uid, Groups: []uint32{}}}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
}

const namespaced = "BRIG_TEST_NAMESPACED"

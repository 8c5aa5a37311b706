package bwrap

import (
	"fmt"
	"os"
	"strings"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// tell writes what --info-fd and --json-status-fd want to know of a jail whose first process waits, and waits itself
// for --userns-block-fd.
func (c *call) tell(pid int) error {
	ids := c.namespaces(pid)
	if c.InfoFD != NoFD {
		text := fmt.Sprintf("{\n    \"child-pid\": %d", pid)
		for _, id := range ids {
			text += ",\n    " + id
		}
		if err := write(c.InfoFD, text+"\n}\n"); err != nil {
			return failf("Write to info_fd: %w", err)
		}
		if c.InfoFD > 2 {
			unix.Close(c.InfoFD)
		}
	}
	if c.StatusFD != NoFD {
		text := fmt.Sprintf("{ \"child-pid\": %d", pid)
		for _, id := range ids {
			text += ", " + id
		}
		if err := write(c.StatusFD, text+" }\n"); err != nil {
			return failf("Write to json_status_fd: %w", err)
		}
	}
	if c.UsernsBlockFD != NoFD {
		_, _ = sys.Read(c.UsernsBlockFD, make([]byte, 1)) // as bubblewrap, which goes on after an error
		unix.Close(c.UsernsBlockFD)
	}
	return nil
}

// namespaces returns the members with the namespaces that the jail does not share: namespaces(7).
func (c *call) namespaces(pid int) (list []string) {
	for _, ns := range []struct {
		name string
		new  bool
	}{{"cgroup", c.jail.NewCgroup}, {"ipc", c.UnshareIPC}, {"mnt", true}, {"net", c.UnshareNet}, {"pid", c.UnsharePID},
		{"uts", c.UnshareUTS}} {
		var st unix.Stat_t
		if ns.new && unix.Stat(fmt.Sprintf("/proc/%d/ns/%s", pid, ns.name), &st) == nil {
			list = append(list, fmt.Sprintf("%q: %d", ns.name+"-namespace", st.Ino))
		}
	}
	return list
}

// tellExit writes the last object of --json-status-fd. Where the command could not be executed there is none.
func (c *call) tellExit(code int) error {
	if c.StatusFD == NoFD {
		return nil
	}
	_ = write(c.StatusFD, fmt.Sprintf("{ \"exit-code\": %d }\n", code)) // a reader that is gone is no failure
	return nil
}

func write(fd int, text string) error {
	for len(text) > 0 {
		n, err := sys.Write(fd, []byte(text))
		if err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// environment applies the changes to the caller's variables, in their order. brig's own variables are not passed on.
func environment(changes []EnvOp) (env []string) {
	for _, e := range os.Environ() {
		if !own(e) {
			env = append(env, e)
		}
	}
	for _, op := range changes {
		at := -1
		for i, e := range env {
			if strings.HasPrefix(e, op.Name+"=") {
				at = i
			}
		}
		switch {
		case op.Clear:
			env = nil
		case op.Set && at >= 0:
			env[at] = op.Name + "=" + op.Value
		case op.Set:
			env = append(env, op.Name+"="+op.Value)
		case at >= 0:
			env = append(env[:at], env[at+1:]...)
		}
	}
	return env
}

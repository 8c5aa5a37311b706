package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestForeignProcesses: the processes of a group without brig are not moved; the error names them.
func TestForeignProcesses(t *testing.T) {
	l, name := yard(t)
	for controller, want := range domestic(t, l) {
		t.Run(controller, func(t *testing.T) {
			dir, fd := home(t, l, "foreign-"+controller)
			c := spawn(t, fd, "wait", "")
			c.line(t)
			own, err := Detect("")
			must.Do(t, err)
			parent := path.Join(strings.TrimSuffix(own.Group, "/"+leafName), name, path.Base(dir))
			other, err := Detect(parent)
			if err != nil || other.Dir != dir {
				t.Fatalf("%s: %+v, %v", parent, other, err)
			}
			g, err := Resolve(&want, other).Create()
			if g != nil || !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), "brig is not one of them: "+strconv.Itoa(c.Process.Pid)) ||
				!strings.Contains(err.Error(), "cgroup_parent") {
				t.Errorf("got %v", err)
			}
			if left := groupsBelow(t, dir); len(left) != 1 {
				t.Errorf("there is %q", left)
			}
			if in := procs(t, dir); len(in) != 1 {
				t.Errorf("its processes are %q", in)
			}
		})
	}
}

// TestThreads: a group that is threaded, or below such a one, cannot hold whole processes.
func TestThreads(t *testing.T) {
	l, _ := yard(t)
	domestic(t, l)
	dir, fd := home(t, l, "threads")
	inner := path.Join(dir, "inner")
	must.Do(t, errors.Join(os.Mkdir(inner, 0o755), os.WriteFile(inner+"/cgroup.type", []byte("threaded"), 0)))
	for d, kind := range map[string]string{inner: `threaded`, dir: `"domain threaded"`} {
		look := *l
		look.Dir, look.Controllers, look.Denied = d, nil, nil
		if err := look.look("x", nil); err != nil || !strings.Contains(look.Denied[""], " is "+kind+", and only a domain") {
			t.Errorf("%+v, %v", look, err)
		}
	}
	must.Do(t, unix.Unlinkat(fd, "inner", unix.AT_REMOVEDIR))
}

// TestNoDescendants: where mkdir(2) is refused, the error has a remedy.
func TestNoDescendants(t *testing.T) {
	l, _ := yard(t)
	for controller, want := range domestic(t, l) {
		for file, value := range map[string]string{"cgroup.max.descendants": "0", "cgroup.max.depth": "0"} {
			t.Run(controller+" "+file, func(t *testing.T) {
				dir, _ := home(t, l, "full-"+controller+file)
				must.Do(t, os.WriteFile(path.Join(dir, file), []byte(value), 0))
				look := *l
				look.Dir, look.Controllers, look.Denied = dir, nil, nil
				if err := look.look("x", nil); err != nil || !look.Delegated {
					t.Fatalf("%+v, %v", look, err)
				}
				_, err := Resolve(&want, &look).Create()
				if !errors.Is(err, unix.EAGAIN) || !strings.Contains(err.Error(), "raise cgroup.max.descendants or cgroup.max.depth") || !strings.HasPrefix(err.Error(), "mkdir ") {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

// TestOtherPIDNamespace: a process that this one cannot name cannot be moved.
func TestOtherPIDNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root makes a pid namespace")
	}
	l, _ := yard(t)
	for controller, want := range domestic(t, l) {
		t.Run(controller, func(t *testing.T) {
			_, fd := home(t, l, "pidns-"+controller)
			outside := spawn(t, fd, "wait", "")
			outside.line(t)
			c := spawn(t, fd, "create", text(t, order{Limits: want}), func(cmd *exec.Cmd) {
				cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
				cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "mount --make-rprivate / && mount -t proc proc /proc && exec \"$0\"", selfCopy(t)}
			})
			m := c.made(t)
			if !strings.Contains(m.Err, "one of another pid namespace (0), which cannot be moved from here") {
				t.Errorf("%+v", m)
			}
		})
	}
}

// selfCopy is this binary under a name that another process can use.
func selfCopy(t *testing.T) string {
	t.Helper()
	return must.Get(os.Executable())(t)
}

// TestReadOnly: a mount that cannot be written denies all, before anything is tried.
func TestReadOnly(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root makes a mount")
	}
	l := layout(t)
	if l.Dir == "" {
		t.Skip("there is no version 2 tree")
	}
	c := spawn(t, -1, "create", text(t, order{Limits: Limits{CPUTime: true}}), func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		cmd.Path = "/bin/sh"
		cmd.Args = []string{"sh", "-c", fmt.Sprintf("mount --make-rprivate / && for d in $(grep -o ' /sys/fs/cgroup[^ ]*' /proc/self/mounts); do mount -o remount,bind,ro $d || exit; done; exec %q", selfCopy(t))}
	})
	if m := c.made(t); !strings.Contains(m.Err, "is mounted read-only") || len(m.Dirs) > 0 {
		t.Errorf("%+v", m)
	}
}

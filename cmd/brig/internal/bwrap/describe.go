package bwrap

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"brig/nsjail/steps"

	"golang.org/x/sys/unix"
)

// describe turns the options into a jail, with what the descriptors hold.
func (c *call) describe() (*steps.Jail, error) {
	switch {
	case c.FileLabel != "":
		return nil, errors.New("labeling of files is not supported: leave --file-label out")
	case c.ExecLabel != "" && !exists("/sys/fs/selinux/enforce"):
		return nil, errors.New("labeling not supported on this system: SELinux is not enabled")
	}
	j := &steps.Jail{Args: c.Command, Argv0: c.Argv0, Env: environment(c.Env), Steps: c.Steps, Caps: c.Caps,
		NewUser: c.UnshareUser, NewIPC: c.UnshareIPC, NewPID: c.UnsharePID, NewNet: c.UnshareNet, NewUTS: c.UnshareUTS,
		NewCgroup: c.UnshareCgroup || c.UnshareCgroupTry && exists("/proc/self/ns/cgroup"),
		UID:       c.UID, GID: c.GID, Userns: c.UsernsFD, Userns2: c.Userns2FD, PIDNS: c.PIDNSFD,
		DisableUserns: c.DisableUserns, AssertUserns: c.AssertUsernsDisabled, Unmapped: c.UsernsBlockFD != NoFD,
		NewSession: c.NewSession, DieWithParent: c.DieWithParent, NoInit: c.AsPID1, Chdir: c.Chdir,
		LockFiles: c.LockFiles, SyncFD: c.SyncFD, BlockFD: c.BlockFD, ExecLabel: c.ExecLabel}
	if os.Getuid() != 0 && c.UsernsFD == NoFD || c.UnshareUserTry && userNamespaces() {
		j.NewUser = true
	}
	for i := range j.Steps {
		if err := c.data(j, &j.Steps[i]); err != nil {
			return nil, err
		}
	}
	if err := c.filters(j); err != nil {
		return nil, err
	}
	for _, fd := range append([]int{c.InfoFD, c.StatusFD, c.BlockFD}, c.Read...) {
		if fd != NoFD {
			j.CloseFDs = append(j.CloseFDs, fd)
		}
	}
	return j, c.variables(j)
}

func exists(path string) bool { return unix.Access(path, unix.F_OK) == nil }

// userNamespaces reports whether --unshare-user-try finds user namespaces, as bubblewrap looks for them.
func userNamespaces() bool {
	most, err := os.ReadFile("/proc/sys/user/max_user_namespaces")
	off, _ := os.ReadFile("/sys/module/user_namespace/parameters/enable") // only some kernels have it
	return exists("/proc/self/ns/user") && (err != nil || string(most) != "0\n") && !strings.HasPrefix(string(off), "N")
}

// data reads what a step is to write.
func (c *call) data(j *steps.Jail, s *Step) (err error) {
	if s.FD == NoFD {
		return nil
	}
	j.CloseFDs = append(j.CloseFDs, s.FD)
	if s.Kind == steps.Bind || s.Kind == steps.ROBind {
		return nil
	}
	if s.Data, err = readAll(s.FD); err != nil {
		return failf("Can't write data to file %s: %w", s.Target, err)
	}
	return nil
}

// filters reads the programs of --seccomp and --add-seccomp-fd: arrays of struct sock_filter, seccomp(2).
func (c *call) filters(j *steps.Jail) error {
	list := c.AddSeccomp
	if c.SeccompFD != NoFD {
		list = []int{c.SeccompFD}
	}
	for _, fd := range list {
		filter, err := readAll(fd)
		switch {
		case err != nil:
			return failf("Can't read seccomp data: %w", err)
		case len(filter)%8 != 0:
			return failf("Invalid seccomp data, must be multiple of 8")
		case len(filter)/8 > unix.BPF_MAXINSNS:
			return fmt.Errorf("prctl(PR_SET_SECCOMP): %w", unix.EINVAL)
		}
		j.Filters = append(j.Filters, bytes.Clone(filter))
		j.CloseFDs = append(j.CloseFDs, fd)
	}
	return nil
}

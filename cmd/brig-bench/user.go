package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// asUser runs this program again as a user that has no account, with copies of it and of brig, which may lie where only
// root can go. Files that root has asked for are passed open.
func asUser(ctx context.Context, o options, files outputs) (code int, err error) {
	uid, err := freeUID()
	if err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "brig-bench-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	self, brig := filepath.Join(dir, "brig-bench"), filepath.Join(dir, "brig")
	daemon := filepath.Join(filepath.Dir(o.brig), "brigd") // for the measurement of requests; it may be missing
	if _, err := os.Stat(daemon); err == nil {
		if err := copyProgram(daemon, filepath.Join(dir, "brigd")); err != nil {
			return 1, err
		}
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, uid, uid), copyProgram("/proc/self/exe", self), copyProgram(o.brig, brig)); err != nil {
		return 1, err
	}
	cmd := exec.Command(self)
	cmd.Args, cmd.ExtraFiles = userArgs(o, brig, files)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "TERM=" + os.Getenv("TERM")}
	if v, ok := os.LookupEnv("NO_COLOR"); ok {
		cmd.Env = append(cmd.Env, "NO_COLOR="+v)
	}
	// a group of its own: Ctrl-C reaches it once, from here
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), Groups: []uint32{}}}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return 1, err
		}
		err = <-ended
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode(), nil // it has said why
	}
	return 0, err
}

// userArgs are the options of the second run, and the files that it gets from descriptor 3 on.
func userArgs(o options, brig string, f outputs) (args []string, extra []*os.File) {
	args = []string{"brig-bench", "--brig", brig}
	for flag, on := range map[string]bool{"--quick": o.quick, "--list": o.list} {
		if on {
			args = append(args, flag)
		}
	}
	if o.rounds > 0 {
		args = append(args, "--rounds", strconv.Itoa(o.rounds))
	}
	if o.only != nil {
		args = append(args, "--only", strings.Join(o.only, ","))
	}
	if o.tools != nil {
		args = append(args, "--tools", strings.Join(o.tools, ","))
	}
	pass := func(flag, name string, file *os.File) {
		if name == "-" {
			args = append(args, flag, name)
		} else if file != nil {
			extra = append(extra, file)
			args = append(args, flag, fmt.Sprintf("/dev/fd/%d", 2+len(extra)))
		}
	}
	pass("--json", o.json, f.json)
	pass("--html", o.html, f.html)
	return args, extra
}

// freeUID is a user id without an account and without a process.
func freeUID() (int, error) {
	used := map[uint32]bool{}
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, p := range procs {
		if st, err := os.Stat(p); err == nil { // else it has ended
			used[st.Sys().(*syscall.Stat_t).Uid] = true
		}
	}
	for uid := 64321; uid > 60577; uid-- { // between Debian's dynamic users and nobody
		if _, err := user.LookupId(strconv.Itoa(uid)); err != nil && !used[uint32(uid)] {
			return uid, nil
		}
	}
	return 0, errors.New("--user: no user id is free between 60578 and 64321; start brig-bench as an ordinary user instead")
}

func copyProgram(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

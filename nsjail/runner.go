package nsjail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"

	"brig/internal/program"
	"brig/nsjail/internal/stage"

	"golang.org/x/sys/unix"
)

// Runner makes jails through one stage process, which it keeps. Its methods may be called from several goroutines.
type Runner struct {
	stage *stage.Stage

	mu      sync.Mutex
	dropped *Host           // the identity that the stage has taken, if the caller is root
	idmaps  map[[2]int]int  // user namespaces for idmapped mounts, by the source's uid and gid
	jails   map[*Cmd]func() // running jails and how to kill them
	closed  bool
	swept   bool // what killed keepers have left was looked for
}

// NewRunner starts a stage: this program's binary again, which needs no other file.
func NewRunner() (*Runner, error) {
	s, err := stage.Start()
	if err != nil {
		return nil, &Error{Fault: FaultHost, Op: "stage", Detail: err.Error(), Remedy: "see that /proc is mounted and that processes can be started"}
	}
	return newRunner(s), nil
}

// EarlyRunner takes the stage that a constructor of the binary has forked before the Go runtime started; a binary
// asks for it by defining the C symbol brig_stage_early, as cmd/brig does. Without one it starts a stage.
func EarlyRunner() (*Runner, error) {
	if s := stage.TakeEarly(); s != nil {
		return newRunner(s), nil
	}
	return NewRunner()
}

func newRunner(s *stage.Stage) *Runner {
	return &Runner{stage: s, idmaps: map[[2]int]int{}, jails: map[*Cmd]func(){}}
}

// Close kills the jails that still run and ends the stage.
func (r *Runner) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	for _, kill := range r.jails {
		kill()
	}
	var errs []error
	for _, fd := range r.idmaps {
		errs = append(errs, unix.Close(fd))
	}
	return errors.Join(append(errs, r.stage.Close())...)
}

// Retire says that no further jail will be made: the stage ends now, while the jails run, and not at Close. A stage
// that guards jails without init (Spec.NoInit) stays.
func (r *Runner) Retire() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.jails {
		if c.Spec.NoInit {
			return nil
		}
	}
	return r.stage.Retire()
}

// Command prepares a jail for a command; see Cmd.
func (r *Runner) Command(name string, args ...string) *Cmd {
	return r.CommandContext(context.Background(), name, args...)
}

// CommandContext is Command with a context whose end kills the jail.
func (r *Runner) CommandContext(ctx context.Context, name string, args ...string) *Cmd {
	return &Cmd{Spec: Spec{Args: append([]string{name}, args...)}, runner: r, ctx: ctx}
}

// CommandSpec prepares a jail from a whole Spec.
func (r *Runner) CommandSpec(ctx context.Context, s Spec) *Cmd {
	return &Cmd{Spec: s, runner: r, ctx: ctx}
}

// adopt makes the stage the unprivileged user that payloads of root run as. A stage does so once.
func (r *Runner) adopt(p *Plan) error {
	if p.Drop == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped != nil {
		return nil
	}
	uid, err := r.stage.UID()
	if err != nil {
		return err
	}
	if uid == p.Host.PayloadUID { // an early stage has done so itself
		r.dropped = p.Host
		return nil
	}
	// the program has no use for a report socket, and every request carries one
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(null)
	if _, err := r.stage.Do(p.Drop, program.Request{Kind: program.Self, Cgroup: -1}, null); err != nil {
		return opError("drop", p.Drop, err)
	}
	r.dropped = p.Host
	return nil
}

// opError names the operation of a program that failed.
func opError(phase string, p *program.Program, err error) error {
	var oe *stage.OpError
	if !errors.As(err, &oe) {
		return &Error{Fault: FaultBrig, Op: phase, Detail: err.Error()}
	}
	if oe.Op < 0 || oe.Op >= len(p.Ops) {
		return &Error{Fault: FaultHost, Op: phase, Errno: oe.Errno}
	}
	op := &p.Ops[oe.Op]
	return &Error{Fault: FaultHost, Step: oe.Op + 1, Of: len(p.Ops), Op: op.Label, Detail: op.Call(), Errno: oe.Errno}
}

// pass makes the mounts that the keeper hands over: open_tree(2), mount_setattr(2).
func (r *Runner) pass(p *Plan) (fds []int, err error) {
	defer func() {
		if err != nil {
			closeAll(fds)
		}
	}()
	for _, m := range p.Passed {
		src := p.Host.Sources[m.Key]
		fail := func(op string, err error) error {
			e := &Error{Fault: FaultHost, Op: op, Detail: quote(src.Path), Remedy: "use another file system, or accept a plain bind: --optional idmap"}
			if !errors.As(err, &e.Errno) {
				e.Detail += ": " + err.Error()
			}
			return e
		}
		fd, err := unix.OpenTree(src.fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
		if err != nil {
			return fds, fail("open_tree", err)
		}
		fds = append(fds, fd)
		attr := unix.MountAttr{Attr_set: m.Attr}
		if m.IDMap {
			ns, err := r.idmap(src, p.Host)
			if err != nil {
				return fds, fail("idmap", err)
			}
			attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
			attr.Userns_fd = uint64(ns)
		}
		err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
		if err != nil && m.IDMap && contains(p.Spec.Optional, "idmap") { // the file system, or one mounted below, has none
			p.Enforced["idmap"] = "not enforced for " + quote(m.Target) + ": mount_setattr: " + err.Error() + " (optional)"
			attr = unix.MountAttr{Attr_set: m.Attr}
			err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
		}
		if err != nil {
			return fds, fail("idmapped mount (mount_setattr)", err)
		}
	}
	return fds, nil
}

// idmap gives a user namespace that shows the source's owner as the payload. A process has to live in it while its
// map is written: user_namespaces(7); the stage spawns one that only waits.
func (r *Runner) idmap(src *Source, h *Host) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := [2]int{src.UID, src.GID}
	if fd, ok := r.idmaps[key]; ok {
		return fd, nil
	}
	p := program.New(2)
	p.Add("wait", unix.SYS_PPOLL, program.Named(0, "NULL"), program.Int(0), program.Named(0, "NULL"), program.Named(0, "NULL"), program.Int(0))
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(null)
	pid, err := r.stage.Do(p, program.Request{CloneFlags: unix.CLONE_NEWUSER, Cgroup: -1, Ward: true}, null)
	if err != nil {
		return -1, opError("idmap", p, err)
	}
	defer reap(pid)
	dir := "/proc/" + strconv.Itoa(pid)
	for _, m := range []struct{ file, text string }{{"/uid_map", fmt.Sprintf("%d %d 1", src.UID, h.PayloadUID)},
		{"/gid_map", fmt.Sprintf("%d %d 1", src.GID, h.PayloadGID)}} {
		if err := os.WriteFile(dir+m.file, []byte(m.text), 0); err != nil {
			return -1, err
		}
	}
	fd, err := unix.Open(dir+"/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		r.idmaps[key] = fd
	}
	return fd, err
}

// reap kills and collects a child that has no pidfd; its pid is ours until it is collected.
func reap(pid int) {
	for _, call := range []func() error{
		func() error { return unix.Kill(pid, unix.SIGKILL) },
		func() error { _, err := syscall.Wait4(pid, nil, 0, nil); return err },
	} {
		for call() == unix.EINTR {
			continue
		}
	}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

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
//
// The stage stands in a small tree of its own, a copy of whose mounts each jail starts with, and the Runner remembers
// what it has worked out for the kinds of Spec that it has met: both make a start faster and change nothing about the
// jail. What the tree shows of the host's /usr is always the present; its copies of a few files of /etc (certificates,
// ld.so.cache) are those of the moment when the Runner was made.
type Runner struct {
	stage  *stage.Stage
	tree   *stand // nil: jails start from the host's tree, because of
	why    string
	outfit *outfitter
	nets   *netPool
	room   chan struct{} // one for each jail that may run at once; nil is no bound

	mu      sync.Mutex
	dropped *Host           // the identity that the stage has taken, if the caller is root
	idmaps  map[[2]int]int  // user namespaces for idmapped mounts, by the source's uid and gid
	jails   map[*Cmd]func() // running jails and how to kill them
	cold    *Runner         // for the Specs that a prepared tree is not for
	ending  sync.WaitGroup  // jails whose namespaces are being taken apart
	closed  bool
	swept   bool // what killed keepers have left was looked for
}

// RunnerOptions are what a Runner does ahead of its jails. The zero value is NewRunner's.
type RunnerOptions struct {
	// Pool is how many network namespaces, each with lo up, are kept ready; they refill in the background.
	Pool int
	// Reuse gives the network namespace of a jail that has ended to another one, if every counter, socket, address and
	// route in it is as it was when it was new: if the payload has not touched the network at all.
	Reuse bool
	// Jails is how many jails may run at once; Start waits for one to end, or for its context. 0 is as many as the limit
	// on open files has room for.
	Jails int
	// Cold makes each jail from the host's tree, as `brig run` does: for a program that makes one or two.
	Cold bool
}

// NewRunner starts a stage: this program's binary again, which needs no other file. Where the machine does not allow a
// prepared tree, jails take longer and are the same; their Plan has a note that says why.
func NewRunner() (*Runner, error) { return NewRunnerWith(RunnerOptions{}) }

// NewRunnerWith is NewRunner with options.
func NewRunnerWith(o RunnerOptions) (*Runner, error) {
	if o.Pool < 0 || o.Jails < 0 {
		return nil, &Error{Fault: FaultCaller, Op: "runner", Detail: "a negative Pool or Jails", Remedy: "give how many, or 0"}
	}
	r, err := newStage()
	if err != nil {
		return nil, err
	}
	r.room = make(chan struct{}, roomFor(o.Jails))
	if o.Cold {
		return r, nil
	}
	if r.tree, err = r.prepareStage(o.Pool > 0); err != nil {
		fresh, ferr := newStage()
		if ferr = errors.Join(ferr, r.stage.Close()); ferr != nil {
			return nil, ferr
		}
		r.why, r.stage, r.dropped, r.tree = err.Error(), fresh.stage, nil, nil
		return r, nil
	}
	r.outfit = &outfitter{host: r.tree.host, first: r.stage}
	if o.Pool > 0 {
		r.nets = &netPool{outfit: r.outfit, want: o.Pool, reuse: o.Reuse}
		e, err := r.nets.make() // the first tells whether it can be done
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.nets.ready = append(r.nets.ready, e)
	}
	return r, nil
}

// filesPerJail is how many descriptors a jail takes in the keeper while it starts: report, pidfd, streams, sources.
const filesPerJail = 12

// roomFor is how many jails may run at once.
func roomFor(asked int) int {
	if asked > 0 {
		return asked
	}
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 64
	}
	return int(min(max(int64(l.Cur)-64, filesPerJail)/filesPerJail, 1<<20))
}

// newStage makes a Runner whose jails start from the host's tree.
func newStage() (*Runner, error) {
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
	return newStage()
}

func newRunner(s *stage.Stage) *Runner {
	return &Runner{stage: s, idmaps: map[[2]int]int{}, jails: map[*Cmd]func(){}}
}

// coldRunner is the Runner for jails that start from the host's tree.
func (r *Runner) coldRunner() (*Runner, error) {
	if r.tree == nil {
		return r, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, os.ErrClosed
	}
	var err error
	if r.cold == nil {
		r.cold, err = newStage()
	}
	return r.cold, err
}

// enter waits until one more jail may run.
func (r *Runner) enter(ctx context.Context) error {
	if r.room == nil {
		return nil
	}
	select {
	case r.room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *Runner) leave() {
	if r.room != nil {
		<-r.room
	}
}

// Close kills the jails that still run or are parked and ends the stage. Nothing is left.
func (r *Runner) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
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
	cold := r.cold
	r.mu.Unlock()
	if cold != nil {
		errs = append(errs, cold.Close())
	}
	errs = append(errs, r.tree.close(), r.nets.Close())
	r.ending.Wait()
	if r.outfit != nil {
		errs = append(errs, r.outfit.Close())
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

// pass makes the mounts that are handed over with the head of a program or with its rest: open_tree(2), mount_setattr(2).
func (r *Runner) pass(p *Plan, h *handover, head bool) (err error) {
	for _, m := range p.Passed {
		if m.head != head && p.Head != nil {
			continue
		}
		src := p.Host.Sources[m.Key]
		if !p.Host.Drop {
			fd, err := r.outfit.mount(m.Key, src, m.Attr)
			if err != nil {
				return err
			}
			h.put(m.slot, fd)
			continue
		}
		fail := func(op string, err error) error {
			e := &Error{Fault: FaultHost, Op: op, Detail: quote(src.Path), Remedy: "use another file system, or accept a plain bind: --optional idmap"}
			if !errors.As(err, &e.Errno) {
				e.Detail += ": " + err.Error()
			}
			return e
		}
		fd, err := unix.OpenTree(src.fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
		if err != nil {
			return fail("open_tree", err)
		}
		h.put(m.slot, fd)
		attr := unix.MountAttr{Attr_set: m.Attr}
		if m.IDMap {
			ns, err := r.idmap(src, p.Host)
			if err != nil {
				return fail("idmap", err)
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
			return fail("idmapped mount (mount_setattr)", err)
		}
	}
	return nil
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

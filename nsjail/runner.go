package nsjail

import (
	"context"
	"errors"
	"os"
	"sync"

	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/spec"
	"brig/nsjail/internal/warm"

	"golang.org/x/sys/unix"
)

// Runner makes jails through one launcher process, which it keeps. Its methods may be called from several goroutines.
//
// The launcher is in a prepared root, and each jail starts with a copy of its few mounts. The Runner keeps the plans of
// the Specs that it has met. Both make a start faster and change nothing about the jail. The host's /usr in it is the
// present one, but for what is mounted there later; its copies of a few files of /etc (certificates, ld.so.cache) are
// those of the moment when the Runner was made.
type Runner struct {
	launcher *launcher.Launcher
	tree     *warmRoot // nil: jails start from the host's root, because of why
	why      string
	helper   *warm.MountHelper
	nets     *warm.NetPool
	pool     int // RunnerOptions.Pool
	volumes  *volumeStore
	room     chan struct{} // one for each jail that may run at once; nil is no bound

	mu      sync.Mutex
	dropped *host.Host      // the identity that the launcher has taken, if the caller is root
	idmaps  map[[2]int]int  // user namespaces for idmapped mounts, by the source's uid and gid
	jails   map[*Cmd]func() // running jails and how to kill them
	cold    map[int]*Runner // for Specs that need the host's root, by Host.Owner
	ending  sync.WaitGroup  // jails whose namespaces are being taken apart
	starts  sync.WaitGroup  // starts under way
	closed  bool
	swept   bool // the groups of killed keepers were looked for
}

// newBareRunner makes a Runner whose jails start from the host's tree.
func newBareRunner() (*Runner, error) {
	s, err := launcher.Start()
	if err != nil {
		return nil, &spec.Error{Fault: spec.FaultHost, Op: "launcher", Detail: err.Error(),
			Remedy: "see that /proc is mounted and that processes can be started"}
	}
	return newRunner(s), nil
}

// EarlyRunner takes the launcher that a constructor of the binary has forked before the Go runtime started; a binary
// asks for it by defining the C symbol brig_launcher_command, as cmd/brig does. Without one it starts a launcher.
func EarlyRunner() (*Runner, error) {
	if s := launcher.TakeEarly(); s != nil {
		return newRunner(s), nil
	}
	return newBareRunner()
}

func newRunner(s *launcher.Launcher) *Runner {
	return &Runner{launcher: s, volumes: &volumeStore{}, idmaps: map[[2]int]int{},
		jails: map[*Cmd]func(){}, cold: map[int]*Runner{}}
}

// replace takes another launcher: the first stands where the jail must not be born, or has died.
func (r *Runner) replace() error {
	fresh, err := newBareRunner()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.launcher
	r.launcher, r.dropped = fresh.launcher, nil
	return old.Close()
}

// mode returns the Mode of the next jail. A launcher in a network namespace of its own makes no jail in the host's, and
// one that has died none at all: then another one takes its place.
func (r *Runner) mode(s *spec.Spec) (m plan.Mode, err error) {
	if m.Net, err = r.launcher.OwnNet(); err != nil || m.Net && s.Net == spec.NetHost {
		m.Net = false
		if err = r.replace(); err != nil {
			return m, err
		}
	}
	m.Early = r.launcher.Early
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped != nil { // one launcher, one unprivileged user
		m.UID, m.GID = r.dropped.PayloadUID, r.dropped.PayloadGID
	}
	return m, nil
}

// coldRunner is the Runner for jails that start from the host's tree, with payloads that are the owner of a bind
// (Host.Owner), or for 0 any other: a launcher becomes one user, once.
func (r *Runner) coldRunner(owner int) (*Runner, error) {
	if r.tree == nil && owner == 0 {
		return r, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, os.ErrClosed
	}
	if cold := r.cold[owner]; cold != nil {
		return cold, nil
	}
	cold, err := newBareRunner()
	if err == nil {
		cold.volumes = r.volumes
		r.cold[owner] = cold
	}
	return cold, err
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

// start announces a start, which Close waits for: what it uses must not be closed under it.
func (r *Runner) start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return os.ErrClosed
	}
	r.starts.Add(1)
	return nil
}

func (r *Runner) leave() {
	if r.room != nil {
		<-r.room
	}
}

// Close kills the jails that still run or are parked and ends the launcher. Nothing is left.
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
	r.mu.Unlock()
	r.starts.Wait()
	var errs []error
	for _, cold := range r.cold {
		errs = append(errs, cold.Close())
	}
	errs = append(errs, r.tree.close(), r.nets.Close())
	r.ending.Wait()
	errs = append(errs, r.volumes.close())
	if r.helper != nil {
		errs = append(errs, r.helper.Close())
	}
	for _, fd := range r.idmaps {
		errs = append(errs, unix.Close(fd))
	}
	return errors.Join(append(errs, r.launcher.Close())...)
}

// Retire says that no further jail will be made: the launcher ends now, while the jails run, and not at Close. A
// launcher that guards jails without init (Spec.NoInit) stays.
func (r *Runner) Retire() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.jails {
		if c.Spec.NoInit {
			return nil
		}
	}
	return r.launcher.Retire()
}

// Command prepares a jail for a command; see Cmd.
func (r *Runner) Command(name string, args ...string) *Cmd {
	return r.CommandContext(context.Background(), name, args...)
}

// CommandContext is Command with a context whose end kills the jail.
func (r *Runner) CommandContext(ctx context.Context, name string, args ...string) *Cmd {
	return &Cmd{Spec: spec.Spec{Args: append([]string{name}, args...)}, runner: r, ctx: ctx}
}

// CommandSpec prepares a jail from a whole Spec.
func (r *Runner) CommandSpec(ctx context.Context, s spec.Spec) *Cmd {
	return &Cmd{Spec: s, runner: r, ctx: ctx}
}

// dropRoot makes the launcher the unprivileged user that payloads of root run as. A launcher does so once.
func (r *Runner) dropRoot(p *plan.Plan) error {
	if p.Drop == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped != nil {
		return nil
	}
	uid, err := r.launcher.UID()
	if err != nil {
		return err
	}
	if uid == p.Host.PayloadUID { // a launcher forked early has done so itself
		r.dropped = p.Host
		return nil
	}
	// the program has no use for a report socket, and every request carries one
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(null)
	if _, err := r.launcher.Do(p.Drop, program.Request{Kind: program.Self, Cgroup: -1}, null); err != nil {
		return launcher.StepError("drop", p.Drop, err)
	}
	r.dropped = p.Host
	return nil
}

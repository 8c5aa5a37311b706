package nsjail

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/warm"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Runner makes jails through one long-lived launcher process. Its methods may be called from several goroutines.
//
// The launcher is in a prepared root, and each jail starts with a copy of its few mounts. The Runner also caches the
// plans of the Specs that it has met. Both make a start faster and change nothing in the jail. A jail shows the host's
// current /usr, without anything mounted below it later. Its copies of a few files of /etc (certificates, ld.so.cache)
// date from the creation of the Runner.
type Runner struct {
	launcher *launcher.Launcher
	tree     *warmRoot // nil: jails start from the host's root, for the reason in why
	why      string
	helper   *warm.MountHelper
	nets     *warm.NetPool
	pool     int // RunnerOptions.Pool
	volumes  *volumeHelper
	room     chan struct{} // one entry for each jail that may run; nil means no bound

	mu      sync.Mutex
	dropped *host.Host      // the identity that the launcher has assumed, if the caller is root
	idmaps  map[[2]int]int  // user namespaces for idmapped mounts, by the source's uid and gid
	jails   map[*Cmd]bool   // running jails
	cold    map[int]*Runner // Runners for Specs that need the host's root, by Host.Owner
	ending  sync.WaitGroup  // jails whose namespaces are being dismantled
	starts  sync.WaitGroup  // starts in progress
	closed  bool
	swept   atomic.Bool // the groups of killed keepers have been looked for

	first   sync.Mutex // held by the first start at a forked launcher until the launcher has made the jail's process
	begun   bool       // that start has begun
	mapping bool       // the launcher is in one of idmaps, and can make no other jail
}

// newBareRunner returns a Runner whose jails start from the host's root.
func newBareRunner() (*Runner, error) {
	l, err := startLauncher()
	if err != nil {
		return nil, err
	}
	return newRunner(l), nil
}

func startLauncher() (*launcher.Launcher, error) {
	l, err := launcher.Start()
	if err != nil {
		return nil, spec.HostError("launcher", err.Error(),
			"see that /proc is mounted and that processes can be started")
	}
	return l, nil
}

// ForkedRunner returns a Runner with the launcher that a constructor of the binary forked before the Go runtime
// started. A binary requests that launcher by defining the C function brig_launcher_wanted, as cmd/brig does. Without
// one, ForkedRunner starts a launcher.
func ForkedRunner() (*Runner, error) {
	if l := launcher.Forked(); l != nil {
		return newRunner(l), nil
	}
	return newBareRunner()
}

// FirstPayloadID is the first id for SetPayloadID: above the accounts of the host, and above the ids that payloads of
// root have otherwise.
const FirstPayloadID = launcher.PayloadIDs + launcher.PayloadIDCount

// SetPayloadID sets the host uid and gid of the payloads that this process starts as root, at least FirstPayloadID.
// Without it they are ids that no payload of another live keeper has. Call it before the first start. The caller then
// sees to it that payloads of the same id may share what belongs to it.
func SetPayloadID(id int) error { return launcher.SetPayloadID(id) }

func newRunner(l *launcher.Launcher) *Runner {
	return &Runner{launcher: l, volumes: &volumeHelper{}, idmaps: map[[2]int]int{}, jails: map[*Cmd]bool{},
		cold: map[int]*Runner{}}
}

// replace starts a new launcher in place of one that can make no jail.
func (r *Runner) replace() error {
	fresh, err := startLauncher()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.launcher
	r.launcher, r.dropped, r.mapping = fresh, nil, false
	return old.Close()
}

// begin reports whether a start is the first at a forked launcher, and then holds r.first for it. The others wait for
// that one, and replace the launcher if it has left that in a user namespace for idmapped mounts.
func (r *Runner) begin() (first bool, err error) {
	r.first.Lock()
	if r.launcher.Forked && !r.begun {
		r.begun = true
		return true, nil
	}
	defer r.first.Unlock()
	if r.mapping {
		err = r.replace()
	}
	return false, err
}

// mode returns the Mode of the next jail.
func (r *Runner) mode() (m plan.Mode) {
	m.Forked = r.launcher.Forked
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped != nil { // a launcher assumes one unprivileged identity only
		m.UID, m.GID = r.dropped.PayloadUID, r.dropped.PayloadGID
	}
	return m
}

// coldRunner returns the Runner for jails that start from the host's root. owner is Host.Owner: the uid of a bind's
// owner that the payload must have, or 0 for any other uid. Each owner needs a launcher of its own, since a launcher
// changes its uid once.
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

// enter waits until another jail may run.
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

// start registers a start. Close waits for it before it closes what the start uses.
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

// Close kills all running and parked jails, ends the launcher, and removes everything that the Runner has created.
func (r *Runner) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	for c := range r.jails {
		_ = c.Signal(unix.SIGKILL) // an error means that the jail has ended
	}
	r.mu.Unlock()
	r.starts.Wait()
	var errs []error
	for _, cold := range r.cold {
		errs = append(errs, cold.Close())
	}
	errs = append(errs, r.tree.close())
	if r.nets != nil {
		errs = append(errs, r.nets.Close())
	}
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

// Retire ends the launcher now instead of at Close. The running jails go on, but no other jail can be started. Retire
// does nothing while a jail without init (Spec.NoInit) runs, since the launcher guards it.
func (r *Runner) Retire() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.jails {
		if c.Spec.NoInit && !c.plan.Stays {
			return nil
		}
	}
	return r.launcher.Retire()
}

// Command returns a Cmd that runs a command in a jail of this Runner.
func (r *Runner) Command(name string, args ...string) *Cmd {
	return r.CommandContext(context.Background(), name, args...)
}

// CommandContext is like Command; the jail is killed when the context ends.
func (r *Runner) CommandContext(ctx context.Context, name string, args ...string) *Cmd {
	return &Cmd{Spec: spec.Spec{Args: append([]string{name}, args...)}, runner: r, ctx: ctx}
}

// CommandSpec is like CommandContext, with a complete Spec.
func (r *Runner) CommandSpec(ctx context.Context, s Spec) *Cmd {
	return &Cmd{Spec: s, runner: r, ctx: ctx}
}

// dropRoot makes the launcher assume the unprivileged identity of root's payloads. A launcher does so once.
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
	if uid == p.Host.PayloadUID { // a launcher that was forked early has done so itself
		r.dropped = p.Host
		return nil
	}
	if err = launcher.Perform(r.launcher, "drop", p.Drop); err == nil {
		r.dropped = p.Host
	}
	return err
}

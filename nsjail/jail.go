package nsjail

import (
	"errors"
	"maps"
	"os"

	"brig/cgroup"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/internal/warm"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// jail is a jail's first process, with what the kernel and the Runner hold for it. A parked jail belongs to no run yet.
type jail struct {
	run.Process
	group *cgroup.Group   // nil for none
	net   *warm.Namespace // the network namespace from the pool; nil for none
	from  *planTemplate   // nil for a jail without a prefix

	// made maps each mechanism that differs from the Plan to what enforces it, or to the reason why it is not enforced.
	made map[string]spec.Text
}

// lose records that a mechanism could not be put into force.
func (j *jail) lose(name, why string) {
	j.made[name] = words.Plain("not enforced: " + why + " (optional)")
	if name == "processes" {
		j.made[name] = words.Plain("RLIMIT_NPROC in the user namespace (" + why + ")")
	}
}

// enforced returns what enforces each mechanism in this jail: Plan.Enforced with the changes in made.
func (j *jail) enforced(p *plan.Plan) map[string]spec.Text {
	e := maps.Clone(p.Enforced)
	maps.Copy(e, j.made)
	return e
}

// discard kills a jail that no run has taken, and releases its resources.
func (j *jail) discard() error {
	var errs []error
	if j.Report != nil { // the first process exits when the socket closes
		errs = append(errs, j.Report.Close())
	}
	if j.Pidfd != nil {
		launcher.Reap(j.Pid)
		errs = append(errs, j.Pidfd.Close())
	}
	if j.group != nil {
		errs = append(errs, j.group.End())
	}
	j.net.Drop()
	return errors.Join(errs...)
}

// waits reports whether a parked jail still waits for its suffix: its end of the report socket is open.
func (j *jail) waits() bool {
	if q := j.from.prefix.Plan; q.Sockets == nil && len(q.Uppers) == 0 {
		return sys.Idle(j.Report, unix.POLLIN) // without descriptors to send, it sends nothing but a failure
	}
	return sys.Idle(j.Report, 0)
}

// giveBack returns the jail's network namespace to the pool. err is the error of the wait for the jail's processes. If
// they did not end in time, giveBack drops the namespace instead, and reaps the first process in the background when it
// ends.
func (j *jail) giveBack(err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		j.net.Back()
		return errors.Join(err, j.Pidfd.Close())
	}
	j.ReapLater()
	j.net.Drop()
	return stuckError(j.Pid)
}

// collect waits for the first process of a jail whose other processes have ended.
func (j *jail) collect() error {
	_, _, err := j.Wait(run.EndWait)
	return j.giveBack(err)
}

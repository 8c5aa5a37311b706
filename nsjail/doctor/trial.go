package doctor

import (
	"errors"

	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Trial is an attempt to make a jail.
type Trial struct {
	Tried    bool
	Err      error // why it failed; nil if it worked
	Millis   int64
	Enforced map[string]spec.Text
}

// Works reports whether the trial made its jail.
func (t *Trial) Works() bool { return t.Tried && t.Err == nil }

// failure returns the error of the trial. Its Op is the label of a step, or a phase such as clone3; "" for none.
func (t *Trial) failure() spec.Error {
	if e, ok := errors.AsType[*spec.Error](t.Err); ok {
		return *e
	}
	return spec.Error{}
}

// Trials are the jails that were made, or could not be.
type Trials struct {
	// Default is a default jail, Relaxed one without the mechanisms that can be spared, which is tried only where the
	// first fails, and Shared one with a writable bind of the current directory, tried only for root.
	Default, Relaxed, Shared Trial
	// Egress is a jail with NetEgress, EveryPort one whose policy names all ports; tried where the default works.
	Egress, EveryPort Trial
}

// userFailed reports whether the trial failed at an operation that a user namespace should permit. A trial that failed
// at /proc did not get that far; then the other trial, without /proc, decides.
func (t *Trials) userFailed() bool {
	if !t.Default.Tried {
		return true
	}
	e := t.Default.failure()
	if e.Op == "proc" && t.Relaxed.Tried {
		e = t.Relaxed.failure()
	}
	switch e.Op {
	case "clone3", "user", "kernel":
		return true
	case "mount", "rootfs", "uts", "net": // an LSM permits the namespace and then denies the operations in it
		return e.Errno == unix.EPERM || e.Errno == unix.EACCES
	}
	return false
}

// spared returns the mechanisms that the relaxed trial omits.
func spared() []string { return []string{"proc", "keyring", "processes"} }

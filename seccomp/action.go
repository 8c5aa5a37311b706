package seccomp

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Action is the kernel's answer to a system call: a SECCOMP_RET_* value of seccomp(2) with data in its low 16 bits.
type Action uint32

// The actions. Errno and Trace carry data: see ErrnoAction and TraceAction.
const (
	KillProcess Action = unix.SECCOMP_RET_KILL_PROCESS
	KillThread  Action = unix.SECCOMP_RET_KILL_THREAD
	Trap        Action = unix.SECCOMP_RET_TRAP
	Errno       Action = unix.SECCOMP_RET_ERRNO
	Notify      Action = unix.SECCOMP_RET_USER_NOTIF
	Trace       Action = unix.SECCOMP_RET_TRACE
	Log         Action = unix.SECCOMP_RET_LOG
	Allow       Action = unix.SECCOMP_RET_ALLOW
)

// maxErrno is the kernel's MAX_ERRNO, to which it reduces a filter's greater errno.
const maxErrno = 4095

// ErrnoAction returns the action that fails a call with errno e.
func ErrnoAction(e unix.Errno) Action { return Errno | Action(e)&unix.SECCOMP_RET_DATA }

// TraceAction returns the action that notifies a tracer with message n.
func TraceAction(n uint16) Action { return Trace | Action(n) }

// Base returns the action without its data.
func (a Action) Base() Action { return a & unix.SECCOMP_RET_ACTION_FULL }

// Data returns the errno of an Errno action, or the message of a Trace action.
func (a Action) Data() uint16 { return uint16(a & unix.SECCOMP_RET_DATA) }

// Permits reports whether the call is performed.
func (a Action) Permits() bool { return a.Base() == Allow || a.Base() == Log }

// String returns a text such as "ALLOW", "ERRNO(EPERM)", "TRACE(7)".
func (a Action) String() string {
	switch a.Base() {
	case KillProcess:
		return "KILL_PROCESS"
	case KillThread:
		return "KILL_THREAD"
	case Trap:
		return "TRAP"
	case Errno:
		return "ERRNO(" + errnoName(a.Data()) + ")"
	case Notify:
		return "NOTIFY"
	case Trace:
		return fmt.Sprintf("TRACE(%d)", a.Data())
	case Log:
		return "LOG"
	case Allow:
		return "ALLOW"
	}
	return fmt.Sprintf("UNKNOWN(%#x)", uint32(a))
}

// MarshalText returns the String, for JSON.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

func errnoName(n uint16) string {
	if name := unix.ErrnoName(unix.Errno(n)); name != "" {
		return name
	}
	return fmt.Sprint(n)
}

// errnoNumber returns the number of a name such as "EPERM". Podman's profiles name their errnos.
func errnoNumber(name string) (uint, bool) {
	for n := uint(1); n <= 133; n++ {
		if unix.ErrnoName(unix.Errno(n)) == name {
			return n, true
		}
	}
	return 0, false
}

// parseAction converts the profile's word to a base action.
func parseAction(name string) (Action, bool) {
	switch name {
	case "SCMP_ACT_KILL_PROCESS":
		return KillProcess, true
	case "SCMP_ACT_KILL", "SCMP_ACT_KILL_THREAD":
		return KillThread, true
	case "SCMP_ACT_TRAP":
		return Trap, true
	case "SCMP_ACT_ERRNO":
		return Errno, true
	case "SCMP_ACT_NOTIFY":
		return Notify, true
	case "SCMP_ACT_TRACE":
		return Trace, true
	case "SCMP_ACT_LOG":
		return Log, true
	case "SCMP_ACT_ALLOW":
		return Allow, true
	}
	return 0, false
}

func actionNames() []string {
	return []string{"SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO", "SCMP_ACT_KILL", "SCMP_ACT_KILL_PROCESS",
		"SCMP_ACT_KILL_THREAD", "SCMP_ACT_LOG", "SCMP_ACT_NOTIFY", "SCMP_ACT_TRACE", "SCMP_ACT_TRAP"}
}

// withData adds the errno or message to an action. The default is EPERM, as in Docker.
func withData(base Action, errno *uint) Action {
	if base != Errno && base != Trace {
		return base
	}
	if errno == nil {
		return base | Action(unix.EPERM)
	}
	return base | Action(*errno)&unix.SECCOMP_RET_DATA
}

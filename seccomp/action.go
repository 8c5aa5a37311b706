package seccomp

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Action is the kernel's answer to a system call: a SECCOMP_RET_* value of seccomp(2) with data in its low 16 bits.
type Action uint32

// The actions. Errno and Trace carry data: see ErrnoAction.
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

// Base returns the action without its data.
func (a Action) Base() Action { return a & unix.SECCOMP_RET_ACTION_FULL }

// Data returns the errno of an Errno action, or the message of a Trace action.
func (a Action) Data() uint16 { return uint16(a & unix.SECCOMP_RET_DATA) }

// Permits reports whether the call is performed.
func (a Action) Permits() bool { return a.Base() == Allow || a.Base() == Log }

// Kills reports whether the call ends its process or thread.
func (a Action) Kills() bool { return a.Base() == KillProcess || a.Base() == KillThread }

// actions are the words of a profile, less "SCMP_ACT_". The last word of an action is its name.
var actions = []struct {
	word   string
	action Action
}{
	{"ALLOW", Allow}, {"ERRNO", Errno}, {"KILL", KillThread}, {"KILL_PROCESS", KillProcess}, {"KILL_THREAD", KillThread},
	{"LOG", Log}, {"NOTIFY", Notify}, {"TRACE", Trace}, {"TRAP", Trap},
}

// String returns a text such as "ALLOW", "ERRNO(EPERM)", "TRACE(7)".
func (a Action) String() string {
	name := fmt.Sprintf("UNKNOWN(%#x)", uint32(a))
	for _, known := range actions {
		if known.action == a.Base() {
			name = known.word
		}
	}
	switch a.Base() {
	case Errno:
		name += "(" + errnoName(a.Data()) + ")"
	case Trace:
		name += fmt.Sprintf("(%d)", a.Data())
	}
	return name
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
	for i, known := range actionNames() {
		if known == name {
			return actions[i].action, true
		}
	}
	return 0, false
}

func actionNames() (names []string) {
	for _, known := range actions {
		names = append(names, "SCMP_ACT_"+known.word)
	}
	return names
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

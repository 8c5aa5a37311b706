package host

import (
	"fmt"
	"os"
	"syscall"

	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/userns"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// SameIDs refuses a caller whose real and effective ids differ: a set-user-ID or set-group-ID brig, or a child of one.
// The kernel then hides its processes from each other (proc(5), PR_SET_DUMPABLE), and whose jail is meant is not clear.
func SameIDs() error {
	uid, euid, gid, egid := os.Getuid(), os.Geteuid(), os.Getgid(), os.Getegid()
	if uid == euid && gid == egid {
		return nil
	}
	return spec.CallerError("identity", fmt.Sprintf("the real and the effective ids of brig differ: uid %d and %d, "+
		"gid %d and %d", uid, euid, gid, egid), fmt.Sprintf("start it with one of them, as in setpriv --reuid %d --regid %d "+
		"--clear-groups brig, and without a set-user-ID or set-group-ID bit", euid, egid))
}

// lookIdentity finds whom the payload runs as. missing gets why binds cannot be idmapped.
func (h *Caller) lookIdentity(missing map[string]spec.Text) error {
	h.PayloadUID, h.PayloadGID = h.UID, h.GID
	h.HardLimits = map[string]int64{}
	for name, r := range spec.RlimitNumbers() {
		var l unix.Rlimit
		if err := unix.Getrlimit(r, &l); err != nil {
			return os.NewSyscallError("getrlimit "+name, err)
		}
		h.HardLimits[name] = int64(l.Max) // RLIM_INFINITY is -1
	}
	if h.UID != 0 {
		return nil
	}
	if real, err := hostRoot(); err != nil || !real {
		return err // root of a user namespace only: already an ordinary user of the host
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	noIdmap, err := rootCan(data[0].Effective)
	if err != nil {
		return err
	}
	h.Drop, h.Kept = true, data[0].Permitted&(1<<unix.CAP_DAC_OVERRIDE)
	h.PayloadUID = launcher.PayloadID()
	h.PayloadGID = h.PayloadUID
	if noIdmap != "" {
		missing["idmap"] = noIdmap
	}
	return nil
}

// rootCan returns why a root with some capabilities cannot idmap binds, or "". It returns an error if that root cannot
// make anybody else its payload.
func rootCan(effective uint32) (noIdmap spec.Text, err error) {
	has := func(capability int) bool { return effective&(1<<capability) != 0 }
	switch {
	case !has(unix.CAP_SETUID) || !has(unix.CAP_SETGID):
		return "", spec.HostError("identity", "root without CAP_SETUID and CAP_SETGID cannot become another user, and the "+
			"payload is never the host's root", "run brig as an ordinary user, or give the container these capabilities")
	case !has(unix.CAP_SYS_ADMIN):
		return "CAP_SYS_ADMIN is missing", nil
	case !has(unix.CAP_SYS_PTRACE): // for another user's /proc/PID/ns
		return "CAP_SYS_PTRACE is missing", nil
	}
	return "", nil
}

// hostRoot reports whether uid 0 here is the host's root. It returns an error if there are no other ids for the
// payload.
func hostRoot() (bool, error) {
	m, err := userns.Self()
	if err != nil || !m.IsRoot(0) {
		return false, err
	}
	if m.Has(launcher.PayloadIDs, launcher.PayloadIDCount) {
		return true, nil
	}
	// In nested user namespaces the map shows ids of the outer namespace, whose root need not be the host's. The host's
	// root owns /proc/sys: if it is not mapped here, stat(2) shows the overflow uid (user_namespaces(7)).
	var st unix.Stat_t
	if err := unix.Stat("/proc/sys", &st); err == nil && st.Uid != 0 {
		return false, nil
	}
	return false, spec.CallerError("identity", "this user namespace has the host's root and too few other ids "+
		"(/proc/self/uid_map), and the payload is never the host's root",
		"run brig outside of `unshare -r`, or as an ordinary user")
}

// notRoot returns an error if a uid here, which is not 0 and has no capabilities therefore, is the host's root.
func notRoot(uid int) error {
	m, err := userns.Self()
	if err != nil || !m.IsRoot(int64(uid)) {
		return err
	}
	return spec.CallerError("identity", fmt.Sprintf("uid %d of this user namespace is the host's root "+
		"(/proc/self/uid_map), and the payload is never the host's root", uid), "run brig as an ordinary user")
}

// LookEnv returns the caller's variables that Spec.PassEnv names, and its TERM, which BuildEnv uses if the Spec has a
// terminal.
func LookEnv(s *spec.Spec) (env []string, term string, err error) {
	if s.TTY {
		term = os.Getenv("TERM")
	}
	env, err = spec.PassEnv(append([]string{"TZ"}, s.PassEnv...), syscall.Environ())
	return env, term, err
}

func (l *looker) lookEnv() (err error) {
	l.Env, l.Term, err = LookEnv(l.spec)
	return err
}

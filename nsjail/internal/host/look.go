package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"brig/internal/sys"
	"brig/landlock"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Look reads the machine for what a Spec needs of it. It is the only reading of the machine, and it changes nothing.
// Close the Host when the jail has been started.
func Look(s *spec.Spec) (*Host, error) {
	return LookWithin(context.Background(), time.Time{}, s)
}

// LookWithin is Look which waits for no file system of another process or machine when the context has ended, or after
// a time unless that is zero.
func LookWithin(ctx context.Context, until time.Time, s *spec.Spec) (*Host, error) {
	h := &Host{UID: os.Geteuid(), GID: os.Getegid(), Missing: map[string]string{}, Sources: map[string]*Source{}}
	h.Within(ctx, until)
	for _, step := range []func(*spec.Spec) error{h.lookVersion, h.lookKernel, h.lookIdentity, h.lookSystem, h.LookEnv,
		h.lookFilter, h.lookListener, h.lookNetwork, h.LookSources, h.lookOwner, h.lookTier, h.lookLabels, h.lookGroup} {
		if err := step(s); err != nil {
			return nil, errors.Join(NeedProc(err), h.Close())
		}
	}
	return h, nil
}

// Copy returns a copy whose fields a planner may change. It shares the open files of h.
func (h *Host) Copy() *Host {
	c := *h
	c.mounts = nil
	return &c
}

// Close closes the files that Look has opened.
func (h *Host) Close() error {
	var errs []error
	h.mounts = nil // a thousand mounts are a hundred kilobytes
	for _, s := range h.Sources {
		if s.Fd > 0 {
			errs = append(errs, unix.Close(s.Fd))
			s.Fd = -1
		}
	}
	return errors.Join(errs...)
}

// lookVersion finds the release of the kernel, and its last capability.
func (h *Host) lookVersion(*spec.Spec) error {
	if err := SameIDs(); err != nil {
		return err
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return os.NewSyscallError("uname", err)
	}
	// A capability that the kernel does not know is EINVAL: prctl(2) PR_CAPBSET_READ.
	h.LastCap = 40 // CAP_CHECKPOINT_RESTORE, Linux 5.9
	for c := h.LastCap + 1; c < 64; c++ {
		if _, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0); err != nil {
			break
		}
		h.LastCap = c
	}
	var err error
	h.Kernel, err = parseKernel(unix.ByteSliceToString(u.Release[:]))
	return err
}

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

func (h *Host) lookKernel(*spec.Spec) error {
	if h.Landlock = landlock.ABI(); h.Landlock >= 6 && !h.Kernel.AtLeast(6, 12) {
		h.Landlock = 5 // a vendor's 5.14 claims ABI 6 without all of its scopes
	}
	h.Queues = h.Landlock > 0 && unix.Access("/proc/sys/fs/mqueue", unix.F_OK) == nil
	if v, ok := readInt("/proc/sys/user/max_user_namespaces"); ok && v == 0 {
		h.Missing["user"] = "user.max_user_namespaces is 0; run `sysctl -w user.max_user_namespaces=15000` as root"
	}
	if v, ok := readInt("/proc/sys/kernel/unprivileged_userns_clone"); ok && v == 0 && h.UID != 0 {
		h.Missing["user"] = "kernel.unprivileged_userns_clone is 0; run `sysctl -w kernel.unprivileged_userns_clone=1` " +
			"as root"
	}
	// only where the setting exists and is on does this cost more than a failed open(2)
	if v, ok := readInt(SysctlPath(AppArmorSwitch)); ok && v == 1 && ReadText("/proc/self/attr/current") == "unconfined" {
		h.Missing["user"] = AppArmorSwitch + " is 1, and no AppArmor profile allows brig user namespaces; `brig doctor` " +
			"prints the profile to install"
	}
	return nil
}

// parseKernel reads "6.12.9-cloud-amd64" without fmt, whose first use costs a start 0.1 ms.
func parseKernel(release string) (k Kernel, err error) {
	major, rest, _ := strings.Cut(release, ".")
	if i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		rest = rest[:i]
	}
	if k.Major, err = strconv.Atoi(major); err == nil {
		k.Minor, err = strconv.Atoi(rest)
	}
	if err != nil {
		return k, fmt.Errorf("kernel release %q: %w", release, err)
	}
	return k, nil
}

// ReadText returns the content of a small file without the white space around it, or "".
func ReadText(path string) string {
	b, err := sys.ReadFile(path)
	if err != nil {
		return "" // a setting that this kernel does not have
	}
	return string(bytes.TrimSpace(b))
}

// readInt reads a setting of one number, if this kernel has it.
func readInt(path string) (int, bool) {
	v, err := strconv.Atoi(ReadText(path))
	return v, err == nil
}

// LookVersion returns a Host with the caller's ids and the kernel's version only.
func LookVersion() (*Host, error) {
	h := &Host{UID: os.Geteuid(), GID: os.Getegid(), Missing: map[string]string{}}
	return h, h.lookVersion(nil)
}

// LookIdentity returns a Host with the ids of the caller and of the payload only.
func LookIdentity() (*Host, error) {
	h := &Host{UID: os.Geteuid(), GID: os.Getegid(), Missing: map[string]string{}}
	return h, h.lookIdentity(nil)
}

func (h *Host) lookIdentity(*spec.Spec) error {
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
	need := uint32(1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID)
	if data[0].Effective&need != need {
		return spec.HostError("identity", "root without CAP_SETUID and CAP_SETGID cannot become another user, and the "+
			"payload is never the host's root",
			"run brig as an ordinary user, or give the container these capabilities")
	}
	h.Drop, h.Kept = true, data[0].Permitted&(1<<unix.CAP_DAC_OVERRIDE)
	h.PayloadUID = launcher.PayloadID()
	h.PayloadGID = h.PayloadUID
	if data[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
		h.Missing["idmap"] = "CAP_SYS_ADMIN is missing"
	} else if data[0].Effective&(1<<unix.CAP_SYS_PTRACE) == 0 { // for another user's /proc/PID/ns
		h.Missing["idmap"] = "CAP_SYS_PTRACE is missing"
	}
	return nil
}

// hostRoot reports whether uid 0 here is the host's root. It returns an error if there are no other ids for the
// payload.
func hostRoot() (bool, error) {
	m, err := sys.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false, err
	}
	f := strings.Fields(string(m))
	if len(f) != 3 || f[0] != "0" || f[1] != "0" {
		return false, nil
	}
	if count, err := strconv.ParseInt(f[2], 10, 64); err != nil || count >= launcher.PayloadIDs+launcher.PayloadIDCount {
		return true, err
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

// LookEnv reads the caller's variables that Spec.PassEnv names.
func (h *Host) LookEnv(s *spec.Spec) error {
	if s.TTY { // BuildEnv ignores it otherwise
		h.Term = os.Getenv("TERM")
	}
	var err error
	h.Env, err = spec.PassEnv(append([]string{"TZ"}, s.PassEnv...), syscall.Environ())
	return err
}

// SysctlPath returns the file of a sysctl: "kernel.pid_max" is /proc/sys/kernel/pid_max.
func SysctlPath(name string) string { return "/proc/sys/" + strings.ReplaceAll(name, ".", "/") }

// MinKernel is the first Linux with everything that a program uses: mount_setattr(2) is the newest.
var MinKernel = Kernel{5, 12}

// lookNetwork sets IPv6 if the kernel can make IPv6 sockets: ipv6(7).
func (h *Host) lookNetwork(s *spec.Spec) error {
	if s.Net != spec.NetEgress {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if off, ok := readInt("/proc/sys/net/ipv6/conf/default/disable_ipv6"); err == nil && ok && off != 0 {
		err = errors.Join(unix.EAFNOSUPPORT, unix.Close(fd)) // a new namespace can inherit this setting
	}
	if err != nil {
		return nil
	}
	h.IPv6 = true
	return unix.Close(fd)
}

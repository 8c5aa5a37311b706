package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"brig/internal/sys"
	"brig/landlock"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// lookVersion finds the release of the kernel, and its last capability.
func (h *Machine) lookVersion() error {
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

func (h *Machine) lookKernel(uid int) error {
	h.Landlock = h.Kernel.landlock(landlock.ABI())
	h.Queues = h.Landlock > 0 && unix.Access("/proc/sys/fs/mqueue", unix.F_OK) == nil
	if why := noUserNamespaces(ReadText, uid); why != "" {
		h.Missing["user"] = why
	}
	return nil
}

// landlock returns the ABI of Landlock that a kernel has of the one that it claims.
func (k Kernel) landlock(abi int) int {
	if abi >= 6 && !k.AtLeast(6, 12) {
		return 5 // a vendor's 5.14 claims ABI 6 without all of its scopes
	}
	return abi
}

// noUserNamespaces returns why the settings of the kernel do not allow user namespaces, or "".
func noUserNamespaces(read settings, uid int) (why spec.Text) {
	if v, ok := read.number("/proc/sys/user/max_user_namespaces"); ok && v == 0 {
		why = "user.max_user_namespaces is 0; run `sysctl -w user.max_user_namespaces=15000` as root"
	}
	if v, ok := read.number("/proc/sys/kernel/unprivileged_userns_clone"); ok && v == 0 && uid != 0 {
		why = "kernel.unprivileged_userns_clone is 0; run `sysctl -w kernel.unprivileged_userns_clone=1` as root"
	}
	// only where the setting exists and is on does this cost more than a failed open(2)
	if v, ok := read.number(SysctlPath(AppArmorSwitch)); ok && v == 1 && read("/proc/self/attr/current") == "unconfined" {
		why = AppArmorSwitch + " is 1, and no AppArmor profile allows brig user namespaces; `brig doctor` prints the " +
			"profile to install"
	}
	return why
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

// settings reads the kernel's settings: ReadText.
type settings func(path string) string

// number reads a setting of one number, if this kernel has it.
func (read settings) number(path string) (int, bool) {
	v, err := strconv.Atoi(read(path))
	return v, err == nil
}

// SysctlPath returns the file of a sysctl: "kernel.pid_max" is /proc/sys/kernel/pid_max.
func SysctlPath(name string) string { return "/proc/sys/" + strings.ReplaceAll(name, ".", "/") }

// MinKernel is the first Linux with everything that a program uses: mount_setattr(2) is the newest.
var MinKernel = Kernel{5, 12}

// lookNetwork sets IPv6 if the kernel can make IPv6 sockets: ipv6(7).
func (h *Machine) lookNetwork(s *spec.Spec) error {
	if s.Net != spec.NetEgress {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if off, ok := settings(ReadText).number("/proc/sys/net/ipv6/conf/default/disable_ipv6"); err == nil && ok && off != 0 {
		err = errors.Join(unix.EAFNOSUPPORT, unix.Close(fd)) // a new namespace can inherit this setting
	}
	if err != nil {
		return nil
	}
	h.IPv6 = true
	return unix.Close(fd)
}

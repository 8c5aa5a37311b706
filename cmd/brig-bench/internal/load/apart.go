package load

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"brig/cmd/brig-bench/internal/peers"

	"golang.org/x/sys/unix"
)

// namespace returns the namespace that a worker must have for itself, the flag of clone(2) that makes it and the
// capability that changes it; "" for none.
func (c Config) namespace() (name string, flag, capability uintptr) {
	switch {
	case c.Mounts > 0:
		return "/proc/self/ns/mnt", unix.CLONE_NEWNS, unix.CAP_SYS_ADMIN
	case c.Arena:
		return "/proc/self/ns/net", unix.CLONE_NEWNET, unix.CAP_NET_ADMIN
	}
	return "", 0, 0
}

// enter sets the namespace up and starts the worker again without its capabilities, which are a thread's:
// capabilities(7). It refuses to change the namespace of its caller.
func (c Config) enter() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	name, _, _ := c.namespace()
	ours, err := os.Readlink(name)
	if err != nil {
		return err
	}
	if c.Outside == "" || c.Outside == ours {
		return fmt.Errorf("load: refusing to change the caller's namespace, %s", ours)
	}
	if c.Arena {
		err = raiseLoopback()
	} else {
		err = addMounts(filepath.Join(c.Scratch, "mounts"), c.Mounts)
	}
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl PR_CAP_AMBIENT_CLEAR_ALL", err)
	}
	c.Ready = true
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	argv := []string{os.Args[0], Subcommand, string(text)}
	return os.NewSyscallError("execve", unix.Exec("/proc/self/exe", argv, os.Environ()))
}

// addMounts mounts n directories: a tmpfs, and directories of it on themselves.
func addMounts(dir string, n int) error {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("mount --make-rprivate /", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("bench", dir, "tmpfs", 0, "mode=755,size=16m"); err != nil {
		return os.NewSyscallError("mount of a tmpfs", err)
	}
	for i := range n - 1 {
		d := filepath.Join(dir, strconv.Itoa(i))
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(d, d, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("load: mount %d of %d: %w; raise the sysctl fs.mount-max", i+1, n, err)
		}
	}
	return nil
}

// raiseLoopback brings lo up with the server's address: netdevice(7).
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	up, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	alias, err := unix.NewIfreq("lo:1")
	if err != nil {
		return err
	}
	address := netip.MustParseAddrPort(peers.Server).Addr().As4()
	if err := alias.SetInet4Addr(address[:]); err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, up); err != nil {
		return os.NewSyscallError("ioctl SIOCSIFFLAGS", err)
	}
	return os.NewSyscallError("ioctl SIOCSIFADDR", unix.IoctlIfreq(fd, unix.SIOCSIFADDR, alias))
}

package load

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Server is where the arena's server listens: an address that is no loopback one, which relays treat as their own.
const Server = "10.9.9.9:17000"

const netNamespace = "/proc/self/ns/net"

// arenaEnds is how long the arena's worker may take to end what it has started.
const arenaEnds = 20 * time.Second

// Arena starts this binary as a worker in a network namespace of its own, in which the server listens and from which jails
// are asked: Request.In. Where the caller is not root it is in a user namespace, too, without which it may not make the
// namespace's addresses: user_namespaces(7). The user stays the same.
func Arena(ctx context.Context, cfg Config) (*Client, error) {
	var err error
	if cfg.Network, err = os.Readlink(netNamespace); err != nil {
		return nil, err
	}
	cmd, err := SelfCommand(ctx, cfg)
	if err != nil {
		return nil, err
	}
	a := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: unix.SIGKILL}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		a.Cloneflags |= unix.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN} // execve(2) takes all others
	}
	cmd.SysProcAttr = a
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(unix.SIGTERM) }, arenaEnds // it has processes to end
	return Start(cmd)
}

// makeArena sets the namespace up and starts the worker anew without its privileges, which are a thread's:
// capabilities(7). It refuses to touch the network of its caller.
func makeArena(cfg Config) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ours, err := os.Readlink(netNamespace)
	if err != nil {
		return err
	}
	if cfg.Network == ours {
		return fmt.Errorf("load: refusing to set up the caller's network namespace, %s", ours)
	}
	if err := furnish(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl PR_CAP_AMBIENT_CLEAR_ALL", err)
	}
	cfg.Network, cfg.Arena = "", true
	text, err := json.Marshal(cfg)
	if err != nil {
		return err
	}
	return os.NewSyscallError("execve", unix.Exec("/proc/self/exe", []string{os.Args[0], Subcommand, string(text)}, os.Environ()))
}

// furnish brings lo up with the server's address. A device that leads nowhere has a default route, which pasta copies its
// address from; where it cannot be made, those that need such devices fail and say so.
func furnish() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	to := netip.MustParseAddrPort(Server)
	if err := raise(fd, "lo"); err != nil {
		return err
	}
	if err := address(fd, "lo:1", to.Addr(), 32); err != nil {
		return err
	}
	const device = "up0"
	if err := tap(device); os.IsNotExist(err) || os.IsPermission(err) {
		return nil
	} else if err != nil {
		return err
	}
	if err := address(fd, device, netip.MustParseAddr("10.9.8.2"), 24); err != nil {
		return err
	}
	if err := raise(fd, device); err != nil {
		return err
	}
	return defaultRoute(fd, netip.MustParseAddr("10.9.8.1"))
}

// raise brings a device up: netdevice(7).
func raise(fd int, device string) error {
	return ioctl(fd, unix.SIOCSIFFLAGS, device, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil })
}

func address(fd int, device string, a netip.Addr, bits int) error {
	b := a.As4()
	if err := ioctl(fd, unix.SIOCSIFADDR, device, func(r *unix.Ifreq) error { return r.SetInet4Addr(b[:]) }); err != nil {
		return err
	}
	mask := netip.PrefixFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), bits).Masked().Addr().As4()
	return ioctl(fd, unix.SIOCSIFNETMASK, device, func(r *unix.Ifreq) error { return r.SetInet4Addr(mask[:]) })
}

// tap makes a device that stays as long as the namespace: it is kept by no process.
func tap(device string) error {
	f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	fd := int(f.Fd())
	if err := ioctl(fd, unix.TUNSETIFF, device, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI); return nil }); err != nil {
		return err
	}
	return os.NewSyscallError("ioctl TUNSETPERSIST", unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1))
}

func ioctl(fd int, op uint, device string, set func(*unix.Ifreq) error) error {
	r, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	if err := set(r); err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, op, r); err != nil {
		return fmt.Errorf("load: ioctl %#x of %s: %w", op, device, err)
	}
	return nil
}

// rtentry is the kernel's struct of that name: linux/route.h.
type rtentry struct {
	_            uint64
	dst, gw, net unix.RawSockaddrInet4
	flags        uint16
	_            int16
	_            uint64
	_            uintptr
	metric       int16
	dev          uintptr
	mtu, window  uint64
	irtt         uint16
}

func defaultRoute(fd int, by netip.Addr) error {
	r := rtentry{flags: unix.RTF_UP | unix.RTF_GATEWAY}
	r.dst.Family, r.gw.Family, r.net.Family, r.gw.Addr = unix.AF_INET, unix.AF_INET, unix.AF_INET, by.As4()
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCADDRT, uintptr(unsafe.Pointer(&r))); e != 0 {
		return os.NewSyscallError("ioctl SIOCADDRT", e)
	}
	return nil
}

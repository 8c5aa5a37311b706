package load

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Apart starts this binary as a worker in a mount namespace of its own, with cfg.Mounts in it; where the caller is not
// root in a user namespace, too, without which it may not mount: user_namespaces(7). The user stays the same.
func Apart(ctx context.Context, cfg Config) (*Client, error) {
	var err error
	if cfg.Outside, err = os.Readlink(mountNamespace); err != nil {
		return nil, err
	}
	cmd, err := SelfCommand(ctx, cfg)
	if err != nil {
		return nil, err
	}
	a := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		a.Cloneflags |= unix.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN} // execve(2) takes all others
	}
	cmd.SysProcAttr = a
	return Start(cmd)
}

const mountNamespace = "/proc/self/ns/mnt"

// addMounts mounts cfg.Mounts directories in an empty one, and starts the worker anew without its privileges, which are
// a thread's: capabilities(7). It refuses to touch the mount namespace of its
// caller.
func addMounts(cfg Config) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ours, err := os.Readlink(mountNamespace)
	if err != nil {
		return err
	}
	if cfg.Outside == "" || cfg.Outside == ours {
		return fmt.Errorf("load: refusing to mount in the caller's mount namespace, %s", ours)
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("mount --make-rprivate /", err)
	}
	if err := unix.Mount("bench", cfg.Dir, "tmpfs", 0, "mode=755,size=16m"); err != nil {
		return os.NewSyscallError("mount of a tmpfs", err)
	}
	for i := range cfg.Mounts - 1 { // the tmpfs is one
		d := filepath.Join(cfg.Dir, strconv.Itoa(i))
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(d, d, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("load: mount %d of %d: %w; raise the sysctl fs.mount-max", i+1, cfg.Mounts, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl PR_CAP_AMBIENT_CLEAR_ALL", err)
	}
	cfg.Mounts = 0
	text, err := json.Marshal(cfg)
	if err != nil {
		return err
	}
	return os.NewSyscallError("execve", unix.Exec("/proc/self/exe", []string{os.Args[0], Subcommand, string(text)}, os.Environ()))
}

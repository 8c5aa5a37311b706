package measure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"

	"golang.org/x/sys/unix"
)

// Subcommand is the hidden command that measures in a network namespace: Apart with the arguments after it.
const Subcommand = "apart"

// stopIn is how long a process apart may take to end what it has started.
const stopIn = 20 * time.Second

// errand tells a process in another network namespace what to measure, as JSON.
type errand struct {
	ID      string
	Quick   bool
	Rounds  int
	Brig    string
	Dir     string
	Absent  map[string]string // relays that take no part, with the reason
	Outside string            // the caller's network namespace, which must not change
	Ready   bool              // the namespace is set up
}

// elsewhere measures a Dimension by starting this program again in a new network namespace. For a caller other than
// root, that takes a user namespace, too, in which the user stays the same: user_namespaces(7). If the namespace cannot
// be made, a note of the table has the reason.
func elsewhere(ctx context.Context, e *Env, t *result.Table) (err error) {
	a := errand{ID: t.ID, Quick: e.Quick, Rounds: e.Rounds, Brig: e.Brig, Absent: map[string]string{}}
	for _, r := range e.Relays {
		if r.Info.Absent != "" {
			a.Absent[r.Info.Name] = r.Info.Absent
		}
	}
	if a.Dir, err = e.scratch(); err != nil {
		return err
	}
	if a.Outside, err = os.Readlink("/proc/self/ns/net"); err != nil {
		return err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", Subcommand, string(text))
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &said, stopIn
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) } // it may have processes to end
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL, Cloneflags: unix.CLONE_NEWNET}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN} // execve(2) drops all others
	}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return json.Unmarshal([]byte(out.String()), t)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit):
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	t.Notes = []string{noNetwork + err.Error()}
	return nil
}

// noNetwork begins the note of a table that could not be measured.
const noNetwork = "left out: no network can be made apart from the host's: "

// Apart is the command `apart`: it sets its network namespace up, measures there and prints the table as JSON.
func Apart(ctx context.Context, args []string, out io.Writer) error {
	var a errand
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &a) != nil {
		return errors.New("apart: it is the benchmark's own command, started by it alone")
	}
	dimensions := network()
	d := dimensions[slices.IndexFunc(dimensions, func(d Dimension) bool { return d.ID == a.ID })]
	t := d.Table
	if a.Ready {
		if err := a.measure(ctx, d, &t); err != nil {
			return err
		}
	} else {
		t.Notes = []string{noNetwork + a.enter().Error()}
	}
	return json.NewEncoder(out).Encode(t)
}

// measure serves what the jails ask for, and measures.
func (a errand) measure(ctx context.Context, d Dimension, t *result.Table) error {
	e := &Env{Quick: a.Quick, Rounds: a.Rounds, Brig: a.Brig, Dir: a.Dir, Progress: func(string) {}}
	t.Notes = append([]string{"client, relay and server share a network namespace that the benchmark makes, " +
		"with an address on lo; the host's network is not changed"}, t.Notes...)
	for _, r := range peers.Relays(&peers.Host{Dir: a.Dir, Brig: a.Brig, Root: os.Geteuid() == 0}) {
		if why := cmp.Or(a.Absent[r.Info.Name], r.Info.Absent); why != "" {
			t.Notes = append(t.Notes, fmt.Sprintf("absent: %s: %s", r.Info.Name, why))
			continue
		}
		if len(r.Info.Differs) > 0 {
			t.Notes = append(t.Notes, r.Info.Name+": "+strings.Join(r.Info.Differs, "; "))
		}
		e.Relays = append(e.Relays, r)
	}
	l, err := net.Listen("tcp4", peers.Server)
	if err != nil {
		return err
	}
	serving := make(chan error, 1)
	go func() { serving <- load.Serve(l) }()
	err = d.run(ctx, e, t)
	return errors.Join(err, l.Close(), <-serving)
}

// enter sets the namespace up and starts the program again without its capabilities, which are a thread's:
// capabilities(7). It refuses to change the namespace of its caller.
func (a errand) enter() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ours, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return err
	}
	if a.Outside == "" || a.Outside == ours {
		return fmt.Errorf("refusing to change the caller's namespace, %s", ours)
	}
	if err := raiseLoopback(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl PR_CAP_AMBIENT_CLEAR_ALL", err)
	}
	a.Ready = true
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return os.NewSyscallError("execve",
		unix.Exec("/proc/self/exe", []string{os.Args[0], Subcommand, string(text)}, os.Environ()))
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

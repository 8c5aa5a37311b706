package main

/*
#include <signal.h>

// Go's runtime answers SIGQUIT with a crash and exit code 2, which may also be a payload's, and unblocks the signal in
// each thread. This sigaction(2) replaces libc's in this binary and calls it by its second name. It ignores only the
// runtime's handler for SIGQUIT, recognized by SA_SIGINFO. SIGQUIT therefore ends the process until keeper.c installs
// our handler.
int __sigaction(int, const struct sigaction *, struct sigaction *);
int sigaction(int sig, const struct sigaction *act, struct sigaction *was) {
	return __sigaction(sig, sig == SIGQUIT && act && act->sa_flags & SA_SIGINFO ? 0 : act, was);
}

// The launcher's constructor (nsjail/internal/launcher) forks a launcher before the Go runtime starts if a binary
// defines this symbol and is called with this word.
const char *const brig_launcher_command = "run";

// Flags that begin so need a control group or an orphan guard; no process is created in advance.
const char *const brig_launcher_grouped[] = {"--memory", "-m", "--cpu", "--pids-limit", "--no-oom-group", "--device-",
	"--io-", "--hugetlb", "--cgroup", "--no-init", "--systemd-scope", 0};

// With one of these, a jail in a control group may use another network than lo; no network namespace is made in
// advance.
const char *const brig_launcher_own_net[] = {"--net", "--allow", "--deny", "--spec", "--systemd-scope", 0};

// With one of these, the program may begin differently from that of a default jail; only the namespaces are made in
// advance.
const char *const brig_launcher_odd[] = {"--rootfs", "--spec", "--user", "--optional", "--hostname",
	"--net=none", "--net=host", "--net none", "--net host", 0};
*/
import "C"

import (
	"os"
	"strings"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// runMode returns the Mode in which `brig run` makes a jail with these arguments. keeper.c makes a network namespace
// before it knows the Spec if it expects a control group and can bring lo up.
func runMode(args []string) nsjail.Mode {
	group, net := false, true
	for _, arg := range args {
		if arg == "--" {
			break
		}
		group = group || begins(arg, C.brig_launcher_grouped[:])
		net = net && !begins(arg, C.brig_launcher_own_net[:])
	}
	return nsjail.Mode{Forked: true, Net: group && net && mayMakeNet()}
}

func begins(arg string, with []*C.char) bool {
	for _, p := range with[:len(with)-1] { // the last entry is null
		if strings.HasPrefix(arg, C.GoString(p)) {
			return true
		}
	}
	return false
}

// mayMakeNet reports whether the caller may make a network namespace and bring lo up: root needs the capabilities
// (capget(2)), other users a user namespace.
func mayMakeNet() bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	const need = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN
	return os.Geteuid() != 0 || unix.Capget(&hdr, &data[0]) == nil && data[0].Effective&need == need
}

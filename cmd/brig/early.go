package main

/*
#include <signal.h>

// Go's runtime answers SIGQUIT with a crash and exit code 2, which may also be a payload's, and unblocks the signal in
// each thread. This sigaction(2) replaces libc's in this binary, and libc's is called by its second name. It changes
// nothing where the runtime, whose handlers take a siginfo_t, would handle SIGQUIT. So until keeper.c sets our handler,
// SIGQUIT ends the process.
int __sigaction(int, const struct sigaction *, struct sigaction *);
int sigaction(int sig, const struct sigaction *act, struct sigaction *was) {
	return __sigaction(sig, sig == SIGQUIT && act && act->sa_flags & SA_SIGINFO ? 0 : act, was);
}

// The launcher's constructor (nsjail/internal/launcher) forks a launcher before the Go runtime starts when a binary
// defines this symbol and is called with this word.
const char *const brig_launcher_command = "run";

// A flag that begins so needs a control group or an orphan guard, and no process is created ahead.
const char *const brig_launcher_grouped[] = {"--memory", "-m", "--cpu", "--pids-limit", "--no-oom-group", "--device-",
	"--io-", "--hugetlb", "--cgroup", "--no-init", "--systemd-scope", 0};

// A jail in a control group with one of these may have another network than lo, and no network namespace is made ahead.
const char *const brig_launcher_own_net[] = {"--net", "--allow", "--deny", "--spec", "--systemd-scope", 0};

// With one of these the list may begin differently from the default jail's, and only the namespaces are made ahead.
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

// runMode is the Mode in which `brig run` makes a jail with these arguments: keeper.c makes a network namespace before
// it knows the Spec if it guesses a control group, and can bring lo up.
func runMode(args []string) nsjail.Mode {
	group, net := false, true
	for _, arg := range args {
		if arg == "--" {
			break
		}
		group = group || begins(arg, C.brig_launcher_grouped[:])
		net = net && !begins(arg, C.brig_launcher_own_net[:])
	}
	return nsjail.Mode{Early: true, Net: group && net && mayMakeNet()}
}

func begins(arg string, with []*C.char) bool {
	for _, p := range with[:len(with)-1] { // a null is last
		if strings.HasPrefix(arg, C.GoString(p)) {
			return true
		}
	}
	return false
}

// mayMakeNet reports whether the caller may make a network namespace and bring lo up: root by its capabilities
// (capget(2)), and other users in a user namespace.
func mayMakeNet() bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	const need = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN
	return os.Geteuid() != 0 || unix.Capget(&hdr, &data[0]) == nil && data[0].Effective&need == need
}

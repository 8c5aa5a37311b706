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

// With a flag that begins so the jail must be born in a control group or be the launcher's ward, and no process is made ahead.
const char *const brig_launcher_grouped[] = {"--memory", "-m", "--cpu", "--pids-limit", "--no-oom-group", "--device-", "--io-", "--hugetlb", "--cgroup", "--no-init",
	"--systemd-scope", 0};

// With these it may not want a network namespace of its own with lo up, and none is made ahead of a jail with a group.
const char *const brig_launcher_own_net[] = {"--net", "--allow", "--deny", "--spec", "--systemd-scope", 0};

// With these its list may begin with something else than every default jail's, and only its namespaces are made ahead.
const char *const brig_launcher_odd[] = {"--rootfs", "--spec", "--user", "--optional", "--hostname",
	"--net=none", "--net=host", "--net none", "--net host", 0};
*/
import "C"

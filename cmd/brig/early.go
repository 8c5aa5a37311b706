package main

/*
#include <signal.h>
#include <string.h>

// Go's runtime answers SIGQUIT with a crash and exit code 2, which may also be a payload's, and unblocks the signal in
// each thread. This sigaction(2) replaces libc's in this binary and calls it by its second name. It ignores only the
// runtime's handler for SIGQUIT, recognized by SA_SIGINFO. SIGQUIT therefore ends the process until keeper.c installs
// our handler.
int __sigaction(int, const struct sigaction *, struct sigaction *);
int sigaction(int sig, const struct sigaction *act, struct sigaction *was) {
	return __sigaction(sig, sig == SIGQUIT && act && act->sa_flags & SA_SIGINFO ? 0 : act, was);
}

// The launcher's constructor (nsjail/internal/launcher) forks a launcher before the Go runtime starts if a binary
// defines this function, and it reports that the process will make a jail: brig run, brig isolate --run.
int brig_launcher_wanted(int argc, char **argv) {
	const char *slash = strrchr(argv[0], '/');
	int at = 1 + !!strcmp(slash ? slash + 1 : argv[0], "isolate");
	if (at == 2 && (argc < 2 || strcmp(argv[1], "isolate"))) return argc > 1 && !strcmp(argv[1], "run");
	while (at < argc && strcmp(argv[at], "--run")) at++;
	return at < argc;
}

// Flags that begin so need a control group. No process is created in advance where the first process must be created in
// the group.
const char *const brig_launcher_grouped[] = {"--memory", "-m", "--cpu", "--pids-limit", "--no-oom-group", "--device-",
	"--io-", "--hugetlb", "--cg", 0};

// With one of these, the jail needs an orphan guard or another launcher; no process is created in advance.
const char *const brig_launcher_alone[] = {"--no-init", "--systemd-scope", "--tier", 0};

// With one of these, the jail may have another identity or root; what comes before both is made in advance.
const char *const brig_launcher_other[] = {"--rootfs", "--image", "--user", "-u", 0};

// With one of these, the program may begin differently from that of any such jail; only the namespaces are made in
// advance.
const char *const brig_launcher_odd[] = {"--spec", "--optional", "--hostname", "--net=none", "--net=host", "--net none",
	"--net host",
	"--share-net", 0};
*/
import "C"

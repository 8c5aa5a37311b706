package main

/*
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Go's runtime answers SIGQUIT with a crash and exit code 2, which may also be a payload's, and unblocks the signal in
// each thread. This sigaction(2) replaces libc's in this binary and calls it by its second name. It ignores only the
// runtime's handler for SIGQUIT, recognized by SA_SIGINFO. SIGQUIT therefore ends the process until keeper.c installs
// our handler.
int __sigaction(int, const struct sigaction *, struct sigaction *);
int sigaction(int sig, const struct sigaction *act, struct sigaction *was) {
	return __sigaction(sig, sig == SIGQUIT && act && act->sa_flags & SA_SIGINFO ? 0 : act, was);
}

// Flags that begin so need a control group. No process is created in advance where the first process must be created in
// the group.
static const char *const grouped[] = {"--memory", "-m", "--cpu", "--pids-limit", "--no-oom-group", "--device-",
	"--io-", "--hugetlb", "--cg", 0};

// With one of these, the jail needs an orphan guard or another launcher; no process is created in advance.
static const char *const alone[] = {"--no-init", "--systemd-scope", "--tier", 0};

// With one of these, the jail may have another identity or root; what comes before both is made in advance.
static const char *const other[] = {"--rootfs", "--image", "--system", "--user", "-u", 0};

// With one of these, the program may begin differently from that of any such jail; only the namespaces are made in
// advance.
static const char *const odd[] = {"--spec", "--optional", "--hostname", "--net=none", "--net=host", "--net none",
	"--net host",
	"--share-net", 0};

// begins reports whether an argument begins with one of the strings of a list. It guesses; a wrong guess costs time. A
// string with a space has behind it the whole value that the next argument must have.
static int begins(int argc, char **argv, const char *const *with) {
	for (int i = 2; i < argc && strcmp(argv[i], "--"); i++)
		for (const char *const *p = with; *p; p++) {
			size_t n = strcspn(*p, " ");
			if (strncmp(argv[i], *p, n)) continue;
			if (!(*p)[n] || (i + 1 < argc && !strcmp(argv[i + 1], *p + n + 1))) return 1;
		}
	return 0;
}

#define ALL_NAMESPACES (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET)

// box guesses the id of isolate's box: -b3, -b 3, --box-id=3, --box-id 3. A wrong guess costs time.
static uint32_t box(int argc, char **argv) {
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		size_t n = !strncmp(argv[i], "-b", 2) ? 2 : !strncmp(argv[i], "--box-id", 8) ? 8 + (argv[i][8] == '=') : 0;
		if (n) return strtoul(argv[i][n] || i + 1 == argc ? argv[i] + n : argv[i + 1], 0, 10) & INT32_MAX;
	}
	return 0;
}

// With one of these the keeper of brig bwrap has to stay.
static const char *const variables[] = {"BRIG_MEMORY", "BRIG_PIDS", "BRIG_CPUS", "BRIG_TIMEOUT", "BRIG_ALLOW",
	"BRIG_SECCOMP", "BRIG_REPORT"};

// guess returns the namespaces of brig bwrap, as far as its words tell: with --args or namespaces of others 0. leaves
// is whether the keeper has nothing to do while the payload runs.
static uint32_t guess(char **argv, int *leaves) {
	const struct { const char *word; uint32_t set; } words[] = {{"--unshare-pid", CLONE_NEWPID},
		{"--unshare-net", CLONE_NEWNET}, {"--unshare-ipc", CLONE_NEWIPC}, {"--unshare-uts", CLONE_NEWUTS},
		{"--unshare-user", CLONE_NEWUSER}, {"--unshare-user-try", CLONE_NEWUSER}, {"--unshare-cgroup", CLONE_NEWCGROUP},
		{"--unshare-cgroup-try", CLONE_NEWCGROUP}, {"--unshare-all", ALL_NAMESPACES}};
	uint32_t set = CLONE_NEWNS | (getuid() ? CLONE_NEWUSER : 0);
	*leaves = 1;
	for (size_t k = 0; k < sizeof variables / sizeof *variables; k++)
		if (getenv(variables[k])) *leaves = 0;
	for (; *argv; argv++) {
		for (size_t k = 0; k < sizeof words / sizeof *words; k++)
			if (!strcmp(*argv, words[k].word)) set |= words[k].set;
		if (!strcmp(*argv, "--share-net")) set &= ~CLONE_NEWNET;
		if (!strcmp(*argv, "--json-status-fd")) *leaves = 0;
		if (!*leaves && !strcmp(*argv, "--as-pid-1")) return 0; // for an orphan guard
		if (!strcmp(*argv, "--args") || !strcmp(*argv, "--userns") || !strcmp(*argv, "--pidns")) return *leaves = 0;
	}
	return set;
}

// fill_streams opens /dev/null for each standard stream that the caller has closed, or the launcher's sockets would
// take its place: poll(2). They close with execve(2), so that the payload's are closed as the caller's.
static void fill_streams(void) {
	struct pollfd p[3] = {{.fd = 0}, {.fd = 1}, {.fd = 2}};
	for (int n = poll(p, 3, 0) > 0 ? 3 : 0; n-- > 0;)
		if (p[2 - n].revents & POLLNVAL && open("/dev/null", O_RDWR | O_CLOEXEC) < 0) return;
}

// default_jail guesses for brig run and brig isolate. The first process enters a group of version 1 by itself. In
// version 2 that would wait for an RCU grace period, so it is created in the group: cgroups(7). An ordinary user's jail
// with a group begins with another list.
static void default_jail(int argc, char **argv, uint32_t *namespaces, uint32_t *begin) {
	int group = begins(argc, argv, grouped);
	if (begins(argc, argv, alone) || (group && (geteuid() || !access("/sys/fs/cgroup/cgroup.controllers", F_OK)))) return;
	*namespaces = CLONE_NEWNS | ALL_NAMESPACES;
	*begin = begins(argc, argv, odd) ? 0 : begins(argc, argv, other) ? 1 : 2;
}

// The launcher's constructor (nsjail/internal/launcher) forks a launcher before the Go runtime starts if a binary
// defines this function, and it does not return 0 because the process will make a jail: brig run, brig isolate --run.
// The programs of a box have a host id of their own, as isolate's function program has it. With 2 the payload inherits
// what the caller is, in these namespaces: brig bwrap.
uint32_t brig_launcher_wanted(int argc, char **argv, uint32_t *namespaces, uint32_t *begin) {
	char exe[4096] = {0}; // a bwrap that is a file of its own may call itself by /proc/self/exe: readlink(2)
	int self = !strcmp(argv[0], "/proc/self/exe") && readlink(argv[0], exe, sizeof exe - 1) > 0;
	const char *slash = strrchr(self ? exe : argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];
	int at = 1 + !!strcmp(name, "isolate");
	if (!strcmp(name, "bwrap") || (at == 2 && argc > 1 && !strcmp(argv[1], "bwrap"))) {
		int leaves;
		fill_streams();
		*namespaces = guess(argv, &leaves);
		return 2 + leaves;
	}
	default_jail(argc, argv, namespaces, begin);
	if (at == 2 && (argc < 2 || strcmp(argv[1], "isolate"))) return argc > 1 && !strcmp(argv[1], "run");
	while (at < argc && strcmp(argv[at], "--run")) at++;
	return at < argc ? 2100000000u + box(argc, argv) : 0;
}

*/
import "C"

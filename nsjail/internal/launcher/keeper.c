// The constructor of the binary, which runs before the Go runtime, in two cases:
//
//   - The library starts a launcher by executing this same binary with argv[0] = "brig-launcher" and a socket as fd 3.
//   - A binary that defines brig_launcher_wanted (cmd/brig) forks its launcher when that is true, so that the launcher
//     prepares while Go starts, and does what Go could do only later or more slowly. For WANTS_PARENT it is Go that is
//     forked, and the launcher stays.
#include "launcher.h"
#include <sys/auxv.h>

// Returns 0 for no launcher, the host id that the payloads of root are to have, 1 for one by the keeper's pid, WANTS_PLAIN
// or WANTS_PARENT. It also guesses what a process made ahead does: its namespaces, 0 for none, and how much of the list made
// ahead: 0 for nothing, 1 for what every jail with the default network has, 2 for all. A wrong guess costs time.
uint32_t brig_launcher_wanted(int argc, char **argv, uint32_t *namespaces, uint32_t *begin) __attribute__((weak));

struct early brig_early = {-1, -1, -1, 0, 0, 0};

// The signals that the keeper of one jail passes on. os/signal takes two thread switches for each at its start, and a
// signalfd(2) would miss those that Go unblocks in every thread; so a handler of ours replaces Go's.
static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};
enum { NPASSED = sizeof passed / sizeof *passed };

// What the caller ignores (nohup(1)), as it was before the Go runtime changed it.
static sigset_t ignored;
// SIGTSTP and SIGCONT, which wait for brig_catch_signals: the kernel then drops the one that the other has followed. One
// thread takes them, one handler after the other. Two threads, or nested handlers, would write the later one first.
static sigset_t stops;
static int caught[2];

static void on_signal(int sig) {
	int saved = errno;
	if (write(caught[1], &(unsigned char){(unsigned char)sig}, 1) < 0) {} // a full pipe: 65,536 signals wait already
	errno = saved;
}

int brig_catch_signals(void) {
	struct sigaction act = {.sa_handler = on_signal, .sa_mask = stops, .sa_flags = SA_RESTART | SA_ONSTACK};
	if (pipe2(caught, O_CLOEXEC | O_NONBLOCK)) return -1;
	for (int i = 0; i < NPASSED; i++)
		if (!sigismember(&ignored, passed[i])) sigaction(passed[i], &act, 0);
	pthread_sigmask(SIG_UNBLOCK, &stops, 0);
	return caught[0];
}

// drop_fsetid gives up CAP_FSETID for the whole keeper. With it, output that root's keeper copies to a file that a payload
// has made with S_ISUID would leave the bit on, and a set-user-ID program of the payload's behind: capabilities(7).
static void drop_fsetid(void) {
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2];
	if (syscall(SYS_capget, &h, d)) return;
	d[0].effective &= ~(1u << CAP_FSETID);
	d[0].permitted &= ~(1u << CAP_FSETID);
	d[0].inheritable &= ~(1u << CAP_FSETID);
	syscall(SYS_capset, &h, d);
}

static void hold_signals(void) {
	struct sigaction now;
	sigaddset(&stops, SIGTSTP);
	sigaddset(&stops, SIGCONT);
	pthread_sigmask(SIG_BLOCK, &stops, 0);
	for (int i = 0; i < NPASSED; i++)
		if (!sigaction(passed[i], 0, &now) && now.sa_handler == SIG_IGN) sigaddset(&ignored, passed[i]);
}

// need ends the process where the Go runtime would crash at its start with exit code 2. Go raises the soft limit on open
// files itself. It reserves some 700 MiB of addresses before main; with 1.3 GiB or less its heap may get none.
static void need(int resource, rlim_t least, const char *message) {
	struct rlimit l;
	if (getrlimit(resource, &l)) return;
	if ((resource == RLIMIT_AS ? l.rlim_cur : l.rlim_max) >= least) return;
	if (write(2, message, strlen(message))) _exit(125);
}

// A Go runtime that sees one processor starts with one P, and wakes no thread for each goroutine that becomes ready. Its
// first threads take turns; on another processor each would wait for the launcher. So the process is on one processor
// until the launcher has its program: affinity.go then restores the others. Go looks for more processors every second. At
// start-up the runtime looks for a CPU quota in the mount table and the files of its control group. With RLIMIT_NOFILE 0
// it cannot open them; package syscall raises that limit again before any other Go code. glibc cannot read the bounds of
// the first thread's stack in /proc/self/maps then, and Go takes 0 for the lower one, as always with musl, which it does
// not ask. The kernel finds an overflow.
//
// The launcher gets the others, and the jail all of them (spawn.c). The process that called fork sets both affinities; the
// keeper stays on its processor, because moving it would delay the start. sched_setaffinity(2) of a process that waits for
// a processor takes it to another one at once; one that runs has to be stopped for that.
cpu_set_t brig_processors; // the caller's, or empty: the calls below fail then

static void start_quietly(void) {
	struct rlimit files;
	if (brig_trick(TRICK_NO_QUOTA) && !getrlimit(RLIMIT_NOFILE, &files)) {
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, files.rlim_max});
	}
	if (brig_trick(TRICK_LATE_TIMERS)) prctl(PR_SET_TIMERSLACK, 1000000ul); // ns: Go's monitor sleeps for 20,000 at a time
}

unsigned char *brig_ahead_program(size_t *size) {
#ifdef __x86_64__
	static unsigned char program[] __attribute__((aligned(16))) = {
#include "ahead_amd64.h"
	};
	*size = sizeof program;
	if (prctl(PR_CAPBSET_READ, AHEAD_LAST_CAP) >= 0 && prctl(PR_CAPBSET_READ, AHEAD_LAST_CAP + 1) < 0) return program;
#endif
	*size = 0;
	return 0;
}

// fork_launcher forks it with clone3(2), and a process made ahead unless the jail cannot use one. A launcher that is to be
// the keeper's parent goes on in this process, and Go in the child.
static void fork_launcher(char **argv) {
	int sv[2];
	int av[2] = {NOTHING_AHEAD, NOTHING_AHEAD};
	int ahead = brig_early.namespaces && (PLAIN || brig_trick(TRICK_SPAWN_AHEAD));
	struct clone_args ca = {.exit_signal = SIGCHLD};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv)) return; // Go then executes a launcher
	if (ahead && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, av)) av[0] = av[1] = -1;
	sched_getaffinity(0, sizeof brig_processors, &brig_processors);
	if (!brig_trick(TRICK_ONE_PROCESSOR)) CPU_ZERO(&brig_processors);
	cpu_set_t others, here = {0};
	if (CPU_COUNT(&brig_processors) > 1) CPU_SET(sched_getcpu(), &here);
	CPU_XOR(&others, &here, &brig_processors);
	int bound = !sched_setaffinity(0, sizeof here, &here);
	// a standard stream that the caller has closed must not become our socket
	brig_early.pid = sv[0] > 2 && (!ahead || av[0] > 2) ? (int)syscall(SYS_clone3, &ca, sizeof ca) : -1;
	int keeper = brig_early.pid < 0 || !brig_early.pid == (brig_early.id == WANTS_PARENT);
	if (bound && brig_early.pid > 0) sched_setaffinity(keeper ? brig_early.pid : 0, sizeof others, &others);
	close(sv[keeper]);
	close(av[keeper]);
	if (!keeper && !PLAIN) syscall(SYS_setsid); // the terminal's Ctrl-C is for the keeper to pass on
	if (!keeper) brig_become(argv, sv[1], av[1]);
	if (brig_early.pid < 0) {
		close(sv[0]);
		close(av[0]);
		return;
	}
	brig_early = (struct early){.launcher = sv[0], .ahead = av[0], .pid = brig_early.pid ? brig_early.pid : getppid(),
		.id = brig_early.id, .namespaces = brig_early.namespaces, .begin = brig_early.begin};
	if (bound) start_quietly();
}

// is_launcher_socket reports whether fd is one end of a socketpair(2) that the parent process has made.
static int is_launcher_socket(int fd) {
	struct ucred cred;
	int type = 0;
	socklen_t n = sizeof type;
	socklen_t m = sizeof cred;
	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) && type == SOCK_SEQPACKET &&
	       !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &m) && cred.pid == getppid();
}

__attribute__((constructor)) static void enter(int argc, char **argv) {
#ifndef __GLIBC__ // musl passes nothing to a constructor. The stack has the arguments between their number and environ.
	argv = environ - 1;
	for (argc = 0; (long)argv[-1] != argc; argc++) argv--;
#endif
	if (argc < 1 || getauxval(AT_SECURE)) return;
	if (!strcmp(argv[0], "brig-launcher") && is_launcher_socket(3)) {
		syscall(SYS_close_range, 4, ~0u, 0); // what the keeper's caller has left open
		brig_become(argv, 3, NOT_FORKED);
	}
	if (!brig_launcher_wanted ||
		!(brig_early.id = brig_launcher_wanted(argc, argv, &brig_early.namespaces, &brig_early.begin))) return;
	need(RLIMIT_AS, 3ul << 29, "brig: the limit on address space is too low; raise it to 1572864 (ulimit -v), "
		"or limit the payload alone: --ulimit as=BYTES\n");
	need(RLIMIT_NOFILE, 64, "brig: the hard limit on open files is too low; raise it to 263 (ulimit -Hn)\n");
	if (!PLAIN) hold_signals();
	if (!PLAIN) drop_fsetid();
	if (PLAIN || brig_trick(TRICK_FORK_EARLY)) fork_launcher(argv);
}

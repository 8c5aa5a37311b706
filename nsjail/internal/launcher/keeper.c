// The keeper of one jail, before the Go runtime starts: it forks its launcher, which then prepares while Go starts, and
// settles what Go could do only later or slower. A library's keeper does none of this.
#include "launcher.h"
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <malloc.h>

static struct early early = {-1, -1, -1};

struct early brig_early(void) { return early; }

// What the keeper of one jail passes on. os/signal takes two thread switches for each signal at start, and a
// signalfd(2) would miss those that Go unblocks in every thread; so a handler of ours replaces Go's.
static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};
// ignored is what the caller ignores (nohup), as seen before the Go runtime changed it. SIGTSTP and SIGCONT wait for
// brig_catch_signals, so that the kernel drops the one that the other has followed. Then one thread takes them, one
// handler after the other: two threads, or a handler within another, would write the later one first.
static sigset_t ignored, stops;
static int caught[2];

static void on_signal(int sig) {
	int saved = errno;
	unsigned char byte = (unsigned char)sig;
	if (write(caught[1], &byte, 1) < 0) {} // a full pipe: 65,536 signals wait already
	errno = saved;
}

int brig_catch_signals(void) {
	struct sigaction act = {.sa_handler = on_signal, .sa_mask = stops, .sa_flags = SA_RESTART | SA_ONSTACK};
	if (pipe2(caught, O_CLOEXEC | O_NONBLOCK)) return -1;
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
		if (!sigismember(&ignored, passed[i])) sigaction(passed[i], &act, 0);
	pthread_sigmask(SIG_UNBLOCK, &stops, 0);
	return caught[0];
}

// keep_no_setid gives up CAP_FSETID for the whole keeper: with it, output that root's keeper copies to a file that a
// payload has made with S_ISUID would leave the bit on, and with it a set-user-ID program of the payload's.
static void keep_no_setid(void) {
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2];
	if (syscall(SYS_capget, &h, d)) return;
	d[0].effective &= ~(1u << CAP_FSETID), d[0].permitted &= ~(1u << CAP_FSETID), d[0].inheritable &= ~(1u << CAP_FSETID);
	syscall(SYS_capset, &h, d);
}

// need ends the process where the Go runtime would not start, but crash with exit code 2. Go raises the soft limit on
// open files itself. Of addresses it reserves some 700 MiB before main; up to 1.3 GiB that may leave its heap none.
static void need(int resource, rlim_t least, const char *few) {
	struct rlimit l;
	int none = getrlimit(resource, &l) || (resource == RLIMIT_AS ? l.rlim_cur : l.rlim_max) >= least;
	if (!none && write(2, few, strlen(few))) _exit(125);
}

// Beginnings of flags, up to a null.
extern __attribute__((weak)) const char *const brig_launcher_grouped[], *const brig_launcher_late[], *const brig_launcher_own_net[], *const brig_launcher_odd[];

// begins reports whether an argument begins with one of the strings of a list. This is only a guess; a wrong one costs
// time. After a space a string has the whole value that the next argument must be.
static int begins(int argc, char **argv, const char *const *with) {
	for (int i = 2; with && i < argc && strcmp(argv[i], "--"); i++)
		for (const char *const *p = with; *p; p++) {
			size_t n = strcspn(*p, " ");
			if (!strncmp(argv[i], *p, n) && (!(*p)[n] || (i + 1 < argc && !strcmp(argv[i + 1], *p + n + 1)))) return 1;
		}
	return 0;
}

// A Go runtime that sees one processor starts with one P: it wakes no thread for each goroutine that becomes ready, which
// a start would pay for and has no work for. Its first threads take turns: on another processor each would wait there for
// the launcher. So the process is on one from here on, and the Go side gives its threads the others once the launcher
// has its program (widen.go). Go looks for more processors every second, and then takes them all. For a quota it would
// also look once into the mount table and the files of its control group, a tenth of a millisecond: as long as it may
// open no file at all, it finds none, and package syscall raises that limit again before any Go code of ours. (libc,
// which asks /proc/self/maps, then does not say either where the first thread's stack ends. Go takes 0 for that, and
// leaves it to the kernel to find an overflow.)
static cpu_set_t processors;
static int narrowed;

const void *brig_processors(void) { return narrowed ? &processors : 0; }

static void narrow(void) {
	cpu_set_t one = {0};
	int cpu = sched_getcpu();
	if (cpu < 0 || sched_getaffinity(0, sizeof processors, &processors) || CPU_COUNT(&processors) < 2) return;
	CPU_SET(cpu, &one);
	narrowed = !sched_setaffinity(0, sizeof one, &one);
	struct rlimit files;
	if (!getrlimit(RLIMIT_NOFILE, &files)) files.rlim_cur = 0, setrlimit(RLIMIT_NOFILE, &files);
	prctl(PR_SET_TIMERSLACK, 1000000ul); // ns: Go's monitor sleeps for 20,000 at a time
}

static int put(const char *file, const char *text) {
	int fd = open(file, O_WRONLY | O_CLOEXEC), n = fd < 0 ? -1 : (int)write(fd, text, strlen(text));
	close(fd);
	return n < 0;
}

// net_ahead makes the network namespace of a jail that will be born in a control group: a third of a start. An ordinary
// user needs a user namespace for it, in which the jail's own then is. Root without CAP_NET_ADMIN cannot bring lo up:
// its jail makes a namespace of its own.
static int net_ahead(void) {
	char uid[64], gid[64];
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	snprintf(uid, sizeof uid, "%u %u 1", geteuid(), geteuid()), snprintf(gid, sizeof gid, "%u %u 1", getegid(), getegid());
	int user = geteuid() ? CLONE_NEWUSER : 0;
	if (unshare(user | CLONE_NEWNET)) return NOTHING_AHEAD;
	if (user && (put("/proc/self/setgroups", "deny") || put("/proc/self/uid_map", uid) || put("/proc/self/gid_map", gid))) _exit(1);
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int down = ioctl(s, SIOCSIFFLAGS, &lo);
	close(s);
	return down ? NOTHING_AHEAD : NET_AHEAD;
}

unsigned char *brig_ahead_program(size_t *size) {
#ifdef __x86_64__
	static unsigned char list[] __attribute__((aligned(16))) = {
#include "ahead_amd64.h"
	};
	if (prctl(PR_CAPBSET_READ, AHEAD_LAST_CAP) >= 0 && prctl(PR_CAPBSET_READ, AHEAD_LAST_CAP + 1) < 0)
		return *size = sizeof list, list;
#endif
	return *size = 0, (void *)0;
}

void brig_keeper(int argc, char **argv, char **envp) {
	sigaddset(&stops, SIGTSTP), sigaddset(&stops, SIGCONT), pthread_sigmask(SIG_BLOCK, &stops, 0);
	need(RLIMIT_AS, 3ul << 29, "brig: the limit on address space is too low; raise it to 1572864 (ulimit -v), or limit the payload alone: --ulimit as=BYTES\n");
	need(RLIMIT_NOFILE, 64, "brig: the hard limit on open files is too low; raise it to 263 (ulimit -Hn)\n");
	keep_no_setid();
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
		struct sigaction now;
		if (!sigaction(passed[i], 0, &now) && now.sa_handler == SIG_IGN) sigaddset(&ignored, passed[i]);
	}
	int sv[2], av[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv)) return; // Go then starts a launcher the other way
	// a process made ahead is of no use to a jail that must be born in a group
	if (begins(argc, argv, brig_launcher_grouped)) av[0] = av[1] = NOTHING_AHEAD;
	else if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, av)) av[0] = av[1] = -1;
	long pid = -1;
	struct clone_args ca = {.exit_signal = SIGCHLD};
	// a caller that closed a standard stream must not get our socket as the payload's
	if (sv[0] > 2 && sv[1] > 2 && (av[0] > 2 || av[0] == NOTHING_AHEAD)) pid = syscall(SYS_clone3, &ca, sizeof ca);
	if (pid == 0) {
		close(sv[0]), close(av[0]);
		syscall(SYS_setsid); // a Ctrl-C at the terminal is the keeper's to forward, not our end
		if (av[1] == NOTHING_AHEAD && !begins(argc, argv, brig_launcher_own_net)) av[1] = net_ahead();
		brig_become(argc, argv, envp, sv[1], av[1], !begins(argc, argv, brig_launcher_odd));
	}
	close(sv[1]), close(av[1]);
	if (pid > 0) early = (struct early){sv[0], av[0], (int)pid};
	else close(sv[0]), close(av[0]);
	mallopt(M_ARENA_MAX, 1); // else each of Go's threads maps an arena, for the few bytes that it frees at its start
	if (pid > 0 && !begins(argc, argv, brig_launcher_late)) narrow();
}

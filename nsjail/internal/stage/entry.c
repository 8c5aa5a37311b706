// How the binary becomes a stage: a constructor, which runs before the Go runtime, in two cases.
//
//   - The library starts a stage by executing this same binary with argv[0] = "brig-stage" and a socket as fd 3.
//   - A binary that defines brig_stage_early (cmd/brig) forks its stage for the command "run", so that it prepares
//     while Go starts.
#include "stage.h"
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/auxv.h>

extern const char *const brig_stage_early __attribute__((weak)); // the subcommand that wants a stage
static struct early early = {-1, -1, -1};

struct early brig_early(void) { return early; }

int brig_receive(int sock, int *fds) {
	char byte;
	union {
		char buf[CMSG_SPACE(MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} c;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.buf, .msg_controllen = sizeof c.buf};
	ssize_t n;
	while ((n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {}
	if (n <= 0) return 0;
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	if (!h || h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) return -1;
	size_t len = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(h), len * sizeof(int));
	if (len >= 2 && !(m.msg_flags & MSG_CTRUNC)) return (int)len;
	for (size_t i = 0; i < len; i++) close(fds[i]);
	return -1;
}

char *brig_map(int fd, size_t *size) {
	struct stat st;
	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(struct header) || st.st_size > 16 << 20) return 0;
	char *p = mmap(0, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	*size = (size_t)st.st_size;
	return p == MAP_FAILED ? 0 : p;
}

// wipe clears the strings that /proc/PID/cmdline and /proc/PID/environ show: they hold the caller's secrets, and a
// forked init would inherit them.
static void wipe(int argc, char **argv, char **envp) {
	char *from = argv[0], *to = argc ? argv[argc - 1] + strlen(argv[argc - 1]) : from;
	for (char **e = envp; *e; e++)
		if (*e + strlen(*e) > to) to = *e + strlen(*e);
	if (from && to > from) memset(from, 0, (size_t)(to - from));
	if (from && to - from > 5) memcpy(from, "init", 5);
	*envp = 0;
}

static int is_stage_socket(int fd) {
	int v = 0;
	socklen_t n = sizeof v;
	struct ucred cred;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &v, &n) || v != SOCK_SEQPACKET) return 0;
	n = sizeof cred; // socketpair(2) credentials are those of the process that made it: our parent
	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) && cred.pid == getppid();
}

// What the keeper of one jail passes on. os/signal takes two thread switches for each signal at start, and a
// signalfd(2) would miss those that Go unblocks in every thread; so a handler of ours replaces Go's.
static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};
static sigset_t ignored; // by the caller (nohup), as seen before the Go runtime changed it
static int caught[2];

static void on_signal(int sig) {
	int saved = errno;
	unsigned char byte = (unsigned char)sig;
	if (write(caught[1], &byte, 1) < 0) {} // a full pipe: 65,536 signals wait already
	errno = saved;
}

int brig_catch_signals(void) {
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
	if (pipe2(caught, O_CLOEXEC | O_NONBLOCK)) return -1;
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
		if (!sigismember(&ignored, passed[i])) sigaction(passed[i], &act, 0);
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

__attribute__((constructor)) static void brig_enter(int argc, char **argv, char **envp) {
	if (argc < 1 || getauxval(AT_SECURE)) return;
	if (!strcmp(argv[0], "brig-stage") && is_stage_socket(3)) {
		wipe(argc, argv, envp);
		syscall(SYS_close_range, 4, ~0u, 0); // what the keeper's own caller left open
		brig_serve(3, -1);
	}
	if (!&brig_stage_early || argc < 2 || strcmp(argv[1], brig_stage_early)) return;
	keep_no_setid();
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
		struct sigaction now;
		if (!sigaction(passed[i], 0, &now) && now.sa_handler == SIG_IGN) sigaddset(&ignored, passed[i]);
	}
	int sv[2], av[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv)) return; // the keeper then starts one the other way
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, av)) av[0] = av[1] = -1;
	long pid = -1;
	struct clone_args ca = {.exit_signal = SIGCHLD};
	// a caller that closed a standard stream must not get our socket as the payload's
	if (sv[0] > 2 && sv[1] > 2 && av[0] > 2) pid = syscall(SYS_clone3, &ca, sizeof ca);
	if (pid == 0) {
		close(sv[0]), close(av[0]);
		syscall(SYS_setsid); // a Ctrl-C at the terminal is the keeper's to forward, not our end
		wipe(argc, argv, envp);
		brig_serve(sv[1], av[1]);
	}
	close(sv[1]), close(av[1]);
	if (pid > 0) early = (struct early){sv[0], av[0], (int)pid};
	else close(sv[0]), close(av[0]);
}

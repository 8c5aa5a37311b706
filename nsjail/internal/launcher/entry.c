// How the binary becomes a launcher: a constructor, which runs before the Go runtime, in two cases.
//
//   - The library starts a launcher by executing this same binary with argv[0] = "brig-launcher" and a socket as fd 3.
//   - A binary that defines brig_launcher_command (cmd/brig) forks its launcher for the command "run", so that it prepares
//     while Go starts: keeper.c.
#include "launcher.h"
#include <linux/ioprio.h>
#include <sys/auxv.h>

extern const char *const brig_launcher_command __attribute__((weak)); // the subcommand that wants a launcher

int brig_receive(int sock, int *fds, int *keep) {
	// cmsg(3): a struct cmsghdr comes first
	char byte = 0, buf[CMSG_SPACE(MAX_FDS * sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = buf, .msg_controllen = sizeof buf};
	ssize_t n;
	while ((n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {}
	if (n <= 0) return 0;
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	if (!h || h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) return -1;
	*keep = byte == 1;
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

static int is_launcher_socket(int fd) {
	struct ucred cred; // socketpair(2) credentials are those of the process that made it: our parent
	int type = 0;
	socklen_t n = sizeof type, m = sizeof cred;
	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) && type == SOCK_SEQPACKET &&
	       !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &m) && cred.pid == getppid();
}

// brig_become clears the strings that /proc/PID/cmdline and /proc/PID/environ show: they hold the caller's secrets, and
// a forked init would inherit them. Every jail inherits the launcher's scheduling, too. So a caller's real-time policy,
// nice value below 0 and real-time I/O class are reset, which needs no privilege (sched(7), ioprio_set(2)). What makes
// a caller slower than others stays: a nice value above 0, SCHED_BATCH, SCHED_IDLE. So do its processors.
void brig_become(int argc, char **argv, char **envp, int sock, int ahead, int begin) {
	char *from = argv[0], *to = argv[argc - 1] + strlen(argv[argc - 1]);
	for (char **e = envp; *e; e++)
		if (*e + strlen(*e) > to) to = *e + strlen(*e);
	memset(from, 0, (size_t)(to - from)), memcpy(from, "init", to - from > 5 ? 5 : 0);
	*envp = 0;
	int policy = sched_getscheduler(0), self = IOPRIO_WHO_PROCESS;
	if (policy == SCHED_FIFO || policy == SCHED_RR) sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
	if (getpriority(PRIO_PROCESS, 0) < 0) setpriority(PRIO_PROCESS, 0, 0);
	if (IOPRIO_PRIO_CLASS(syscall(SYS_ioprio_get, self, 0)) == IOPRIO_CLASS_RT) syscall(SYS_ioprio_set, self, 0, 0);
	prctl(PR_SET_TIMERSLACK, 50000ul); // ns, the kernel's default: prctl(2)
	brig_serve(sock, ahead, begin);
}

__attribute__((constructor)) static void brig_enter(int argc, char **argv, char **envp) {
	if (argc < 1 || getauxval(AT_SECURE)) return;
	if (!strcmp(argv[0], "brig-launcher") && is_launcher_socket(3)) {
		syscall(SYS_close_range, 4, ~0u, 0); // what the keeper's own caller left open
		brig_become(argc, argv, envp, 3, -1, 0);
	}
	if (&brig_launcher_command && argc > 1 && !strcmp(argv[1], brig_launcher_command)) brig_keeper(argc, argv, envp);
}

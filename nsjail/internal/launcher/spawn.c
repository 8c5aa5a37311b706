// The launcher: a single-threaded process of a few pages that creates jails for its keeper (serve). A jail's first
// process becomes a child of the keeper (CLONE_PARENT).
#include "launcher.h"
#include <linux/ioprio.h>

static int keeper_sock = -1;
static char **words; // of the command line
static long last;    // the pid of the last jail's first process

// A jail's first process is a child of the keeper, or of the launcher that is the keeper's parent: clone(2).
#define SIBLING (brig_early.pid > 0 ? 0 : CLONE_PARENT)

// Orphan guards: pidfds of the jails without init, which the launcher kills when its keeper is gone.
static int wards[MAX_WARDS];
static int nwards;

// prune_wards closes the pidfds of processes that have ended: such a pidfd is readable, pidfd_open(2).
static void prune_wards(void) {
	int n = 0;
	for (int i = 0; i < nwards; i++) {
		struct pollfd p = {.fd = wards[i], .events = POLLIN};
		if (poll(&p, 1, 0) > 0) close(wards[i]);
		else wards[n++] = wards[i];
	}
	nwards = n;
}

// clear_strings overwrites what /proc/PID/cmdline and /proc/PID/environ show: it holds the caller's secrets, and a forked
// init would inherit it.
static void clear_strings(void) {
	char *to = words[0];
	for (char **w = words; *w || w + 1 == environ; w++) // the two lists follow each other
		if (*w && *w + strlen(*w) > to) to = *w + strlen(*w);
	memset(words[0], 0, (size_t)(to - words[0]));
	memcpy(words[0], "init", to - words[0] > 5 ? 5 : 0);
}

// enter_jail is the beginning of each first process. A jail must hold neither the keeper's socket nor the launcher's network
// namespace. The keeper bounds the processors of the launcher, not the jail's.
static void enter_jail(void) {
	if (brig_early.pid > 0) clear_strings();
	SYS1(SYS_close, keeper_sock);
	if (!PLAIN) SYS1(SYS_close, FD_HOME);
	SYS3(SYS_sched_setaffinity, 0, sizeof brig_processors, &brig_processors);
}

// clone_raised creates a process in a cgroup, or in a network namespace made ahead: clone3(2), setns(2). The kernel asks
// for permissions of the caller, and root's launcher is an unprivileged user: for these calls it raises the capabilities
// that it has kept. The child has none of them in the launcher's user namespace. A jail without a namespace drops them in
// the first step of its program, which needs none.
static long clone_raised(struct clone_args *ca, int netns) {
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct was[2], raised[2];
	long err = SYS2(SYS_capget, &h, was);
	if (err) return err;
	memcpy(raised, was, sizeof raised);
	raised[0].effective |= raised[0].permitted & (1u << CAP_DAC_OVERRIDE | 1u << CAP_SYS_ADMIN);
	SYS2(SYS_capset, &h, raised);
	long pid = netns < 0 ? 0 : SYS2(SYS_setns, netns, CLONE_NEWNET);
	if (!pid) pid = SYS2(SYS_clone3, ca, sizeof *ca);
	if (pid && netns >= 0 && SYS2(SYS_setns, FD_HOME, CLONE_NEWNET)) _exit(1); // the next jail must not start there
	if (pid && SYS2(SYS_capset, &h, was)) _exit(1); // the capabilities must not stay raised
	return pid;
}

static void spawn(char *base, long *slots, struct reply *rep) {
	struct header *h = (struct header *)base;
	int pidfd = -1;
	if (h->flags & FLAG_WARD) {
		prune_wards();
		if (nwards == MAX_WARDS) {
			rep->err = EAGAIN;
			return;
		}
	}
	struct clone_args ca = {.flags = h->clone_flags | SIBLING | CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)&pidfd};
	if (h->cgroup >= 0) {
		ca.flags |= CLONE_INTO_CGROUP;
		ca.cgroup = (uint64_t)slots[h->cgroup];
	}
	long pid = h->cgroup < 0 && !h->netns ? SYS2(SYS_clone3, &ca, sizeof ca)
	                                      : clone_raised(&ca, h->netns ? (int)slots[h->netns] : -1);
	// without namespaces clone(2) does, where the filter of a container refuses clone3(2)
	if (pid == -ENOSYS && !h->clone_flags) pid = SYS4(SYS_clone, SIBLING | CLONE_PIDFD, 0, &pidfd, 0);
	if (pid == 0) {
		enter_jail();
		brig_perform(&(struct run){.base = base, .slots = slots});
	}
	if (pid < 0) {
		rep->err = (int)-pid;
		return;
	}
	rep->pid = (int)(last = pid);
	if (h->flags & FLAG_WARD) wards[nwards++] = pidfd;
	else close(pidfd);
}

// leave ends the launcher. Its keeper has ended or is about to. If the keeper is its child, it collects it and ends as that
// does; or, if the keeper has handed the jail over, as the jail does. The end of a jail with init is in its report.
static void leave(int report) {
	struct report r = {0};
	while (wait4(brig_early.pid, &r.a, 0, 0) < 0 && errno == EINTR) {}
	if (report >= 0) { // what the caller has left open is for the jail alone
		SYS3(SYS_dup3, report, 3, 0);
		SYS3(SYS_close_range, 4, ~0u, 0);
		if (read(3, &r, sizeof r) != sizeof r) while (wait4((pid_t)last, &r.a, __WALL, 0) < 0 && errno == EINTR) {}
	} else if (brig_early.pid > 0 && last > 0) kill((pid_t)last, SIGKILL);
	_exit(WIFSIGNALED(r.a) ? 128 + WTERMSIG(r.a) : WEXITSTATUS(r.a));
}

// serve answers requests until the keeper is gone. The first message tells who the launcher is.
static void serve(struct reply rep) {
	while (send(keeper_sock, &rep, sizeof rep, MSG_NOSIGNAL) > 0) {
		long slots[NSLOTS] = {0};
		size_t size = 0;
		char *base = 0;
		int n = brig_load(keeper_sock, &base, &size, slots, NSLOTS);
		if (n == 0) break;
		rep = (struct reply){.op = -1, .uid = geteuid()};
		struct run r = {.base = base, .slots = slots};
		if (n < 0) rep.err = -n;
		else if (((struct header *)base)->kind == KIND_LEAVE) leave((int)slots[SLOT_REPORT]);
		else if (((struct header *)base)->kind == KIND_SELF) rep.op = brig_run(&r);
		else if (((struct header *)base)->kind == KIND_SUFFIX) rep.err = EBADMSG;
		else spawn(base, slots, &rep);
		if (r.err) rep.err = r.err;
		if (base) munmap(base, size);
		if (n < 0) n = MAX_FDS;
		for (int i = 0; i < n && slots[i] > 0; i++) close((int)slots[i]); // not what a program has saved
	}
	for (int i = 0; i < nwards; i++) SYS4(SYS_pidfd_send_signal, wards[i], SIGKILL, 0, 0);
	leave(-1);
}

// write_ids replaces the two placeholders in the list made ahead by the launcher's ids, padded with spaces: in the new
// user namespace the process cannot ask for them. It then checks the list.
static char *write_ids(size_t *size) {
	char *base = (char *)brig_ahead_program(size);
	for (int i = 0; base && i < 2; i++) {
		char text[AHEAD_IDS + 1];
		char *at = memmem(base, *size, i ? AHEAD_GID : AHEAD_UID, AHEAD_IDS);
		if (!at) return 0;
		snprintf(text, sizeof text, "%*u", AHEAD_IDS, i ? getegid() : geteuid());
		memcpy(at, text, AHEAD_IDS);
	}
	return base && !brig_check(base, *size, (int)((struct header *)base)->nfds) ? base : 0;
}

// spawn_ahead creates the first process of a default jail before its program is known. The process performs the
// operations with which every default jail begins (ahead_amd64.h) while the keeper plans, and then waits for the program
// at sock, whose end ends it. An operation that fails is performed again as part of the program, and reported.
static long spawn_ahead(int sock, uint32_t begin) {
	size_t size;
	char *base = begin ? write_ids(&size) : 0;
	long slots[NSLOTS] = {0};
	struct clone_args ca = {.flags = SIBLING | brig_early.namespaces};
	long pid = last = SYS2(SYS_clone3, &ca, sizeof ca);
	if (pid) return pid < 0 ? 0 : pid; // a request will meet the same error, and report it
	enter_jail();
	struct run r = {.base = base, .slots = slots, .end = begin};
	int failed = base ? brig_run(&r) : 0;
	uint32_t done = failed < 0 ? r.next : (uint32_t)failed;
	size = 0;
	if (brig_load(sock, &base, &size, slots, NSLOTS) > 0)
		brig_perform(&(struct run){.base = base, .slots = slots, .next = done});
	return SYS1(SYS_exit_group, 125);
}

// drop makes root's forked launcher an unprivileged user: an executed one gets a program for that. One capability stays
// permitted, for clone_raised.
static void drop(void) {
	uint32_t id = brig_early.id > 1 ? brig_early.id : PAYLOAD_IDS + (uint32_t)getppid() % PAYLOAD_ID_COUNT;
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2];
	if (geteuid() || SYS2(SYS_capget, &h, d)) return;
	struct __user_cap_data_struct kept[2] = {{.permitted = d[0].permitted & 1u << CAP_DAC_OVERRIDE}};
	if (prctl(PR_SET_KEEPCAPS, 1) || SYS2(SYS_setgroups, 0, 0) || SYS3(SYS_setresgid, id, id, id) ||
		SYS3(SYS_setresuid, id, id, id)) return;
	if (SYS2(SYS_capset, &h, kept)) _exit(1); // root's other capabilities must not stay
	prctl(PR_SET_DUMPABLE, 1);
}

// reset_scheduling drops a caller's real-time policy, negative nice value and real-time I/O class, which every jail would
// inherit: sched(7), ioprio_set(2). It needs no privilege. What makes a caller slower than others stays: a positive nice
// value, SCHED_BATCH, SCHED_IDLE, and its processors.
static void reset_scheduling(void) {
	long policy = SYS1(SYS_sched_getscheduler, 0); // musl's function makes no such call
	if (policy == SCHED_FIFO || policy == SCHED_RR)
		SYS3(SYS_sched_setscheduler, 0, SCHED_OTHER, &(struct sched_param){0});
	if (getpriority(PRIO_PROCESS, 0) < 0) setpriority(PRIO_PROCESS, 0, 0);
	if (IOPRIO_PRIO_CLASS(syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0)) == IOPRIO_CLASS_RT)
		syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0);
	prctl(PR_SET_TIMERSLACK, 50000ul); // ns, the kernel's default: prctl(2)
}

// reset_signals restores the disposition of the signals from first to last, and unblocks all: the caller's nohup(1) must
// not reach the payload. The kernel's structure is all zero as well; make(1) ignores signal 32, which sigaction(2) does
// not change.
static void reset_signals(int first, int last) {
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	for (int s = first; s <= last; s++) SYS4(SYS_rt_sigaction, s, &dfl, 0, 8);
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &(uint64_t){0}, 0, 8);
}

// brig_become turns the process into a launcher. ahead is a socket for a process made ahead, NOT_FORKED or
// NOTHING_AHEAD.
void brig_become(char **argv, int sock, int ahead) {
	uint32_t begin = !brig_trick(TRICK_LIST_AHEAD) ? 0 : brig_early.begin > 1 ? UINT32_MAX : brig_early.begin * AHEAD_COMMON;
	struct rlimit nofile;
	keeper_sock = sock;
	words = argv;
	if (!PLAIN) reset_scheduling();
	reset_signals(PLAIN ? SIGCHLD : 1, PLAIN ? SIGCHLD : NSIG - 1);
	if (!PLAIN && !getrlimit(RLIMIT_NOFILE, &nofile)) { // a program may use fixed descriptors, and sets the payload's limit
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){nofile.rlim_max, nofile.rlim_max});
	}
	if (brig_early.pid <= 0) { // the caller of a keeper's parent looks for it by its name
		clear_strings();
		prctl(PR_SET_NAME, "brig-launcher");
	}
	if (ahead != NOT_FORKED && !PLAIN) drop();
	// the mounts of a box come from root's keeper; other jails still need the host's tree
	if (begin > AHEAD_TREE && (brig_early.id <= WANTS_PLAIN || geteuid() != brig_early.id)) begin = AHEAD_TREE;
	struct reply rep = {.op = -1, .err = (int32_t)begin, .uid = geteuid()};
	if (ahead >= 0) rep.pid = (int)spawn_ahead(ahead, begin);
	close(ahead);
	serve(rep);
}

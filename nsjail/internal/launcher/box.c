// Process 1 of a box: a jail that has no payload of its own. It performs programs of the keeper's for as long as the box
// lives. One that forks begins a process of the box, for which it does what a jail's init does for the payload: it reaps,
// passes signals on, answers for the filter, and reports at a socket of that process's own. One that does not makes
// something of the box's for the keeper: a socket.
//
// No process of the host enters a box, and a process of the box cannot reach init: it is not dumpable (ptrace(2)), no
// signal that it has not asked for reaches process 1 (pid_namespaces(7)), and it takes none but SIGCHLD.
#include "init.h"

// The descriptors of a box's init. 0, 1 and 2 are in use while there is no new process, so that what comes with a program
// has others: that process replaces them in the table that both share.
enum { REPORT = FD_BOX, SIGNALS, PROC, FIRST = FD_NULL + 1, STANDARD = 3 };

// A process that the keeper has asked for, until no process has its filter.
struct command {
	struct init in; // payload 0: it has ended
	int used;
	int ending; // its session is to end
	int ended;  // its status is known
};

struct box {
	struct init all; // of all processes together
	struct command *commands[MAX_COMMANDS];
	struct pollfd polled[2 + 2 * MAX_COMMANDS];
	int idle;    // no process is left
};

static struct box the_box;

// hold keeps the standard descriptors in use, and closes what has come with a program, and what that has opened.
static void hold(void) {
	for (int fd = 0; fd < STANDARD; fd++) SYS3(SYS_dup3, REPORT, fd, O_CLOEXEC);
	SYS3(SYS_close_range, STANDARD, FD_LOOKUPS - 1, 0);
}

// await_start waits until a new process has executed its command, or has ended: clone(2) CLONE_CHILD_CLEARTID. Another
// process of the box may have stopped it. It is killed then: nothing may keep init from the others.
static void await_start(const int *tid, int pid) {
	while (__atomic_load_n(tid, __ATOMIC_ACQUIRE) == pid)
		if (SYS4(SYS_futex, tid, FUTEX_WAIT, pid, (&(struct timespec){.tv_sec = END_SECONDS / 2})) == -ETIMEDOUT)
			SYS2(SYS_kill, pid, SIGKILL);
}

static void release(struct command *c) {
	if (c->in.report >= 0) SYS1(SYS_close, c->in.report);
	c->in.report = -1;
	if (c->in.payload || c->in.listener >= 0) return; // processes that it has left behind have its filter
	c->used = 0;
}

// brig_command begins a process of the box: it performs the rest of the program, as a jail's payload does (fork_init).
long brig_command(const long *a, struct run *r) {
	static char stack[64 << 10] __attribute__((aligned(16)));
	struct command *c = 0;
	uint64_t slot = (uint64_t)a[1];
	int i = 0;
	if (slot >= NSLOTS || a[3] || (uint64_t)a[5] >> INIT_TERMINAL) return -EINVAL;
	for (; i < MAX_COMMANDS && r->box->commands[i] && r->box->commands[i]->used; i++) {}
	if (i == MAX_COMMANDS) return -EUSERS;
	if (!(c = r->box->commands[i])) {
		long p = brig_sys(SYS_mmap, 0, sizeof *c, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p < 0 && p > -4096) return p;
		c = r->box->commands[i] = (struct command *)p;
	}
	*c = (struct command){.in = {.report = FIRST + 2 * i, .listener = -1, .denies = (uint32_t)a[4], .mode = (int)a[5],
		.end.type = REPORT_EXIT}};
	long err = SYS3(SYS_dup3, a[0], c->in.report, O_CLOEXEC);
	if (err < 0) return err;
	if (slot) r->slots[slot] = -1;
	r->child = 1;
	int pid = clone(brig_perform, stack + sizeof stack, CLONE_VM | CLONE_FILES | CLONE_PARENT_SETTID |
		CLONE_CHILD_CLEARTID | SIGCHLD, r, &r->tid, 0, &r->tid);
	if (pid < 0) {
		SYS1(SYS_close, c->in.report);
		return -errno;
	}
	await_start(&r->tid, pid);
	r->next = ((struct header *)r->base)->nops;
	c->used = 1;
	c->in.payload = pid;
	if (slot && r->slots[slot] >= 0 && SYS3(SYS_dup3, r->slots[slot], FIRST + 2 * i + 1, O_CLOEXEC) >= 0)
		c->in.listener = FIRST + 2 * i + 1;
	r->box->idle = 0;
	if (!r->err) {
		brig_tell(c->in.report, REPORT_EXEC, pid, 0);
		return 0;
	}
	brig_tell(c->in.report, REPORT_FAIL, r->op, r->err);
	r->err = 0;
	release(c); // its end, which is near, is not reported
	return 0;
}

// perform takes a program of the keeper's.
static void perform(struct box *b) {
	static long slots[NSLOTS];
	size_t size;
	char *base;
	memset(slots, 0, sizeof slots);
	int n = brig_load(REPORT, &base, &size, slots, NSLOTS);
	struct run r = {.base = base, .slots = slots, .box = b, .err = n < 0 ? -n : 0};
	if (n == 0) brig_end(&b->all, SIGKILL, 1);
	int op = n < 0 || ((struct header *)base)->kind != KIND_SUFFIX ? 0 : brig_run(&r);
	if (op >= 0 && slots[SLOT_REPORT] > 0) brig_tell((int)slots[SLOT_REPORT], REPORT_FAIL, op, r.err ? r.err : EBADMSG);
	if (base) SYS2(SYS_munmap, base, size);
	hold();
}

// told does what the keeper asks of the whole box.
static void told(struct box *b) {
	char what = 0;
	if (SYS4(SYS_recvfrom, REPORT, &what, 1, MSG_PEEK | MSG_DONTWAIT) == -EAGAIN) return;
	if (what == TELL_PROGRAM) return perform(b);
	SYS3(SYS_read, REPORT, &what, 1);
	if (what == TELL_STOP || what == TELL_CONTINUE) SYS2(SYS_kill, -1, what == TELL_STOP ? SIGSTOP : SIGCONT);
	else brig_end(&b->all, SIGKILL, 1);
}

// told_of does what the keeper asks of one process. The keys of a terminal reach its group.
static void told_of(struct command *c) {
	char what = 0;
	if (SYS3(SYS_read, c->in.report, &what, 1) <= 0 || !what) c->ending = 1;
	else if ((what != SIGINT && what != SIGQUIT) || SYS2(SYS_kill, -c->in.payload, what)) SYS2(SYS_kill, c->in.payload, what);
}

// runs reports whether a process has not ended: a pidfd is readable when it has.
static int runs(long pid) {
	int fd = (int)SYS2(SYS_pidfd_open, pid, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int ended = fd < 0 || SYS4(SYS_ppoll, &p, 1, (&(struct timespec){0}), 0) > 0;
	SYS1(SYS_close, fd);
	return !ended;
}

// kill_session kills the processes of a session, and reports whether it has found any.
static int kill_session(long session) {
	static char buf[8 << 10] __attribute__((aligned(8)));
	int found = 0;
	SYS3(SYS_lseek, PROC, 0, SEEK_SET);
	for (long n; (n = SYS3(SYS_getdents64, PROC, buf, sizeof buf)) > 0;)
		for (long at = 0; at < n; at += *(uint16_t *)(buf + at + 16)) { // struct linux_dirent64
			long pid = 0;
			for (const char *p = buf + at + 19; *p; p++) pid = *p >= '0' && *p <= '9' && pid >= 0 ? pid * 10 + *p - '0' : -1;
			if (pid < 2 || SYS1(SYS_getsid, pid) != session || !runs(pid)) continue;
			SYS2(SYS_kill, pid, SIGKILL);
			found = 1;
		}
	return found;
}

// finish reports the end of a process, whose status is known.
static void finish(struct command *c) {
	struct report *r = &c->in.end;
	struct pollfd p = {.fd = c->in.listener};
	if (c->in.listener >= 0) SYS4(SYS_ppoll, &p, 1, (&(struct timespec){0}), 0);
	if (c->in.listener >= 0 && !(p.revents & POLLHUP)) r->b |= END_STAYS;
	if (!WIFSIGNALED(r->a) || WTERMSIG(r->a) != SIGKILL) r->own = 0;
	if (r->own) r->a = SIGSYS; // as after SECCOMP_RET_KILL_PROCESS
	if (c->ending) r->b |= END_ASKED;
	if (r->a) SYS4(SYS_recvfrom, FD_LOOKUPS, r->lookup, sizeof r->lookup, MSG_DONTWAIT);
	if (c->in.report >= 0) brig_report(&c->in);
	if (p.revents & POLLHUP) {
		SYS1(SYS_close, c->in.listener);
		c->in.listener = -1;
	}
	c->in.payload = 0;
	release(c);
}

// reap collects the processes that have ended.
static void reap(struct box *b) {
	for (int n = 0; n < 64; n++) {
		siginfo_t si = {0};
		struct rusage ru;
		struct command *c = 0;
		int status;
		b->idle = brig_sys(SYS_waitid, P_ALL, 0, (long)&si, WEXITED | WNOHANG | WNOWAIT | __WALL, 0, 0) == -ECHILD;
		if (!si.si_pid) return;
		for (int i = 0; i < MAX_COMMANDS && b->commands[i] && !c; i++)
			if (b->commands[i]->used && b->commands[i]->in.payload == si.si_pid) c = b->commands[i];
		if (c) SYS2(SYS_clock_gettime, ~(long)si.si_pid << 3, &c->in.cpu); // CPUCLOCK_PROF: clock_getcpuclockid(3)
		SYS4(SYS_wait4, si.si_pid, &status, __WALL, &ru);
		if (!c) continue;
		c->in.end.a = status;
		c->in.end.usage = ru;
		c->in.end.usage.ru_ixrss = c->in.cpu.tv_sec * 1000 + c->in.cpu.tv_nsec / 1000000; // Linux leaves it 0
		c->ended = 1;
		if (!c->ending) finish(c);
	}
}

// watch fills in what init waits for, and returns the number of descriptors. It ends sessions that are to end.
static int watch(struct box *b, int *hurry) {
	struct pollfd *p = b->polled;
	int n = 2;
	p[0] = (struct pollfd){.fd = REPORT, .events = POLLIN};
	p[1] = (struct pollfd){.fd = SIGNALS, .events = POLLIN};
	for (int i = 0; i < MAX_COMMANDS && b->commands[i]; i++, n += 2) {
		struct command *c = b->commands[i];
		p[n] = p[n + 1] = (struct pollfd){.fd = -1};
		if (!c->used) continue;
		if (c->ending && !kill_session(c->in.payload) && c->ended) finish(c);
		*hurry |= c->used && c->ending && c->in.payload;
		p[n] = (struct pollfd){.fd = c->ending ? -1 : c->in.report, .events = POLLIN};
		p[n + 1] = (struct pollfd){.fd = c->in.listener, .events = POLLIN};
	}
	return n;
}

// brig_serve is the life of a box's init. a are the slot of the report socket, and how many disks it holds.
void brig_serve(const long *a) {
	struct box *b = &the_box;
	b->all = (struct init){.report = REPORT, .listener = -1, .disks = (int)a[1], .look = FIRST_LOOK, .end.type = REPORT_EXIT};
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, (&(uint64_t){~0ull}), 0, 8);
	SYS3(SYS_dup3, a[0], REPORT, O_CLOEXEC);
	long fd = SYS4(SYS_signalfd4, -1, (&(uint64_t){1ull << (SIGCHLD - 1)}), 8, SFD_CLOEXEC | SFD_NONBLOCK);
	SYS3(SYS_dup3, fd, SIGNALS, O_CLOEXEC);
	fd = SYS3(SYS_open, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	SYS3(SYS_dup3, fd, PROC, O_CLOEXEC);
	fd = SYS3(SYS_open, "/dev/null", O_RDWR | O_CLOEXEC, 0); // before a process of the box may replace it
	SYS3(SYS_dup3, fd, FD_NULL, O_CLOEXEC);
	SYS3(SYS_close_range, FD_DISK + b->all.disks, FD_BOX - 1, 0);
	SYS3(SYS_close_range, FIRST, ~0u, 0);
	hold();
	brig_tell(REPORT, REPORT_EXEC, 0, 0);
	for (;;) {
		int hurry = 0;
		reap(b);
		int n = watch(b, &hurry);
		struct timespec *wait = hurry ? &(struct timespec){.tv_nsec = 1000000} : b->all.disks && !b->idle ?
			&(struct timespec){.tv_nsec = b->all.look} : 0;
		if (!SYS4(SYS_ppoll, b->polled, n, wait, 0)) brig_measure(&b->all);
		if (b->polled[1].revents & POLLIN) SYS3(SYS_read, SIGNALS, (&(struct signalfd_siginfo){0}), sizeof(struct signalfd_siginfo));
		for (int i = 2; i < n; i += 2) { // one thing of each in turn, so that a flood of one does not hide another
			struct command *c = b->commands[i / 2 - 1];
			if (b->polled[i].revents && c->in.payload) told_of(c);
			if (b->polled[i + 1].revents & POLLIN) brig_notice(&c->in);
			else if (b->polled[i + 1].revents) { // POLLHUP: no process has the filter any more
				SYS1(SYS_close, c->in.listener);
				c->in.listener = -1;
				if (!c->in.payload) release(c);
			}
		}
		if (b->polled[0].revents) told(b);
	}
}

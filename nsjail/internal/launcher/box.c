// Process 1 of a box: a jail that has no payload of its own. It performs programs of the keeper's for as long as the box
// lives. One that forks begins a process of the box, for which it does what a jail's init does for the payload: it reaps,
// passes signals on, answers for the filter, and reports at a socket of that process's own. One that does not makes
// something of the box's for the keeper: a socket.
//
// A large part of a start is the load of the filter, which is the same for each process, as is what comes before it. So
// when none runs, init makes a spare: a process that has done this, and waits for its command. A process that has ended
// may have changed a spare's limits or priority, and the spare is given up with it.
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
	int fds;    // the first of the two descriptors that are its own: its report socket, and the listener of its filter
};

// A process that waits for its command. It has done what all processes of the box do, and the load of its filter, which
// takes the longest of that.
struct spare {
	struct run run;     // the first, since it is what fork_into hands over
	struct command *of; // 0: there is none
	long slots[NSLOTS];
	int ready, go;
};

struct box {
	struct init all; // of all processes together
	struct command *commands[MAX_COMMANDS];
	struct pollfd polled[2 + 2 * MAX_COMMANDS];
	struct spare spare;
	int idle;    // no process is left but a spare
	int running; // so many that the keeper has asked for have not ended
	int wants;   // a spare is to be made when none is running
	char sent[MOST_SENT] __attribute__((aligned(8))); // the last program, if it came in a message
};

static struct box the_box;

// hold keeps the standard descriptors in use, and closes what has come with a program, and what that has opened.
static void hold(void) {
	for (int fd = 0; fd < STANDARD; fd++) SYS3(SYS_dup3, REPORT, fd, O_CLOEXEC);
	SYS3(SYS_close_range, STANDARD, FD_LOOKUPS - 1, 0);
}

// await waits while a word has a value: futex(2). It returns 0 if that takes longer than init can wait for a process.
static int await(const int *word, int value) {
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		if (SYS4(SYS_futex, word, FUTEX_WAIT, value, (&(struct timespec){.tv_sec = END_SECONDS / 2})) == -ETIMEDOUT) return 0;
	return 1;
}

static void release(struct command *c) {
	if (c->in.report >= 0) SYS1(SYS_close, c->in.report);
	c->in.report = -1;
	if (c->in.payload || c->in.listener >= 0) return; // processes that it has left behind have its filter
	c->used = 0;
}

// add finds room for a process. a are the arguments of its fork.
static long add(struct box *b, const long *a, struct command **c) {
	int i = 0;
	for (; i < MAX_COMMANDS && b->commands[i] && b->commands[i]->used; i++) {}
	if (i == MAX_COMMANDS) return -EUSERS;
	if (!b->commands[i]) {
		long p = brig_sys(SYS_mmap, 0, sizeof **c, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p < 0 && p > -4096) return p;
		b->commands[i] = (struct command *)p;
	}
	*c = b->commands[i];
	**c = (struct command){.in = {.report = -1, .listener = -1, .denies = (uint32_t)a[4], .mode = (int)a[5],
		.end.type = REPORT_EXIT}, .fds = FIRST + 2 * i};
	return 0;
}

// fork_into creates a process, which performs a program from where it is: clone(2). It borrows init's memory until its
// execve(2), and shares init's descriptors.
static int fork_into(struct command *c, int (*f)(void *), char *stack, int signal, struct run *r) {
	r->child = 1;
	int pid = clone(f, stack, CLONE_VM | CLONE_FILES | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | signal, r, &r->tid, 0,
		&r->tid);
	if (pid < 0) return -errno;
	c->used = 1;
	c->in.payload = pid;
	return 0;
}

// listen_to keeps the listener that a process has left in a slot.
static void listen_to(struct command *c, long slot, const long *slots) {
	if (slot && slots[slot] >= 0 && SYS3(SYS_dup3, slots[slot], c->fds + 1, O_CLOEXEC) >= 0) c->in.listener = c->fds + 1;
}

// report_to keeps the report socket of a process.
static long report_to(struct command *c, long fd) {
	long err = SYS3(SYS_dup3, fd, c->fds, O_CLOEXEC);
	if (err >= 0) c->in.report = c->fds;
	return err < 0 ? err : 0;
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
	if (r->a && c->in.report >= 0) SYS4(SYS_recvfrom, FD_LOOKUPS, r->lookup, sizeof r->lookup, MSG_DONTWAIT);
	if (c->in.report >= 0) brig_report(&c->in);
	if (p.revents & POLLHUP) {
		SYS1(SYS_close, c->in.listener);
		c->in.listener = -1;
	}
	c->in.payload = 0;
	release(c);
}

// drop_spare ends a spare: kill(2).
static void drop_spare(struct box *b) {
	struct command *c = b->spare.of;
	b->spare.of = 0;
	if (!c) return;
	SYS2(SYS_kill, c->in.payload, SIGKILL);
	SYS4(SYS_wait4, c->in.payload, 0, __WALL, 0);
	finish(c);
}

// wait_for_command is the life of a spare.
static int wait_for_command(void *spare) {
	struct spare *s = spare;
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &(uint64_t){0}, 0, 8);
	if (brig_run(&s->run) >= 0) SYS1(SYS_exit_group, 125); // the next command meets the same error, and reports it
	__atomic_store_n(&s->ready, 1, __ATOMIC_RELEASE);
	SYS3(SYS_futex, &s->ready, FUTEX_WAKE, 1);
	while (!__atomic_load_n(&s->go, __ATOMIC_ACQUIRE)) SYS4(SYS_futex, &s->go, FUTEX_WAIT, 0, 0);
	return brig_perform(&s->run);
}

// make_spare makes one from the last program, if that begins a process, and waits for it. Its exit signal is none, so
// that it does not count as a process of the box: waitid(2). execve(2) makes that SIGCHLD.
static void make_spare(struct box *b) {
	static char stack[64 << 10] __attribute__((aligned(16)));
	struct spare *s = &b->spare;
	struct op *o = (struct op *)(b->sent + sizeof(struct header));
	const long *a = (const long *)o->a;
	b->wants = 0;
	if (o->nr != OP_FORK || !a[3] || add(b, a, &s->of)) return;
	s->run = (struct run){.base = b->sent, .slots = s->slots, .next = 1, .end = 1 + (uint32_t)a[3]};
	s->slots[a[1]] = -1;
	s->ready = s->go = 0;
	if (fork_into(s->of, wait_for_command, stack + sizeof stack, 0, &s->run)) {
		s->of = 0;
		return;
	}
	for (int n = 0; n < 1000 && !__atomic_load_n(&s->ready, __ATOMIC_ACQUIRE) && s->run.tid == s->of->in.payload; n++)
		SYS4(SYS_futex, &s->ready, FUTEX_WAIT, 0, (&(struct timespec){.tv_nsec = 1000000}));
	if (!s->ready) return drop_spare(b);
	listen_to(s->of, a[1], s->slots);
	hold();
}

// begun waits until a new process has executed its command, or has ended: clone(2) CLONE_CHILD_CLEARTID. Another process
// of the box may have stopped it. It is killed then: nothing may keep init from the others.
static int begun(struct command *c, const struct run *by) {
	while (!await(&by->tid, (int)c->in.payload)) SYS2(SYS_kill, c->in.payload, SIGKILL);
	return !by->err;
}

// hand_over has a spare perform what it has not done yet. It fails if another process of the box has lowered the limits of
// the spare, or has ended it. A spare that has not executed its command still has no exit signal: waitid(2) __WCLONE.
static int hand_over(struct spare *s, const long *a, const struct run *r) {
	struct command *c = s->of;
	s->of = 0;
	s->run.base = r->base;
	s->run.slots = r->slots;
	s->run.next = r->next + (uint32_t)a[3];
	s->run.end = 0;
	SYS2(SYS_kill, c->in.payload, SIGCONT); // another process of the box may have stopped it
	__atomic_store_n(&s->go, 1, __ATOMIC_RELEASE);
	SYS3(SYS_futex, &s->go, FUTEX_WAKE, 1);
	return begun(c, &s->run) && brig_sys(SYS_waitid, P_PID, c->in.payload, (long)&(siginfo_t){0},
		WEXITED | WNOHANG | WNOWAIT | __WCLONE, 0, 0) == -ECHILD;
}

// brig_command begins a process of the box: it performs the rest of the program, as a jail's payload does (fork_init). A
// spare has performed the first a[3] operations of that.
long brig_command(const long *a, struct run *r) {
	static char stack[64 << 10] __attribute__((aligned(16)));
	struct box *b = r->box;
	struct command *c = a[3] ? b->spare.of : 0;
	uint64_t slot = (uint64_t)a[1];
	uint32_t left = ((struct header *)r->base)->nops - r->next;
	if (slot >= NSLOTS || (uint64_t)a[3] > left || (uint64_t)a[5] >> INIT_TERMINAL) return -EINVAL;
	if (slot) r->slots[slot] = -1;
	if (c && (report_to(c, a[0]) || !hand_over(&b->spare, a, r))) {
		release(c); // it ends
		c = 0;
	}
	if (!c) {
		drop_spare(b); // it cannot be used, and takes room
		long err = add(b, a, &c);
		if (!err) err = report_to(c, a[0]);
		if (!err) err = fork_into(c, brig_perform, stack + sizeof stack, SIGCHLD, r);
		if (err && c) release(c);
		if (err) return err;
		begun(c, r);
		listen_to(c, a[1], r->slots);
	}
	r->next += left;
	b->idle = 0;
	if (!r->err) {
		brig_tell(c->in.report, REPORT_EXEC, (int)c->in.payload, 0);
		return 0;
	}
	brig_tell(c->in.report, REPORT_FAIL, r->op, r->err);
	r->err = 0;
	release(c); // its end, which is near, is not reported
	return 0;
}

static void reap(struct box *b);

// end ends the box. Init waits for the signals of all processes, and a spare has none.
static void end(struct box *b) {
	drop_spare(b);
	brig_end(&b->all, SIGKILL, 1);
}

// perform takes a program of the keeper's.
static void perform(struct box *b) {
	static long slots[NSLOTS];
	size_t size = sizeof b->sent;
	char *base = b->sent;
	reap(b); // a process that has ended before may have changed a spare
	memset(slots, 0, sizeof slots);
	int n = brig_load(REPORT, &base, &size, slots, NSLOTS);
	struct run r = {.base = base, .slots = slots, .box = b, .err = n < 0 ? -n : 0};
	if (n == 0) end(b);
	int op = n < 0 || ((struct header *)base)->kind != KIND_SUFFIX ? 0 : brig_run(&r);
	if (op >= 0 && slots[SLOT_REPORT] > 0) brig_tell((int)slots[SLOT_REPORT], REPORT_FAIL, op, r.err ? r.err : EBADMSG);
	if (base && base != b->sent) SYS2(SYS_munmap, base, size);
	hold();
}

// told does what the keeper asks of the whole box.
static void told(struct box *b) {
	char what = 0;
	if (SYS4(SYS_recvfrom, REPORT, &what, 1, MSG_PEEK | MSG_DONTWAIT) == -EAGAIN) return;
	if (what == TELL_PROGRAM) return perform(b);
	SYS3(SYS_read, REPORT, &what, 1);
	if (what == TELL_STOP || what == TELL_CONTINUE) SYS2(SYS_kill, -1, what == TELL_STOP ? SIGSTOP : SIGCONT);
	else end(b);
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

// reap collects the processes that have ended. Each may have changed a spare (prlimit(2), setpriority(2)), which must not
// pass that on to a process that comes later.
static void reap(struct box *b) {
	for (int n = 0; n < 64; n++) {
		siginfo_t si = {0};
		struct rusage ru;
		struct command *c = 0;
		int status;
		brig_sys(SYS_waitid, P_ALL, 0, (long)&si, WEXITED | WNOHANG | WNOWAIT | __WALL, 0, 0);
		if (!si.si_pid) {
			b->idle = brig_sys(SYS_waitid, P_ALL, 0, (long)&si, WEXITED | WNOHANG | WNOWAIT, 0, 0) == -ECHILD;
			return;
		}
		for (int i = 0; i < MAX_COMMANDS && b->commands[i] && !c; i++)
			if (b->commands[i]->used && b->commands[i]->in.payload == si.si_pid) c = b->commands[i];
		if (c) SYS2(SYS_clock_gettime, ~(long)si.si_pid << 3, &c->in.cpu); // CPUCLOCK_PROF: clock_getcpuclockid(3)
		SYS4(SYS_wait4, si.si_pid, &status, __WALL, &ru);
		if (!c || c != b->spare.of) drop_spare(b);
		else b->spare.of = 0;
		if (!c) continue;
		b->wants |= c->in.report >= 0;
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
	b->running = 0;
	p[0] = (struct pollfd){.fd = REPORT, .events = POLLIN};
	p[1] = (struct pollfd){.fd = SIGNALS, .events = POLLIN};
	for (int i = 0; i < MAX_COMMANDS && b->commands[i]; i++, n += 2) {
		struct command *c = b->commands[i];
		p[n] = p[n + 1] = (struct pollfd){.fd = -1};
		if (!c->used) continue;
		if (c->ending && !kill_session(c->in.payload) && c->ended) finish(c);
		*hurry |= c->used && c->ending && c->in.payload;
		b->running += c->used && c->in.payload && c != b->spare.of;
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
		if (b->wants && !b->running && !b->spare.of) make_spare(b);
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

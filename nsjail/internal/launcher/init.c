// Process 1 of a jail. Its memory holds nothing of the keeper's, it is not dumpable, and its only descriptors are those
// below, FD_LOOKUPS, and the jail's tmpfs mounts from FD_DISK on.
#include "init.h"
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>

#define LESS(a, b) ((a) < (b) ? (a) : (b))
#define MORE(a, b) ((a) > (b) ? (a) : (b))

enum { REPORT, SIGNALS, LISTENER, TERMINAL, NFDS };

void brig_tell(int fd, int type, int a, int b) {
	struct report r = {.type = type, .a = a, .b = b};
	while (SYS3(SYS_write, fd, &r, sizeof r) == -EINTR) {}
}

// measure records what each tmpfs contains, and the most that it has contained: statfs(2). The time to the next look is one
// in which none can be filled, of which a page or a file takes a microsecond, but at least a millisecond, and longer from
// look to look where nothing changes.
void brig_measure(struct init *in) {
	uint64_t room = 1 << 18;
	for (int i = 0; i < in->disks; i++) {
		__typeof__(*in->end.disks) *d = in->end.disks + i;
		uint64_t was = d->now.f_bfree + d->now.f_ffree;
		if (!SYS2(SYS_fstatfs, FD_DISK + i, &d->now) && was != d->now.f_bfree + d->now.f_ffree) in->look = 800000;
		d->blocks = MORE(d->blocks, d->now.f_blocks - d->now.f_bfree);
		d->inodes = MORE(d->inodes, d->now.f_files - d->now.f_ffree);
		room = LESS(room, LESS(d->now.f_bfree, d->now.f_ffree));
	}
	in->look = MORE((long)room * 1000, LESS(in->look / 4 * 5, 1l << 28));
}

// told reads a byte of the keeper's. It returns 0 if that asks for the end, as the end of the socket does. Otherwise it
// sets who has the foreground of the payload's terminal, the payload's group or init's: tcsetpgrp(3).
static int told(const struct init *in) {
	char what = 0;
	SYS3(SYS_read, REPORT, &what, 1);
	if (what) SYS3(SYS_ioctl, TERMINAL, TIOCSPGRP, // a pid_t
		&(int){(int)(what == TELL_FOREGROUND ? in->payload : SYS1(SYS_getpgid, 0))});
	if (what == TELL_FOREGROUND) SYS2(SYS_kill, -in->payload, SIGCONT);
	return what;
}

// brig_report sends the last report, and the counters of refused calls behind it.
void brig_report(struct init *in) {
	while (SYS3(SYS_write, in->report, &in->end, sizeof in->end) == -EINTR) {}
	if (in->end.denied) SYS3(SYS_write, in->report, in->denied, sizeof in->denied); // all signals are blocked: no EINTR
}

// brig_end kills the other processes of the pid namespace, reaps them, and reports how the payload ended and what all used.
// Init that stays kills none, and waits for them after its report.
void brig_end(struct init *in, int status, int asked) {
	struct report *r = &in->end;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) r->own = 0;
	r->a = r->own ? SIGSYS : status; // as after SECCOMP_RET_KILL_PROCESS
	r->b = asked ? END_ASKED : 0;
	brig_measure(in);
	if (status) SYS4(SYS_recvfrom, FD_LOOKUPS, r->lookup, sizeof r->lookup, MSG_DONTWAIT);
	// All others are children of init or their descendants. kill(2) looks at every process of the machine. Without a pid
	// namespace, init's Landlock domain keeps the signal from all that are not in it: landlock(7), scoped.
	long p = in->mode & INIT_STAYS ? -ECHILD : SYS4(SYS_wait4, -1, 0, __WALL | WNOHANG, 0);
	// A label may forbid the signal (apparmor(7)). The kernel then ends them with the namespace.
	if (p != -ECHILD && SYS2(SYS_kill, -1, SIGKILL) == -EACCES) r->b |= END_LEFT;
	if (p != -ECHILD && !asked) { // they run no more, and keep their names until they are reaped
		brig_tell(in->report, REPORT_OTHERS, 0, 0);
		told(in);
	}
	for (; p >= 0 && !(r->b & END_LEFT); p = SYS4(SYS_wait4, -1, 0, __WALL | WNOHANG, 0)) // ECHILD: none is left
		if (!p && SYS4(SYS_rt_sigtimedwait, &(uint64_t){1ull << (SIGCHLD - 1)}, 0,
			&(struct timespec){.tv_sec = END_SECONDS}, 8) == -EAGAIN) // from the end of one process to the next
			r->b |= END_LEFT;
	SYS2(SYS_getrusage, RUSAGE_CHILDREN, &r->usage);
	r->usage.ru_ixrss = in->cpu.tv_sec * 1000 + in->cpu.tv_nsec / 1000000; // Linux leaves it 0
	brig_report(in);
	while (in->mode & INIT_STAYS && SYS4(SYS_wait4, -1, 0, __WALL, 0) != -ECHILD) {}
	SYS1(SYS_exit_group, 0);
}

// may_trace reports whether a call asks for PTRACE_O_TRACEEXIT and is permitted. Two processes that trace each other with
// it survive SIGKILL, so only one process at a time may ask (debug.json). It must be the leader of its threads, since
// execve(2) would change the number of another thread.
static int may_trace(struct init *in, const struct seccomp_notif *n) {
	uint32_t r = (uint32_t)n->data.args[0];
	if (!(in->mode & INIT_TRACES) || n->data.nr != SYS_ptrace || !(n->data.args[3] & PTRACE_O_TRACEEXIT) ||
		(r != PTRACE_SEIZE && r != PTRACE_SETOPTIONS && r != 21)) return 0; // PTRACE_OLDSETOPTIONS
	if (SYS3(SYS_tgkill, in->tracer, in->tracer, 0)) in->tracer = n->pid; // the last one is gone
	return in->tracer == n->pid && !SYS3(SYS_tgkill, n->pid, n->pid, 0);
}

// deny answers a call that the filter refuses with EPERM, and counts it. It looks at the number and the registers only,
// never at memory. A call that a signal has interrupted is not there any more (ENOENT): it will be made again.
static void deny(struct init *in, const struct seccomp_notif *n) {
	struct seccomp_notif_resp a = may_trace(in, n) ?
		(struct seccomp_notif_resp){.id = n->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE} :
		(struct seccomp_notif_resp){.id = n->id, .error = -EPERM};
	if (!SYS3(SYS_ioctl, in->listener, SECCOMP_IOCTL_NOTIF_SEND, &a) && a.error)
		in->end.denied += !in->denied[(uint32_t)n->data.nr < CALLS ? n->data.nr : CALLS - 1]++;
}

// brig_notice takes one notice of the filter: of a call that it refuses, or of one that it answers with death. The latter's
// process is killed: nothing else ends the call, and it is never performed. The notice names a thread; kill(2) takes a
// thread for its process.
void brig_notice(struct init *in) {
	struct seccomp_notif n = {0}; // seccomp_unotify(2): it must be zero
	if (SYS3(SYS_ioctl, in->listener, SECCOMP_IOCTL_NOTIF_RECV, &n)) return; // ENOENT: the process has ended before
	if (n.data.arch == in->denies && !X32(n.data.nr)) return deny(in, &n);
	int own = !SYS3(SYS_tgkill, in->payload, n.pid, 0); // one of the payload's threads
	if (!in->end.count++ || (own && !in->end.own)) {
		in->end.nr = n.data.nr;
		in->end.arch = n.data.arch;
	}
	in->end.own |= own;
	if (n.pid > 1) SYS2(SYS_kill, n.pid, SIGKILL); // 0 is init's process group
}

// forward passes on a signal that the keeper, init's parent, has sent. In a pid namespace the numbers of both are 0. A
// payload can claim the same, but not with the si_code of kill(2): rt_sigqueueinfo(2). The keys of a terminal reach the
// payload's process group. Only an ordered jail's payload may lead none: setsid(2).
static void forward(struct init *in) {
	struct signalfd_siginfo si;
	if (SYS3(SYS_read, SIGNALS, &si, sizeof si) != sizeof si || si.ssi_pid != SYS1(SYS_getppid, 0) ||
		si.ssi_code != SI_USER) return;
	if (si.ssi_signo == SIGTSTP || si.ssi_signo == SIGCONT) SYS2(SYS_kill, -1, si.ssi_signo == SIGTSTP ? SIGSTOP : SIGCONT);
	else if ((si.ssi_signo != SIGINT && si.ssi_signo != SIGQUIT) || SYS2(SYS_kill, -in->payload, si.ssi_signo))
		SYS2(SYS_kill, in->payload, si.ssi_signo);
}

// stopped ends the tracing of a process that has made its parent, init, its tracer. It passes on the signal that the
// process has stopped for, unless that is SIGTRAP, which an execve(2) causes: ptrace(2), PTRACE_TRACEME. A payload that is
// not traced has been stopped for its terminal.
static void stopped(const struct init *in, long pid, int sig) {
	if (SYS4(SYS_ptrace, PTRACE_DETACH, pid, 0, sig == SIGTRAP ? 0 : sig) && pid == in->payload)
		brig_tell(REPORT, REPORT_STOP, sig, 0);
}

// keep_descriptors moves those that init needs to their fixed numbers and closes all others: close_range(2).
static void keep_descriptors(int report, int listener, int disks, int terminal) {
	SYS3(SYS_dup3, report, REPORT, 0);
	SYS3(SYS_close_range, SIGNALS, listener < 0 ? LISTENER : SIGNALS, 0);
	if (listener >= 0) SYS3(SYS_dup3, listener, LISTENER, 0);
	if (terminal >= 0) SYS3(SYS_dup3, terminal, TERMINAL, 0);
	SYS3(SYS_close_range, terminal < 0 ? TERMINAL : NFDS, disks ? FD_LOOKUPS - 1 : FD_LOOKUPS, 0);
	SYS3(SYS_close_range, FD_DISK + disks, ~0u, 0);
	SYS4(SYS_signalfd4, -1, &(uint64_t){~0ull}, 8, 0); // the lowest free number: SIGNALS
}

// brig_init reaps, forwards signals, answers for the filter, and ends the jail with the payload or the keeper. It does one
// thing of each kind in turn, so that a flood of one does not hide another. a are the arguments of fork_init.
void brig_init(long payload, const long *a, int listener, struct run *run) {
	static struct init in = {.report = REPORT, .listener = LISTENER, .look = FIRST_LOOK, .end.type = REPORT_EXIT};
	in.payload = payload, in.disks = (int)a[2], in.denies = (uint32_t)a[4], in.mode = (int)a[5];
	int slot = in.mode >> INIT_TERMINAL;
	keep_descriptors((int)a[0], listener, in.disks, slot ? (int)run->slots[slot] : -1);
	if (run->err) brig_tell(REPORT, REPORT_FAIL, run->op, run->err);
	brig_tell(REPORT, REPORT_EXEC, (int)payload, 0);
	struct pollfd p[TERMINAL] = {{.fd = in.mode & INIT_STAYS ? -1 : REPORT, .events = POLLIN}, {.fd = SIGNALS, .events = POLLIN},
		{.fd = listener < 0 ? -1 : LISTENER, .events = POLLIN}};
	for (;;) {
		int status, reaped = 0;
		long pid;
		SYS2(SYS_clock_gettime, ~payload << 3, &in.cpu); // CPUCLOCK_PROF of a process: clock_getcpuclockid(3)
		for (; reaped < 64 && (pid = SYS4(SYS_wait4, -1, &status, WNOHANG | __WALL | (slot ? WUNTRACED : 0), 0)) > 0; reaped++)
			if (WIFSTOPPED(status)) stopped(&in, pid, WSTOPSIG(status));
			else if (pid == payload) brig_end(&in, status, 0);
		// a flood of zombies must not hide the other events
		if (!SYS4(SYS_ppoll, p, TERMINAL, reaped == 64 ? &(struct timespec){0} :
			in.disks ? &(struct timespec){.tv_nsec = in.look} : 0, 0)) brig_measure(&in);
		// a byte from the keeper asks for the end: SIGKILL would lose what the jail's processes have used. A keeper that
		// is gone asks for the same, since without a pid namespace they would outlive init
		if (p[REPORT].revents && !told(&in)) brig_end(&in, SIGKILL, 1);
		if (p[LISTENER].revents & POLLIN) brig_notice(&in);
		else if (p[LISTENER].revents) p[LISTENER].fd = -1; // POLLHUP: no process has the filter any more
		if (p[SIGNALS].revents & POLLIN) forward(&in);
	}
}

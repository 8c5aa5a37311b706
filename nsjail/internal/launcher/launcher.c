// The launcher: the small process that performs a program of system calls (package program) on behalf of a keeper.
//
//	keeper --[memfd with the program + descriptors, SCM_RIGHTS]--> launcher --clone3--> jail --[report socket]--> keeper
//
// It is this same binary, taken over by a constructor before the Go runtime starts: single-threaded, a few pages of
// memory, nothing to lock. It decides nothing and parses nothing but a header whose every offset it checks first.
// A spawned process becomes the *keeper's* child (CLONE_PARENT). Its process 1 is init (init.c) unless the program
// has no fork_init. Every system call is raw: no libc state survives clone3(2).
#include "launcher.h"

// brig_check accepts a program only if every offset in it stays inside it, and makes pointers of the offsets.
int brig_check(char *base, size_t size, int nfds) {
	struct header *h = (struct header *)base;
	if (size < sizeof *h || h->magic != MAGIC || h->size != size) return -EBADMSG;
	uint64_t ops_end = sizeof *h + (uint64_t)h->nops * sizeof(struct op);
	uint64_t want = (ops_end + 4ull * h->nreloc + 7) & ~7ull;
	if (want != h->dataoff || h->dataoff >= size || (int)h->nfds != nfds || h->kind > KIND_LATER) return -EBADMSG;
	if (h->cgroup < -1 || h->cgroup >= nfds || h->netns < 0 || h->netns >= nfds || base[size - 1] != 0) return -EBADMSG;
	uint64_t len = size - h->dataoff;
	char *data = base + h->dataoff;
	struct op *o = (struct op *)(base + sizeof *h);
	for (uint32_t i = 0; i < h->nops; i++, o++)
		for (int k = 0; k < 6; k++) {
			if (o->data & o->slots & (1 << k)) return -EBADMSG;
			if (o->slots & (1 << k) && o->a[k] >= NSLOTS) return -EBADMSG;
			if (!(o->data & (1 << k))) continue;
			if (o->a[k] >= len) return -EBADMSG;
			o->a[k] += (uint64_t)(uintptr_t)data;
		}
	uint32_t *rel = (uint32_t *)(base + ops_end);
	for (uint32_t i = 0; i < h->nreloc; i++) {
		if (rel[i] % 8 || rel[i] + 8ull > len) return -EBADMSG;
		uint64_t *cell = (uint64_t *)(data + rel[i]);
		if (*cell >= len) return -EBADMSG; // also a cell that is named twice
		*cell += (uint64_t)(uintptr_t)data;
	}
	return 0;
}

// same is 0 if fd is the file dev:ino: the one that the keeper holds open, so the number cannot have been reused.
static long same(int fd, uint64_t dev, uint64_t ino) {
	struct stat st;
	if (fstat(fd, &st)) return -errno;
	return st.st_dev == dev && st.st_ino == ino ? 0 : -ESTALE;
}

static int perform(void *rest);

// post has init tell its child that it has come so far, and join waits until it has so many times: futex(2).
static long post(struct rest *own) {
	__atomic_add_fetch(&own->of->posts, 1, __ATOMIC_RELEASE);
	return SYS3(SYS_futex, &own->of->posts, FUTEX_WAKE, 1);
}

static long join(struct rest *r, int posts) {
	long err = 0;
	for (int n; err >= 0 && (n = __atomic_load_n(&r->posts, __ATOMIC_ACQUIRE)) < posts;)
		if ((err = SYS4(SYS_futex, &r->posts, FUTEX_WAIT, n, 0)) == -EAGAIN || err == -EINTR) err = 0;
	return err;
}

// own_part has init perform its part of the list, and waits until its child has started the payload or failed: the kernel
// clears tid then, and wakes who waits for it in any process, so the futex(2) is no private one.
static void own_part(struct rest *own, int pid) {
	int op = brig_run(own), *tid = &own->of->tid;
	if (op >= 0) {
		brig_tell((int)own->slots[SLOT_REPORT], REPORT_FAIL, op, own->err);
		SYS1(SYS_exit_group, 125); // and with it goes the child
	}
	post(own);
	while (__atomic_load_n(tid, __ATOMIC_ACQUIRE) == pid) SYS4(SYS_futex, tid, FUTEX_WAIT, pid, 0);
}

// fork_init makes the caller init and runs the rest of the program in a child. The child borrows init's memory until
// its execve(2) (CLONE_VM), so it needs a stack of its own, and nothing is copied. It has init's descriptors
// too (CLONE_FILES), so that a filter's listener, which it leaves in slot a[1], is init's; execve(2) gives it a table of
// its own, and every descriptor is close-on-exec. Of the operations that follow, init performs a[3] itself at the same
// time, with the same root and working directory (CLONE_FS); the child goes on behind them. Init goes on when the
// payload has started or failed (CLONE_VFORK, or CLONE_CHILD_CLEARTID).
static long fork_init(const long *a, struct rest *rest) {
	static char stack[64 << 10] __attribute__((aligned(16)));
	uint64_t all = ~0ull, slot = (uint64_t)a[1];
	struct rest own = *rest;
	if (slot >= NSLOTS || (uint64_t)a[2] > MAX_DISKS || (uint64_t)a[3] > ((struct header *)rest->base)->nops - rest->from) return -EINVAL;
	if (slot) rest->slots[slot] = -1;
	own.to = rest->from += (uint32_t)a[3], own.of = rest;
	rest->child = 1;
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, 8);
	int flags = CLONE_VM | CLONE_FILES | SIGCHLD | (a[3] ? CLONE_FS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID : CLONE_VFORK);
	int pid = clone(perform, stack + sizeof stack, flags, rest, &rest->tid, 0, &rest->tid);
	if (pid > 0 && a[3]) own_part(&own, pid);
	if (pid > 0) brig_init(pid, (int)a[0], slot ? (int)rest->slots[slot] : -1, (int)a[2], rest);
	return -errno;
}

// The last program that came to be kept: a Runner sends the same head for each jail of a kind. Its file stays open, so
// that its inode number is no other file's.
static struct { int fd; struct stat st; char *base; size_t size; } kept = {.fd = -1};

// load receives a program and its descriptors. It gives how many, 0 when the other side is gone, or an error.
static int load(int sock, char **base, size_t *size, long *slots, int room) {
	struct stat st;
	int fds[MAX_FDS], keep = 0, n = brig_receive(sock, fds, &keep);
	*base = 0;
	for (int i = 0; i < n && i < room; i++) slots[i] = fds[i];
	if (n <= 0 || n > room || fstat(fds[0], &st)) return n == 0 ? 0 : -EBADMSG;
	if (keep && kept.base && st.st_ino == kept.st.st_ino && st.st_dev == kept.st.st_dev) {
		*base = kept.base, *size = kept.size;
		return (int)((struct header *)*base)->nfds == n ? n : -EBADMSG;
	}
	int err = (*base = brig_map(fds[0], size)) ? brig_check(*base, *size, n) : -EBADMSG;
	if (err || !keep) return err ? err : n;
	if (kept.base) munmap(kept.base, kept.size), close(kept.fd);
	kept.base = *base, kept.size = *size, kept.st = st, kept.fd = fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
	if (kept.fd < 0) kept.base = 0;
	return n;
}

// park waits for the rest of the program and makes it the one under way.
static long park(const long *a, struct rest *r) {
	size_t size;
	char *base;
	if (a[1] < 0 || a[1] >= NSLOTS) return -EINVAL;
	int n = load((int)a[0], &base, &size, r->slots + a[1], NSLOTS - (int)a[1]);
	if (n <= 0) return n ? n : -ECANCELED;
	if (((struct header *)base)->kind != KIND_LATER) return -EBADMSG;
	r->before += ((struct header *)r->base)->nops;
	r->base = base, r->from = 0;
	return 0;
}

// operation performs one.
static long operation(const struct op *o, struct rest *r) {
	long a[6], got;
	for (int k = 0; k < 6; k++) a[k] = o->slots & (1 << k) ? r->slots[o->a[k]] : (long)o->a[k];
	if (o->nr == OP_FORK) return fork_init(a, r);
	if (o->nr == OP_SAME) return same((int)a[0], (uint64_t)a[1], (uint64_t)a[2]);
	if (o->nr == OP_PARK) return park(a, r);
	if (o->nr == OP_JOIN) return join(r, (int)a[0]);
	if (o->nr == OP_POST) return r->of ? post(r) : -EINVAL;
	int tries = 0; // openat2(2): EAGAIN if a rename or mount anywhere on the machine has raced with a ".."
	do got = brig_sys(o->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	while (got == -EAGAIN && o->nr == SYS_openat2 && ++tries < 10000);
	if (o->nr == SYS_write && got >= 0 && got < a[2]) return -ENOSPC; // a full file system, as close as write(2) comes to it
	return got;
}

// brig_run performs a checked program. It gives -1, or the index of the operation that failed, with r->err set.
int brig_run(struct rest *r) {
	while (r->from < ((struct header *)r->base)->nops && (!r->to || r->from < r->to)) {
		struct op *o = (struct op *)(r->base + sizeof(struct header)) + r->from++;
		uint32_t at = r->before + r->from - 1;
		long got = operation(o, r);
		if (got >= 0 || got <= -4096) {
			if (o->save != NO_SLOT) r->slots[o->save] = got;
			continue;
		}
		int ok = 0;
		for (int k = 0; k < 4; k++) ok |= o->ok[k] && o->ok[k] == -got;
		if (ok) continue;
		r->err = (int)-got;
		return (int)at;
	}
	return -1;
}

// perform is the life of a jail's first process, or of init's child: the program, up to execve(2). Of a failure of the
// child init tells, since the payload's filter may not let the child write(2).
static int perform(void *rest) {
	struct rest *r = rest;
	uint64_t none = 0;
	int child = r->child;
	if (child) SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, 8);
	r->op = brig_run(r);
	if (r->op < 0) r->op = (int)(r->before + r->from), r->err = ENOEXEC; // a program that ends without execve(2)
	if (!child) brig_tell((int)r->slots[SLOT_REPORT], REPORT_FAIL, r->op, r->err);
	return (int)SYS1(SYS_exit_group, 125);
}

static int wards[MAX_WARDS], nwards, own_sock = -1;

// prune forgets the wards that have ended; a pidfd is readable then (pidfd_open(2)).
static void prune(void) {
	int n = 0;
	for (int i = 0; i < nwards; i++) {
		struct pollfd p = {.fd = wards[i], .events = POLLIN};
		if (poll(&p, 1, 0) > 0) close(wards[i]);
		else wards[n++] = wards[i];
	}
	nwards = n;
}

// own_ids writes the launcher's ids into the list that it holds; in the new user namespace it will have none.
static char *own_ids(size_t *size) {
	char *base = (char *)brig_ahead_program(size);
	for (int i = 0; base && i < 2; i++) {
		char *at = memmem(base, *size, i ? AHEAD_GID : AHEAD_UID, AHEAD_IDS);
		uint32_t id = i ? getegid() : geteuid();
		if (!at) return 0;
		for (int k = AHEAD_IDS - 1; k >= 0; k--, id /= 10) at[k] = id || k == AHEAD_IDS - 1 ? (char)('0' + id % 10) : ' ';
	}
	return base && !brig_check(base, *size, (int)((struct header *)base)->nfds) ? base : 0;
}

// spawn_ahead makes a default jail's first process before its program is known. It performs what every default jail's
// list begins with, which the keeper finds in its own before it sends that: all this is then done while the keeper
// plans. An operation that fails is met again, and reported. The process waits on a socket of its own, whose closing
// ends it.
static long spawn_ahead(int sock, int begins) {
	size_t size;
	char *base = begins ? own_ids(&size) : 0;
	struct clone_args ca = {.flags = DEFAULT_NAMESPACES | CLONE_PARENT};
	long slots[NSLOTS] = {0}, pid = SYS2(SYS_clone3, &ca, sizeof ca);
	if (pid) return pid < 0 ? 0 : pid; // a request will meet the same error, and report it
	SYS1(SYS_close, own_sock);
	struct rest r = {.base = base, .slots = slots};
	int failed = base ? brig_run(&r) : 0;
	uint32_t done = failed < 0 ? r.from : (uint32_t)failed;
	if (load(sock, &base, &size, slots, NSLOTS) > 0) perform(&(struct rest){.base = base, .slots = slots, .from = done});
	return SYS1(SYS_exit_group, 125);
}

// clone_raised makes a process in a cgroup, or in a network namespace that stood ready. Who may is asked of the caller,
// and root's launcher is nobody: for these calls it raises the capabilities that it has kept. The new user namespace
// gives the child others, for itself, and none here.
static long clone_raised(struct clone_args *ca, int netns) {
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct was[2], may[2];
	if (!(ca->flags & CLONE_NEWUSER)) return -EPERM;
	long err = SYS2(SYS_capget, &h, was);
	if (err) return err;
	memcpy(may, was, sizeof may);
	may[0].effective |= may[0].permitted & (1u << CAP_DAC_OVERRIDE | 1u << CAP_SYS_ADMIN);
	SYS2(SYS_capset, &h, may);
	long pid = netns < 0 ? 0 : SYS2(SYS_setns, netns, CLONE_NEWNET);
	if (!pid) pid = SYS2(SYS_clone3, ca, sizeof *ca);
	if (pid && netns >= 0 && SYS2(SYS_setns, FD_HOME, CLONE_NEWNET)) _exit(1); // the next jail must not be born there
	if (pid && SYS2(SYS_capset, &h, was)) _exit(1); // what was raised must not stay so
	return pid;
}

static void spawn(char *base, long *slots, struct reply *rep) {
	struct header *h = (struct header *)base;
	int pidfd = -1;
	if (h->flags & FLAG_WARD) {
		prune();
		if (nwards == MAX_WARDS) { rep->err = EAGAIN; return; }
	}
	struct clone_args ca = {.flags = h->clone_flags | CLONE_PARENT | CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)&pidfd};
	if (h->cgroup >= 0) ca.flags |= CLONE_INTO_CGROUP, ca.cgroup = (uint64_t)slots[h->cgroup];
	int plain = h->cgroup < 0 && !h->netns;
	long pid = plain ? SYS2(SYS_clone3, &ca, sizeof ca) : clone_raised(&ca, h->netns ? (int)slots[h->netns] : -1);
	if (pid == 0) { // a jail must not hold the keeper's end of the launcher's life, nor its network namespace
		SYS1(SYS_close, own_sock), SYS1(SYS_close, FD_HOME);
		perform(&(struct rest){.base = base, .slots = slots});
	}
	if (pid < 0) { rep->err = (int)-pid; return; }
	rep->pid = (int)pid;
	if (h->flags & FLAG_WARD) wards[nwards++] = pidfd;
	else close(pidfd);
}

// drop makes root's launcher forked early the host user that nobody else is; for a later one the keeper sends a program. Of root's
// capabilities one stays, for clone_raised.
static void drop(void) {
	uint32_t id = PAYLOAD_IDS + (uint32_t)getppid() % PAYLOAD_ID_COUNT;
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2];
	if (geteuid() || SYS2(SYS_capget, &h, d)) return;
	struct __user_cap_data_struct few[2] = {{.permitted = d[0].permitted & 1u << CAP_DAC_OVERRIDE}};
	if (prctl(PR_SET_KEEPCAPS, 1) || SYS2(SYS_setgroups, 0, 0) || SYS3(SYS_setresgid, id, id, id)) return;
	if (SYS3(SYS_setresuid, id, id, id)) return;
	if (SYS2(SYS_capset, &h, few)) _exit(1); // all of root's capabilities must not stay
	prctl(PR_SET_DUMPABLE, 1);
}

// serve performs one request after the other until the keeper is gone.
void brig_serve(int sock, int ahead, int begin) {
	own_sock = sock;
	uint64_t none = 0;
	struct sigaction dfl = {.sa_handler = SIG_DFL}; // all zero, as the kernel's own structure; make(1) ignores signal 32
	for (int s = 1; s < NSIG; s++) SYS4(SYS_rt_sigaction, s, &dfl, 0, 8); // the caller's nohup must not reach the payload
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, 8);
	struct rlimit nofile; // a program may use fixed descriptors above the usual ones; it sets the payload's limit itself
	if (!getrlimit(RLIMIT_NOFILE, &nofile)) nofile.rlim_cur = nofile.rlim_max, setrlimit(RLIMIT_NOFILE, &nofile);
	prctl(PR_SET_NAME, "brig-launcher");
	if (ahead != -1) drop();
	struct reply rep = {.pid = ahead >= 0 ? (int)spawn_ahead(ahead, begin) : 0, .op = ahead == NET_AHEAD ? 1 : -1, .err = begin, .uid = geteuid()};
	close(ahead);
	while (send(sock, &rep, sizeof rep, MSG_NOSIGNAL) > 0) { // the first says who we are
		long slots[NSLOTS] = {0};
		size_t size;
		char *base;
		int n = load(sock, &base, &size, slots, NSLOTS);
		if (n == 0) break;
		struct rest r = {.base = base, .slots = slots};
		rep = (struct reply){.op = -1, .uid = geteuid()};
		if (n < 0) rep.err = -n;
		else if (((struct header *)base)->kind == KIND_SELF) rep.op = brig_run(&r), rep.err = r.err;
		else if (((struct header *)base)->kind == KIND_LATER) rep.err = EBADMSG;
		else spawn(base, slots, &rep);
		if (base && base != kept.base) munmap(base, size);
		for (int i = 0; i < (n > 0 ? n : MAX_FDS) && slots[i] > 0; i++) close((int)slots[i]); // not what a program saved
	}
	for (int i = 0; i < nwards; i++) SYS4(SYS_pidfd_send_signal, wards[i], SIGKILL, 0, 0);
	_exit(0);
}

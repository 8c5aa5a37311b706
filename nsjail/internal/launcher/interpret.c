// The interpreter: it maps a program of system calls (package program), checks every offset in it, performs it up to
// execve(2), and reports an operation that fails. It decides nothing.
//
//	keeper --[memfd with the program + descriptors, SCM_RIGHTS]--> launcher --clone3--> jail --[report socket]--> keeper
//
// Every system call of a jail is raw: no libc state survives clone3(2).
#include "launcher.h"

// receive reads a request and its descriptors: recvmsg(2), cmsg(3). Returns their number, 0 at the end of the socket, or
// -1 for a message that is not a request. What follows the first byte goes to rest.
static int receive(int sock, int *fds, struct iovec *rest) {
	char byte, buf[CMSG_SPACE(MAX_FDS * sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov[] = {{&byte, 1}, *rest};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2, .msg_control = buf, .msg_controllen = sizeof buf};
	ssize_t n;
	while ((n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {}
	if (n <= 0) return 0;
	rest->iov_len = (size_t)n - 1;
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	if (!h || h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) return -1;
	size_t len = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(h), len * sizeof(int));
	if (len + (n > 1) >= 2 && !(m.msg_flags & (MSG_CTRUNC | MSG_TRUNC))) return (int)len;
	for (size_t i = 0; i < len; i++) close(fds[i]);
	return -1;
}

// brig_check accepts a program only if every offset in it stays inside it, and turns the offsets into pointers.
int brig_check(char *base, size_t size, int nfds) {
	struct header *h = (struct header *)base;
	if (size < sizeof *h || h->magic != MAGIC || h->size != size) return -EBADMSG;
	uint64_t ops_end = sizeof *h + (uint64_t)h->nops * sizeof(struct op);
	uint64_t want = (ops_end + 4ull * h->nreloc + 7) & ~7ull;
	if (want != h->dataoff || h->dataoff >= size || base[size - 1] != 0 || (int)h->nfds != nfds || h->kind > KIND_LEAVE ||
		h->cgroup < -1 || h->cgroup >= nfds || h->netns < 0 || h->netns >= nfds) return -EBADMSG;
	uint64_t len = size - h->dataoff;
	char *data = base + h->dataoff;
	struct op *o = (struct op *)(base + sizeof *h);
	for (uint32_t i = 0; i < h->nops; i++, o++)
		for (int k = 0; k < 6; k++) {
			int bit = 1 << k;
			if (o->data & o->slots & bit) return -EBADMSG;
			if (o->slots & bit && o->a[k] >= NSLOTS) return -EBADMSG;
			if (!(o->data & bit)) continue;
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

// brig_load receives a program and its descriptors, which fill the slots, and maps a private copy of it, of at most
// 16 MiB. A short program may instead come in the message, to base, where there is room for size bytes. Returns the number
// of slots that are filled, 0 at the end of the socket, or -errno.
int brig_load(int sock, char **base, size_t *size, long *slots, int room) {
	struct stat st;
	struct iovec rest = {*base, *size};
	int fds[MAX_FDS];
	int n = receive(sock, fds, &rest);
	int sent = n > 0 && rest.iov_len > 0;
	*base = 0;
	if (n == 0) return 0;
	for (int i = 0; i < n && i + sent < room; i++) slots[i + sent] = fds[i];
	if (n < 0 || n + sent > room || (!sent && fstat(fds[0], &st))) return -EBADMSG;
	*size = sent ? rest.iov_len : (size_t)st.st_size;
	if (*size < sizeof(struct header) || *size > 16 << 20) return -EBADMSG;
	char *p = sent ? rest.iov_base : mmap(0, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fds[0], 0);
	if (p == MAP_FAILED) return -EBADMSG;
	*base = p;
	return brig_check(p, *size, n + sent) ? -EBADMSG : n + sent;
}

// same returns 0 if fd is the file dev:ino, which the keeper holds open: its inode number cannot be used again.
static long same(int fd, uint64_t dev, uint64_t ino) {
	struct stat st;
	if (fstat(fd, &st)) return -errno;
	return st.st_dev == dev && st.st_ino == ino ? 0 : -ESTALE;
}

// signal_child tells init's child that init has reached this operation: futex(2).
static long signal_child(struct run *init_part) {
	__atomic_add_fetch(&init_part->of->signals, 1, __ATOMIC_RELEASE);
	return SYS3(SYS_futex, &init_part->of->signals, FUTEX_WAKE, 1);
}

// wait_for_init waits until init has done so n times: futex(2).
static long wait_for_init(struct run *r, int n) {
	for (;;) {
		int seen = __atomic_load_n(&r->signals, __ATOMIC_ACQUIRE);
		if (seen >= n) return 0;
		long err = SYS4(SYS_futex, &r->signals, FUTEX_WAIT, seen, 0);
		if (err < 0 && err != -EAGAIN && err != -EINTR) return err;
	}
}

// run_init_part has init perform its part of the list. It then waits until its child has started the payload or failed:
// the kernel clears tid at that moment, and wakes the waiters of any process, so the futex(2) is not a private one.
static void run_init_part(struct run *part, int pid) {
	int op = brig_run(part);
	int *tid = &part->of->tid;
	if (op >= 0) {
		brig_tell((int)part->slots[SLOT_REPORT], REPORT_FAIL, op, part->err);
		SYS1(SYS_exit_group, 125); // ends the child as well
	}
	signal_child(part);
	while (__atomic_load_n(tid, __ATOMIC_ACQUIRE) == pid) SYS4(SYS_futex, tid, FUTEX_WAIT, pid, 0);
}

// fork_init makes the caller init, and performs the remaining operations in a child: clone(2). The child borrows init's
// memory until its execve(2) (CLONE_VM), so it needs a stack, and nothing is copied. It shares init's descriptors
// (CLONE_FILES), so that the listener of its filter, which it leaves in slot a[1], is also init's; execve(2) unshares
// them, and each is close-on-exec. Of the operations that follow, init performs the first a[3] itself at the same time,
// with the same root and working directory (CLONE_FS); the child performs those behind them. Init goes on when the
// payload has started or failed (CLONE_VFORK, or CLONE_CHILD_CLEARTID). The other arguments are brig_init's.
static long fork_init(const long *a, struct run *r) {
	static char stack[64 << 10] __attribute__((aligned(16)));
	uint64_t slot = (uint64_t)a[1];
	uint64_t part = (uint64_t)a[3];
	if (slot >= NSLOTS || (uint64_t)a[2] > MAX_DISKS || (uint64_t)a[5] >> INIT_TERMINAL >= NSLOTS || part > ((struct header *)r->base)->nops - r->next) return -EINVAL;
	if (slot) r->slots[slot] = -1;
	struct run init_part = *r;
	r->next += (uint32_t)part;
	r->child = 1;
	init_part.end = r->next;
	init_part.of = r;
	int flags = CLONE_VM | CLONE_FILES | SIGCHLD;
	flags |= part ? CLONE_FS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID : CLONE_VFORK;
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &(uint64_t){~0ull}, 0, 8);
	int pid = clone(brig_perform, stack + sizeof stack, flags, r, &r->tid, 0, &r->tid);
	if (pid < 0) return -errno;
	if (part) run_init_part(&init_part, pid);
	brig_init(pid, a, slot ? (int)r->slots[slot] : -1, r);
}

// wait_for_suffix waits for the second part of the program and continues with it.
static long wait_for_suffix(const long *a, struct run *r) {
	size_t size = 0;
	char *base = 0;
	if (a[1] < 0 || a[1] >= NSLOTS) return -EINVAL;
	int n = brig_load((int)a[0], &base, &size, r->slots + a[1], NSLOTS - (int)a[1]);
	if (n <= 0) return n ? n : -ECANCELED;
	if (((struct header *)base)->kind != KIND_SUFFIX) return -EBADMSG;
	r->before += ((struct header *)r->base)->nops;
	r->base = base;
	r->next = 0;
	return 0;
}

static long operation(const struct op *o, struct run *r) {
	long a[6], got;
	for (int k = 0; k < 6; k++) a[k] = o->slots & (1 << k) ? r->slots[o->a[k]] : (long)o->a[k];
	switch (o->nr) {
	case OP_FORK: return r->box ? brig_command(a, r) : fork_init(a, r);
	case OP_SAME: return same((int)a[0], (uint64_t)a[1], (uint64_t)a[2]);
	case OP_PARK: return wait_for_suffix(a, r);
	case OP_JOIN: return wait_for_init(r, (int)a[0]);
	case OP_SERVE: brig_serve(a);
	case OP_POST: return r->of ? signal_child(r) : -EINVAL;
	}
	int tries = 0; // openat2(2): EAGAIN if a rename or mount anywhere on the machine has raced with a ".."
	do got = brig_sys(o->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	while (got == -EAGAIN && o->nr == SYS_openat2 && ++tries < 10000);
	if (o->nr == SYS_write && got >= 0 && got < a[2]) return -ENOSPC; // a full file system: write(2)
	// an expected text is a fourth argument; the buffer is of zeros, and longer than what is read
	if (o->nr == SYS_read && got >= 0 && o->data & 8 && strcmp((char *)a[1], (char *)a[3])) return -EBADMSG;
	return got;
}

// brig_run performs a checked program. Returns -1, or the index of the operation that failed, with r->err set.
int brig_run(struct run *r) {
	while (r->next < ((struct header *)r->base)->nops && (!r->end || r->next < r->end)) {
		struct op *o = (struct op *)(r->base + sizeof(struct header)) + r->next;
		int at = (int)(r->before + r->next++);
		long got = operation(o, r);
		if (got >= 0 || got <= -4096) { // errno is 4095 at most
			if (o->save != NO_SLOT) r->slots[o->save] = got;
			continue;
		}
		int ok = 0;
		for (int k = 0; k < 4; k++) ok |= o->ok[k] && o->ok[k] == -got;
		if (ok) continue;
		r->err = (int)-got;
		return at;
	}
	return -1;
}

// brig_perform is the life of a jail's first process, and of init's child: the program, up to execve(2). Init reports a
// failure of the child, since the payload's filter may refuse write(2).
int brig_perform(void *run) {
	struct run *r = run;
	int child = r->child;
	if (child) SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &(uint64_t){0}, 0, 8);
	r->op = brig_run(r);
	if (r->op < 0) { // the program has ended without execve(2)
		r->op = (int)(r->before + r->next);
		r->err = ENOEXEC;
	}
	if (!child) brig_tell((int)r->slots[SLOT_REPORT], REPORT_FAIL, r->op, r->err);
	SYS1(SYS_exit_group, 125);
	return 0;
}

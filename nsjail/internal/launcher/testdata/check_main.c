// A driver that feeds malformed programs to the launcher's checker and interpreter, under AddressSanitizer and UBSan.
// The system calls are replaced: each answers at random and reads every string that it is given, so that a pointer
// that leaves the program's memory is seen. usage: check_main BLOB ROUNDS, where BLOB is a valid program.
#ifndef BRIG_CALL
#error "the launcher would make real system calls with random arguments"
#endif
#include "../launcher.h"
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#define clone test_clone
long test_syscall(long nr, ...);
int test_clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#define brig_serve(a) return -EINVAL // a box's init never returns
#include "../interpret.c"

long brig_command(const long *a, struct run *r) {
	(void)a, (void)r;
	return -EINVAL;
}

static uint64_t seed = 88172645463325252ull; // xorshift64: the same rounds every time
static uint64_t rnd(void) { return seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17; }

static char *data;
static size_t len;
static unsigned long accepted, refused, calls, strings, failures;

static void look(long v) {
	if (v < (long)(uintptr_t)data || v >= (long)(uintptr_t)(data + len)) return;
	strings += 1 + (strlen((char *)(uintptr_t)v) & 0); // ASan sees a string that does not end
}

long test_syscall(long nr, ...) {
	va_list ap;
	va_start(ap, nr);
	for (int k = 0; k < 6; k++) look(va_arg(ap, long));
	va_end(ap);
	calls++;
	if (rnd() % 8) return nr == SYS_write ? 1 << 30 : (long)(rnd() % 300);
	errno = 1 + (int)(rnd() % 133);
	return -1;
}

int test_clone(int (*fn)(void *), void *stack, int flags, void *arg, ...) {
	(void)fn, (void)stack, (void)flags, (void)arg;
	errno = EAGAIN; // init() never returns
	return -1;
}

static void must(int ok, const char *what) {
	if (ok) return;
	printf("FAIL %s\n", what);
	failures++;
}

// try checks a program in a buffer of exactly its size, and runs what is accepted.
static int try(const char *blob, size_t size, int nfds) {
	char *p = malloc(size ? size : 1);
	memcpy(p, blob, size);
	int r = brig_check(p, size, nfds);
	if (r) {
		must(r == -EBADMSG, "another error than EBADMSG");
		refused++;
	} else {
		struct header *h = (struct header *)p;
		long slots[NSLOTS] = {0};
		struct run run = {.base = p, .slots = slots};
		data = p + h->dataoff, len = size - h->dataoff;
		for (int i = 0; i < nfds; i++) slots[i] = 3 + i;
		uint32_t *rel = (uint32_t *)(p + sizeof *h + h->nops * sizeof(struct op));
		for (uint32_t i = 0; i < h->nreloc; i++) {
			long to = *(long *)(data + rel[i]);
			must((char *)to >= data && (char *)to < data + len, "a relocated cell points outside");
			look(to);
		}
		int op = brig_run(&run);
		must(op >= -1 && op < (int)h->nops, "an index outside the program");
		must(op < 0 || (run.err > 0 && run.err < 4096), "a failure without errno");
		accepted++;
	}
	free(p);
	return r;
}

static char *good, *buf;
static size_t size;
static struct header *h;
static struct op *op0;

static char *fresh(void) {
	memcpy(buf, good, size);
	h = (struct header *)buf;
	op0 = (struct op *)(buf + sizeof *h);
	return buf;
}

// find returns the first operation with a bit in one of its masks, and the argument.
static struct op *find(int slots, int *k) {
	for (uint32_t i = 0; i < h->nops; i++)
		for (*k = 0; *k < 6; ++*k)
			if ((slots ? op0[i].slots : op0[i].data) & (1 << *k)) return op0 + i;
	abort();
}

static void named(int nfds) {
	int k;
	uint32_t *rel;
	uint64_t dlen;
#define BAD(what, ...) do { fresh(); rel = (uint32_t *)(buf + sizeof *h + h->nops * sizeof(struct op)); \
	dlen = size - h->dataoff; (void)rel; (void)dlen; __VA_ARGS__; must(try(buf, size, nfds) != 0, "accepted: " what); } while (0)
	BAD("magic", h->magic ^= 1);
	BAD("size + 1", h->size++);
	BAD("an operation more", h->nops++);
	BAD("an operation less", h->nops--);
	BAD("2^30 relocations", h->nreloc += 1u << 30);
	BAD("data later", h->dataoff += 8);
	BAD("data earlier", h->dataoff -= 8);
	BAD("no data", h->dataoff = (uint32_t)size);
	BAD("another number of descriptors", h->nfds++);
	BAD("an unknown kind", h->kind = KIND_LEAVE + 1);
	BAD("the cgroup after the last descriptor", h->cgroup = nfds);
	BAD("a negative cgroup", h->cgroup = -2);
	BAD("the network namespace after the last descriptor", h->netns = nfds);
	BAD("a negative network namespace", h->netns = -1);
	BAD("no closing NUL", buf[size - 1] = 1);
	BAD("slot 256", find(1, &k)->a[k] = NSLOTS);
	BAD("slot 2^63", find(1, &k)->a[k] = 1ull << 63);
	BAD("slot and data", struct op *o = find(1, &k); o->data |= (uint8_t)(1 << k));
	BAD("data at its end", find(0, &k)->a[k] = dlen);
	BAD("data far away", find(0, &k)->a[k] = ~0ull - 8);
	BAD("a cell twice", rel[1] = rel[0]);
	BAD("an unaligned cell", rel[0] += 4);
	BAD("a cell over the end", rel[0] = (uint32_t)(dlen & ~7ull));
	BAD("a cell far away", rel[0] = 0xfffffff8u);
	BAD("a cell that points to the end", *(uint64_t *)(buf + h->dataoff + rel[0]) = dlen);
	BAD("a cell that points far away", *(uint64_t *)(buf + h->dataoff + rel[0]) = ~0ull);
	struct { struct header h; char end[64]; } wrap = {.h = {.magic = MAGIC, .size = sizeof wrap, .nops = 1u << 26,
		.dataoff = sizeof wrap.h, .nfds = (uint32_t)nfds, .cgroup = -1}}; // zeros are operations in good order
	must(try((char *)&wrap, sizeof wrap, nfds) != 0, "accepted: operations whose size wraps to 0");
	fresh();
	must(try(buf, size, nfds + 1) != 0, "accepted: a descriptor more than named");
	must(try(buf, size, nfds) == 0, "the valid program is refused");
}

static void systematic(int nfds) {
	for (size_t n = 0; n < size; n++) {
		must(try(fresh(), n, nfds) != 0, "accepted: a truncated program");
		if (n >= sizeof *h) h->size = (uint32_t)n, try(buf, n, nfds);
	}
	for (size_t i = 0; i < size; i++) {
		for (int bit = 0; bit < 8; bit++) fresh()[i] ^= (char)(1 << bit), try(buf, size, nfds);
		fresh()[i] = 0, try(buf, size, nfds);
		fresh()[i] = (char)0xff, try(buf, size, nfds);
	}
	const uint32_t extreme[] = {0, 1, 7, 8, 255, 256, 0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff, (uint32_t)size, (uint32_t)size - 1};
	const size_t n = sizeof extreme / sizeof *extreme, fields = sizeof *h / 4;
	for (size_t i = 0; i < fields * n; i++)
		for (size_t j = 0; j < fields * n; j++) {
			((uint32_t *)fresh())[i / n] = extreme[i % n];
			((uint32_t *)buf)[j / n] = extreme[j % n];
			try(buf, size, nfds);
		}
}

// mutate changes a few words or bytes of the operations, relocations and data, which the header's checks do not catch.
static void mutate(void) {
	fresh();
	for (uint64_t n = 1 + rnd() % 4; n; n--) {
		size_t at = sizeof *h + rnd() % (size - sizeof *h - 1);
		switch (rnd() % 4) {
		case 0: buf[at] = (char)rnd(); break;
		case 1: at &= ~7ull, *(uint64_t *)(buf + at) = rnd() % (2 * size); break;
		case 2: at &= ~3ull, *(uint32_t *)(buf + at) = (uint32_t)(rnd() % size); break;
		case 3: memcpy(buf + (at & ~7ull), buf + sizeof *h + (rnd() % (size - sizeof *h - 8) & ~7ull), 8);
		}
	}
	buf[size - 1] = 0;
}

int main(int argc, char **argv) {
	FILE *f = argc == 3 ? fopen(argv[1], "rb") : 0;
	if (!f) return 2;
	good = malloc(1 << 16), buf = malloc(1 << 16);
	size = fread(good, 1, 1 << 16, f);
	fclose(f);
	fresh();
	int nfds = (int)h->nfds;
	named(nfds);
	systematic(nfds);
	unsigned long before = accepted;
	for (long i = 0; i < atol(argv[2]); i++) mutate(), try(buf, size, nfds);
	must(accepted - before > 100, "too few mutations were accepted to prove anything");
	must(calls > 1000 && strings > 1000, "too few system calls ran");
	printf("accepted %lu, refused %lu, calls %lu, strings %lu, failures %lu\n", accepted, refused, calls, strings, failures);
	free(good), free(buf);
	return failures != 0;
}

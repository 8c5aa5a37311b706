// The layouts that launcher.c shares with package program (blob.go) and launcher.go.
#ifndef BRIG_LAUNCHER_H
#define BRIG_LAUNCHER_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAGIC 0x31475242u
#define OP_FORK 0xffff0001u
#define OP_SAME 0xffff0002u
#define OP_PARK 0xffff0003u
#define OP_JOIN 0xffff0004u
#define OP_POST 0xffff0005u
enum {
	NSLOTS = 256, NO_SLOT = 0xff,
	SLOT_REPORT = 1, // slot 0 is the program itself
	MAX_FDS = 250,   // SCM_MAX_FD is 253: unix(7)
	MAX_WARDS = 1024, KIND_SELF = 1, KIND_LATER = 2, FLAG_WARD = 1,
	PAYLOAD_IDS = 2000000000, // the first host id of root's payloads: above accounts, subordinate ids and systemd's ranges
	PAYLOAD_ID_COUNT = 100000000,
	REPORT_FAIL = 1, // a: index of the operation, b: errno
	REPORT_EXEC = 2, // a: the payload's pid in the jail
	REPORT_EXIT = 3, // a: wait status, b: of END_*
	// the keeper asked for the end; processes are left that SIGKILL did not end in so many seconds
	END_ASKED = 1, END_LEFT = 2, END_SECONDS = 10,
	AHEAD_LAST_CAP = CAP_CHECKPOINT_RESTORE, // what the list that is held ahead takes for the kernel's last: Linux 5.9
	AHEAD_IDS = 10,  // the width of an id in a map
	FD_HOME = 263,   // a prepared launcher's own network namespace
	FD_DISK = 264, MAX_DISKS = 8, // the descriptors of tmpfs mounts that init keeps (package rootfs): the first, how many
};

// The namespaces of a default jail; a launcher forked early makes them while the keeper still plans.
#define DEFAULT_NAMESPACES \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET)

struct header {
	uint32_t magic, size, nops, nreloc, dataoff, nfds, kind;
	int32_t cgroup;
	uint64_t clone_flags;
	uint32_t flags;
	int32_t netns;
};
struct op {
	uint32_t nr;
	uint8_t save, slots, data, pad0;
	uint8_t ok[4]; uint32_t pad1;
	uint64_t a[6];
};
struct reply { int32_t pid, op, err; uint32_t uid; }; // the launcher's
struct report {
	int32_t type, a, b, own; // own: 1 if a violation ended the payload itself
	struct rusage usage;
	int32_t nr; // of the payload's own violation, or of the first
	uint32_t arch, count;
	uint32_t full; // a bit for each disk
	int64_t used;  // bytes, of all disks
};

// What stands for the launcher's ids in the program that a launcher forked early holds.
#define AHEAD_UID "4294967294"
#define AHEAD_GID "4294967293"

// A program under way. After fork_init its child goes on with it in init's memory, up to execve(2).
struct rest {
	char *base; long *slots;
	// the operation to go on with; where to end before the list does, or 0; operations of earlier parts
	uint32_t from, to, before;
	int child;       // it is the payload's process, and not the jail's first
	int op, err;     // what has failed
	int tid, posts;  // of the child, until its execve(2) or end; how often init has told it how far it is
	struct rest *of; // the child's, in init's own part
};

// What the constructor leaves for the keeper: descriptors, or -1, and the launcher's pid.
#define NOTHING_AHEAD (-2) // a launcher forked early that is to make no process before it is asked
#define NET_AHEAD (-3)     // nor that, but it stands in a network namespace that is the jail's
struct early { int launcher, ahead, pid; };

// A system call, or -errno. Every one is raw: no libc state survives clone3(2), and init and its child share one errno,
// so that both may make calls at the same time (fork_init) only where libc has no part in them. A test has a call of its own.
#ifdef BRIG_CALL
long BRIG_CALL(long n, ...);
#elif !defined __x86_64__
#define BRIG_CALL syscall
#endif
static inline long brig_sys(long n, long a, long b, long c, long d, long e, long f) {
#ifdef BRIG_CALL
	long r = BRIG_CALL(n, a, b, c, d, e, f);
	return r == -1 ? -errno : r;
#else
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return n;
#endif
}
#define SYS1(n, a) brig_sys(n, (long)(a), 0, 0, 0, 0, 0)
#define SYS2(n, a, b) brig_sys(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS3(n, a, b, c) brig_sys(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS4(n, a, b, c, d) brig_sys(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

int brig_check(char *base, size_t size, int nfds);
int brig_run(struct rest *r);
void brig_serve(int sock, int ahead, int begin);
unsigned char *brig_ahead_program(size_t *size); // the beginning of the default jail's list, or 0
void brig_tell(int fd, int type, int a, int b); // a report
void brig_init(long payload, int report, int listener, int disks, struct rest *rest); // process 1 of a jail: does not return
int brig_receive(int sock, int *fds, int *keep); // how many descriptors came; 0: the keeper is gone; -1: not a request
char *brig_map(int fd, size_t *size);
void brig_become(int argc, char **argv, char **envp, int sock, int ahead, int begin); // serves and exits
void brig_keeper(int argc, char **argv, char **envp);
struct early brig_early(void);
const void *brig_processors(void); // a cpu_set_t, if the process was put on one of them, or 0
int brig_catch_signals(void); // a pipe with a byte for each signal, or -1
#endif

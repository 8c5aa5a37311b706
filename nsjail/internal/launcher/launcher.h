// What the C files share with each other, with package program (blob.go) and with launcher.go.
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
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAGIC 0x31475242u
#define OP_FORK 0xffff0001u
#define OP_SAME 0xffff0002u
#define OP_PARK 0xffff0003u
#define OP_JOIN 0xffff0004u
#define OP_POST 0xffff0005u
#define OP_SERVE 0xffff0006u
enum {
	NSLOTS = 256,
	NO_SLOT = 0xff,
	SLOT_REPORT = 1, // slot 0 is the program itself
	MAX_FDS = 250,   // SCM_MAX_FD is 253: unix(7)
	MAX_WARDS = 1024,
	FD_HOME = 259,   // the network namespace of a launcher with a prepared tree
	FD_LOOKUPS = 263, // a socket that gets what is sent to closed ports (package netns), of which init reports the first
	FD_DISK = 264,   // the first of the tmpfs mounts that init keeps (package rootfs)
	MAX_DISKS = 8,
	FD_BOX = 272,    // the first of those of a box's init
	FD_NULL = 275,   // its /dev/null
	MOST_SENT = 32 << 10, // the longest program that comes in its message
	MAX_COMMANDS = 256, // processes of a box that the keeper has asked for, and that run or have left some behind
	PAYLOAD_IDS = 2000000000, // the first host id of root's payloads: above accounts, subordinate ids, systemd's ranges
	PAYLOAD_ID_COUNT = 100000000,
	END_SECONDS = 10, // how long processes may take to end after SIGKILL
	MAX_LOOKUP = 328, // headers of IP, ICMP, IP and UDP, and a question of DNS with the longest name
	CALLS = 512,      // more than the numbers of system calls of any ABI
};

// Who performs a program: a new process if 0.
enum { KIND_SELF = 1, KIND_SUFFIX = 2, KIND_LEAVE = 3, FLAG_WARD = 1 };

// Reports. FAIL has the index of the operation and its errno, EXEC the payload's pid in the jail, and EXIT the wait status
// and END_ASKED, if the keeper asked for the end, or END_LEFT, if SIGKILL has not ended all processes. STOP has the signal
// that has stopped the payload, if it has a terminal in place of the caller's. OTHERS comes before EXIT if the payload has
// ended and others have been killed with it: init waits for a byte before it reaps them.
// END_STAYS is in the EXIT of a box's process that has left others behind.
enum { REPORT_FAIL = 1, REPORT_EXEC = 2, REPORT_EXIT = 3, REPORT_STOP = 4, REPORT_OTHERS = 5,
	END_ASKED = 1, END_LEFT = 2, END_STAYS = 4 };

// How init works: one process may trace exits; init outlives the keeper, ends no process, and stays as long as there are
// any, as bubblewrap's does.
#define INIT_TRACES 1
#define INIT_STAYS 2

// The bit from which on the mode has the slot of the terminal in place of the caller's, or 0, and the bytes with which the
// keeper tells init whether the payload has the foreground of that; 0 asks for the end.
#define INIT_TERMINAL 8
enum { TELL_FOREGROUND = 1, TELL_BACKGROUND = 2 };

// What the keeper tells a box's init beside that: a program follows, as descriptors; all processes are to stop, or to go
// on. What it tells it of one process is the number of a signal, or 0 for the end of it and of its session.
enum { TELL_PROGRAM = 3, TELL_STOP = 4, TELL_CONTINUE = 5 };

// The list made ahead: the last capability that it expects of the kernel (Linux 5.9), the width of an id in a map, how many
// operations and bytes of data come before the first that depends on identity or root, how many before the host's tree is
// left, and the placeholders of the launcher's ids.
enum { AHEAD_LAST_CAP = CAP_CHECKPOINT_RESTORE, AHEAD_IDS = 10, AHEAD_COMMON = 58, AHEAD_COMMON_DATA = 96,
	AHEAD_TREE = 189, AHEAD_TREE_DATA = 3752 };
#define AHEAD_UID "4294967294"
#define AHEAD_GID "4294967293"

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
	uint8_t ok[4];
	uint32_t pad1;
	uint64_t a[6];
};
struct reply {
	int32_t pid, op, err;
	uint32_t uid; // the launcher's
};
struct report {
	int32_t type, a, b, own; // own: 1 if a violation ended the payload itself
	struct rusage usage;
	int32_t nr; // of the payload's own violation, or of the first
	uint32_t arch, count;
	uint64_t denied; // how many different calls were refused; if any, their counters follow as another message
	char lookup[MAX_LOOKUP]; // the first message of FD_LOOKUPS, if the payload has failed
	struct {
		struct statfs now;
		uint64_t blocks, inodes; // the most that were in use
	} disks[MAX_DISKS];
};

// A program that is being performed. After fork_init its child continues it in init's memory, up to execve(2).
struct run {
	char *base;
	long *slots;
	uint32_t next;   // the index of the next operation
	uint32_t end;    // where init's part or that of a process made ahead ends, or 0
	uint32_t before; // the operations of earlier parts
	int child;       // it is performed by the payload's process, and not by the jail's first
	int op, err;     // what has failed
	int tid;         // of the child, until its execve(2) or end
	int signals;     // how often init has told it how far it is
	struct run *of;  // in init's part: the child's
	struct box *box; // it is performed by a box's init, which goes on
};

// What the constructor leaves for Go: two sockets or -1, and the launcher's pid. ahead is one of these instead if no
// process is made ahead:
#define NOT_FORKED (-1)    // a launcher that Go has executed
#define NOTHING_AHEAD (-2) // a launcher forked early, for a jail that cannot use a process made ahead
struct early {
	int launcher, ahead, pid;
	uint32_t id; // of root's payloads on the host; up to 1 for one by the keeper's pid
	uint32_t namespaces; // of a process made ahead; 0: there is none
	uint32_t begin; // how much of the list made ahead that performs: 0, 1 for AHEAD_COMMON operations, 2 for all
};

// A system call, or -errno. It is raw: no libc state survives clone3(2), and init and its child share one errno, so both
// may make calls at the same time (fork_init) only without libc. A test defines a call for itself.
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
// Whether a number is that of an x32 call, which has the ABI's number of x86-64: -1 is none.
#ifdef __x86_64__
#define X32(nr) ((uint32_t)(nr) >= 0x40000000 && (nr) != -1)
#else
#define X32(nr) 0
#endif
#define SYS1(n, a) brig_sys(n, (long)(a), 0, 0, 0, 0, 0)
#define SYS2(n, a, b) brig_sys(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS3(n, a, b, c) brig_sys(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS4(n, a, b, c, d) brig_sys(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

// The tricks of the C side that make a start shorter: internal/tricks. A linker can turn them off.
enum trick {
	TRICK_FORK_EARLY, TRICK_SPAWN_AHEAD, TRICK_LIST_AHEAD,
	TRICK_ONE_PROCESSOR, TRICK_NO_QUOTA, TRICK_LATE_TIMERS,
};
extern const char brig_tricks_off[] __attribute__((weak)); // its address is a mask
#define brig_trick(t) (!((uintptr_t)brig_tricks_off >> (t) & 1))

// What brig_launcher_wanted returns for a plain launcher, which stays what its caller is, for payloads that inherit that.
#define WANTS_PLAIN 2
// Likewise, and it is the keeper's parent, not its child: a keeper that leaves has nothing to do while the payload runs.
#define WANTS_PARENT 3
#define PLAIN (brig_early.id == WANTS_PLAIN || brig_early.id == WANTS_PARENT)

// interpret.c
int brig_load(int sock, char **base, size_t *size, long *slots, int room);
int brig_check(char *base, size_t size, int nfds);
int brig_run(struct run *r);
int brig_perform(void *run);

// spawn.c
void brig_become(char **argv, int sock, int ahead); // does not return

// init.c
void brig_tell(int fd, int type, int a, int b); // sends a report
__attribute__((noreturn)) void brig_init(long payload, const long *a, int listener, struct run *run);

// box.c
__attribute__((noreturn)) void brig_serve(const long *a);
long brig_command(const long *a, struct run *r);

// keeper.c
unsigned char *brig_ahead_program(size_t *size); // the beginning of the default jail's list, or 0
extern struct early brig_early;
extern cpu_set_t brig_processors; // the caller's, if the keeper was put on one of them
int brig_catch_signals(void);      // a pipe with a byte for each signal, or -1
#endif

// Process 1 of a jail.
#include "stage.h"

void brig_tell(int fd, int type, int a, int b) {
	struct report r = {.type = type, .a = a, .b = b};
	while (SYS3(SYS_write, fd, &r, sizeof r) == -EINTR) {}
}

// end kills what is left in the pid namespace, reaps it all, and reports how the payload ended and what all used.
static void end(int status, int asked) {
	struct report r = {.type = REPORT_EXIT, .a = status, .b = asked};
	SYS2(SYS_kill, -1, SIGKILL);
	for (;;) {
		long p = SYS4(SYS_wait4, -1, 0, __WALL, 0);
		if (p < 0 && p != -EINTR) break; // ECHILD: all gone
	}
	SYS2(SYS_getrusage, RUSAGE_CHILDREN, &r.usage);
	while (SYS3(SYS_write, 0, &r, sizeof r) == -EINTR) {}
	SYS1(SYS_exit_group, 0);
}

// brig_init is process 1 of the jail: it reaps, forwards signals, and ends the jail with the payload or the keeper. Its
// memory holds nothing of the keeper's, it is not dumpable, and its only descriptors are the report socket and a
// signalfd(2).
void brig_init(long payload, int report) {
	uint64_t all = ~0ull;
	SYS3(SYS_dup3, report, 0, 0);
	SYS3(SYS_close_range, 1, ~0u, 0);
	long sfd = SYS4(SYS_signalfd4, -1, &all, 8, SFD_CLOEXEC);
	brig_tell(0, REPORT_EXEC, (int)payload, 0);
	struct pollfd p[2] = {{.fd = 0, .events = POLLIN}, {.fd = (int)sfd, .events = POLLIN}};
	for (;;) {
		struct signalfd_siginfo si;
		int status;
		long pid;
		while ((pid = SYS4(SYS_wait4, -1, &status, WNOHANG | __WALL, 0)) > 0)
			if (pid == payload) end(status, 0);
		SYS4(SYS_ppoll, p, 2, 0, 0);
		// a byte from the keeper asks for the end: SIGKILL would lose what the jail's processes have used
		if (p[0].revents & POLLIN && SYS3(SYS_read, 0, &si, 1) > 0) end(SIGKILL, 1);
		if (p[0].revents) SYS1(SYS_exit_group, 1); // the keeper is gone, and with us goes the namespace
		if (!(p[1].revents & POLLIN) || SYS3(SYS_read, sfd, &si, sizeof si) != sizeof si) continue;
		if (si.ssi_signo == SIGTSTP) SYS2(SYS_kill, -1, SIGSTOP);
		else if (si.ssi_signo == SIGCONT) SYS2(SYS_kill, -1, SIGCONT);
		else if (si.ssi_signo != SIGCHLD) SYS2(SYS_kill, payload, si.ssi_signo);
	}
}

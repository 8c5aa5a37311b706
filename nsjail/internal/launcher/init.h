// What a jail's init (init.c) and that of a box (box.c) share.
#ifndef BRIG_INIT_H
#define BRIG_INIT_H
#include "launcher.h"

#define FIRST_LOOK 4000000

// A payload, as init holds it.
struct init {
	long payload;
	long tracer;         // the process that may trace exits
	int report, listener;
	struct timespec cpu; // of the payload, as RLIMIT_CPU counts it
	int disks;
	long look;           // nanoseconds from one look at them to the next
	uint32_t denies;     // the ABI whose notices ask for EPERM (AUDIT_ARCH_*); 0: each asks for death
	int mode;            // INIT_TRACES, INIT_STAYS, INIT_TERMINAL
	struct report end;   // the last report
	uint64_t denied[CALLS]; // the refused calls by their numbers; the last counts those of all numbers from there on
};

void brig_measure(struct init *in);
void brig_report(struct init *in);
void brig_end(struct init *in, int status, int asked); // does not return
void brig_notice(struct init *in);
#endif

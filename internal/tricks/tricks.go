// Package tricks lists the optimizations of brig's start, each with a switch. A trick is switched off when a binary is
// linked, and not by its caller or a payload:
//
//	EXTLDFLAGS=-Wl,--defsym=brig_tricks_off=MASK scripts/static.sh build ./cmd/brig
//
// where bit n of MASK is the Trick n. A jail and what is reported of it are the same without any of them.
// BenchmarkTricks of cmd/brig measures each of `brig run`, on and off in turn, and BenchmarkStart of nsjail a Runner;
// one that gains less than 2 % of the start that it is for is removed. The figures are in
// docs/decisions/013-start-up-tricks.md.
package tricks

/*
#include <stdint.h>

extern const char brig_tricks_off[] __attribute__((weak)); // its address is the mask: ld(1) --defsym

static uintptr_t off(void) { return (uintptr_t)brig_tricks_off; }
*/
import "C"

// Trick is one of them. The numbers are also in launcher.h.
type Trick uint

// The tricks, with the file below nsjail/internal that holds each. SideBySide is for a Runner, the others are for
// `brig run`.
const (
	ForkEarly    Trick = iota // launcher/keeper.c: the launcher is forked before the Go runtime starts
	SpawnAhead                // launcher/spawn.c: it creates the jail's first process before the plan is known
	ListAhead                 // launcher/spawn.c: that process performs what every default jail begins with
	OneProcessor              // launcher/keeper.c: Go starts on one processor, with one P, and the launcher on another
	NoQuota                   // launcher/keeper.c: RLIMIT_NOFILE 0 keeps Go from looking for a processor quota
	LateTimers                // launcher/keeper.c: timer slack keeps Go's monitor from interrupting the one processor
	SideBySide                // plan/mode.go: init and the payload's process make the jail at the same time
	DetachMounts              // plan/detach.go: the kernel takes the jail's mounts apart after the run
	OwnerMap                  // plan/mounts.go: the launcher is the user namespace of root's binds, not one more process
)

var names = [...]string{"fork early", "spawn ahead", "list ahead", "one processor", "no quota", "late timers",
	"side by side", "detach mounts", "owner map"}

// All returns the tricks in order.
func All() []Trick {
	list := make([]Trick, len(names))
	for i := range list {
		list[i] = Trick(i)
	}
	return list
}

// String returns the name of a trick.
func (t Trick) String() string { return names[t] }

// On reports whether the binary uses a trick.
func (t Trick) On() bool { return C.off()>>t&1 == 0 }

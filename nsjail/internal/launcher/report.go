package launcher

/*
#include "launcher.h"
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The types of a report, and the meaning of A and B.
const (
	ReportFail = C.REPORT_FAIL // A: operation, B: errno
	ReportExec = C.REPORT_EXEC // A: the payload's pid in the jail
	ReportExit = C.REPORT_EXIT // A: wait status, B: EndAsked, EndLeft
	ReportStop = C.REPORT_STOP // A: the signal that has stopped the payload, which has a terminal of the keeper's
	// ReportOthers comes before ReportExit if others have been killed with the payload: init awaits a byte.
	ReportOthers = C.REPORT_OTHERS
)

// Flags in B of ReportExit: the keeper has asked for the end; processes remain after SIGKILL.
const (
	EndAsked = C.END_ASKED
	EndLeft  = C.END_LEFT
	EndStays = C.END_STAYS // of a box's process: it has left others behind, which go on
)

// The modes of init, for the sixth argument of program.Fork: one process may trace exits; init outlives the keeper,
// ends no process, and stays as long as there are any.
const (
	InitTraces = C.INIT_TRACES
	InitStays  = C.INIT_STAYS
)

// InitTerminal is the bit from which on the mode has the slot of the payload's terminal. TellForeground and
// TellBackground, as a byte to the report socket, tell init whether the payload has its foreground.
const (
	InitTerminal   = C.INIT_TERMINAL
	TellForeground = C.TELL_FOREGROUND
	TellBackground = C.TELL_BACKGROUND
	// TellStop and TellContinue stop all processes of a box, and let them go on.
	TellStop     = C.TELL_STOP
	TellContinue = C.TELL_CONTINUE
)

// EndSeconds is the time in seconds that init, or the keeper of a jail without init, waits for killed processes.
const EndSeconds = C.END_SECONDS

// FDLookups is the descriptor number under which init holds the socket of netns.Loopback, if the jail has one.
const FDLookups = C.FD_LOOKUPS

// MaxCommands is how many processes a box can have that the keeper has asked for, and that run or have left some
// behind.
const MaxCommands = C.MAX_COMMANDS

// BoxFiles is the least limit on open files under which a box's init has all of its descriptors.
const BoxFiles = C.FD_NULL + 1 + 2*C.MAX_COMMANDS

// FDNull is the descriptor number of a box's init for /dev/null.
const FDNull = C.FD_NULL

// FDDisk is the first of MaxDisks fixed descriptor numbers under which init holds tmpfs mounts.
const (
	FDDisk   = C.FD_DISK
	MaxDisks = C.MAX_DISKS
)

// ReportSize is the size of a report in bytes, and DeniedSize that of the message with the counters of refused calls.
const (
	ReportSize = C.sizeof_struct_report
	DeniedSize = C.CALLS * 8
)

// Report is a message from the jail's report socket. The payload has no descriptor of that socket.
type Report struct {
	Type, A, B int
	Usage      Usage // in ReportExit: of all processes of the jail together
	Violation  Violation
	Disks      [MaxDisks]Disk
	Denied     int // in ReportExit: how many different calls were refused; if not 0, the next message counts them
	// Lookup is, in ReportExit of a payload that has failed, the first message of FDLookups, and zeros after it.
	Lookup [C.MAX_LOOKUP]byte
}

// Violation is a system call that the filter answers by killing the process, as init has seen it: the payload's own
// call, or else the first one.
type Violation struct {
	Nr    int
	Arch  uint32 // AUDIT_ARCH_*; the ABIs number their calls differently
	Count int    // in the whole jail
	Own   bool   // the payload made it, and A is SIGSYS
}

// Disk describes a tmpfs mount that init holds (program.Fork).
type Disk struct {
	Size, Used, Peak         int64 // bytes: the capacity, and what was used at the payload's end and at most
	Inodes, Files, PeakFiles int64 // the same of inodes
	slack                    int64 // bytes
}

// Full reports whether there was no room at the end of the payload.
func (d *Disk) Full() bool { return d.full(d.Used, d.Files) }

// Met reports whether there was no room at any time that init has seen.
func (d *Disk) Met() bool { return d.full(d.Peak, d.PeakFiles) }

// full reports whether a tmpfs with so many bytes and files has no room. A last write(2) may leave some blocks of a
// large one free, and a file also needs an inode; the only one of inodes=1 is the root's.
func (d *Disk) full(used, files int64) bool {
	return d.Size > 0 && d.Size-used <= d.slack || d.Inodes > 1 && d.Inodes <= files
}

// Usage is the resource usage of the jail's reaped processes: getrusage(2).
type Usage struct {
	User, System           time.Duration
	MaxRSS                 int64 // bytes, of the largest process
	Voluntary, Involuntary int64 // context switches
	MajorFaults            int64
	Sampled                time.Duration // of the payload alone, in clock ticks, as RLIMIT_CPU counts it
}

// ParseReport decodes a report.
func ParseReport(b []byte) (Report, error) {
	if len(b) != ReportSize {
		return Report{}, errors.New("launcher: short report")
	}
	c := (*C.struct_report)(unsafe.Pointer(&b[0]))
	ru := (*unix.Rusage)(unsafe.Pointer(&c.usage))
	r := Report{Type: int(c._type), A: int(c.a), B: int(c.b), Usage: UsageOf(ru),
		Violation: Violation{Nr: int(c.nr), Arch: uint32(c.arch), Count: int(c.count), Own: c.own != 0},
		Denied:    int(c.denied)}
	copy(r.Lookup[:], b[unsafe.Offsetof(c.lookup):])
	for i := range c.disks {
		d := &c.disks[i]
		n, block := &d.now, int64(d.now.f_bsize)
		r.Disks[i] = Disk{Size: int64(n.f_blocks) * block, Used: int64(n.f_blocks-n.f_bfree) * block,
			Peak: int64(d.blocks) * block, Inodes: int64(n.f_files), Files: int64(n.f_files - n.f_ffree),
			PeakFiles: int64(d.inodes), slack: min(15, int64(n.f_blocks)/16) * block}
	}
	r.Usage.Sampled = time.Duration(ru.Ixrss) * time.Millisecond // Linux leaves the field unused, and init fills it
	return r, nil
}

// ParseDenied decodes the counters of refused system calls, by number. The last is that of all numbers from there on.
func ParseDenied(b []byte) ([]uint64, error) {
	if len(b) != DeniedSize {
		return nil, errors.New("launcher: short counters")
	}
	counts := make([]uint64, C.CALLS)
	for i := range counts {
		counts[i] = binary.NativeEndian.Uint64(b[8*i:])
	}
	return counts, nil
}

// UsageOf converts the rusage of wait4(2).
func UsageOf(ru *unix.Rusage) Usage {
	return Usage{User: time.Duration(ru.Utime.Nano()), System: time.Duration(ru.Stime.Nano()), MaxRSS: ru.Maxrss << 10,
		MajorFaults: ru.Majflt, Voluntary: ru.Nvcsw, Involuntary: ru.Nivcsw}
}

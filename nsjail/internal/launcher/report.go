package launcher

/*
#include "launcher.h"
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"syscall"
	"time"
)

// The types of a report, and the meaning of A and B.
const (
	ReportFail = C.REPORT_FAIL // A: operation, B: errno
	ReportExec = C.REPORT_EXEC // A: the payload's pid in the jail
	ReportExit = C.REPORT_EXIT // A: wait status, B: EndAsked, EndLeft
)

// Flags in B of ReportExit: the keeper has asked for the end; processes remain after SIGKILL.
const (
	EndAsked = C.END_ASKED
	EndLeft  = C.END_LEFT
)

// EndSeconds is the time in seconds that init, or the keeper of a jail without init, waits for killed processes.
const EndSeconds = C.END_SECONDS

// FDDisk is the first of MaxDisks fixed descriptor numbers under which init holds tmpfs mounts.
const (
	FDDisk   = C.FD_DISK
	MaxDisks = C.MAX_DISKS
)

// ReportSize is the size of a report in bytes.
const ReportSize = C.sizeof_struct_report

// Report is a message from the jail's report socket. The payload has no descriptor of that socket.
type Report struct {
	Type, A, B int
	Usage      Usage // in ReportExit: of all processes of the jail together
	Violation  Violation
	Disk       Disk
}

// Violation is a system call that the filter answers by killing the process, as init has seen it: the payload's own
// call, or else the first one.
type Violation struct {
	Nr    int
	Arch  uint32 // AUDIT_ARCH_*; the ABIs number their calls differently
	Count int    // in the whole jail
	Own   bool   // the payload made it, and A is SIGSYS
}

// Disk describes the tmpfs mounts that init holds (program.Fork) at the end of the payload.
type Disk struct {
	Full uint32 // one bit for each mount without a free block or inode
	Used int64  // bytes used in all of them
}

// Usage is the resource usage of the jail's reaped processes: getrusage(2).
type Usage struct {
	User, System               time.Duration
	MaxRSS                     int64 // bytes, of the largest process
	Voluntary, Involuntary     int64 // context switches
	MinorFaults, MajorFaults   int64
	Sampled                    time.Duration // of the payload alone, in clock ticks, as RLIMIT_CPU counts it
	BlockInput, BlockOutputOps int64
}

// ParseReport decodes a report.
func ParseReport(b []byte) (Report, error) {
	if len(b) != ReportSize {
		return Report{}, errors.New("launcher: short report")
	}
	ne := binary.NativeEndian
	i32 := func(o int) int { return int(int32(ne.Uint32(b[o:]))) }
	r := Report{Type: i32(0), A: i32(4), B: i32(8)}
	const own, more = 12, 160
	r.Violation = Violation{Nr: i32(more), Arch: ne.Uint32(b[more+4:]), Count: int(ne.Uint32(b[more+8:])),
		Own: i32(own) != 0}
	r.Disk = Disk{Full: ne.Uint32(b[more+12:]), Used: int64(ne.Uint64(b[more+16:]))}
	const base = 16
	i64 := func(i int) int64 { return int64(ne.Uint64(b[base+8*i:])) }
	tv := func(i int) time.Duration {
		return time.Duration(i64(i))*time.Second + time.Duration(i64(i+1))*time.Microsecond
	}
	r.Usage = Usage{User: tv(0), System: tv(2), MaxRSS: i64(4) << 10,
		Sampled: time.Duration(i64(5)) * time.Millisecond, MinorFaults: i64(8), MajorFaults: i64(9),
		BlockInput: i64(11), BlockOutputOps: i64(12), Voluntary: i64(16), Involuntary: i64(17)}
	return r, nil
}

// UsageOf converts the rusage of waitid(2).
func UsageOf(ru *syscall.Rusage) Usage {
	return Usage{User: time.Duration(ru.Utime.Nano()), System: time.Duration(ru.Stime.Nano()), MaxRSS: ru.Maxrss << 10,
		MinorFaults: ru.Minflt, MajorFaults: ru.Majflt, BlockInput: ru.Inblock, BlockOutputOps: ru.Oublock,
		Voluntary: ru.Nvcsw, Involuntary: ru.Nivcsw}
}

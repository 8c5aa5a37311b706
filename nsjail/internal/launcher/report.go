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

// The report messages.
const (
	ReportFail = C.REPORT_FAIL // A: operation, B: errno
	ReportExec = C.REPORT_EXEC // A: the payload's pid in the jail
	ReportExit = C.REPORT_EXIT // A: wait status, B: EndAsked, EndLeft
)

// Flags in ReportExit: the keeper asked for the end; SIGKILL has not ended all processes.
const (
	EndAsked = C.END_ASKED
	EndLeft  = C.END_LEFT
)

// EndSeconds is how long init, or the keeper of a jail without init, waits for the end of killed processes.
const EndSeconds = C.END_SECONDS

// FDDisk is the first of the MaxDisks fixed descriptor numbers at which init keeps tmpfs mounts.
const (
	FDDisk   = C.FD_DISK
	MaxDisks = C.MAX_DISKS
)

// ReportSize is the size of a message in bytes.
const ReportSize = C.sizeof_struct_report

// Report is a message from the jail's report socket. The payload has no descriptor of that socket.
type Report struct {
	Type, A, B int
	Usage      Usage // with ReportExit: all processes of the jail together
	Violation  Violation
	Disk       Disk
}

// Violation is a system call that the filter answers with death, as init saw it: the payload's own, or the first.
type Violation struct {
	Nr    int
	Arch  uint32 // AUDIT_ARCH_*: each ABI has its own numbers
	Count int    // in the whole jail
	Own   bool   // it ended the payload itself, and A is SIGSYS
}

// Disk is what the tmpfs mounts that init holds (program.Fork) contained when the payload ended.
type Disk struct {
	Full uint32 // a bit for each without a free block or inode
	Used int64  // bytes, of all
}

// Usage is that of the jail's reaped processes: getrusage(2).
type Usage struct {
	User, System               time.Duration
	MaxRSS                     int64 // bytes, of the largest process
	Voluntary, Involuntary     int64 // context switches
	MinorFaults, MajorFaults   int64
	Sampled                    time.Duration // of the payload alone, by clock ticks, as RLIMIT_CPU counts it
	BlockInput, BlockOutputOps int64
}

// ParseReport decodes a message.
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

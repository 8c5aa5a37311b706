package nsjail

import (
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func signalName(s syscall.Signal) string {
	if n := unix.SignalName(s); n != "" {
		return n
	}
	return "SIG" + strconv.Itoa(int(s))
}

// waitStatus converts si_code and si_status of waitid(2) into a status of wait(2).
func waitStatus(si *unix.Siginfo) int {
	const exited = 1 // CLD_EXITED; CLD_KILLED and CLD_DUMPED mean a signal
	code := int(si.Code)
	status := int(siginfoStatus(si))
	if code == exited {
		return status << 8
	}
	return status & 0x7f
}

// siginfoStatus returns si_status, which follows si_pid and si_uid: sigaction(2).
func siginfoStatus(si *unix.Siginfo) int32 {
	return (*(*[128 / 4]int32)(unsafe.Pointer(si)))[6]
}

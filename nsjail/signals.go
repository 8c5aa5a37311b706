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

// waitStatus makes the status of wait(2) from what waitid(2) says: si_code and si_status.
func waitStatus(si *unix.Siginfo) int {
	const exited = 1 // CLD_EXITED; the others, CLD_KILLED and CLD_DUMPED, are signals
	code := int(si.Code)
	status := int(siginfoStatus(si))
	if code == exited {
		return status << 8
	}
	return status & 0x7f
}

// siginfoStatus is si_status: sigaction(2). It lies behind si_pid and si_uid.
func siginfoStatus(si *unix.Siginfo) int32 {
	return (*(*[128 / 4]int32)(unsafe.Pointer(si)))[6]
}

package nsjail

import (
	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// passedFDs are the descriptors that are sent to a jail, indexed by slot. The keeper closes them after sending.
type passedFDs struct {
	from program.Slot
	fds  []int
}

func (h *passedFDs) put(at program.Slot, fds ...int) {
	for i, fd := range fds {
		n := int(at-h.from) + i
		for len(h.fds) <= n {
			h.fds = append(h.fds, -1)
		}
		h.fds[n] = fd
	}
}

func (h *passedFDs) close() {
	for _, fd := range h.fds {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

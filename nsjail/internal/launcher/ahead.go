package launcher

/*
#include "launcher.h"
*/
import "C"

import (
	"bytes"
	"encoding/binary"
	"os"
	"strconv"
	"unsafe"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// What stands for the launcher's ids in Ahead.
const (
	AheadUID = 4294967294
	AheadGID = 4294967293
)

// Ahead is the beginning of the default jail's list, in its binary form: what a launcher forked early performs in the jail's first
// process before it has the list, so that it is done while the keeper plans. It is nil where there is none.
func Ahead() []byte { return bytes.Clone(ahead()) }

// ahead is not to be written to.
func ahead() []byte {
	var size C.size_t
	p := C.brig_ahead_program(&size)
	if p == nil {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), int(size))
}

// takesAhead says whether the process that was made ahead is the one for a program: it is for a default jail, and the
// list begins with what the process has done, byte for byte. If not, it ends, and another one is made.
func (s *Launcher) takesAhead(f *File) (bool, error) {
	if s.ahead <= 0 || f.req != (program.Request{CloneFlags: C.DEFAULT_NAMESPACES, Cgroup: -1}) {
		return false, nil
	}
	if !s.begun || beginsWith(f.blob, ahead(), s.uid, s.gid()) {
		return true, nil
	}
	s.unused, s.ahead = s.ahead, 0
	return false, unix.Close(s.aheadSock)
}

// gid is the group that goes with the launcher's user: root's launcher has taken both from the same range.
func (s *Launcher) gid() int {
	if os.Geteuid() == 0 && s.uid != 0 {
		return s.uid
	}
	return os.Getegid()
}

// beginsWith compares operations and data; the data of a list's beginning lie first, at the same offsets.
func beginsWith(blob, begin []byte, uid, gid int) bool {
	ops := func(b []byte) (list, data []byte) {
		n, at := int(binary.NativeEndian.Uint32(b[8:])), int(binary.NativeEndian.Uint32(b[16:]))
		return b[program.HeaderSize : program.HeaderSize+n*program.OpSize], b[at:]
	}
	want, wantData := ops(begin)
	list, data := ops(blob)
	if !bytes.HasPrefix(list, want) {
		return false
	}
	wantData = wantData[:len(wantData)-1] // less the last NUL
	for _, id := range []struct{ was, is int }{{AheadUID, uid}, {AheadGID, gid}} {
		i := bytes.Index(wantData, padded(id.was))
		if i < 0 || !bytes.HasPrefix(data, wantData[:i]) || !bytes.HasPrefix(data[i:], padded(id.is)) {
			return false
		}
		wantData, data = wantData[i+C.AHEAD_IDS:], data[i+C.AHEAD_IDS:]
	}
	return bytes.HasPrefix(data, wantData)
}

// padded is an id as a map of a launcher forked early holds it.
func padded(id int) []byte {
	b := bytes.Repeat([]byte{' '}, C.AHEAD_IDS)
	return strconv.AppendInt(b[:max(0, C.AHEAD_IDS-len(strconv.Itoa(id)))], int64(id), 10)
}

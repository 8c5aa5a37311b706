package stage

/*
#include "stage.h"
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

// What stands for the stage's ids in Ahead.
const (
	AheadUID = 4294967294
	AheadGID = 4294967293
)

// Ahead is the beginning of the default jail's list, in its binary form: what an early stage performs in the jail's first
// process before it has the list, so that it is done while the keeper plans. It is nil where there is none.
func Ahead() []byte {
	var size C.size_t
	p := C.brig_ahead_program(&size)
	if p == nil {
		return nil
	}
	return bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(p)), int(size)))
}

// takesAhead says whether the process that was made ahead is the one for a program: it is for a default jail, and the
// list begins with what the process has done, byte for byte. If not, it ends, and another one is made.
func (s *Stage) takesAhead(f *File) (bool, error) {
	if s.ahead <= 0 || f.req != (program.Request{CloneFlags: C.DEFAULT_NAMESPACES, Cgroup: -1}) {
		return false, nil
	}
	if !s.begun || beginsWith(f.blob, Ahead(), s.uid, s.gid()) {
		return true, nil
	}
	s.unused, s.ahead = s.ahead, 0
	return false, unix.Close(s.aheadSock)
}

// gid is the group that goes with the stage's user: root's stage has taken both from the same range.
func (s *Stage) gid() int {
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
	for _, id := range []struct{ was, is int }{{AheadUID, uid}, {AheadGID, gid}} {
		begin = bytes.Replace(begin, padded(id.was), padded(id.is), 1)
	}
	want, wantData := ops(begin)
	list, data := ops(blob)
	return bytes.HasPrefix(list, want) && bytes.HasPrefix(data, wantData[:len(wantData)-1]) // less the last NUL
}

// padded is an id as a map of an early stage holds it.
func padded(id int) []byte {
	b := bytes.Repeat([]byte{' '}, C.AHEAD_IDS)
	return strconv.AppendInt(b[:max(0, C.AHEAD_IDS-len(strconv.Itoa(id)))], int64(id), 10)
}

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

// The placeholders of the launcher's ids in Ahead.
const (
	AheadUID = 4294967294
	AheadGID = 4294967293
)

// Ahead returns the beginning of the default jail's list in its binary form, which a launcher forked early performs in
// the jail's first process while the keeper plans; nil if this kernel or architecture has none.
func Ahead() []byte { return bytes.Clone(ahead()) }

// ahead returns it in place. The caller must not write to it.
func ahead() []byte {
	var size C.size_t
	p := C.brig_ahead_program(&size)
	if p == nil {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), int(size))
}

// takesAhead reports whether the process made ahead can perform a program: one of a default jail, which begins with
// what the process has done, byte for byte. If not, the process ends, and another one is made.
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

// gid returns the launcher's group. Root's launcher has taken the same number for user and group.
func (s *Launcher) gid() int {
	if os.Geteuid() == 0 && s.uid != 0 {
		return s.uid
	}
	return os.Getegid()
}

// beginsWith reports whether a list begins with the operations and data of another; its data are first, at the same
// offsets.
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

// padded returns an id as spawn.c writes it into a map.
func padded(id int) []byte {
	b := bytes.Repeat([]byte{' '}, C.AHEAD_IDS)
	return strconv.AppendInt(b[:max(0, C.AHEAD_IDS-len(strconv.Itoa(id)))], int64(id), 10)
}

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

// The placeholders in Ahead for the launcher's uid and gid.
const (
	AheadUID = 4294967294
	AheadGID = 4294967293
)

// AheadCommon is the number of operations in Ahead with which every jail with the default network begins, whatever its
// identity and root. They have AheadCommonData bytes of data.
const (
	AheadCommon     = C.AHEAD_COMMON
	AheadCommonData = C.AHEAD_COMMON_DATA
	// The same for those with which every default jail begins, and after which the host's tree may be left.
	AheadTree     = C.AHEAD_TREE
	AheadTreeData = C.AHEAD_TREE_DATA
)

// Ahead returns the encoded beginning of the default jail's program, or nil if there is none for this kernel or
// architecture. A launcher that was forked early performs it in the jail's first process while the keeper plans.
// The caller must not write to it.
func Ahead() []byte {
	var size C.size_t
	p := C.brig_ahead_program(&size)
	if p == nil {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), int(size))
}

// TakesAhead reports whether the process that was created ahead will perform a program. The launcher then has nothing
// else to do for it.
func (s *Launcher) TakesAhead(f *File) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.greet(); err != nil {
		return false, err
	}
	return s.takesAhead(f)
}

// takesAhead reports whether the process that was created ahead can perform a program. It can if the program begins,
// byte for byte, with what the process has performed: that is so for a default jail. Otherwise takesAhead ends the
// process, and the launcher creates another one.
func (s *Launcher) takesAhead(f *File) (bool, error) {
	if s.ahead <= 0 || f.req != (program.Request{CloneFlags: uint64(C.brig_early.namespaces), Cgroup: -1}) {
		return false, nil
	}
	if s.begun == 0 || beginsWith(f.blob, Ahead(), s.begun, s.uid, s.gid()) {
		return true, nil
	}
	s.unused, s.ahead = s.ahead, 0
	return false, unix.Close(s.aheadSock)
}

// gid returns the launcher's gid. Root's launcher has the same number as uid and gid.
func (s *Launcher) gid() int {
	if os.Geteuid() == 0 && s.uid != 0 {
		return s.uid
	}
	return os.Getegid()
}

// beginsWith reports whether a program begins with at most so many operations of another and, at the same offsets,
// their data. Where there is no list ahead (see Ahead), nothing has been performed, and every program begins with that.
func beginsWith(blob, begin []byte, most, uid, gid int) bool {
	if len(begin) == 0 {
		return true
	}
	ops := func(b []byte) (list, data []byte) {
		n, at := int(binary.NativeEndian.Uint32(b[8:])), int(binary.NativeEndian.Uint32(b[16:]))
		return b[program.HeaderSize : program.HeaderSize+n*program.OpSize], b[at:]
	}
	want, wantData := ops(begin)
	list, data := ops(blob)
	wantData = wantData[:len(wantData)-1] // without the last NUL
	switch most {
	case AheadCommon:
		want, wantData = want[:most*program.OpSize], wantData[:AheadCommonData]
	case AheadTree:
		want, wantData = want[:most*program.OpSize], wantData[:AheadTreeData]
	}
	if !bytes.HasPrefix(list, want) {
		return false
	}
	for _, id := range []struct{ was, is int }{{AheadUID, uid}, {AheadGID, gid}} {
		i := bytes.Index(wantData, padded(id.was))
		if i < 0 { // it comes later
			continue
		}
		if !bytes.HasPrefix(data, wantData[:i]) || !bytes.HasPrefix(data[i:], padded(id.is)) {
			return false
		}
		wantData, data = wantData[i+C.AHEAD_IDS:], data[i+C.AHEAD_IDS:]
	}
	return bytes.HasPrefix(data, wantData)
}

// padded returns an id in the form in which spawn.c writes it to a map.
func padded(id int) []byte {
	b := bytes.Repeat([]byte{' '}, C.AHEAD_IDS)
	return strconv.AppendInt(b[:max(0, C.AHEAD_IDS-len(strconv.Itoa(id)))], int64(id), 10)
}

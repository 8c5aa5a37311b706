package host

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// The kinds of interpreter.
const (
	Script = "script" // a first line #!PATH: execve(2)
	Loader = "loader" // the PT_INTERP of an ELF file: elf(5)
)

// Interpreter returns the program that the kernel starts for a file of which head is the beginning; "" if it names
// none. A carriage return before the end of a script's line is part of the path, as it is for the kernel.
func Interpreter(head []byte) (kind, path string) {
	if line, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		line = bytes.TrimLeft(line, " \t")
		if end := bytes.IndexAny(line, " \t\x00"); end >= 0 {
			line = line[:end]
		}
		return Script, string(line)
	}
	le := binary.LittleEndian
	if len(head) < 64 || !bytes.HasPrefix(head, []byte("\x7fELF\x02\x01")) { // 64 bits, little endian: what brig runs on
		return "", ""
	}
	at, size, n := le.Uint64(head[32:]), uint64(le.Uint16(head[54:])), le.Uint16(head[56:])
	const ptInterp, least = 3, 56
	for ; n > 0 && size >= least && at < uint64(len(head)) && uint64(len(head))-at >= least; n, at = n-1, at+size {
		row := head[at:]
		if le.Uint32(row) != ptInterp {
			continue
		}
		from, length := le.Uint64(row[8:]), le.Uint64(row[32:])
		if from > uint64(len(head)) || length > uint64(len(head))-from {
			return "", ""
		}
		name, _, _ := strings.Cut(string(head[from:from+length]), "\x00")
		return Loader, name
	}
	return "", ""
}

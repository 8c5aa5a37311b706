package host

import (
	"encoding/binary"
	"strings"
	"testing"
)

// elf is a 64-bit little-endian file with program headers of a size, of types, each for the text at the end.
func elf(size uint16, text string, types ...uint32) []byte {
	head := make([]byte, 64+len(types)*int(size)+len(text))
	copy(head, "\x7fELF\x02\x01")
	le := binary.LittleEndian
	le.PutUint64(head[32:], 64)
	le.PutUint16(head[54:], size)
	le.PutUint16(head[56:], uint16(len(types)))
	at := len(head) - len(text)
	for i, kind := range types {
		row := head[64+i*int(size):]
		le.PutUint32(row, kind)
		le.PutUint64(row[8:], uint64(at))
		le.PutUint64(row[32:], uint64(len(text)))
	}
	copy(head[at:], text)
	return head
}

// Interpreter reads as the kernel does, and believes no number of a file that others have made.
func TestInterpreter(t *testing.T) {
	const load, interp = 1, 3
	good := elf(56, "/lib/ld.so\x00", load, interp)
	change := func(at int, v uint64) []byte {
		b := append([]byte{}, good...)
		binary.LittleEndian.PutUint64(b[at:], v)
		return b
	}
	still := elf(56, "/l", interp)
	binary.LittleEndian.PutUint16(still[54:], 0) // the size of a header
	second := 64 + 56                            // the row of interp
	for name, tt := range map[string]struct {
		head       string
		kind, path string
	}{
		"empty":                    {"", "", ""},
		"text":                     {"echo", "", ""},
		"script":                   {"#!/bin/sh\necho", Script, "/bin/sh"},
		"script with an argument":  {"#! \t/usr/bin/env -S python\n", Script, "/usr/bin/env"},
		"script of Windows":        {"#!/bin/sh\r\n", Script, "/bin/sh\r"},
		"script without a line":    {"#!/bin/sh", Script, "/bin/sh"},
		"script that names none":   {"#!\n/bin/sh", Script, ""},
		"script with a NUL":        {"#!/bin/sh\x00x\n", Script, "/bin/sh"},
		"loader":                   {string(good), Loader, "/lib/ld.so"},
		"larger headers":           {string(elf(64, "/l\x00", load, interp)), Loader, "/l"},
		"a name without a NUL":     {string(elf(56, "/l", interp)), Loader, "/l"},
		"static":                   {string(elf(56, "x", load)), "", ""},
		"32 bits":                  {strings.Replace(string(good), "ELF\x02", "ELF\x01", 1), "", ""},
		"a short head":             {string(good[:63]), "", ""},
		"headers outside":          {string(change(32, 1<<63)), "", ""},
		"a header cut off":         {string(good[:second+55]), "", ""},
		"the name outside":         {string(change(second+8, 1<<63)), "", ""},
		"a name longer than all":   {string(change(second+32, 1<<63)), "", ""},
		"headers that do not move": {string(still), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if kind, path := Interpreter([]byte(tt.head)); kind != tt.kind || path != tt.path {
				t.Errorf("%q %q; want %q %q", kind, path, tt.kind, tt.path)
			}
		})
	}
}

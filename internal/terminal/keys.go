package terminal

import (
	"bytes"
	"io"
)

// Keys reads the input of a terminal for a program elsewhere, and removes escapes. As in ssh(1), an escape is a tilde
// at the start of a line followed by a character.
type Keys struct {
	In    io.Reader
	Do    func(escape byte)
	rest  []byte // read, but not yet returned
	held  bool   // a tilde that may begin an escape
	typed bool   // the line already has a character
}

// The escapes: ~. ends, ~^Z stops, and ~? lists them.
const End, Stop, Help = '.', 'Z' & 0x1f, '?'

// Read returns input for the program, without escapes. An error of the terminal is returned by the next Read.
func (k *Keys) Read(p []byte) (n int, err error) {
	for len(k.rest) == 0 && err == nil && len(p) > 0 {
		var got int
		got, err = k.In.Read(p)
		if k.rest = k.filter(p[:got]); err != nil && k.held { // nothing follows the tilde
			k.rest, k.held = append(k.rest, '~'), false
		}
	}
	n = copy(p, k.rest)
	if k.rest = k.rest[n:]; n > 0 {
		err = nil
	}
	return n, err
}

func (k *Keys) filter(typed []byte) (out []byte) {
	for _, c := range typed {
		if held := k.held; held {
			k.held = false
			if bytes.IndexByte([]byte{End, Stop, Help}, c) >= 0 {
				k.Do(c)
				continue
			}
			if out = append(out, '~'); c == '~' {
				k.typed = true
				continue
			}
		} else if c == '~' && !k.typed {
			k.held = true
			continue
		}
		k.typed = c != '\r' && c != '\n'
		out = append(out, c)
	}
	return out
}

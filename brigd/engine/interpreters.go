package engine

import (
	"fmt"

	"brig/brigd/share"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
)

// Interpreter is a program of the operator's for a language.
type Interpreter struct {
	Language string
	Path     string // in the jail, absolute
	// Share is the name of a share that holds the program, or "". Each jail for the language shows all of it, read-only,
	// at the path that the operator has named. No policy is asked: the share is a part of the language.
	Share string
}

// shown returns the mount of an interpreter's share.
func (i *Interpreter) shown(shares *share.Set) (*nsjail.Mount, error) {
	if i.Share == "" {
		return nil, nil
	}
	s, ok := shares.Find(i.Share)
	if !ok {
		return nil, words.Error(words.Textf("there is no share %s; add %s", words.Quote(i.Share),
			words.Add("share", i.Share+"=DIR:ro")))
	}
	if !sys.Under(i.Path, s.Dir) {
		return nil, fmt.Errorf("%s is not in the share %s, which is %s; write a path in it", words.Quote(i.Path), s.Name,
			words.Quote(s.Dir))
	}
	held, where, no := shares.Root(i.Share)
	if no != nil {
		return nil, no
	}
	return &nsjail.Mount{Type: nsjail.MountBind, Source: where, Target: s.Dir, Held: held}, nil
}

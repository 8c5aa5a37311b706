package engine

import (
	"errors"
	"os"
	"sync"

	"brig/brigd/job"
)

// enter begins a use of the box, until leave is called.
func (l *life) enter() (leave func(), no *job.Refusal) {
	if no := l.ready(); no != nil {
		return nil, no
	}
	if err := l.idle.Enter(); err != nil {
		if no := l.ended(); no != nil {
			return nil, no
		}
		return nil, refuse("sandbox", "box_frozen", "", "the box of the sandbox does not thaw: "+err.Error(),
			"send the same request again in a second")
	}
	return sync.OnceFunc(l.idle.Leave), nil
}

func (l *life) freeze(on bool) error {
	do := l.box.Thaw
	if on {
		do = l.box.Freeze
	}
	err := do()
	if errors.Is(err, os.ErrProcessDone) && !on {
		return nil // what uses it finds out
	}
	return err
}

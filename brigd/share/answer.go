package share

import (
	"time"

	"brig/brigd/job"
	"brig/nsjail/spec"
)

// answerTime is how long a share's file system may take for an answer. One of another process or machine may never give
// one, and the system call cannot be ended.
const answerTime = 5 * time.Second

// maxWaits is how many lookups of a share may have been given up, and have no answer yet: each holds a thread.
const maxWaits = 4

// opened is what a lookup in a share has found.
type opened struct {
	dir   *spec.Held
	where string
	no    *job.Refusal
}

// within performs a lookup in a share. It refuses if that takes too long, and at once while maxWaits have no answer.
func (h *held) within(patience time.Duration, look func() opened) opened {
	silent := opened{no: refuse("share_silent", "the file system of the share "+h.Name+" does not answer",
		"Have the operator look at its mount: its server is stopped, or cannot be reached.")}
	if h.waits.Load() >= maxWaits {
		return silent
	}
	found := make(chan opened, 1)
	go func() { found <- look() }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case o := <-found:
		return o
	case <-timer.C:
	}
	h.waits.Add(1)
	go func() {
		if o := <-found; o.dir != nil && o.dir != h.root {
			_ = o.dir.File.Close() // opened by O_PATH: there is nothing to lose
		}
		h.waits.Add(-1)
	}()
	return silent
}

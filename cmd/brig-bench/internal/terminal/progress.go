package terminal

import (
	"io"
	"sync"
	"time"
)

// Progress is one line that says what is going on, for a terminal only.
type Progress struct {
	w     io.Writer
	mu    sync.Mutex
	shown bool
	last  time.Time
}

// NewProgress writes to w if it is a terminal, and nothing otherwise.
func NewProgress(w io.Writer) *Progress {
	if !IsTTY(w) {
		w = nil
	}
	return &Progress{w: w}
}

// often bounds how often the line is drawn: drawing must not be part of what is measured.
const often = 200 * time.Millisecond

// Say replaces the line.
func (p *Progress) Say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil || time.Since(p.last) < often {
		return
	}
	if r := []rune(text); len(r) > 76 {
		text = string(r[:76])
	}
	p.draw("\r\x1b[K" + text)
	p.shown, p.last = true, time.Now()
}

// Done clears the line.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.draw("\r\x1b[K")
		p.shown = false
	}
}

// draw gives up on a terminal that has gone.
func (p *Progress) draw(text string) {
	if _, err := io.WriteString(p.w, text); err != nil {
		p.w, p.shown = nil, false
	}
}

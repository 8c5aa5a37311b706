// Package ring keeps the end of what a process writes, for readers that come, go, and come back.
package ring

import (
	"context"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Bounds of the output that is kept of a process: of all of it, and of a piece of one stream.
const (
	size  = 1 << 20
	piece = 4 << 10
	part  = 256 << 10 // of one answer
)

// Piece is a piece of one stream of a process.
type Piece struct {
	// Stream is "stdout" or "stderr".
	Stream string `json:"stream"`
	// Data is valid UTF-8: a character is never cut in two.
	Data string `json:"data"`
}

// Part is what a Ring has from some offset on. An offset counts the bytes of both streams, in the order in which they
// came.
type Part struct {
	Output []Piece `json:"output"`
	// Offset is where Output begins, and Next where it ends: ask for what follows from there.
	Offset int64 `json:"offset"`
	Next   int64 `json:"next"`
	// Dropped is how many bytes before Offset were asked for and are not kept any more.
	Dropped int64 `json:"dropped,omitempty"`
	// Running is false if no output can follow.
	Running bool `json:"running"`
}

// Ring keeps the end of a process's output. The zero Ring is empty. Its methods are safe for concurrent use.
type Ring struct {
	mu     sync.Mutex
	pieces []Piece // each of one stream, and ended by a whole character
	first  int64   // the offset of pieces[0]
	next   int64   // the offset behind the last
	ended  bool
	grown  chan struct{} // closed when something is added; nil if nobody waits

	follower context.Context // nil for none
	read     int64           // what a Read has asked for, and so has what is before
	taken    chan struct{}   // closed when read grows; nil if Add does not wait
}

// Follow makes Add wait for Read rather than drop what none has asked for, as long as ctx lives.
func (r *Ring) Follow(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.follower = ctx
}

// room waits until n bytes more drop nothing that a follower has not read. The caller holds the lock.
func (r *Ring) room(n int64) {
	for r.follower != nil && r.follower.Err() == nil && r.next > r.read && r.next+n-r.read > size-2*piece {
		if r.taken == nil {
			r.taken = make(chan struct{})
		}
		taken, ctx := r.taken, r.follower
		r.mu.Unlock()
		select {
		case <-taken:
		case <-ctx.Done():
		}
		r.mu.Lock()
	}
}

// asked notes that a reader has what is before an offset. The caller holds the lock.
func (r *Ring) asked(offset int64) {
	if offset <= r.read {
		return
	}
	r.read = min(offset, r.next)
	if r.taken != nil {
		close(r.taken)
		r.taken = nil
	}
}

// Add appends a piece, and drops the oldest ones that are too many.
func (r *Ring) Add(stream, data string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.room(int64(len(data)))
	r.next += int64(len(data))
	for data != "" {
		n := len(r.pieces) - 1
		if n < 0 || r.pieces[n].Stream != stream || len(r.pieces[n].Data) >= piece {
			r.pieces = append(r.pieces, Piece{Stream: stream})
			n++
		}
		most := piece - len(r.pieces[n].Data)
		cut := cutAt(data, most)
		if cut == 0 { // the next character is longer than what is left
			_, cut = utf8.DecodeRuneInString(data)
		}
		r.pieces[n].Data += data[:cut]
		data = data[cut:]
	}
	drop := 0
	for ; r.next-r.first > size; drop++ {
		r.first += int64(len(r.pieces[drop].Data))
	}
	if drop > 0 {
		r.pieces = slices.Clone(r.pieces[drop:])
	}
	r.wake()
}

// End records that no more will come.
func (r *Ring) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.wake()
}

func (r *Ring) wake() {
	if r.grown != nil {
		close(r.grown)
		r.grown = nil
	}
}

// Bounds returns the offset behind all of it, and the number of bytes that are kept.
func (r *Ring) Bounds() (next, kept int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next, r.next - r.first
}

// Read returns what is there from an offset on, at most part bytes. It waits for that until ctx ends. An offset
// below 0 is the beginning of what is kept.
func (r *Ring) Read(ctx context.Context, offset int64) *Part {
	for {
		r.mu.Lock()
		if offset < 0 {
			offset = r.first
		}
		r.asked(offset)
		if offset < r.next || r.ended || ctx.Err() != nil {
			defer r.mu.Unlock()
			return r.from(offset)
		}
		if r.grown == nil {
			r.grown = make(chan struct{})
		}
		grown := r.grown
		r.mu.Unlock()
		select {
		case <-grown:
		case <-ctx.Done():
		}
	}
}

// from returns what Read returns. The caller holds the lock.
func (r *Ring) from(offset int64) *Part {
	o := &Part{Output: []Piece{}, Offset: min(max(offset, r.first), r.next)}
	o.Dropped = o.Offset - min(offset, o.Offset)
	at, left := r.first, int64(part)
	for _, p := range r.pieces {
		skip := min(max(o.Offset-at, 0), int64(len(p.Data)))
		at += int64(len(p.Data))
		for skip < int64(len(p.Data)) && !utf8.RuneStart(p.Data[skip]) {
			skip++
		}
		if p.Data = p.Data[skip:]; p.Data == "" {
			continue
		}
		if left < int64(len(p.Data)) {
			at -= int64(len(p.Data))
			break
		}
		left -= int64(len(p.Data))
		o.Output = append(o.Output, Piece{p.Stream, strings.Clone(p.Data)})
	}
	if o.Next = max(at, o.Offset); o.Next >= r.next {
		o.Next, o.Running = r.next, !r.ended
	} else {
		o.Running = true
	}
	return o
}

// cutAt returns the greatest n of at most most bytes at which no character of a text is cut.
func cutAt(s string, most int) int {
	if most >= len(s) {
		return len(s)
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return most
}

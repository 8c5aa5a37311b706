package egress

import (
	"io"
	"sync"
	"time"
)

// Bounds of the log. Refused attempts have a separate share of a second's lines, so that a flood of them cannot
// displace allowed ones.
const (
	linesPerSecond = 1000 // of refused attempts
	bytesPerSecond = 1 << 20
	linesAllowed   = 4000 // of the others
	linesQueued    = 8192
	foldAfter      = 8    // equal refused lines within a second; the next ones are counted
	foldKeys       = 1000 // different refused lines that are watched at once
	floodKeys      = 64
	logPatience    = 2 * time.Second // how long close waits for the log
)

// journal counts events and writes their lines. Its lock is never held over a write.
type journal struct {
	jail     string
	out      io.Writer
	now      func() time.Time
	patience time.Duration

	mu      sync.Mutex
	sum     *Summary
	folds   map[Event]*tally // by what their lines have in common
	floods  map[Event]Event  // by verdict and reason, and the host of allowed ones
	second  time.Time        // begin of the second that lines counts
	lines   map[bool]int
	bytes   int         // of the lines of that second
	armed   *time.Timer // calls sweep for folds and floods; nil if there are none
	closed  bool
	queue   chan []byte
	written chan struct{} // closed when the writer has ended
}

// tally counts equal refused events since a time. From foldAfter on they have no line yet.
type tally struct {
	since time.Time
	seen  int
}

func newJournal(jail string, out io.Writer) *journal {
	j := &journal{jail: jail, out: out, now: time.Now, patience: logPatience, sum: newSummary(),
		folds: map[Event]*tally{}, floods: map[Event]Event{}, lines: map[bool]int{},
		queue: make(chan []byte, linesQueued), written: make(chan struct{})}
	go j.write()
	return j
}

// write writes the queued lines. It runs in the only goroutine that waits for the log.
func (j *journal) write() {
	defer close(j.written)
	for line := range j.queue {
		if _, err := j.out.Write(line); err != nil {
			j.dropped(1, err)
		}
	}
}

func (j *journal) dropped(n int, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sum.LinesDropped += n
	if err != nil && j.sum.LogError == "" {
		j.sum.LogError = printable(err.Error(), 256)
	}
}

// lost counts packets that were dropped before they were read.
func (j *journal) lost(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sum.Unrecorded += n
}

// add records one event. It never waits for the log.
func (j *journal) add(e Event) {
	e.Jail, e.Repeated = j.jail, 0
	e.clean()
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Time = j.stamp()
	allowed := e.Verdict == VerdictAllow
	switch {
	case j.closed: // the writer has ended
		j.sum.count(&e)
		j.sum.LinesDropped++
	case !allowed && j.foldIn(e):
		j.sum.count(&e)
	case j.room(allowed):
		j.sum.count(&e)
		j.enqueue(&e)
	default:
		j.flood(e)
	}
}

// stamp returns the time of a line.
func (j *journal) stamp() time.Time { return j.now().UTC().Truncate(time.Microsecond) }

// foldIn counts a refused event among equal ones and reports whether it needs no line.
func (j *journal) foldIn(e Event) bool {
	if e.Sent != 0 || e.Received != 0 {
		return false // a failure that moved bytes has its line
	}
	e.Time, e.DurationMS = time.Time{}, 0
	f := j.folds[e]
	if f == nil {
		if len(j.folds) >= foldKeys {
			return false
		}
		f = &tally{since: j.now()}
		j.folds[e] = f
		j.arm()
	}
	f.seen++
	return f.seen > foldAfter
}

// room reports whether this second and the queue have room for a line.
func (j *journal) room(allowed bool) bool {
	if now := j.now(); now.Sub(j.second) >= time.Second {
		j.second, j.bytes = now, 0
		clear(j.lines)
	}
	most := linesPerSecond
	if allowed {
		most = linesAllowed
	}
	if j.bytes >= bytesPerSecond || j.lines[allowed] >= most || len(j.queue) >= cap(j.queue)-2*floodKeys {
		return false
	}
	j.lines[allowed]++
	return true
}

// flood counts an event for which there is no room.
func (j *journal) flood(e Event) {
	key := Event{Jail: j.jail, Kind: KindFlood, Verdict: e.Verdict, Reason: e.Reason}
	if e.Verdict == VerdictAllow && len(j.floods) < floodKeys {
		key.Name = e.Name
	}
	one, f := key, j.floods[key]
	one.Repeated, one.Sent, one.Received = 1, e.Sent, e.Received
	j.sum.count(&one)
	one.Repeated, one.Sent, one.Received = f.Repeated+1, f.Sent+e.Sent, f.Received+e.Received
	j.floods[key] = one
	j.arm()
}

// enqueue passes the line of a counted event to the writer. It returns false if the queue is full.
func (j *journal) enqueue(e *Event) bool {
	if j.out != nil {
		line := e.line()
		select {
		case j.queue <- line:
			j.bytes += len(line)
		default:
			return false
		}
	}
	j.sum.remember(e)
	return true
}

// arm starts the timer of sweep, one second.
func (j *journal) arm() {
	if j.armed == nil && !j.closed {
		j.armed = time.AfterFunc(time.Second, j.sweep)
	}
}

func (j *journal) sweep() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.armed = nil
	if j.closed {
		return
	}
	j.flush(false)
	if len(j.folds)+len(j.floods) > 0 {
		j.arm()
	}
}

// flush writes the lines of floods and of events folded for a second; if all is set, it writes all of them. What finds
// the queue full is left for the next call.
func (j *journal) flush(all bool) {
	now := j.now()
	for key, f := range j.folds {
		if !all && now.Sub(f.since) < time.Second {
			continue
		}
		e := key
		e.Time, e.Repeated = j.stamp(), f.seen-foldAfter
		if e.Repeated > 0 && !j.enqueue(&e) {
			continue
		}
		if all || e.Repeated <= 0 {
			delete(j.folds, key)
			continue
		}
		f.since, f.seen = now, foldAfter // continues to fold
	}
	for key, f := range j.floods {
		f.Time = j.stamp()
		if j.enqueue(&f) {
			delete(j.floods, key)
		}
	}
}

// summary returns a copy of the summary, including folded events.
func (j *journal) summary() *Summary {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.sum.clone()
}

// close writes the remaining lines and waits for the log, but no longer than patience. The remainder is dropped and
// counted. A Write that never returns keeps its goroutine: the log may have other users, so it is not closed.
func (j *journal) close() {
	deadline := time.Now().Add(j.patience)
	for again := true; again; {
		j.mu.Lock()
		j.flush(true)
		again = len(j.folds)+len(j.floods) > 0 && time.Now().Before(deadline)
		j.mu.Unlock()
		if again {
			time.Sleep(time.Millisecond)
		}
	}
	j.mu.Lock()
	if j.closed = true; j.armed != nil {
		j.armed.Stop()
	}
	j.sum.LinesDropped += len(j.folds) + len(j.floods)
	close(j.queue)
	j.mu.Unlock()
	select {
	case <-j.written:
	case <-time.After(time.Until(deadline)):
		j.dropped(len(j.queue)+1, nil) // including the one that is being written
	}
}

package mcp

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
)

// tick is the minimum interval between two notifications of one call, and beat the maximum: clients extend their
// timeouts at a notification.
const (
	tick = 500 * time.Millisecond
	beat = 10 * time.Second
)

// maxLine is how many bytes of a program's last line a notification repeats.
const maxLine = 200

// progress notifies a client of the state of a call. A separate goroutine sends the notifications, so that a client
// that does not read cannot block a program.
type progress struct {
	token any
	to    *sdk.ServerSession

	ctx   context.Context
	stop  context.CancelFunc
	since time.Time
	total float64 // seconds; 0 if the call names no limit
	wake  chan struct{}
	done  chan struct{}

	mu           sync.Mutex
	state        string // before there is output
	bytes, lines int64
	last         string // the last line, as far as it has come; with '\n' if it is complete
}

// begin starts the notifications.
func (p *progress) begin(ctx context.Context, limit time.Duration) {
	p.ctx, p.stop = context.WithCancel(ctx)
	p.since, p.total = time.Now(), limit.Seconds()
	p.wake, p.done = make(chan struct{}, 1), make(chan struct{})
	go p.send()
}

// end stops the notifications. None is sent after it returns.
func (p *progress) end() {
	p.stop()
	<-p.done
}

// say reports a state before there is output.
func (p *progress) say(state string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = state
	p.signal()
}

// event handles the start event or a piece of output.
func (p *progress) event(e engine.Event) {
	if e.Type == "start" {
		p.say("started")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes += int64(len(e.Data))
	p.lines += int64(strings.Count(e.Data, "\n"))
	p.last = lastLine(p.last, e.Data)
	p.signal()
}

func (p *progress) signal() {
	select {
	case p.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// lastLine returns the last line of known and data that is not empty.
func lastLine(known, data string) string {
	text := strings.TrimRight(data, "\r\n")
	complete := len(text) < len(data)
	if i := strings.LastIndexAny(text, "\r\n"); i >= 0 {
		known, text = "", text[i+1:]
	} else if text != "" && strings.HasSuffix(known, "\n") {
		known = ""
	}
	line := strings.TrimSuffix(known, "\n") + text
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "")
	}
	if complete || text == "" && strings.HasSuffix(known, "\n") {
		line += "\n"
	}
	return line
}

func (p *progress) send() {
	defer close(p.done)
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.wake:
		case <-time.After(beat):
		}
		p.notify()
		select {
		case <-p.ctx.Done():
			return
		case <-time.After(tick):
		}
	}
}

// notify sends the current state. The progress value is in seconds, since the protocol requires it to increase.
func (p *progress) notify() {
	p.mu.Lock()
	text := p.state
	if p.bytes > 0 {
		last := strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1 // a client may show it on a terminal
			}
			return r
		}, p.last)
		text = fmt.Sprintf("%d lines, %d bytes so far; last: %s", p.lines, p.bytes, last)
	}
	p.mu.Unlock()
	_ = p.to.NotifyProgress(p.ctx, &sdk.ProgressNotificationParams{ // it gets no result either
		ProgressToken: p.token, Progress: time.Since(p.since).Seconds(), Total: p.total, Message: text})
}

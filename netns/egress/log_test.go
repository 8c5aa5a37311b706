package egress

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/netns/egress/policy"
)

// stopped returns a journal whose clock does not move.
func stopped(t *testing.T) (*journal, *lineLog) {
	l := &lineLog{t: t, more: make(chan struct{}, 1)}
	j := newJournal("j", l)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	j.mu.Lock()
	j.now = func() time.Time { return at }
	j.mu.Unlock()
	return j, l
}

func TestEqualRefusalsAreFolded(t *testing.T) {
	j, l := stopped(t)
	for i := range 10000 {
		j.add(Event{Kind: KindTCP, Verdict: VerdictDeny, Reason: policy.ReasonNoRule, Destination: "192.0.2.1:22", DurationMS: float64(i)})
	}
	j.add(Event{Kind: KindTCP, Verdict: VerdictDeny, Reason: policy.ReasonNoRule, Destination: "192.0.2.1:23"})
	j.close()
	all := l.all()
	if len(all) != foldAfter+2 || all[len(all)-1].Repeated != 10000-foldAfter {
		t.Errorf("%d lines, %+v", len(all), all[len(all)-1])
	}
	addsUp(t, j.summary(), all)
}

func TestFloodOfDifferentRefusals(t *testing.T) {
	j, l := stopped(t)
	for i := range 20000 {
		j.add(Event{Kind: KindDNS, Verdict: VerdictDeny, Reason: policy.ReasonNoRule, Name: fmt.Sprintf("n%d.test", i)})
		if i == 15000 { // hides nothing
			j.add(Event{Kind: KindTCP, Verdict: VerdictAllow, Name: "a.test", Sent: 5})
		}
	}
	j.close()
	all := l.all()
	addsUp(t, j.summary(), all)
	kinds := map[Kind]int{}
	for _, e := range all {
		kinds[e.Kind]++
		if e.Kind == KindFlood && (e.Repeated != 20000-linesPerSecond || e.Reason != policy.ReasonNoRule || e.Verdict != VerdictDeny) {
			t.Errorf("%+v", e)
		}
	}
	if kinds[KindDNS] != linesPerSecond || kinds[KindTCP] != 1 || kinds[KindFlood] != 1 {
		t.Errorf("%v", kinds)
	}
	if hosts := j.summary().ByHost; len(hosts) != maxHosts+1 {
		t.Errorf("%d hosts", len(hosts))
	}
}

func TestFloodOfAllowedKeepsBytesAndHosts(t *testing.T) {
	j, l := stopped(t)
	for range 3 * linesAllowed {
		j.add(Event{Kind: KindHTTP, Verdict: VerdictAllow, Name: "a.test", Sent: 2, Received: 3, Method: "GET", Status: 200})
	}
	j.close()
	all := l.all()
	addsUp(t, j.summary(), all)
	if last := all[len(all)-1]; last.Kind != KindFlood || last.Name != "a.test" || last.Sent != 2*int64(last.Repeated) {
		t.Errorf("%+v", last)
	}
}

// slowLog takes nothing until it is let.
type slowLog struct {
	lineLog
	let chan struct{}
}

func (l *slowLog) Write(b []byte) (int, error) {
	<-l.let
	return l.lineLog.Write(b)
}

func TestSlowLogDelaysNobodyAndLosesNothing(t *testing.T) {
	l := &slowLog{lineLog{t: t, more: make(chan struct{}, 1)}, make(chan struct{})}
	j := newJournal("j", l)
	now := time.Now()
	j.mu.Lock()
	j.now = func() time.Time { now = now.Add(time.Millisecond); return now } // below the lines of a second
	j.mu.Unlock()
	for i := range 3 * linesQueued {
		j.add(Event{Kind: KindTCP, Verdict: VerdictAllow, Name: fmt.Sprintf("%d.test", i)})
	}
	close(l.let)
	j.close()
	addsUp(t, j.summary(), l.all())
}

func TestLogThatNeverReturns(t *testing.T) {
	l := &slowLog{lineLog{t: t, more: make(chan struct{}, 1)}, make(chan struct{})}
	j := newJournal("j", l)
	j.patience = 50 * time.Millisecond
	for range 3 {
		j.add(Event{Kind: KindTCP, Verdict: VerdictAllow})
	}
	j.close()
	if s := j.summary(); s.LinesDropped != 3 || s.Total != 3 {
		t.Errorf("%+v", s)
	}
	close(l.let)
	<-j.written
}

type brokenLog struct{}

func (brokenLog) Write([]byte) (int, error) { return 0, errors.New("disk\nfull") }

func TestBrokenLogIsReported(t *testing.T) {
	j := newJournal("j", brokenLog{})
	j.add(Event{Kind: KindTCP, Verdict: VerdictAllow})
	j.close()
	if s := j.summary(); s.LinesDropped != 1 || s.LogError != `disk\nfull` {
		t.Errorf("%+v", s)
	}
}

func TestHostileStringsStayInTheirLine(t *testing.T) {
	j, l := stopped(t)
	hostile := []string{"a\nb", "\r\n{\"verdict\":\"allow\"}", "\x00\x1b[2J", "\u202eevil\u2028", "\xff\xfe", `\`, `"`, "é", "\\n", "<&>", strings.Repeat("\x00", 300),
		strings.Repeat(`"`, 5000), strings.Repeat(`\`, 5000), strings.Repeat("😀", 5000), strings.Repeat("a", 1<<20), strings.Repeat("a", 399) + "\n"}
	seen := map[string]string{}
	for _, h := range hostile {
		j.add(Event{Kind: KindHTTP, Verdict: VerdictDeny, Reason: policy.ReasonPath, Rule: h, Name: h, Address: h, Destination: h, Port: 65535, SNI: h,
			Host: h, Method: h, Path: h, Status: 403, DurationMS: 123456789.125})
		p := printable(h, 400)
		if was, known := seen[p]; known && len(h) < 400 {
			t.Errorf("%q and %q are both %q", was, h, p)
		}
		seen[p] = h
	}
	j.close()
	if all := l.all(); len(all) != len(hostile) || all[0].Name != `a\nb` {
		t.Errorf("%d lines, %+v", len(all), all[0])
	}
	addsUp(t, j.summary(), l.all())
	for _, c := range []struct {
		in, out string
		limit   int
	}{{"abc", "abc", 3}, {"abcdefghijklmnop", "abcd...+12", 15}, {"é", `\u00e9`, 20}, {"'", "'", 5}, {"\xc3", `\xc3`, 10}} {
		if got := printable(c.in, c.limit); got != c.out {
			t.Errorf("%q is %q, not %q", c.in, got, c.out)
		}
	}
}

// The worst of each field at once is within a line.
func TestLongestLine(t *testing.T) {
	e := Event{Time: time.Now(), Kind: KindPublish, Verdict: VerdictAllow, Reason: policy.ReasonMaxConnections, Port: 65535, Status: 599,
		Sent: 1<<63 - 1, Received: 1<<63 - 1, DurationMS: 1.0 / 3 * 1e12, Repeated: 1<<63 - 1}
	for _, s := range []*string{&e.Jail, &e.Rule, &e.Name, &e.Address, &e.Destination, &e.SNI, &e.Host, &e.Method, &e.Path} {
		*s = strings.Repeat("\x01\"\\", 10000)
	}
	e.clean()
	if line := e.line(); len(line) == 0 || len(line) > MaxLine {
		t.Errorf("%d bytes", len(line))
	}
}

func TestJournalFromManySides(t *testing.T) {
	l := &lineLog{t: t, more: make(chan struct{}, 1)}
	j := newJournal("j", l)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				j.add(Event{Kind: KindTCP, Verdict: VerdictDeny, Reason: policy.ReasonPort, Destination: fmt.Sprintf("192.0.2.%d:%d", g, i%50)})
				if i%500 == 0 {
					j.summary()
				}
			}
		})
	}
	wg.Wait()
	j.close()
	addsUp(t, j.summary(), l.all())
	if j.summary().Total != 16000 {
		t.Errorf("%d", j.summary().Total)
	}
}

package ring

import (
	"context"
	"strings"
	"testing"
	"time"
)

// text joins the pieces of a Part, each with the first letter of its stream.
func text(p *Part) string {
	var b strings.Builder
	for _, one := range p.Output {
		b.WriteString(one.Stream[3:4] + ":" + one.Data + " ")
	}
	return strings.TrimSpace(b.String())
}

func now() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// A reader gets what follows an offset, in the order in which it came.
func TestRead(t *testing.T) {
	var r Ring
	r.Add("stdout", "ab")
	r.Add("stdout", "c")
	r.Add("stderr", "é")
	r.Add("stdout", "d")
	for offset, begin := range map[int64]int64{-1: 0, 2: 2, 4: 4, 6: 6, 99: 6} {
		p := r.Read(now(), offset)
		if p.Offset != begin || p.Next != 6 || p.Dropped != 0 || !p.Running {
			t.Errorf("%d: %+v", offset, p)
		}
		all := map[int64]string{-1: "o:abc e:é o:d", 2: "o:c e:é o:d", 4: "o:d"}[offset] // no half of a character
		if text(p) != all {
			t.Errorf("%d: %q, want %q", offset, text(p), all)
		}
	}
	r.End()
	if p := r.Read(context.Background(), 6); p.Running || p.Next != 6 {
		t.Errorf("%+v", p)
	}
}

// What is too much is dropped, the oldest first, and a reader is told how much of it was missed.
func TestDrops(t *testing.T) {
	var r Ring
	r.Add("stdout", strings.Repeat("a", size))
	r.Add("stderr", strings.Repeat("ü", 5000))
	next, kept := r.Bounds()
	if next != size+10000 || kept > size || kept < size-2*piece {
		t.Error(next, kept)
	}
	var all int64
	for at := int64(0); at < next; {
		p := r.Read(now(), at)
		if p.Offset != max(at, next-kept) || p.Dropped != p.Offset-at || p.Next <= p.Offset || p.Next-p.Offset > part {
			t.Fatalf("at %d: offset %d, next %d, dropped %d", at, p.Offset, p.Next, p.Dropped)
		}
		for _, one := range p.Output {
			all += int64(len(one.Data))
		}
		at = p.Next
	}
	if all != kept {
		t.Error(all, kept)
	}
}

// A reader waits for what follows.
func TestWaits(t *testing.T) {
	var r Ring
	got := make(chan *Part)
	for range 2 {
		go func() { got <- r.Read(context.Background(), 0) }()
	}
	r.Add("stdout", "x")
	for range 2 {
		if p := <-got; text(p) != "o:x" {
			t.Errorf("%+v", p)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if p := r.Read(ctx, 1); len(p.Output) != 0 || !p.Running {
		t.Errorf("%+v", p)
	}
}

// No text is lost, split within a character, or put into another stream, and no bound is exceeded.
func FuzzRing(f *testing.F) {
	f.Add("abc", "é", int64(1), 3)
	f.Fuzz(func(t *testing.T, a, b string, at int64, n int) {
		a, b = strings.ToValidUTF8(a, "?"), strings.ToValidUTF8(b, "?")
		var r Ring
		var want [2]string
		for range min(max(n, 0), 4000) {
			r.Add("stdout", a)
			r.Add("stderr", b)
			want[0], want[1] = want[0]+a, want[1]+b
		}
		r.End()
		var got [2]string
		first := int64(-1)
		for at := max(at, -1); ; {
			p := r.Read(now(), at)
			if first < 0 {
				first = p.Offset
			}
			for _, one := range p.Output {
				if strings.ToValidUTF8(one.Data, "") != one.Data {
					t.Fatalf("%q", one.Data)
				}
				got[map[string]int{"stdout": 0, "stderr": 1}[one.Stream]] += one.Data
			}
			if at = p.Next; !p.Running {
				break
			}
		}
		for i := range got {
			if !strings.HasSuffix(want[i], got[i]) {
				t.Errorf("stream %d: %q is not the end of %q", i, got[i], want[i])
			}
		}
		if next, kept := r.Bounds(); next != int64(len(want[0])+len(want[1])) || kept > size {
			t.Error(next, kept)
		}
	})
}

// A follower misses nothing, however slow: what comes waits for it. Once it has gone, nothing waits.
func TestFollow(t *testing.T) {
	var r Ring
	ctx, gone := context.WithCancel(context.Background())
	r.Follow(ctx)
	const much = 3 * size
	added := make(chan struct{})
	go func() {
		for range much / 1000 {
			r.Add("stdout", strings.Repeat("é", 500))
		}
		r.Add("stderr", strings.Repeat("x", size))
		r.Add("stderr", "last")
		close(added)
	}()
	var all int64
	for at := int64(0); all < much/1000*1000; {
		p := r.Read(context.Background(), at)
		if p.Dropped > 0 || p.Offset != at {
			t.Fatalf("%d bytes are dropped at %d", p.Dropped, at)
		}
		at, all = p.Next, all+p.Next-at
	}
	select {
	case <-added:
		t.Error("it has not waited")
	case <-time.After(20 * time.Millisecond):
	}
	gone()
	<-added
	if next, kept := r.Bounds(); next != much/1000*1000+size+4 || kept > size {
		t.Error(next, kept)
	}
}

package text

import (
	"io"
	"strings"
	"testing"
)

func TestCapture(t *testing.T) {
	for _, c := range []struct {
		in      string
		limit   int64
		want    string
		dropped int64
	}{
		{"", 0, "", 0},
		{"abc", 0, "", 3},
		{"abc", -5, "", 3},
		{"abc", 1, "a", 2},
		{"abc", 3, "abc", 0},
		{"abcdefghij", 4, "abij", 6},
		{"abcdefghij", 5, "abcij", 5},
		{"€€€€", 12, "€€€€", 0},
		{"€€€€", 11, "€€€", 3},
		{"€€€€", 7, "€€", 6},
		{"🦊🦊🦊", 6, "", 12},
	} {
		x := NewCapture(c.limit)
		io.WriteString(x, c.in[:len(c.in)/2])
		io.WriteString(x, c.in[len(c.in)/2:])
		if x.String() != c.want || x.Dropped() != c.dropped || x.total != int64(len(c.in)) {
			t.Errorf("%q, %d: %q and %d missing", c.in, c.limit, x.String(), x.Dropped())
		}
	}
}

func TestCaptureSaysWhatIsMissing(t *testing.T) {
	in := strings.Repeat("a", 500) + strings.Repeat("b", 500) + strings.Repeat("c", 500)
	c := NewCapture(400)
	io.WriteString(c, in)
	s := c.String()
	head, tail := c.Parts()
	if want := string(head) + "\n[... 1146 bytes left out ...]\n" + string(tail); s != want || c.Dropped() != 1146 {
		t.Errorf("%d %q", c.Dropped(), s)
	}
	if !strings.HasPrefix(s, strings.Repeat("a", 170)) || !strings.HasSuffix(s, strings.Repeat("c", 170)) || len(s) > 400 {
		t.Errorf("%q", s)
	}
	io.WriteString(c, "the end") // it may be read in between
	if !strings.HasSuffix(c.String(), "cthe end") || c.Dropped() != 1153 {
		t.Errorf("%d %q", c.Dropped(), c.String())
	}
}

// TestMaskedBeforeCut: a secret at the edge of the head is masked whole.
func TestMaskedBeforeCut(t *testing.T) {
	for limit := range int64(40) {
		c := NewCapture(limit)
		f := New(c, Options{Set: NewSet([]string{"hunter2"})})
		io.WriteString(f, "12345678 hunter2 and more, and hunter2 again")
		if err := f.Close(); err != nil || strings.Contains(c.String(), "unt") || strings.Contains(c.String(), "er2") {
			t.Errorf("%v %q", err, c.String())
		}
	}
}

// What somebody else has kept reads as if a Capture had kept it.
func TestCaptureOf(t *testing.T) {
	all := strings.Repeat("0123456789", 100)
	for _, limit := range []int{0, 1, 100, 185, 300, 999, 1000, 2000} {
		own := NewCapture(int64(limit))
		own.Write([]byte(all))
		kept := all
		if limit < len(all) {
			kept = all[:limit-limit/2] + all[len(all)-limit/2:]
		}
		other := CaptureOf(int64(limit), []byte(kept), int64(len(all)))
		if own.String() != other.String() || own.Dropped() != other.Dropped() {
			t.Errorf("limit %d: %q, %d dropped; want %q, %d", limit, other.String(), other.Dropped(), own.String(),
				own.Dropped())
		}
	}
	cut := CaptureOf(1000, []byte("begin"), 5000) // ended by another limit than its own
	if got, want := cut.String(), "begin\n[... 4995 bytes left out ...]\n"; got != want || cut.Dropped() != 4995 {
		t.Errorf("%q, want %q", got, want)
	}
}

package text

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"brig/internal/test/must"
)

// plainMask is what a masker has to do, written down without a thought for speed.
func plainMask(b []byte, patterns [][]byte, mask string, cut bool) []byte {
	end, from := 0, 0
	var out []byte
	for i := range b {
		n, left := 0, b[i:]
		for _, p := range patterns {
			if bytes.HasPrefix(left, p) {
				n = max(n, len(p))
			}
			if cut && len(left) >= minCut && bytes.HasPrefix(p, left) {
				n = len(left)
			}
		}
		if n == 0 {
			continue
		}
		if i >= end {
			out = append(append(out, b[from:i]...), mask...)
		}
		end = max(end, i+n)
		from = end
	}
	return append(out, b[from:]...)
}

type collect struct{ b []byte }

func (c *collect) write(b []byte) { c.b = append(c.b, b...) }
func (c *collect) close(bool)     {}

// FuzzFilter: what comes out is UTF-8 and has no secret and, stripped, no control sequence, however it was split.
func FuzzFilter(f *testing.F) {
	f.Add([]byte("pass=hunter2 \x1b[31m\xff\xe2\x82"), "hunter2", "ter2 ", uint64(0x5bd1e995), true)
	f.Add([]byte("aaaaaaaaaaaaaaaabaaaa"), "aaaab", "aaaa", uint64(1), false)
	f.Add([]byte("\xc2\x1b]\x9b\xc2\xc2\x9b\xff\xfdabc***x"), "\uFFFDabc", "***x", uint64(77), true)
	f.Add([]byte("aHVudGVyMmh1bnRlcjI=%2Babc+"), "hunter2hunter2", "+abc+", uint64(3), false)
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac"), "aaaaaaaaaaaaaaaaaaaaaaaab",
		"aaaaaaaaaaaaaaaaaaaaaaaac", uint64(5), false)
	f.Add([]byte("key: sk-hunter22-hun\xc2"), "sk-hunter22-hun\u00a3", "hunter22-hunters", uint64(6), true)
	f.Add([]byte("\x1bP\x1b\\\x1b^\n\x1b[\x1b(\x1b"), "abcd", "\x1b[1mx", uint64(9), true)
	f.Fuzz(checkFilter)
}

func checkFilter(t *testing.T, in []byte, a, b string, split uint64, strip bool) {
	secrets := []string{a, b}
	o := Options{Set: NewSet(secrets), StripANSI: strip, StripAll: strip && split%2 == 1}
	want := Clean(string(in), o)
	var out bytes.Buffer
	filter := New(&out, o)
	for rest := in; len(rest) > 0; {
		n := min(int(split%7)+1, len(rest))
		split = split*6364136223846793005 + 1442695040888963407
		part := bytes.Clone(rest[:n])
		must.Get(filter.Write(part))(t)
		clear(part) // a writer keeps nothing that it was given
		rest = rest[n:]
	}
	must.Do(t, filter.Close())
	got := out.String()
	if got != want {
		t.Errorf("split: %q, whole: %q", got, want)
	}
	if !utf8.ValidString(got) {
		t.Errorf("no UTF-8: %q", got)
	}
	if strip && strings.ContainsFunc(got, func(r rune) bool { return r == 0x1b || r >= 0x80 && r < 0xa0 }) {
		t.Errorf("a control character is left: %q", got)
	}
	if o.StripAll && strings.ContainsFunc(got, isHidden) {
		t.Errorf("what is not seen is left: %q", got)
	}
	patterns := forms(secrets)
	free := !bytes.ContainsAny(bytes.Join(patterns, nil), freeMask(patterns))
	for _, s := range secrets {
		if s = strings.Trim(s, space); free && len(s) >= MinSecret && utf8.ValidString(s) && strings.Contains(got, s) {
			t.Errorf("%q is in %q", s, got)
		}
	}
	if len(patterns) > 0 {
		checkMasker(t, in, patterns, split)
	}
}

// checkMasker compares a masker with plainMask.
func checkMasker(t *testing.T, in []byte, patterns [][]byte, split uint64) {
	t.Helper()
	set := newSet(patterns)
	for _, cut := range []bool{false, true} {
		want := plainMask(in, patterns, string(set.mask), cut)
		for _, size := range []int{1, int(split%13) + 2, len(in) + 1} {
			c := &collect{}
			m := &masker{next: c, set: set}
			for rest := in; len(rest) > 0; rest = rest[min(size, len(rest)):] {
				part := bytes.Clone(rest[:min(size, len(rest))])
				m.write(part)
				clear(part)
			}
			m.close(cut)
			if !bytes.Equal(c.b, want) {
				t.Errorf("cut %v, pieces of %d: %q without %q is %q, and slowly %q", cut, size, in, patterns, c.b, want)
			}
			if m.steps > 4*int64(len(in)) {
				t.Errorf("%d steps for %d bytes", m.steps, len(in))
			}
		}
	}
}

// TestMaskerAtRandom: patterns of few different bytes, that hold, begin and follow each other.
func TestMaskerAtRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range rounds {
		letters := []string{"ab", "abc", "aaab", "ab\x00\xff"}[r.IntN(4)]
		text := func(n int) []byte {
			b := make([]byte, n)
			for i := range b {
				b[i] = letters[r.IntN(len(letters))]
			}
			return b
		}
		var patterns [][]byte
		seen := map[string]bool{}
		in := text(r.IntN(40))
		for range 1 + r.IntN(1+r.IntN(40)) {
			p := text(4 + r.IntN(1+r.IntN(30)))
			if k := len(patterns); k > 0 && r.IntN(2) == 0 { // the beginning of another one, and something else
				of := patterns[r.IntN(k)]
				p = append(bytes.Clone(of[:r.IntN(len(of)+1)]), p[r.IntN(len(p)):]...)
			}
			if len(p) < MinSecret || seen[string(p)] {
				continue
			}
			seen[string(p)] = true
			patterns = append(patterns, p)
			in = append(in, p[r.IntN(3):len(p)-r.IntN(2)]...)
		}
		if len(patterns) > 0 {
			checkMasker(t, append(in, patterns[0][:3]...), patterns, r.Uint64())
		}
		if t.Failed() {
			return
		}
	}
}

// TestFilterAtRandom makes what a fuzzer is slow to find: secrets that overlap each other, the mask and sequences.
func TestFilterAtRandom(t *testing.T) {
	parts := []string{"a", "b", "ab", "*", "***", "#", "\x1b", "[", "m", "]", "\\", "\a", "\xc2", "\x9b", "\x9c", "\x80",
		"\xa3", "\uFFFD", "\xef", "\xbf", "\xbd", "\n", "61", "YW", "%"}
	r := rand.New(rand.NewPCG(1, 2))
	text := func(most int) string {
		var b strings.Builder
		for range r.IntN(most) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		return b.String()
	}
	for range rounds {
		a, b := text(8), text(8)
		var in strings.Builder
		for range r.IntN(8) {
			in.WriteString([]string{a, b, text(6)}[r.IntN(3)])
		}
		checkFilter(t, []byte(in.String()), a, b, r.Uint64(), r.IntN(2) == 0)
		if t.Failed() {
			t.Fatalf("%q without %q and %q", in.String(), a, b)
		}
	}
}

// rounds of the tests at random take about a second.
const rounds = 2000

// FuzzCapture: head, tail and what was dropped are all that was written, in their order.
func FuzzCapture(f *testing.F) {
	f.Add([]byte("hello, wörld"), int64(5), uint8(3))
	f.Add([]byte(strings.Repeat("€uro", 200)), int64(301), uint8(50))
	f.Add([]byte("\x80\x80\x80\xff\xff"), int64(3), uint8(1))
	f.Add([]byte("x"), int64(-1), uint8(0))
	f.Fuzz(func(t *testing.T, in []byte, limit int64, step uint8) {
		limit = min(limit, 1<<20)
		c := NewCapture(limit)
		for rest := in; len(rest) > 0; {
			n := min(int(step)+1, len(rest))
			if k, err := c.Write(rest[:n]); k != n || err != nil {
				t.Fatal(k, err)
			}
			rest = rest[n:]
		}
		head, tail := c.Parts()
		if c.total != int64(len(in)) || int64(len(head)+len(tail))+c.Dropped() != c.total {
			t.Errorf("%d + %d + %d of %d", len(head), len(tail), c.Dropped(), len(in))
		}
		if !bytes.HasPrefix(in, head) || !bytes.HasSuffix(in, tail) {
			t.Errorf("%q and %q of %q", head, tail, in)
		}
		s := c.String()
		if int64(len(s)) > max(limit, 0) {
			t.Errorf("%d bytes of a limit of %d", len(s), limit)
		}
		if utf8.Valid(in) && !utf8.ValidString(s) {
			t.Errorf("a rune was cut: %q", s)
		}
		if int64(len(in)) <= limit && s != string(in) {
			t.Errorf("%q of %q", s, in)
		}
		if over := int64(len(in)) - limit; over > 0 && limit > 0 && c.Dropped() > over+int64(gapSize)+6 {
			t.Errorf("%d were dropped, and %d had to be", c.Dropped(), over)
		}
		if int64(cap(c.kept)) > max(limit, 0) {
			t.Errorf("it has %d bytes for a limit of %d", cap(c.kept), limit)
		}
	})
}

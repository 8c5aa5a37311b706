package text

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// alike are secrets of a size in bytes that differ only at their end.
func alike(n, size int) (list []string) {
	for i := range n {
		list = append(list, strings.Repeat("a", size-4)+fmt.Sprintf("%04d", i))
	}
	return list
}

// TestWorkIsLinear: no text costs more than a few steps for each byte, whatever the secrets are.
func TestWorkIsLinear(t *testing.T) {
	a := strings.Repeat("a", 7000)
	nested := []string{}
	for n := 4; n < 400; n++ {
		nested = append(nested, a[:n])
	}
	fibonacci := [2]string{"a", "ab"}
	for len(fibonacci[1]) < 8000 {
		fibonacci = [2]string{fibonacci[1], fibonacci[1] + fibonacci[0]}
	}
	for _, c := range []struct {
		name    string
		secrets []string
		in      string
	}{
		{"alike", alike(250, 7000), strings.Repeat("a", 131<<10)},
		{"nearly there", alike(250, 7000), strings.Repeat(a[:6996]+"0x", 18)},
		{"one", []string{a + "b"}, strings.Repeat("a", 131<<10)},
		{"one and nearly there", []string{a + "b"}, strings.Repeat(a+"c", 18)},
		{"begins otherwise", []string{"b" + a, "cb" + a, a[:3] + "x"}, strings.Repeat("cb"+a[1:], 18)},
		{"nested", nested, strings.Repeat(a[:399]+"b", 300)},
		{"Fibonacci", []string{fibonacci[1] + "x", fibonacci[0] + "yy"}, strings.Repeat(fibonacci[1], 16)},
		{"short", []string{"abab", "baba", "aabb"}, strings.Repeat("abaabbba", 16<<10)},
		{"periods", []string{strings.Repeat("ab", 3000) + "aab", strings.Repeat("aab", 2000) + "bb"},
			strings.Repeat("ab", 64<<10) + strings.Repeat("aab", 40<<10)},
	} {
		set := NewSet(c.secrets)
		for _, size := range []int{1, 1000, piece} {
			m := &masker{next: &collect{}, set: set}
			var moved int64
			for in := []byte(c.in); len(in) > 0; {
				n := min(size, len(in))
				before := len(m.held)
				m.write(in[:n])
				if in = in[n:]; len(m.held) < before {
					moved += int64(before)
				}
			}
			if n := m.steps; n < int64(len(c.in))/int64(maxWindow) || n > 4*int64(len(c.in)) {
				t.Errorf("%s: %d steps for %d bytes", c.name, n, len(c.in))
			}
			if moved > 4*int64(len(c.in)) {
				t.Errorf("%s: %d bytes of %d held back were moved", c.name, moved, len(c.in))
			}
		}
	}
}

// TestAlikeAreMasked: the secrets of the attack are found all the same.
func TestAlikeAreMasked(t *testing.T) {
	secrets := alike(250, 700)
	set := NewSet(secrets)
	for i, s := range secrets {
		if got := Clean("aaa"+s+"x"+s[:699]+"\n"+s[1:], Options{Set: set}); got != "aaa***x"+s[:699]+"\n"+s[1:] {
			t.Fatalf("%d: %.40q", i, got)
		}
	}
}

// most are as many secrets as a caller may allow: 64 that have 64 KiB together.
func most(filler string) (list []string) {
	for i := range 64 {
		list = append(list, (fmt.Sprintf("%02d", i) + strings.Repeat(filler+fmt.Sprint(i%7), 1024))[:1024])
	}
	return list
}

// TestSetIsBounded: a Set takes ten bytes for each byte of a form.
func TestSetIsBounded(t *testing.T) {
	for _, filler := range []string{"a+b/c d<é", "</é" + strings.Repeat("\x01", 60), "\x01\x02\x03\x04", "\xff\xfe",
		"Zm9v"} {
		secrets := most(filler)
		total := 0
		for _, p := range forms(secrets) {
			total += len(p)
		}
		set := NewSet(secrets)
		a := set.find
		size := cap(a.label) + 8*cap(a.node) + 40*len(a.branches) + 12*cap(a.chains) + cap(set.skip.shift)
		if len(a.label) > total+1 || size > 10*total+(256<<10) {
			t.Errorf("%q: %d bytes for %d states and forms of %d bytes", filler, size, len(a.label), total)
		}
		if size > 40<<20 {
			t.Errorf("%q: %d bytes", filler, size)
		}
		for _, s := range secrets[:3] {
			if got := Clean(s+"\n"+s, Options{Set: set}); strings.Contains(got, s[:8]) {
				t.Errorf("%.40q", got)
			}
		}
	}
}

// TestHeldIsBounded: a masker keeps what may be the beginning of a form, or twice as much, and of masks those in that.
func TestHeldIsBounded(t *testing.T) {
	secrets := []string{strings.Repeat("abcd", 2000) + "x", "abcd"}
	f := New(io.Discard, Options{Set: NewSet(secrets)})
	m := f.first.(*masker)
	for _, in := range []string{"abcd", "abc", secrets[0][:8000], strings.Repeat("abcd", 5000)} {
		for range 12000/len(in)*10 + 3 {
			io.WriteString(f, in)
			if len(m.held) > 2*m.depth || m.depth > 8000 || len(m.found)-m.head > m.depth/4 {
				t.Fatalf("%d bytes held back for %d, %d masks wait", len(m.held), m.depth, len(m.found))
			}
		}
	}
	f = New(io.Discard, Options{Set: NewSet([]string{"abcd", "zabcd abcd abcd abcd abcd abcd!"})})
	io.WriteString(f, "z"+strings.Repeat("abcd ", 20000))
	if n := cap(f.first.(*masker).found); n > 16 {
		t.Errorf("%d masks have waited", n)
	}
}

// TestSetIsShared: Filters of one Set do not disturb each other, and write what each would with a Set of its own.
func TestSetIsShared(t *testing.T) {
	secrets := []string{"hunter2hunter", "\uFFFDabcd", "sk-0123456789"}
	set := NewSet(secrets)
	in := "hunter2hunter2 \xffabcd sk-\x1b[0m0123456789 hunter2"
	for _, strip := range []bool{true, false} {
		want := Clean(in, Options{Set: NewSet(secrets), StripANSI: strip})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				var b bytes.Buffer
				f := New(&b, Options{Set: set, StripANSI: strip})
				for _, c := range []byte(in) {
					f.Write([]byte{c})
					runtime.Gosched()
				}
				if err := f.Close(); err != nil || b.String() != want || Clean(in, Options{Set: set, StripANSI: strip}) != want {
					t.Errorf("%v %q, not %q", err, b.String(), want)
				}
			})
		}
		all.Wait()
	}
}

func TestSetClean(t *testing.T) {
	for _, c := range []struct {
		set      *Set
		in, want string
	}{
		{nil, "a\xff hunter2", "a\uFFFD hunter2"},
		{NewSet(nil), "a hunter2", "a hunter2"},
		{NewSet([]string{"", "abc"}), "abc", "abc"},
		{NewSet([]string{"hunter2"}), "dial hunt\x1b[0mer2.example: no", "dial ***.example: no"},
		{NewSet([]string{"hunter2"}), "hunter", "hunter"},
	} {
		if got := Clean(c.in, Options{Set: c.set, StripANSI: true}); got != c.want {
			t.Errorf("%q: %q, not %q", c.in, got, c.want)
		}
	}
	if got := Clean("\x1bhunter2", Options{Set: NewSet([]string{"hunter2"})}); got != "\x1b***" {
		t.Errorf("%q", got)
	}
}

// TestCloseCut: where an output is cut, the beginning of a secret is not shown either.
func TestCloseCut(t *testing.T) {
	for _, c := range []struct {
		in, want string
		secrets  []string
	}{
		{"key: sk-hunter22-hun", "key: ***", []string{"sk-hunter22-hunter"}},
		{"key: sk-h", "key: ***", []string{"sk-hunter22-hunter"}},
		{"key: sk-", "key: sk-", []string{"sk-hunter22-hunter"}},
		{"key: sk-hunter22-hunter", "key: ***", []string{"sk-hunter22-hunter"}},
		{"key: sk-hunter22-hunt!", "key: sk-hunter22-hunt!", []string{"sk-hunter22-hunter"}},
		{"abcdefghi", "***", []string{"abcd", "abcdefghij"}},
		{"abcdefgh", "***", []string{"abcde", "defghi"}},
		{"xabcabcabca", "xabc***", []string{"abcabcabcx"}},
		{"c2staHVudGVyMj", "***", []string{"sk-hunter22-hunter"}}, // base64
		{"sk-h\xc2", "***", []string{"sk-h\u00a3\u00a3"}},
		{"sk-h\xc2", "sk-h\uFFFD", []string{"sk-h"[:3] + "x\u00a3\u00a3"}},
		{"\xff\xe2\x82", "***", []string{"\uFFFD\uFFFD\uFFFDabc"}},
		{"sk-h\x1b[0", "***", []string{"sk-hunter22"}},
		{"", "", []string{"sk-hunter22"}},
	} {
		for size := range len(c.in) + 1 {
			var b bytes.Buffer
			f := New(&b, Options{Set: NewSet(c.secrets), StripANSI: true})
			io.WriteString(f, c.in[:size])
			io.WriteString(f, c.in[size:])
			if err := f.CloseCut(); err != nil || b.String() != c.want {
				t.Errorf("%q without %q: %v %q, not %q", c.in, c.secrets, err, b.String(), c.want)
			}
			if err := f.CloseCut(); err != nil {
				t.Error(err)
			}
		}
	}
}

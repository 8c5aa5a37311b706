package text

import (
	"io"
	"strings"
	"testing"
)

func BenchmarkFilter(b *testing.B) {
	ascii := strings.Repeat("The quick brown fox jumps over the lazy dog, and 12 others.\n", 1<<14)
	secrets := []string{"hunter2hunter2", "ghp_0123456789abcdefghijklmnopqrstuvwxyz", "postgres://user:pass@host/db?x=1"}
	for _, c := range []struct {
		name, in string
		o        Options
	}{
		{"ascii", ascii, Options{}},
		{"ascii-strip", ascii, Options{StripANSI: true}},
		{"ascii-mask", ascii, Options{Set: NewSet(secrets)}},
		{"ascii-all", ascii, Options{Set: NewSet(secrets), StripANSI: true}},
		{"utf8-all", strings.Repeat("Größe: 12 µm, 3 € «ça»\n", 1<<15), Options{Set: NewSet(secrets), StripANSI: true}},
		{"colours-all", strings.Repeat("\x1b[1;32mok\x1b[0m some test of the suite\n", 1<<15),
			Options{Set: NewSet(secrets), StripANSI: true}},
		{"binary-all", strings.Repeat("\x00\xff\x1b\xc2\x80abc\xe2", 1<<17), Options{Set: NewSet(secrets), StripANSI: true}},
		{"attack", strings.Repeat("a", 1<<17), Options{Set: NewSet(alike(64, 1024))}},
		{"secrets-all", strings.Repeat("a=hunter2hunter2 ", 1<<16), Options{Set: NewSet(secrets), StripANSI: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			in := []byte(c.in)
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				f := New(io.Discard, c.o)
				f.Write(in)
				f.Close()
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		New(io.Discard, Options{Set: NewSet([]string{"hunter2hunter2", "ghp_0123456789abcdefghijklmnopqrstuvwxyz"}),
			StripANSI: true})
	}
}

func BenchmarkNewSet(b *testing.B) {
	for _, c := range []struct {
		name    string
		secrets []string
	}{{"alike", alike(8, 8<<10)}, {"most", most("a+b/c d<é")}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				NewSet(c.secrets)
			}
		})
	}
}

func BenchmarkSetClean(b *testing.B) {
	set := NewSet([]string{"hunter2hunter2"})
	b.ReportAllocs()
	for b.Loop() {
		Clean("lookup example.org: no such host", Options{Set: set, StripANSI: true})
	}
}

func BenchmarkCapture(b *testing.B) {
	in := make([]byte, 32<<10)
	b.SetBytes(int64(len(in)))
	c := NewCapture(1 << 20)
	for b.Loop() {
		c.Write(in)
	}
}

package grep

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func always() bool { return true }

func search(t *testing.T, pattern string, r io.Reader) (got string, st Stats) {
	t.Helper()
	re, err := Compile(pattern, false)
	if err != nil {
		t.Fatal(err)
	}
	s := &Searcher{Pattern: re, Go: always}
	st, err = s.Search(r, func(m Match) bool {
		got += fmt.Sprintf("%d:%d:%s\n", m.Line, m.Column, m.Text)
		return true
	})
	if err != nil {
		t.Error(err)
	}
	return got, st
}

func TestSearch(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for _, c := range []struct {
		pattern, text, want string
		st                  Stats
	}{
		{"b", "a\nb\nabc\n", "2:1:b\n3:2:abc\n", Stats{}},
		{"b", "b", "1:1:b\n", Stats{}},
		{"b", "", "", Stats{}},
		{"^$", "a\n\nb\n", "2:1:\n", Stats{}},
		{"^b$", "a\r\nb\r\n", "2:1:b\n", Stats{}},
		{"a.b", "a\nb", "", Stats{}}, // no match over the end of a line
		{"é", "\xff é\n", "1:3:\xff é\n", Stats{}},
		{"a", "a\nb\x00a\na\n", "", Stats{Binary: true}},
		{"x", "\x00", "", Stats{Binary: true}},
		{"end", long + "xx end\nend\n", "2:1:end\n", Stats{Long: true}},
		{"end", long + long + long + "\n\nend", "3:1:end\n", Stats{Long: true}},
		{"end", long[1:] + "\nend\n", "2:1:end\n", Stats{}},
		{"end", long[4:] + "end\nend\n", "1:65533:" + long[:497] + "end\n2:1:end\n", Stats{}},
		{"end", strings.Repeat("line\n", 40000) + "end", "40001:1:end\n", Stats{}},
	} {
		for name, r := range map[string]io.Reader{"": strings.NewReader(c.text), "in halves, ": iotest.HalfReader(strings.NewReader(c.text)),
			"with the error, ": iotest.DataErrReader(strings.NewReader(c.text))} {
			got, st := search(t, c.pattern, r)
			if !st.Binary && st.Bytes != int64(len(c.text)) {
				t.Errorf("%s%.20q: %d bytes", name, c.text, st.Bytes)
			}
			if st.Bytes = 0; got != c.want || st != c.st {
				t.Errorf("%s%.20q: %.60q, %+v", name, c.text, got, st)
			}
		}
	}
}

// Of a long line the part around the match is shown, in whole characters.
func TestCut(t *testing.T) {
	re, err := Compile("here", false)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("é", 1000) + "here" + strings.Repeat("é", 1000)
	s := &Searcher{Pattern: re, Go: always}
	if _, err := s.Search(strings.NewReader(text), func(m Match) bool {
		if !m.Cut || len(m.Text) > maxShown || !strings.Contains(m.Text, "éhereé") || !strings.HasPrefix(m.Text, "é") {
			t.Errorf("%+v", m)
		}
		return true
	}); err != nil {
		t.Error(err)
	}
}

func TestCompile(t *testing.T) {
	for text, want := range map[string]string{"(": "missing", `\1`: "escape", "a{1001}": "repeat", "(?=a)": "Perl",
		"(a{100}){11}": "repeat", "((a{30}){30}){1}(b{999})(c{999})": "too large", strings.Repeat("a", 1001): "1000 bytes",
		strings.Repeat(`\pL{1000}`, 100): "too large", "\xff": "UTF-8"} {
		if _, err := Compile(text, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", text, err, want)
		}
	}
	re, err := Compile("a|b", true)
	if err != nil || !re.MatchString("B") {
		t.Error(err)
	}
	if _, err := Compile("a)(b", true); err == nil {
		t.Error("it is half of two brackets")
	}
}

// The slowest expression that is taken, and the text that is the worst for it, are stopped in time.
func TestStops(t *testing.T) {
	re, err := Compile("(x+x+)+y"+"(x?x?){300}", false)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	s := &Searcher{Pattern: re, Go: func() bool { return time.Since(begin) < 100*time.Millisecond }}
	st, err := s.Search(iotest.DataErrReader(strings.NewReader(strings.Repeat(strings.Repeat("x", MaxLine-1)+"\n", 1000))),
		func(Match) bool { return true })
	if took := time.Since(begin); err != nil || took > 20*time.Second || st.Bytes > 500*MaxLine {
		t.Errorf("it took %v for %d bytes: %v", took, st.Bytes, err)
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("a+", "b\naa\r\n", true)
	f.Fuzz(func(t *testing.T, pattern, text string, fold bool) {
		re, err := Compile(pattern, fold)
		if err != nil {
			return
		}
		n := 0
		s := &Searcher{Pattern: re, Go: always}
		if _, err := s.Search(strings.NewReader(text), func(m Match) bool { n++; return true }); err != nil {
			t.Error(err)
		}
		if n > strings.Count(text, "\n")+1 {
			t.Errorf("%d matches in %q", n, text)
		}
	})
}

// It is asked whether to go on between the lines of what was read at once, too.
func TestAsks(t *testing.T) {
	re, err := Compile("x", false)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	s := &Searcher{Pattern: re, Go: func() bool { asked++; return asked < 5 }}
	lines := 0
	if _, err := s.Search(strings.NewReader(strings.Repeat("x\n", MaxLine/2)), func(Match) bool { lines++; return true }); err != nil ||
		asked != 5 || lines > 5*often {
		t.Errorf("asked %d times for %d lines: %v", asked, lines, err)
	}
}

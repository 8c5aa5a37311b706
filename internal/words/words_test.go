package words

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNearest(t *testing.T) {
	list := []string{"memory", "memory-swap", "cpus", "net", "seccomp", "pass_env"}
	for in, want := range map[string]string{"memroy": "memory", "Memory": "memory", "memory_swap": "memory-swap", "mem": "memory",
		"secomp": "seccomp", "pass-env": "pass_env", "xyzzy": "", "": "", "cpu": "cpus", "nets": "net",
		strings.Repeat("m", 1<<20): ""} {
		if got := Nearest(in, list); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", in, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		DidYouMean("hots", []string{"host", "ports"}): "did you mean host?",
		DidYouMean("x", []string{"host", "ports"}):    "write one of host, ports",
		Quote("é\x1b\n\""):                            `"é\x1b\n\""`,
		QuoteASCII("é\x1b"):                           `"\u00e9\x1b"`,
		Quote(strings.Repeat("é", 40)):                `"` + strings.Repeat("é", 32) + `"... (80 bytes)`,
		QuoteASCII("a" + strings.Repeat("é", 40)):     `"a` + strings.Repeat(`\u00e9`, 31) + `"... (81 bytes)`,
		Clip("aé", 2):                                 "a",
		Clip("aé", 3):                                 "aé",
		Clip("\x80\x80", 1):                           "",
		Printable("a \"b\" \\ é\x1b[0m\n\xff\u202e"):  `a "b" \ é\x1b[0m\x0a\xff\u202e`,
		Or(nil):                     "",
		Or([]string{"a"}):           "a",
		Or([]string{"a", "b"}):      "a or b",
		Or([]string{"a", "b", "c"}): "a, b or c",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// FuzzQuote: whatever is quoted is one bounded line of printable text.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b[2J", "\xff\xfe", strings.Repeat("é", 100), "\u202e\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, q := range []string{Quote(s), QuoteASCII(s), Printable(Clip(s, MaxShown))} {
			if !utf8.ValidString(q) || strings.ContainsAny(q, "\n\x1b\x00") || len(q) > 12*MaxShown {
				t.Errorf("%q", q)
			}
		}
		if n := Nearest(s, []string{"memory", "net"}); n != "" && len(s) > MaxShown {
			t.Error(n)
		}
	})
}

func TestShell(t *testing.T) {
	for word, want := range map[string]string{"": "''", "a b": "'a b'", "it's $x": `'it'\''s $x'`} {
		if got := Shell(word); got != want {
			t.Errorf("%q becomes %s", word, got)
		}
	}
}

func TestJSON(t *testing.T) {
	if got, want := JSON("a\x1b\u202e\U000e0001\n\"é\xff"), `a\u001b\u202e\udb40\udc01\u000a"é`+"\ufffd"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestShort(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abc...", "ab\u00e9d": "ab..."} {
		if got := Short(text, 3); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// TestForBwrap: what is set in vain is told once, with who reads it.
func TestForBwrap(t *testing.T) {
	const note = ": read by brig bwrap alone, and without effect here"
	for want, environ := range map[string][]string{
		"BRIG_MEMORY" + note:             {"A=b", "BRIG_MEMORY=1g", "BRIG_CHANGES=/x"},
		"BRIG_TIMEOUT, BRIG_PIDS" + note: {"BRIG_TIMEOUT=1", "BRIG_PIDS=2", "BRIG_CPUS="},
		"":                               {"BRIG_MEMORY=1g", "BRIG_LEARN=1"},
	} {
		if got := ForBwrap(environ); got != want {
			t.Errorf("%q: %q, want %q", environ, got, want)
		}
	}
	if got := ForBwrap([]string{"BRIG_CHANGES=/x", "BRIG_ISOLATE_CONFIG=/y", "BRIG_TEST_X=1"}); got != "" {
		t.Error(got)
	}
}

func TestUnknownVariable(t *testing.T) {
	for entry, want := range map[string]string{
		"BRIG_MEM=200m":   "BRIG_MEM is not a variable of brig; did you mean BRIG_MEMORY?",
		"BRIG_MEMROY=3":   "BRIG_MEMROY is not a variable of brig; did you mean BRIG_MEMORY?",
		"BRIG_PID\x1bS=3": `BRIG_PID\x1bS is not a variable of brig; did you mean BRIG_PIDS?`,
		"BRIG_MEMORY=1":   "",
		"BRIG_MEM=":       "",
		"BRIG_TEST_X=1":   "",
		"BRIG_PORT=tcp:1": "",
		"BRIGD_URL=x":     "",
		"BRIGHT_NESS=1":   "",
	} {
		if got := UnknownVariable([]string{"PATH=/", entry}); got != want {
			t.Errorf("%q: %q, want %q", entry, got, want)
		}
	}
}

package text

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"brig/internal/test/must"
)

// every runs a text through a Filter whole, byte by byte, and in pieces of other sizes, and wants the same each time.
func every(t *testing.T, in string, o Options) string {
	t.Helper()
	want := Clean(in, o)
	for _, size := range []int{1, 2, 3, 5, 7, 64} {
		var b bytes.Buffer
		f := New(&b, o)
		for s := in; len(s) > 0; s = s[min(size, len(s)):] {
			if n, err := io.WriteString(f, s[:min(size, len(s))]); err != nil || n != min(size, len(s)) {
				t.Fatal(n, err)
			}
		}
		must.Do(t, f.Close())
		if b.String() != want {
			t.Fatalf("%q in pieces of %d is %q, and whole %q", in, size, b.String(), want)
		}
	}
	return want
}

func TestUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"plain\r\n\x00\x07":         "plain\r\n\x00\x07",
		"é€🦊\uFFFD":                 "é€🦊\uFFFD",
		"a\xffb":                    "a\uFFFDb",
		"\xe2\x82":                  "\uFFFD\uFFFD",
		"\xe2\x82é":                 "\uFFFD\uFFFDé",
		"\xf0\x9f\xa6x\xf0\x9f\xa6": "\uFFFD\uFFFD\uFFFDx\uFFFD\uFFFD\uFFFD",
		"\x80\x80\x80\x80\x80":      strings.Repeat("\uFFFD", 5),
		"\xc0\xaf\xed\xa0\x80":      strings.Repeat("\uFFFD", 5), // overlong, surrogate
		"\xf4\x90\x80\x80":          strings.Repeat("\uFFFD", 4), // above U+10FFFF
		"\xc2":                      "\uFFFD",
	} {
		if got := every(t, in, Options{}); got != want || fix(in) != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	long := strings.Repeat("€", piece) // its pieces cut runes
	if got := Clean(long, Options{}); got != long {
		t.Error("a long text was changed")
	}
}

func TestStripANSI(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m":                       "red",
		"a\x1b[2J\x1b[?25l\x1b[38:2::1:2mb":          "ab",
		"\x1b]0;title\x07x":                          "x",
		"\x1b]0;title\x1b\\x":                        "x",
		"\x1b]0;title\u009cx":                        "x",
		"\x1b]8;;http://a/\x1b\\link\x1b]8;;\x1b\\.": "link.",
		"\x1bPq#0;2;0;0;0\n#0~~@@vv\n\x1b\\x":        "x",
		"\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\x": "x",
		"\x1b(B\x1b)0\x1b7\x1b8\x1bc\x1b=x":          "x",
		"\x1b":                                       "",
		"\x1b\x1b\x1b[31m":                           "",
		"a\x1b\nb":                                   "a\nb",
		"a\x1béb":                                    "aéb",
		"\x1b[31":                                    "",
		"\x1b[31\nm":                                 "\nm",
		"\x1b[31é":                                   "é",
		"\u009b31mred\u0085":                         "red",
		"\u009d0;t\u009cx":                           "x",
		"\x9b31m":                                    "\uFFFD31m", // no character in UTF-8
		"£\u00a0é\u009f":                             "£\u00a0é",
		"\xc2":                                       "\uFFFD",
		"\xc2\xc2\xa3":                               "\uFFFD£",
		"\xc2\x1b[m\x9b31m":                          "\uFFFD\uFFFD31m", // never U+009B
		"\xc2\xc2\x9b1m\x9bx":                        "\uFFFD\uFFFDx",
		"\x1b]0;a line\nb":                           "\nb", // no end: not more than the line
		"\x1b]0;a\x18b":                              "b",
		"\x1b]0;a\x1b[31mb":                          "b",
		"tab\tcr\rbs\bbel\a":                         "tab\tcr\rbs\bbel\a",
	} {
		if got := every(t, in, Options{StripANSI: true}); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
	kept := "\x1b[31mred\u009b0m"
	if got := every(t, kept, Options{}); got != kept {
		t.Errorf("%q", got)
	}
}

// TestEndlessSequences: what has no end swallows a bounded part of the output.
func TestEndlessSequences(t *testing.T) {
	rest := strings.Repeat("x", 1<<20)
	for _, in := range []string{"\x1b]", "\x1bP", "\x1b_", "\u009d"} {
		if got := Clean(in+rest, Options{StripANSI: true}); len(got) < len(rest)-maxString {
			t.Errorf("%q swallows %d bytes", in, len(rest)-len(got))
		}
	}
	digits := strings.Repeat("1", 1000)
	if got := every(t, "\x1b["+digits, Options{StripANSI: true}); len(got) < len(digits)-maxCSI-1 {
		t.Errorf("%d bytes are left", len(got))
	}
	if got := every(t, "\x1b"+strings.Repeat("(", 100), Options{StripANSI: true}); len(got) < 100-maxInter-2 {
		t.Errorf("%d bytes are left", len(got))
	}
}

func TestMask(t *testing.T) {
	one := []string{"hunter2"}
	for _, c := range []struct {
		in, want string
		secrets  []string
	}{
		{"pass=hunter2;", "pass=***;", one},
		{"hunter2hunter2", "******", one},
		{"hunterhunter2 hunter", "hunter*** hunter", one},
		{"hunter", "hunter", one},
		{"hunte\x1b[0mr2", "hunte\x1b[0mr2", one},
		{"abcdefg", "***", []string{"abcde", "defg"}},
		{"abcdefghij", "***ij", []string{"abcd", "bcdefgh"}},
		{"abcdefghi", "***efghi", []string{"abcd", "abcdefghij"}},
		{"abcdefghij", "***", []string{"abcd", "abcdefghij"}},
		{"aaaaaaaaa", "***", []string{"aaaa"}},
		{"abc", "abc", []string{"abc", "", " \n"}},
		{"key: abc1 \n", "key: *** \n", []string{" abc1\n"}},
		{"pässwörd", "***", []string{"pässwörd"}},
		{"\xff\xfeabcd", "***", []string{"\xff\xfeabcd"}},
		{"\uFFFD\uFFFDabcd", "***", []string{"\xff\xfeabcd"}},
		{"\xffabc", "***", []string{"\uFFFDabc"}},
		{"x\xff\uFFFDabc", "x\uFFFD***", []string{"\uFFFDabc"}},
		{"**abcdx", "**###x", []string{"abcd", "***x"}},
		{"hunter2 hunter2\xffabc", "*** ******", []string{"hunter2", "\uFFFDabc"}},
	} {
		if got := every(t, c.in, Options{Set: NewSet(c.secrets)}); got != c.want {
			t.Errorf("%q without %q: %q, not %q", c.in, c.secrets, got, c.want)
		}
	}
	if got := every(t, "h\x1b[0mun\x1b]0;x\x07ter\u009b2m2!", Options{Set: NewSet(one), StripANSI: true}); got != "***!" {
		t.Errorf("%q", got)
	}
	if got := every(t, "a\x1b[1mbcd!", Options{Set: NewSet([]string{"a\x1b[1mbcd"}), StripANSI: true}); got != "***!" {
		t.Errorf("%q", got)
	}
}

// TestMaskForms: the ways in which programs print a value.
func TestMaskForms(t *testing.T) {
	for _, secret := range []string{"s3cr3t+value/with?all=of&it <é🦊>\"\\", "correct horse battery",
		strings.Repeat("k", 40), "0123456789"} {
		js, _ := json.Marshal(secret)
		for form, s := range map[string]string{
			"base64":         base64.StdEncoding.EncodeToString([]byte(secret)),
			"base64 of URLs": base64.URLEncoding.EncodeToString([]byte(secret)),
			"basic auth 1":   base64.StdEncoding.EncodeToString([]byte("u:" + secret + "x")),
			"basic auth 2":   base64.StdEncoding.EncodeToString([]byte("me:" + secret + "xy")),
			"basic auth 3":   base64.URLEncoding.EncodeToString([]byte("you:" + secret + "xyz")),
			"hex":            hex.EncodeToString([]byte(secret)),
			"HEX":            strings.ToUpper(hex.EncodeToString([]byte(secret))),
			"query":          url.QueryEscape(secret),
			"path":           url.PathEscape(secret),
			"JSON":           string(js),
			"Python's JSON":  ascii(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(js))),
		} {
			got := every(t, "<"+s+">", Options{Set: NewSet([]string{secret})})
			if !strings.Contains(got, "***") && !strings.Contains(got, "###") || len(got) > 2+3+8+len("you:xyz ")*4/3 {
				t.Errorf("%s of %q: %q gives %q", form, secret, s, got)
			}
		}
	}
}

func TestMaskLines(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END PRIVATE KEY-----\n"
	shown := strings.ReplaceAll(key, "\n", "\r\n    ")
	got := every(t, shown, Options{Set: NewSet([]string{key})})
	if strings.Contains(got, "MII") || strings.Contains(got, "AQE") || !strings.Contains(got, "BEGIN PRIVATE") {
		t.Errorf("%q", got)
	}
	if got := every(t, "x"+key+"y", Options{Set: NewSet([]string{key})}); got != "x***\ny" {
		t.Errorf("%q", got)
	}
}

type short struct{ left int }

var errFull = errors.New("full")

func (s *short) Write(b []byte) (int, error) {
	if len(b) > s.left {
		n := s.left
		s.left = 0
		return n, errFull
	}
	s.left -= len(b)
	return len(b), nil
}

type lying struct{}

func (lying) Write(b []byte) (int, error) { return len(b) - 1, nil }

func TestErrors(t *testing.T) {
	f := New(&short{left: 10}, Options{})
	if n, err := f.Write(make([]byte, 8)); n != 8 || err != nil {
		t.Error(n, err)
	}
	for range 2 {
		if n, err := f.Write(make([]byte, 8)); n != 0 || !errors.Is(err, errFull) {
			t.Error(n, err)
		}
	}
	if err := f.Close(); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if n, err := New(lying{}, Options{}).Write([]byte("abc")); n != 0 || !errors.Is(err, io.ErrShortWrite) {
		t.Error(n, err)
	}
	f = New(io.Discard, Options{})
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	if _, err := f.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// TestHoldsBackNoMore: what cannot be a part of a secret or a rune is written at once.
func TestHoldsBackNoMore(t *testing.T) {
	var b bytes.Buffer
	f := New(&b, Options{Set: NewSet([]string{"hunter2"}), StripANSI: true})
	for _, step := range []struct{ in, out string }{
		{"Password: ", "Password: "}, {"h", ""}, {"x", "hx"}, {"hunte", ""}, {"r3", "hunter3"}, {"\x1b[", ""},
		{"31mok", "ok"}, {"\xe2\x82", ""}, {"\xac", "€"},
		{"xhunter", "x"}, {"2", "***"}, {"hh", "h"}, {"hunter2", "h***"},
	} {
		b.Reset()
		io.WriteString(f, step.in)
		if b.String() != step.out {
			t.Errorf("after %q comes %q, not %q", step.in, b.String(), step.out)
		}
	}
}

// TestMemoryIsBounded: nothing that a payload prints makes a Filter keep more than a piece and the longest pattern.
func TestMemoryIsBounded(t *testing.T) {
	secret := strings.Repeat("ab", 500)
	f := New(io.Discard, Options{Set: NewSet([]string{secret}), StripANSI: true})
	for _, s := range []string{strings.Repeat("ab", 499), "\x1b]", strings.Repeat("\xff", 1<<20),
		strings.Repeat("\x1b[", 1<<18), secret[:999]} {
		for range 20 {
			io.WriteString(f, s)
		}
	}
	if n := cap(f.out) + cap(f.first.(*stripper).next.(*masker).held); n > 8*piece {
		t.Errorf("%d bytes", n)
	}
	if !utf8.ValidString(Clean(strings.Repeat("\xe2", 100), Options{})) {
		t.Error("no UTF-8")
	}
}

// With StripAll nothing is left that a terminal obeys or that only a model sees; and no secret comes together by that.
func TestStripAll(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":                      "plain\ttext\n",
		"ok\r\nnext\r\r\n":                   "ok\nnext\n",
		" 10%\r 20%\r":                       " 10%\n 20%",
		"rm -rf /\recho ok":                  "rm -rf /\necho ok",
		"abc\b\b\bxyz\x7f\x00\a":             "abcxyz",
		"a\u202eb\u2066c\u2069\u200f\u061cd": "abcd",
		"ze\u200bro\u200d\u2060\ufeff width": "zero width",
		"line\u2028paragraph\u2029":          "lineparagraph",
		"hi\U000e0069\U000e0067\U000e007f":   "hi",
		"byte\U000e0100\U000e01ef":           "byte",
		"\x1b[31mred\x1b[0m \u009b2Jgone":    "red gone",
		"\xe2\x80\u200b\x8b":                 "\ufffd\ufffd\ufffd",
		"Größe 日本 « ça » \U0001f600 e\u0301": "Größe 日本 « ça » \U0001f600 e\u0301",
		"h\u200bun\x1b[0mt\u202eer2!":        "***!",
		"hun\x00ter2, hunter2":               "***, ***",
	} {
		if got := every(t, in, Options{Set: NewSet([]string{"hunter2"}), StripAll: true}); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
}

package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Parameters of Punycode: RFC 3492 §5.
const (
	punyBase, punyMin, punyMax   = 36, 1, 26
	punySkew, punyDamp, punyBias = 38, 700, 72
	punyFirst                    = 0x80
)

// punycodeProblem judges what follows "xn--". DNS compares the ASCII text, and so do we; the label is decoded only to
// refuse a second spelling of what a client may show, compare or convert. Normalisation form C and the tables of IDNA
// are not checked: they would take a library, and no decision hangs on them.
func punycodeProblem(s string) string {
	runes, ok := punyDecode(s)
	if !ok {
		return "an xn-- label is not Punycode"
	}
	for _, r := range runes {
		if !labelRune(r) {
			return "an xn-- label has a character that no label has"
		}
	}
	if again, ok := punyEncode(runes); !ok || again != s {
		return "an xn-- label is not the canonical Punycode"
	}
	return ""
}

// labelRune takes letters, marks, digits and pictures in their lower-case form, with the joiners and signs that RFC
// 5892 lets into some scripts. Full-width forms are other spellings of ASCII, and what
// follows them are signs of a failed decoding.
func labelRune(r rune) bool {
	switch {
	case r < punyFirst:
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-'
	case 0xff00 <= r && r <= 0xffff, unicode.ToLower(r) != r:
		return false
	case strings.ContainsRune("\u00b7\u0375\u05f3\u05f4\u30fb\u200c\u200d", r):
		return true
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.So)
}

// punyDecode is RFC 3492 §6.2 on lower-case text of at most a label's length, which also keeps the sums small. Text
// that encodes nothing but ASCII is refused.
func punyDecode(s string) ([]rune, bool) {
	var out []rune
	if i := strings.LastIndexByte(s, '-'); i > 0 {
		out, s = []rune(s[:i]), s[i+1:]
	}
	if s == "" || len(s) > maxLabel {
		return nil, false
	}
	n, bias, at := punyFirst, punyBias, 0
	for s != "" {
		before, weight := at, 1
		for k := punyBase; ; k += punyBase {
			if s == "" {
				return nil, false
			}
			digit, ok := punyDigit(s[0])
			s = s[1:]
			t := threshold(k, bias)
			if at += digit * weight; !ok || at > 1<<31 {
				return nil, false
			}
			if digit < t {
				break
			}
			if weight *= punyBase - t; weight > 1<<31 {
				return nil, false
			}
		}
		count := len(out) + 1
		bias = adapt(at-before, count, before == 0)
		n, at = n+at/count, at%count
		if !utf8.ValidRune(rune(min(n, 1<<30))) {
			return nil, false
		}
		out = append(out[:at], append([]rune{rune(n)}, out[at:]...)...)
		at++
	}
	return out, true
}

// punyEncode is RFC 3492 §6.3.
func punyEncode(in []rune) (string, bool) {
	var out []byte
	for _, r := range in {
		if r < punyFirst {
			out = append(out, byte(r))
		}
	}
	basic, done := len(out), len(out)
	if basic > 0 {
		out = append(out, '-')
	}
	n, delta, bias := rune(punyFirst), 0, punyBias
	for done < len(in) {
		next := rune(unicode.MaxRune)
		for _, r := range in {
			if r >= n {
				next = min(next, r)
			}
		}
		delta, n = delta+int(next-n)*(done+1), next
		for _, r := range in {
			switch {
			case r < n:
				delta++
			case r == n:
				out = punyNumber(out, delta, bias)
				bias, delta = adapt(delta, done+1, done == basic), 0
				done++
			}
		}
		delta, n = delta+1, n+1
		if len(out) > maxLabel {
			return "", false
		}
	}
	return string(out), true
}

// punyNumber appends one variable-length integer.
func punyNumber(out []byte, q, bias int) []byte {
	const digits = "abcdefghijklmnopqrstuvwxyz0123456789"
	for k := punyBase; ; k += punyBase {
		t := threshold(k, bias)
		if q < t {
			return append(out, digits[q])
		}
		out = append(out, digits[t+(q-t)%(punyBase-t)])
		q = (q - t) / (punyBase - t)
	}
}

func punyDigit(c byte) (int, bool) {
	switch {
	case 'a' <= c && c <= 'z':
		return int(c - 'a'), true
	case '0' <= c && c <= '9':
		return int(c-'0') + 26, true
	}
	return 0, false
}

func threshold(k, bias int) int { return min(max(k-bias, punyMin), punyMax) }

func adapt(delta, count int, first bool) int {
	if delta /= 2; first {
		delta = delta * 2 / punyDamp
	}
	delta += delta / count
	k := 0
	for ; delta > (punyBase-punyMin)*punyMax/2; k += punyBase {
		delta /= punyBase - punyMin
	}
	return k + (punyBase-punyMin+1)*delta/(delta+punySkew)
}

// asciiName is how a Unicode name is written in a policy, empty if there is no such form: what an error proposes.
func asciiName(s string) string {
	labels := strings.Split(strings.ToLower(s), ".")
	for i, label := range labels {
		if onlyLDH(label) == "" {
			continue
		}
		text, ok := punyEncode([]rune(label))
		if !ok {
			return ""
		}
		labels[i] = "xn--" + text
	}
	name, _ := NormalizeName(strings.Join(labels, "."))
	return name
}

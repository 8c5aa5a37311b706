package policy

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// Bounds of a name: RFC 1035 §2.3.4, in bytes of its text without the final dot.
const (
	maxName  = 253
	maxLabel = 63
)

// NormalizeName returns the canonical spelling of a host name for matching, pooling, logging and lookup: lower case,
// without its final dot. It accepts letters, digits and hyphens (RFC 5890 LDH labels) and '_' as the first byte of a
// label, as in service names. It refuses names that two programs could interpret differently: NUL, 8-bit and escaped
// bytes, empty and overlong labels, a last label that inet_aton(3) or a browser would take for an address, an xn--
// label that is not the canonical Punycode of a lower-case Unicode label.
func NormalizeName(s string) (string, bool) {
	name, why := normalize(s)
	return name, why == ""
}

// normalize is NormalizeName with the reason of a refusal.
func normalize(s string) (name, why string) {
	s = strings.TrimSuffix(s, ".")
	switch {
	case s == "":
		return "", "the name is empty"
	case len(s) > maxName:
		return "", "the name is longer than 253 bytes"
	}
	if why := onlyLDH(s); why != "" {
		return "", why
	}
	s = strings.ToLower(s)
	rest, label, more := s, "", true
	for more {
		label, rest, more = strings.Cut(rest, ".")
		if why := labelProblem(label); why != "" {
			return "", why
		}
	}
	if numeric(label) {
		return "", "its last label looks like a number, so that some programs read an address"
	}
	return s, ""
}

// onlyLDH checks all bytes first, so that later steps see no other bytes. It returns "" if all are permitted.
func onlyLDH(s string) string {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		case c >= 0x80:
			return "it has bytes outside of ASCII"
		case c < ' ', c == 0x7f:
			return "it has control bytes"
		default:
			return "it has " + strconv.QuoteRuneToASCII(rune(c)) + ", which no host name has"
		}
	}
	return ""
}

// labelProblem returns what is wrong with a lower-case label of LDH bytes and '_', or "".
func labelProblem(label string) string {
	ldh := strings.TrimPrefix(label, "_")
	switch {
	case label == "":
		return "it has an empty label"
	case len(label) > maxLabel:
		return "a label is longer than 63 bytes"
	case ldh == "":
		return "a label is only an underscore"
	case strings.Contains(ldh, "_"):
		return "an underscore stands inside a label"
	case ldh[0] == '-' || ldh[len(ldh)-1] == '-':
		return "a label begins or ends with a hyphen"
	case strings.HasPrefix(label, "xn--"):
		return punycodeProblem(label)
	}
	return ""
}

// numeric reports whether a last label makes a name an address to some program: decimal, octal or 0x hexadecimal, as in
// the URL standard's "ends in a number".
func numeric(label string) bool {
	digits := "0123456789"
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		label, digits = hex, "0123456789abcdef"
	}
	return strings.Trim(label, digits) == ""
}

// punycodeProblem checks a label that begins with "xn--". Like DNS, brig compares the ASCII text. The label is decoded
// only to refuse a second spelling of what a client may show, compare or convert: encoding is unique (RFC 3492 §6), so
// no other lower-case label decodes to the same text. Normalisation form C and the tables of IDNA are not checked: no
// decision depends on them.
func punycodeProblem(label string) string {
	decoded, err := idna.Punycode.ToUnicode(label)
	switch {
	case err != nil || decoded == "":
		return "an xn-- label is not Punycode"
	case strings.ContainsFunc(decoded, func(r rune) bool { return !labelRune(r) }):
		return "an xn-- label has a character that no label has"
	}
	return ""
}

// labelRune reports whether a decoded label may contain r: letters, marks, digits and symbols in their lower-case form,
// with the joiners and signs that RFC 5892 permits in some scripts. Full-width forms are other spellings of ASCII, and
// the code points after them indicate a failed decoding.
func labelRune(r rune) bool {
	switch {
	case r < 0x80:
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-'
	case 0xff00 <= r && r <= 0xffff, unicode.ToLower(r) != r:
		return false
	case strings.ContainsRune("\u00b7\u0375\u05f3\u05f4\u30fb\u200c\u200d", r):
		return true
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.So)
}

// asciiName returns the form in which a policy writes a Unicode name, as an error proposes it; "" if there is none.
func asciiName(s string) string {
	labels := strings.Split(strings.ToLower(s), ".")
	for i, label := range labels {
		if onlyLDH(label) == "" {
			continue
		}
		text, err := idna.Punycode.ToASCII(label)
		if err != nil || strings.Contains(text, ".") { // it takes U+3002 and its like for dots
			return ""
		}
		labels[i] = text
	}
	name, _ := NormalizeName(strings.Join(labels, "."))
	return name
}

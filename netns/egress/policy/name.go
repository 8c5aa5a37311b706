package policy

import (
	"strconv"
	"strings"
)

// Bounds of a name: RFC 1035 §2.3.4, in bytes of its text without the final dot.
const (
	maxName  = 253
	maxLabel = 63
)

// NormalizeName gives the one spelling under which a host name is matched, pooled, logged and looked up: lower case,
// without its final dot. It takes letters, digits and hyphens (RFC 5890 LDH labels) and '_' as a label's first byte, as
// service names have it. Whatever two programs could read differently is refused: NUL, 8-bit and escaped bytes, empty
// and overlong labels, a last label that inet_aton(3) or a browser would take for an address, an xn-- label that is not
// the canonical Punycode of a lower-case Unicode label.
func NormalizeName(s string) (string, bool) {
	name, why := normalize(s)
	return name, why == ""
}

// normalize is NormalizeName that says why not.
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

// onlyLDH looks at every byte before anything else is decided, so that no later step sees another byte.
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

// labelProblem judges one lower-case label of LDH bytes and '_'.
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
		return punycodeProblem(label[len("xn--"):])
	}
	return ""
}

// numeric says whether a last label makes a name an address for somebody: decimal, octal or 0x hexadecimal, as in the
// URL standard's "ends in a number".
func numeric(label string) bool {
	digits := "0123456789"
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		label, digits = hex, "0123456789abcdef"
	}
	return strings.Trim(label, digits) == ""
}
